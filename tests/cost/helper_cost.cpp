// SPDX-License-Identifier: Apache-2.0
// What it costs a process to enter and leave exchanges by libheadway, as the MPI helper does
// beneath MPI calls.  The daemon is a scripted one in another thread, which does not count.
//
//   helper_cost OTHERS COUNT...
//
// The process has COUNT of OTHERS, which are one of
//   patterns  exchanges that it has described and entered before
//   entered   exchanges that it is in already, as with nonblocking collectives
//   hosts     of its job
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "counted.hpp"
#include "headway.h"
#include "unit/mpi_glue/scripted_daemon.hpp"

namespace headway::cost {
namespace {

using glue::test::Json;
using glue::test::ScriptedDaemon;

constexpr int most_hosts = 1024;  // as many exchanges have a root of their own
constexpr std::uint64_t message_bytes = 1 << 20;

class Process {
public:
    Process(ScriptedDaemon& daemon, int hosts) {
        const std::string path = daemon.path();
        const headway_options options{sizeof(options), "job", 0, path.c_str(), 60'000, 0, 0};
        session_ = headway_open(&options);
        std::vector<const char*> pointers;
        for (int h = 0; h < hosts; ++h) names_.push_back(fmt::format("node{}", h));
        for (const std::string& name : names_) pointers.push_back(name.c_str());
        if (headway_set_hosts(session_, pointers.data(), pointers.size(), 1) != 0) give_up();
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process() { headway_close(session_); }

    /// Returns the exchange of that host with all others, to it or from it.
    headway_exchange* exchange(const char* operation, std::size_t root) {
        auto* const found = headway_exchange_of(session_, operation, names_.at(root).c_str());
        if (found == nullptr) give_up();
        return found;
    }
    std::uint64_t enter(headway_exchange* exchange) {
        const std::uint64_t entry = headway_enter(session_, exchange, message_bytes);
        if (entry == 0) give_up();
        return entry;
    }
    void leave(std::uint64_t entry) { headway_leave(session_, entry); }

private:
    /// Ends the program, which would count something else than it says.
    [[noreturn]] void give_up() const {
        std::fprintf(stderr, "helper_cost: %s\n", headway_reason(session_));
        std::exit(1);
    }

    headway_session* session_;
    std::vector<std::string> names_;
};

/// The last exchange is found, entered and left again, then one that is new.
void count_exchange(Process& process, const std::string& prefix, std::size_t known) {
    headway_exchange* exchange = nullptr;
    std::uint64_t entry = 0;
    count(prefix + "find", [&] { exchange = process.exchange("gather", known - 1); });
    count(prefix + "enter", [&] { entry = process.enter(exchange); });
    count(prefix + "leave", [&] { process.leave(entry); });
    exchange = process.exchange("scatter", 0);
    count(prefix + "first", [&] { entry = process.enter(exchange); });
    process.leave(entry);
}

void run(ScriptedDaemon& daemon, const std::string& others, int number) {
    Process process(daemon, others == "hosts" ? number + 1 : most_hosts);
    const std::size_t patterns = others == "patterns" ? static_cast<std::size_t>(number) : 1;
    for (std::size_t root = 0; root < patterns; ++root) {
        process.leave(process.enter(process.exchange("gather", root)));
    }
    const int entered = others == "entered" ? number : 0;
    for (int i = 0; i < entered; ++i) process.enter(process.exchange("gather", 0));
    // another one first: what a first question needs once is no part of the second
    process.leave(process.enter(process.exchange("scatter", 1)));
    count_exchange(process, fmt::format("{}/{}/", others, number), patterns);
}

}  // namespace
}  // namespace headway::cost

int main(int argc, char** argv) {
    using headway::glue::test::Json;
    headway::glue::test::ScriptedDaemon daemon;
    // The daemon plans for the algorithm that it is asked about.
    for (const char* op : {"prepare", "phase"}) {
        daemon.answers[op] = [plan = daemon.answers[op]](const Json& request) {
            auto answer = plan(request);
            (*answer)["algorithm"] = request.at("algorithm");
            return answer;
        };
    }
    daemon.start();
    for (int i = 2; i < argc; ++i) headway::cost::run(daemon, argv[1], std::atoi(argv[i]));
    return 0;
}
