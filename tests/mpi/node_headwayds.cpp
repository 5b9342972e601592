// SPDX-License-Identifier: Apache-2.0
// The real headwayd's planner, control service and sockets, for tests of the MPI
// helper; only the kernel, its maps and its device are fakes.
//
//   node_headwayds CONFIG FOLDER
//
// listens on FOLDER/NODE.sock for every node of the configuration, as its daemon
// would on that node; says "ready"; ends when its input does.
#include <unistd.h>

#include <iostream>
#include <memory>

#include <spdlog/sinks/stdout_sinks.h>

#include "node_daemon.hpp"

namespace headway::test {
namespace {

int run(const std::string& file, const std::string& folder) {
    const auto config = load_config(file);
    if (!config) {
        std::cerr << config.error().front().to_string() << "\n";
        return 2;
    }
    spdlog::logger log("node_headwayds", std::make_shared<spdlog::sinks::stderr_sink_st>());
    EventLoop loop;
    std::vector<std::unique_ptr<NodeDaemon>> daemons;
    for (const Cluster& cluster : config->topology.clusters()) {
        for (const std::string& node : cluster.hosts) {
            daemons.push_back(std::make_unique<NodeDaemon>(*config, node, folder, loop, log));
        }
    }
    const EventSource end = loop.readable(STDIN_FILENO, "the end of the input",
                                          [&] { sd_event_exit(loop.get(), 0); });
    if (!loop.check()) return 1;
    std::cout << "ready" << std::endl;
    return loop.run() ? 0 : 1;
}

}  // namespace
}  // namespace headway::test

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    return headway::test::run(argv[1], argv[2]);
}
