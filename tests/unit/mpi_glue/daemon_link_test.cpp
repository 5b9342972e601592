// SPDX-License-Identifier: Apache-2.0
#include "daemon_link.hpp"

#include "scripted_daemon.hpp"

namespace headway::glue::test {
namespace {

using namespace std::chrono_literals;

TEST(DaemonLinks, AskForAnAnswerAndAFile) {
    ScriptedDaemon daemon;
    daemon.start();
    auto link = *DaemonLink::connect(daemon.path(), hang_limit);
    EXPECT_EQ(link.ask(ObjectText("hello"))->text("node"), "a0");
    const auto joined = link.ask_for_file(ObjectText("join"));
    ASSERT_TRUE(joined);
    EXPECT_TRUE(joined->file);
    EXPECT_FALSE(link.is_hung_up());
}

TEST(DaemonLinks, ARefusalLeavesTheConnection) {
    ScriptedDaemon daemon;
    daemon.start();
    auto link = *DaemonLink::connect(daemon.path(), hang_limit);
    const auto refused = link.ask(ObjectText("fly"));
    ASSERT_FALSE(refused);
    EXPECT_FALSE(refused.error().lost);
    EXPECT_EQ(refused.error().what, "headwayd: the operation is unknown");
    EXPECT_TRUE(link.ask(ObjectText("hello")));
}

TEST(DaemonLinks, SilenceEndsTheWait) {
    ScriptedDaemon daemon;
    daemon.listen();
    auto link = *DaemonLink::connect(daemon.path(), 50ms);
    const auto answer = link.ask(ObjectText("hello"));
    ASSERT_FALSE(answer);
    EXPECT_TRUE(answer.error().lost);
    EXPECT_EQ(answer.error().what, "headwayd did not answer within 50 ms");
}

TEST(DaemonLinks, PostedRequestsAreTakenInOrder) {
    ScriptedDaemon daemon;
    daemon.start();
    auto link = *DaemonLink::connect_at_once(daemon.path(), hang_limit);
    const auto hello = *link.post(ObjectText("hello"));
    const auto unknown = *link.post(ObjectText("fly"));
    const auto join = *link.post(ObjectText("join"));
    daemon.wait_until_answered("join", 1);
    EXPECT_EQ((**link.take(hello)).body.text("node"), "a0");
    const auto refused = link.take(unknown);
    ASSERT_FALSE(refused);
    EXPECT_FALSE(refused.error().lost);
    EXPECT_TRUE((**link.take(join)).file);
}

// What every job says first where no daemon runs: it names the next command, and no errno.
TEST(DaemonLinks, SayHowADaemonThatDoesNotRunIsStarted) {
    const ScriptedDaemon daemon;
    const auto link = DaemonLink::connect(daemon.path(), hang_limit);
    ASSERT_FALSE(link);
    EXPECT_EQ(link.error().what, "no headwayd at " + daemon.path() + ", which systemctl start headwayd starts");
}

TEST(DaemonLinks, ConnectingAtOnceNeverWaits) {
    ScriptedDaemon daemon;
    EXPECT_FALSE(DaemonLink::connect_at_once(daemon.path(), hang_limit)) << "no socket";
    daemon.listen();
    std::vector<DaemonLink> connected;
    for (;;) {
        auto link = DaemonLink::connect_at_once(daemon.path(), hang_limit);
        if (!link) break;  // the backlog is full
        EXPECT_FALSE(link->take(*link->post(ObjectText("hello")))->has_value());
        connected.push_back(std::move(*link));
        ASSERT_LT(connected.size(), 100U);
    }
    EXPECT_GT(connected.size(), 0U);
    daemon.stop();
    EXPECT_TRUE(connected.front().is_hung_up());
    EXPECT_FALSE(DaemonLink::connect_at_once(daemon.path(), hang_limit)) << "nobody listens";
}

}  // namespace
}  // namespace headway::glue::test
