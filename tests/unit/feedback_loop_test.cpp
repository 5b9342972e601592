// SPDX-License-Identifier: Apache-2.0
// From what the kernel says of connections to rates in the kernel.
#include <algorithm>

#include <spdlog/logger.h>
#include <spdlog/sinks/ringbuffer_sink.h>

#include "control_service_fixture.hpp"
#include "daemon/feedback_loop.hpp"

namespace headway::test {
namespace {

class FeedbackTest : public ControlServiceTest {
protected:
    FeedbackTest() : sink_(std::make_shared<spdlog::sinks::ringbuffer_sink_mt>(100)), log_("t", sink_) {}

    void SetUp() override {
        Config config = demo_config();
        auto clusters = config.topology.clusters();
        for (Cluster& cluster : clusters) {
            cluster.trunk_buffer_bytes = cluster.host_buffer_bytes = 64 << 20;
        }
        config.topology = *Topology::make(std::move(clusters));
        start(std::move(config));
        feedback_.emplace(*service_, FeedbackBounds{.quiet = 10s}, log_);
    }

    void second(std::uint64_t again) {
        flow_.segments += 2'000;
        flow_.retransmissions += again;
        node_timeouts_ += again > 0 ? 1 : 0;
        feedback_->look(std::span(&flow_, 1), node_timeouts_, 1s);
    }

    std::size_t lines(std::string_view text) {
        const auto all = sink_->last_formatted();
        return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& line) {
            return line.find(text) != std::string::npos;
        }));
    }

    TcpFlow flow_{{}, 7, *parse_ip_prefix("10.2.0.1")};
    std::uint64_t node_timeouts_ = 3;
    std::shared_ptr<spdlog::sinks::ringbuffer_sink_mt> sink_;
    spdlog::logger log_;
    std::optional<Feedback> feedback_;
};

// The buffers would hold it all: unpaced.  Time-outs show that they do not.
TEST_F(FeedbackTest, TimeoutsMakeNextPlansSlowerAndQuietTimeFaster) {
    Json pattern = everybody;
    pattern["message_bytes"] = 65'536;
    const auto paced = [&] {
        const auto session = connect();
        const Json answer = ask(session, "enter", pattern);
        EXPECT_TRUE(answer["ok"]) << answer;
        const ClassRate rate = in_kernel(remote_class).rate;
        close_session(session);
        return rate;
    };
    EXPECT_EQ(paced(), std::nullopt);
    for (int i = 0; i < 3; ++i) second(4);
    EXPECT_EQ(paced(), planned);
    EXPECT_EQ(lines("divisor factor none -> 1: 2 time-outs, 8 of 4000 segments sent again in 2.0 s"), 1U);
    for (int i = 0; i < 3; ++i) second(4);
    EXPECT_EQ(paced(), BytesPerSecond{703'125}) << "25 x 0.99 / 4.4";
    EXPECT_EQ(service_->planner().divisor_factor(), 1'100U);
    EXPECT_EQ(ask(connect(), "status")["feedback"]["divisor_factor"], 1.1);
    for (int i = 0; i < 25; ++i) second(0);
    EXPECT_EQ(paced(), std::nullopt);
    EXPECT_EQ(ask(connect(), "status")["feedback"]["divisor_factor"], nullptr);
    EXPECT_EQ(ask(connect(), "status")["feedback"]["timeouts"], 5);
}

TEST_F(FeedbackTest, AJobThatWasStartedFollowsAtOnce) {
    const auto root = connect(0);
    const Json job{{"job", "j"}, {"hosts", {"a[0-3]", "b[0-3]"}}, {"operation", "alltoall"}};
    ASSERT_TRUE(ask(root, "job_start", job)["ok"]) << ask(root, "job_start", job);
    EXPECT_EQ(in_kernel(remote_class).rate, planned);
    for (int i = 0; i < 6; ++i) second(4);
    EXPECT_EQ(in_kernel(remote_class).rate, BytesPerSecond{703'125});
}

TEST_F(FeedbackTest, AReloadKeepsWhatWasLearned) {
    for (int i = 0; i < 3; ++i) second(4);
    ASSERT_TRUE(service_->reload(service_->planner().config()));
    EXPECT_EQ(service_->planner().divisor_factor(), divisor_one);
}

TEST_F(FeedbackTest, OneLineWhenItsBoundDoesNotHelpAndOneWhenTheKernelDoesNotSay) {
    for (int i = 0; i < 100; ++i) second(4);
    EXPECT_EQ(lines("HW-602"), 1U);
    EXPECT_EQ(ask(connect(), "status")["feedback"]["at_its_bound"], true);
    for (int i = 0; i < 3; ++i) feedback_->look_failed({"not permitted"});
    EXPECT_EQ(lines("HW-601"), 1U);
    EXPECT_EQ(ask(connect(), "status")["feedback"]["readable"], false);
    second(0);
    EXPECT_EQ(ask(connect(), "status")["feedback"]["readable"], true);
}

TEST_F(FeedbackTest, WithoutItTheStatusSaysSo) {
    feedback_.reset();
    EXPECT_EQ(ask(connect(), "status")["feedback"], nullptr);
}

}  // namespace
}  // namespace headway::test
