// SPDX-License-Identifier: Apache-2.0
#include "daemon_link.hpp"

#include "scripted_daemon.hpp"

namespace headway::glue::test {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 20s;   // the machine may be busy
constexpr auto impatience = 50ms;

/// Takes until there is something.
LinkResult<std::optional<DaemonLink::AnswerWithFile>> wait_for(DaemonLink& link, std::uint64_t id) {
    for (int i = 0; i < 20'000; ++i) {
        auto answer = link.take(id);
        if (!answer || *answer) return answer;
        std::this_thread::sleep_for(1ms);
    }
    return std::nullopt;
}

TEST(DaemonLinks, AskForAnAnswerAndAFile) {
    ScriptedDaemon daemon;
    daemon.start();
    auto link = *DaemonLink::connect(daemon.path(), patience);
    EXPECT_EQ((*link.ask({{"op", "hello"}}))["node"], "a0");
    const auto joined = link.ask_for_file({{"op", "join"}});
    ASSERT_TRUE(joined);
    EXPECT_TRUE(joined->file);
    EXPECT_FALSE(link.is_hung_up());
}

TEST(DaemonLinks, ARefusalLeavesTheConnection) {
    ScriptedDaemon daemon;
    daemon.start();
    auto link = *DaemonLink::connect(daemon.path(), patience);
    const auto refused = link.ask({{"op", "fly"}});
    ASSERT_FALSE(refused);
    EXPECT_FALSE(refused.error().lost);
    EXPECT_EQ(refused.error().what, "headwayd: the operation is unknown");
    EXPECT_TRUE(link.ask({{"op", "hello"}}));
}

TEST(DaemonLinks, SilenceEndsTheWait) {
    ScriptedDaemon daemon;
    daemon.listen();
    auto link = *DaemonLink::connect(daemon.path(), impatience);
    const auto answer = link.ask({{"op", "hello"}});
    ASSERT_FALSE(answer);
    EXPECT_TRUE(answer.error().lost);
    EXPECT_EQ(answer.error().what, "headwayd did not answer within 50 ms");
}

TEST(DaemonLinks, PostedRequestsAreTakenInOrder) {
    ScriptedDaemon daemon;
    daemon.start();
    auto link = *DaemonLink::connect_at_once(daemon.path(), patience);
    const auto hello = *link.post({{"op", "hello"}});
    const auto unknown = *link.post({{"op", "fly"}});
    const auto join = *link.post({{"op", "join"}});
    EXPECT_EQ((**wait_for(link, hello)).body["node"], "a0");
    const auto refused = wait_for(link, unknown);
    ASSERT_FALSE(refused);
    EXPECT_FALSE(refused.error().lost);
    EXPECT_TRUE((**wait_for(link, join)).file);
}

TEST(DaemonLinks, ConnectingAtOnceNeverWaits) {
    ScriptedDaemon daemon;
    EXPECT_FALSE(DaemonLink::connect_at_once(daemon.path(), patience)) << "no socket";
    daemon.listen();
    std::vector<DaemonLink> connected;
    for (;;) {
        auto link = DaemonLink::connect_at_once(daemon.path(), patience);
        if (!link) break;  // the backlog is full
        EXPECT_FALSE(link->take(*link->post({{"op", "hello"}}))->has_value());
        connected.push_back(std::move(*link));
        ASSERT_LT(connected.size(), 100U);
    }
    EXPECT_GT(connected.size(), 0U);
    daemon.stop();
    EXPECT_TRUE(connected.front().is_hung_up());
    EXPECT_FALSE(DaemonLink::connect_at_once(daemon.path(), patience)) << "nobody listens";
}

}  // namespace
}  // namespace headway::glue::test
