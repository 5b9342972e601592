// SPDX-License-Identifier: Apache-2.0
// The daemon's service on node a0 of the demo's topology, with phases.
#pragma once

#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "control_service_fixture.hpp"
#include "fake_phase_maps.hpp"

namespace headway::test {

class PhaseServiceTest : public testing::Test {
protected:
    using Session = ControlService::SessionId;

    PhaseServiceTest() {
        kernel_.add_device("eth0", {20 * mbit});
        control_.emplace(*NetlinkTrafficControl::open(kernel_, "eth0"));
        auto planner = *NodePlanner::make(demo_config(), "unused");
        const auto layout = with_phases(planner.layout(), {17, 17});
        EXPECT_TRUE(control_->apply(layout.set_up, ApplyMode::in_order));
        service_.emplace(planner_.emplace(std::move(planner)), BytesPerSecond{20 * mbit / 8}, *control_, clock_);
        service_->use_phases(maps_, {17, 17});
    }

    void close_session(Session session) {
        service_->close(session);
        (void)service_->settle();
    }

    /// The descriptor that comes with the answer, if one does, is fd_ then.
    Json ask(Session session, const std::string& op, const Json& members = Json::object()) {
        Json request{{"v", 1}, {"id", 5}, {"op", op}};
        request.update(members);
        const ControlAnswer answer = service_->answer(session, request.dump());
        fd_ = answer.fd;
        (void)service_->settle();
        return Json::parse(answer.text);
    }

    FakeKernel kernel_;
    FakeClock clock_;
    std::optional<NetlinkTrafficControl> control_;
    FakePhaseMaps maps_{2};
    std::optional<NodePlanner> planner_;
    std::optional<ControlService> service_;
    int fd_ = -1;
};

}  // namespace headway::test
