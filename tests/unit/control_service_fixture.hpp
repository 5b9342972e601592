// SPDX-License-Identifier: Apache-2.0
// A ControlService with the demo's topology before a fake kernel.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/limits.hpp"
#include "daemon/control_service.hpp"
#include "fake_clock.hpp"
#include "fake_kernel.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "topologies.hpp"

namespace headway::test {

using namespace std::chrono_literals;

inline constexpr std::uint32_t own_class = 0x10010;
inline constexpr std::uint32_t remote_class = 0x10011;
/// The rate in the worked example in alltoall_plan.hpp.
inline const ClassRate planned = BytesPerSecond{773'437};

inline Config demo_config() {
    Config config;
    config.file = "/etc/headway/headway.toml";
    config.node.name = "a0";
    config.topology = demo_topology();
    return config;
}

class ControlServiceTest : public testing::Test {
protected:
    ControlServiceTest() {
        kernel_.add_device("eth0", {20 * mbit});
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        start(demo_config());
    }

    void start(Config config) {
        auto planner = NodePlanner::make(std::move(config), "unused");
        ASSERT_TRUE(planner) << planner.error().message;
        const KernelLayout layout = planner->layout();
        kernel_.device("eth0").root = FakeDevice{}.root;
        ASSERT_TRUE(control_->apply(layout.set_up, ApplyMode::in_order));
        service_.emplace(planner_.emplace(std::move(*planner)), BytesPerSecond{20 * mbit / 8}, *control_, clock_);
    }

    ControlService::SessionId connect(uid_t uid = 1000) {
        return *service_->open({.pid = 42, .uid = uid});
    }

    void close_session(ControlService::SessionId session) {
        service_->close(session);
        (void)service_->settle();
    }

    /// With what the daemon's loop does after a request.
    Json ask(ControlService::SessionId session, const std::string& op,
             const Json& members = Json::object()) {
        Json request{{"v", 1}, {"id", 5}, {"op", op}};
        request.update(members);
        Json answer = Json::parse(service_->answer(session, request.dump()).text);
        (void)service_->settle();
        if (answer.contains("left")) answer = Json::parse(text_of_pieces(session, answer));
        EXPECT_EQ(answer["v"], 1);
        EXPECT_EQ(answer["id"], 5);
        return answer;
    }

    /// Puts an answer together that is longer than a datagram.
    std::string text_of_pieces(ControlService::SessionId session, Json piece) {
        std::string text = piece["text"].get<std::string>();
        while (piece["left"] > 0) {
            const ControlAnswer next = service_->answer(session, R"({"v":1,"id":5,"op":"more"})");
            EXPECT_LE(next.text.size(), datagram_max_bytes);
            piece = Json::parse(next.text);
            text += piece["text"].get<std::string>();
        }
        return text;
    }

    FakeClass& in_kernel(std::uint32_t classid) {
        return kernel_.device("eth0").root.classes.at(classid);
    }
    void expect_at_rest() {
        EXPECT_EQ(in_kernel(own_class), FakeClass{});
        EXPECT_EQ(in_kernel(remote_class), FakeClass{});
    }

    const Json everybody{{"operation", "alltoall"},
                         {"job_hosts", {"a[0-3]", "b[0-3]"}},
                         {"comm_hosts", {"a[0-3]", "b[0-3]"}}};

    FakeKernel kernel_;
    FakeClock clock_;
    std::optional<NetlinkTrafficControl> control_;
    std::optional<NodePlanner> planner_;
    std::optional<ControlService> service_;
};

}  // namespace headway::test
