// SPDX-License-Identifier: Apache-2.0
// headwayd of one node: its planner, control service and socket are the real ones; only the
// kernel, its maps and its device are fakes.
#pragma once

#include <spdlog/logger.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "daemon/control_server.hpp"
#include "fake_kernel.hpp"
#include "fake_phase_maps.hpp"
#include "kernel/netlink_traffic_control.hpp"

namespace headway::test {

class NodeDaemon {
public:
    /// Listens on FOLDER/NODE.sock.
    NodeDaemon(const Config& config, const std::string& node, const std::string& folder,
               EventLoop& loop, spdlog::logger& log)
        : planner_(*NodePlanner::make(config, node)),
          link_rate_(BytesPerSecond{planner_.own_cluster().host_rate.value / 8}),
          kernel_(make_kernel(link_rate_)),
          control_(*NetlinkTrafficControl::open(*kernel_, "eth0")),
          maps_(static_cast<std::uint32_t>(planner_.layout().classes.size())),
          path_(folder + "/" + node + ".sock"),
          socket_(*ControlSocket::bind(path_, std::nullopt)),
          hand_over_(nullptr, log) {
        const auto layout = with_phases(planner_.layout(), {17, 17});
        if (!control_.apply(layout.set_up, ApplyMode::in_order) || !socket_.listen()) std::abort();
        service_ = std::make_unique<ControlService>(planner_, link_rate_, control_, clock_);
        service_->use_phases(maps_, {17, 17});
        server_ = std::make_unique<ControlServer>(loop, socket_.fd(), *service_, hand_over_, log);
    }

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] BytesPerSecond link_rate() const { return link_rate_; }

    /// That packets of sockets of that user leave at now, by class of the layout.
    [[nodiscard]] std::vector<ClassRate> rates(std::uint32_t uid) const {
        std::vector<ClassRate> rates;
        for (std::uint32_t trunk = 0; trunk < planner_.layout().classes.size(); ++trunk) {
            const auto choice = maps_.classify(trunk, 0, uid);
            rates.push_back(rate_in(kernel_->device("eth0").root, choice.minor, choice.entry));
        }
        return rates;
    }

private:
    static std::unique_ptr<FakeKernel> make_kernel(BytesPerSecond link_rate) {
        auto kernel = std::make_unique<FakeKernel>();
        kernel->add_device("eth0", link_rate.bits());
        return kernel;
    }

    NodePlanner planner_;
    BytesPerSecond link_rate_;
    std::unique_ptr<FakeKernel> kernel_;
    NetlinkTrafficControl control_;
    SteadyClock clock_;
    FakePhaseMaps maps_;
    std::string path_;
    ControlSocket socket_;
    HandOver hand_over_;
    std::unique_ptr<ControlService> service_;
    std::unique_ptr<ControlServer> server_;
};

}  // namespace headway::test
