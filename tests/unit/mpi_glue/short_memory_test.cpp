// SPDX-License-Identifier: Apache-2.0
// Each allocation of each call fails once: the functions of headway.h neither throw nor leave
// anything entered, and the session goes on.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <utility>

#include "headway.h"
#include "scripted_daemon.hpp"

namespace {

/// This thread's allocation that fails, counted from now; 0: none does.
thread_local long fails_in = 0;

bool fails_now() { return fails_in > 0 && --fails_in == 0; }

}  // namespace

void* operator new(std::size_t size) {
    void* const memory = fails_now() ? nullptr : std::malloc(size);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
    return fails_now() ? nullptr : std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace headway::glue::test {
namespace {

constexpr std::uint64_t size = 65536;
constexpr std::size_t at_once = 40;  ///< more than a slot has room for from the start
constexpr auto hang_limit_ms = static_cast<int>(std::chrono::milliseconds(hang_limit).count());

/// `work` with its n-th allocation failing; whether one did.
bool with_failing(long n, const auto& work) {
    fails_in = n;
    work();
    return std::exchange(fails_in, 0) == 0;
}

/// `attempt(n)` for all n, until it says that no allocation has failed.
void for_each_allocation(const auto& attempt) {
    long n = 1;
    while (attempt(n)) ASSERT_LT(++n, 2000);
    EXPECT_GT(n, 1);
}

class ShortMemory : public testing::Test {
protected:
    void SetUp() override {
        daemon_.answers["prepare"] = [](const Json&) {
            return Json{{"pattern", 1}, {"paced", true}, {"min_message_bytes", 2048}, {"algorithm", "linear"}};
        };
        daemon_.answers["phase"] = [this](const Json&) {
            return Json{{"phase", 1}, {"bytes_per_s", 1000}, {"generation", daemon_.memory->generation()},
                        {"algorithm", "linear"}};
        };
        daemon_.start();
        path_ = daemon_.path();
    }
    headway_session* open() {
        headway_options options{};
        options.size = sizeof(options);
        options.job = "job";
        options.socket_path = path_.c_str();
        options.timeout_ms = hang_limit_ms;
        return headway_open(&options);
    }

    ScriptedDaemon daemon_;
    std::string path_;
    std::array<const char*, 2> hosts_{"a0", "b0"};
};

TEST_F(ShortMemory, CallsThatAskTheDaemonNothing) {
    for_each_allocation([&](long n) {
        headway_session* const session = open();
        headway_exchange* all = nullptr;
        int status = 0;
        bool has_failed = with_failing(n, [&] {
            status = headway_set_hosts(session, hosts_.data(), hosts_.size(), 1);
            all = status == 0 ? headway_exchange_of(session, "alltoall", nullptr) : nullptr;
        });
        EXPECT_EQ(all == nullptr, has_failed) << n;
        EXPECT_STREQ(headway_reason(session), has_failed ? "memory is short" : "") << n;
        EXPECT_EQ(status == 0 ? 0 : headway_set_hosts(session, hosts_.data(), hosts_.size(), 1), 0) << n;
        all = headway_exchange_of(session, "alltoall", nullptr);

        headway_leave(session, headway_enter(session, all, size));  // what is known needs no answer
        std::array<std::uint64_t, at_once> entries{};
        has_failed |= with_failing(n, [&] {
            for (std::uint64_t& entry : entries) entry = headway_enter(session, all, size);
        });
        const auto entered = std::count_if(entries.begin(), entries.end(), [](auto entry) { return entry != 0; });
        EXPECT_EQ(daemon_.memory->phase(), entered > 0 ? 1U : 0U) << n;
        const bool has_failed_to_leave = with_failing(1, [&] {
            for (const std::uint64_t entry : entries) headway_leave(session, entry);
        });
        EXPECT_FALSE(has_failed_to_leave) << "leaving needs no memory";
        EXPECT_EQ(daemon_.memory->phase(), 0U) << n;
        headway_close(session);
        return has_failed;
    });
}

TEST_F(ShortMemory, CallsThatAskTheDaemon) {
    daemon_.answers["plan"] = [](const Json&) {
        return Json{{"paced", true}, {"reason", "for people"}, {"predicted_paced", {{"low_s", 1}, {"high_s", 2}}}};
    };
    daemon_.answers["traffic"] = daemon_.answers["phase"];
    const std::array<std::uint64_t, 4> bytes{0, 1000, 500, 0};
    for_each_allocation([&](long n) {
        headway_session* session = nullptr;
        bool has_failed = with_failing(n, [&] { session = open(); });
        headway_close(session);
        session = open();
        EXPECT_EQ(headway_set_hosts(session, hosts_.data(), hosts_.size(), 1), 0);
        headway_exchange* const all = headway_exchange_of(session, "alltoall", nullptr);
        headway_plan plan{};
        plan.size = sizeof(plan);
        std::uint64_t entry = 0;
        has_failed |= with_failing(n, [&] { (void)headway_plan_of(session, all, size, &plan); });
        has_failed |= with_failing(n, [&] { entry = headway_enter(session, all, size); });
        EXPECT_EQ(daemon_.memory->phase(), entry != 0 ? 1U : 0U) << n;
        headway_leave(session, entry);
        EXPECT_EQ(daemon_.memory->phase(), 0U) << n;
        has_failed |= with_failing(n, [&] { (void)headway_traffic(session, bytes.data()); });
        EXPECT_EQ(headway_connected(session), 1) << n;
        EXPECT_EQ(headway_plan_of(session, all, size, &plan), 0) << n;
        EXPECT_EQ(headway_traffic(session, bytes.data()), 0) << n;
        entry = headway_enter(session, all, size);
        EXPECT_NE(entry, 0U) << n << headway_reason(session);
        headway_close(session);
        return has_failed;
    });
}

}  // namespace
}  // namespace headway::glue::test
