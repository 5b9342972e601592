// SPDX-License-Identifier: Apache-2.0
// When the other hosts are told of this node's jobs.
#include "daemon/coordination_loop.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

#include "control_service_fixture.hpp"

namespace headway::test {
namespace {

class CoordinationLoopTest : public ControlServiceTest {
protected:
    CoordinationLoopTest() {
        Config config = demo_config();
        config.coordination = CoordinationConfig{};
        config.coordination->endpoints = {"http://127.0.0.1:2379"};
        start(std::move(config));
        watcher_ = connect();
        reconciler_.emplace(service_->kernel(), clock_, *service_);
        // stands for headway-etcd: says nothing, and ends with its input
        coordination_.emplace(loop_, *service_, service_->kernel(), *reconciler_, log_,
                              std::vector<std::string>{"/bin/sh", "-c", "exec cat >/dev/null"});
    }

    /// Without waiting for anything.
    void run_what_is_there() {
        while (sd_event_run(loop_.get(), 0) > 0) {
        }
    }

    Json jobs_told() { return ask(watcher_, "status")["coordination"]["jobs"]; }

    EventLoop loop_;
    spdlog::logger log_{"test", std::make_shared<spdlog::sinks::null_sink_mt>()};
    std::optional<Reconciler> reconciler_;
    std::optional<CoordinationLoop> coordination_;
    ControlService::SessionId watcher_;
};

TEST_F(CoordinationLoopTest, TellsOfAJobInTheTurnThatBeganIt) {
    const auto started = coordination_->start();
    ASSERT_TRUE(started) << started.error().message;
    run_what_is_there();
    EXPECT_EQ(jobs_told(), 0);
    const auto client = connect();
    const EventSource begins = loop_.deferred([&] {
        ask(client, "hello", {{"job", "12.0"}});
        ask(client, "prepare", everybody);
    });
    const EventSource ends = loop_.deferred([&] { close_session(client); });
    sd_event_source_set_enabled(begins.get(), SD_EVENT_ONESHOT);
    run_what_is_there();
    EXPECT_EQ(jobs_told(), 1) << "not only with the next tick of the guard's timer";
    sd_event_source_set_enabled(ends.get(), SD_EVENT_ONESHOT);
    run_what_is_there();
    EXPECT_EQ(jobs_told(), 0);
}

}  // namespace
}  // namespace headway::test
