// SPDX-License-Identifier: Apache-2.0
// The classes by which BPF programs pace (pacing_classes.bpf.h), by their minor numbers.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "phase/phase_layout.h"
#include "phase/shared_memory.hpp"

namespace headway {

/// The arrays bpf_places, bpf_classes and bpf_clocks of phase_layout.h.
struct ClassTables {
    std::span<std::uint64_t> places;
    std::span<headway_bpf_class> classes;
    std::span<headway_bpf_clock> clocks;
};

/// In memory that the programs read.  A class that changes gets another place, which is written before
/// the programs are sent there: they see the old one or the new one, whole.
class BpfClasses {
public:
    /// `memory` is what the tables are in, and goes with this object.
    explicit BpfClasses(const ClassTables& tables, std::array<SharedMemory, 3> memory = {});

    /// The class is there from now on, with a clock that has not begun if it is new.  E2BIG: there is no room.
    [[nodiscard]] Result<void> put(std::uint16_t minor, const headway_bpf_class& wanted);
    void remove(std::uint16_t minor);
    [[nodiscard]] std::optional<headway_bpf_class> find(std::uint16_t minor) const;
    /// All 0 of a class that is not there.
    [[nodiscard]] headway_bpf_clock clock(std::uint16_t minor) const;
    /// By rising minor number.
    [[nodiscard]] std::vector<std::uint16_t> minors() const;

private:
    void set_place(std::uint16_t minor, std::uint64_t place);

    ClassTables tables_;
    std::array<SharedMemory, 3> memory_;
    // those that were free longest are taken first: a program may still read the last one
    std::deque<std::uint32_t> free_classes_;
    std::deque<std::uint32_t> free_clocks_;
};

}  // namespace headway
