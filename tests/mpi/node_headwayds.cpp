// SPDX-License-Identifier: Apache-2.0
// The real headwayd's planner, control service and sockets, for tests of the MPI
// helper; only the kernel, its maps and its device are fakes.
//
//   node_headwayds CONFIG FOLDER
//
// listens on FOLDER/NODE.sock for every node of the configuration, as its daemon
// would on that node; says "ready"; ends when its input does.
#include <spdlog/logger.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include <iostream>
#include <memory>

#include <spdlog/sinks/stdout_sinks.h>

#include "daemon/control_server.hpp"
#include "fake_kernel.hpp"
#include "fake_phase_maps.hpp"
#include "kernel/netlink_traffic_control.hpp"

namespace headway::test {
namespace {

class NodeDaemon {
public:
    NodeDaemon(const Config& config, const std::string& node, const std::string& folder,
               sd_event* event, spdlog::logger& log)
        : planner_(*NodePlanner::make(config, node)),
          link_rate_(BytesPerSecond{planner_.own_cluster().host_rate.value / 8}),
          kernel_(make_kernel(link_rate_)),
          control_(*NetlinkTrafficControl::open(*kernel_, "eth0")),
          maps_(static_cast<std::uint32_t>(planner_.layout().classes.size())),
          socket_(*ControlSocket::bind(folder + "/" + node + ".sock", std::nullopt)) {
        const auto layout = with_phases(planner_.layout(), {17, 17});
        if (!control_.apply(layout.set_up, ApplyMode::in_order) || !socket_.listen()) std::abort();
        service_ = std::make_unique<ControlService>(planner_, link_rate_, control_, clock_);
        service_->use_phases(maps_, {17, 17});
        server_ = *ControlServer::start(event, socket_.fd(), *service_, log);
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
    ControlSocket socket_;
    std::unique_ptr<ControlService> service_;
    std::unique_ptr<ControlServer> server_;
};

int end_loop(sd_event_source* source, int, std::uint32_t, void*) {
    return sd_event_exit(sd_event_source_get_event(source), 0);
}

int run(const std::string& file, const std::string& folder) {
    const auto config = load_config(file);
    if (!config) {
        std::cerr << config.error().front().to_string() << "\n";
        return 2;
    }
    spdlog::logger log("node_headwayds", std::make_shared<spdlog::sinks::stderr_sink_st>());
    sd_event* event = nullptr;
    if (sd_event_new(&event) < 0) return 1;
    std::vector<std::unique_ptr<NodeDaemon>> daemons;
    for (const Cluster& cluster : config->topology.clusters()) {
        for (const std::string& node : cluster.hosts) {
            daemons.push_back(std::make_unique<NodeDaemon>(*config, node, folder, event, log));
        }
    }
    if (sd_event_add_io(event, nullptr, STDIN_FILENO, EPOLLIN | EPOLLHUP, end_loop, nullptr) < 0) {
        return 1;
    }
    std::cout << "ready" << std::endl;
    const int status = sd_event_loop(event);
    daemons.clear();
    sd_event_unref(event);
    return status;
}

}  // namespace
}  // namespace headway::test

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    return headway::test::run(argv[1], argv[2]);
}
