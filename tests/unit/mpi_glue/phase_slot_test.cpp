// SPDX-License-Identifier: Apache-2.0
#include "phase_slot.hpp"

#include "scripted_daemon.hpp"

namespace headway::glue::test {
namespace {

constexpr Phase loose{1, 2000};
constexpr Phase strict{2, 1000};

class PhaseSlots : public testing::Test {
protected:
    std::optional<PhaseSlot> map(std::size_t slot = 0) {
        return PhaseSlot::map(memory_.fd, {SlotMemory::bytes, slot * sizeof(std::uint32_t),
                                           SlotMemory::generation_offset});
    }
    SlotMemory memory_;
};

TEST_F(PhaseSlots, TheStrictestOfThoseEnteredIsStored) {
    auto slot = *map();
    slot.enter(1, loose);
    EXPECT_EQ(memory_.phase(), 1U);
    slot.enter(2, strict);
    slot.enter(3, loose);
    EXPECT_EQ(memory_.phase(), 2U);
    EXPECT_TRUE(slot.leave(3));
    EXPECT_EQ(memory_.phase(), 2U);
    EXPECT_TRUE(slot.leave(2));
    EXPECT_EQ(memory_.phase(), 1U);
    EXPECT_TRUE(slot.leave(1));
    EXPECT_EQ(memory_.phase(), 0U);
    EXPECT_FALSE(slot.leave(1));
}

TEST_F(PhaseSlots, TheOneThatEndsIsLeftAndNotTheLast) {
    auto slot = *map();
    slot.enter(1, strict);
    slot.enter(2, loose);
    EXPECT_TRUE(slot.leave(1));
    EXPECT_EQ(memory_.phase(), 1U) << "nothing strict is under way";
    EXPECT_FALSE(slot.leave(1));
    EXPECT_EQ(memory_.phase(), 1U);
}

TEST_F(PhaseSlots, ABaseHoldsBesideThem) {
    auto slot = *map();
    slot.set_base(loose);
    EXPECT_EQ(memory_.phase(), 1U);
    slot.enter(1, strict);
    EXPECT_EQ(memory_.phase(), 2U);
    slot.leave(1);
    EXPECT_EQ(memory_.phase(), 1U);
    slot.set_base({});
    EXPECT_EQ(memory_.phase(), 0U);
}

TEST_F(PhaseSlots, ItRestsWhenItEnds) {
    {
        auto slot = *map(3);
        slot.enter(1, strict);
        const PhaseSlot moved = std::move(slot);
        EXPECT_EQ(memory_.phase(3), 2U);
    }
    EXPECT_EQ(memory_.phase(3), 0U);
}

TEST_F(PhaseSlots, WhatSomebodyElseHasStoredSinceStays) {
    {
        auto slot = *map();
        slot.enter(1, strict);
        memory_.store(7);
    }
    EXPECT_EQ(memory_.phase(), 7U);
    {
        const auto resting = *map();
        memory_.store(5);
    }
    EXPECT_EQ(memory_.phase(), 5U);
}

TEST_F(PhaseSlots, PlacesOutsideTheMemoryAreRefused) {
    const std::size_t bytes = SlotMemory::bytes;
    for (const SlotPlace& place :
         {SlotPlace{0, 0, 0}, SlotPlace{bytes, bytes, 0}, SlotPlace{bytes, 0, bytes - 2},
          SlotPlace{bytes, 2, 0}, SlotPlace{std::size_t{1} << 40, 0, 4}})
        EXPECT_FALSE(PhaseSlot::map(memory_.fd, place));
    EXPECT_FALSE(PhaseSlot::map(UniqueFd(), {bytes, 0, 4}));
}

// A load from what is cut off would be SIGBUS.
TEST_F(PhaseSlots, MemoryThatMayVanishIsRefused) {
    const std::size_t bytes = SlotMemory::bytes;
    const SlotPlace place{bytes, 0, SlotMemory::generation_offset};
    const auto file_of = [](std::size_t size, int seals) {
        UniqueFd file(memfd_create("slots", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(size)), 0);
        EXPECT_EQ(fcntl(file.get(), F_ADD_SEALS, seals), 0);
        return file;
    };
    EXPECT_TRUE(PhaseSlot::map(file_of(bytes, F_SEAL_SHRINK), place));
    EXPECT_FALSE(PhaseSlot::map(file_of(bytes - 1, F_SEAL_SHRINK), place)) << "it is shorter than told";
    EXPECT_FALSE(PhaseSlot::map(file_of(0, F_SEAL_SHRINK), place));
    EXPECT_FALSE(PhaseSlot::map(file_of(bytes, F_SEAL_GROW), place)) << "it can be cut off later";
    EXPECT_FALSE(PhaseSlot::map(UniqueFd(open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), place)) << "an ordinary file";
}

}  // namespace
}  // namespace headway::glue::test
