// SPDX-License-Identifier: Apache-2.0
// The same all-to-all on the same tree by PlogPT and by SimGrid: messages per
// second of both, and what both predict.
//   simgrid_bench a|b PROCESSES
// Prints one line: algorithm, processes, messages, for PlogPT and SimGrid the
// messages simulated per second of processor time, the ratio, the predicted times in s, and their
// difference in per cent.
//
// SimGrid is its S4U interface with network model CM02, without what that adds
// to plain sharing of bandwidth: cross-traffic, TCP's window, correction factors.
// Its time is that of Engine::run(); platform and actors are made before.
//
// RTO cannot occur (policy none).  Algorithm B has latency 0: a wait of SimGrid's
// for a send waits for the message's arrival, PlogPT's does not.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <simgrid/s4u.hpp>

#include "oversubscribed.hpp"

namespace headway::bench {
namespace {

namespace sg = simgrid::s4u;
using Algorithm = PlogptAlltoall::Algorithm;

constexpr double message_bytes = 100e3;

struct Case {
    Algorithm algorithm;
    std::uint32_t processes;
    PlogptSystem system;
};

struct Outcome {
    double predicted_s = 0;
    double messages_per_s = 0;
};

/// Simulates and looks at the processor's clock, as others use the processor,
/// too; `run` gives the predicted time.
template <class Run>
Outcome measure(const Case& of, Run run) {
    const std::clock_t start = std::clock();
    const double predicted_s = run();
    const double took_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    return {predicted_s, of.processes * (of.processes - 1.0) / took_s};
}

/// As often as it takes to take time.
Outcome plogpt(const Case& of) {
    const auto programs = *PlogptAlltoall::make(of.algorithm, of.processes, message_bytes);
    const int times = static_cast<int>(200'000 / (of.processes * of.processes)) + 1;
    Outcome outcome = measure(of, [&] {
        double predicted_s = 0;
        for (int i = 0; i < times; ++i) {
            predicted_s = simulate_plogpt(of.system, programs, {})->makespan_s;
        }
        return predicted_s;
    });
    outcome.messages_per_s *= times;
    return outcome;
}

// ---------------------------------------------------------------------- SimGrid

void configure() {
    for (const char* setting :
         {"network/model:CM02", "network/crosstraffic:0", "network/latency-factor:1",
          "network/bandwidth-factor:1", "network/weight-S:0", "network/TCP-gamma:1e30",
          "surf/precision:1e-9", "maxmin/precision:1e-9", "contexts/stack-size:64"}) {
        sg::Engine::set_config(setting);
    }
}

/// The tree's edges as links in each direction, and a route for every pair.
class Platform {
public:
    explicit Platform(const Case& of) : zone_(sg::create_full_zone("tree")) {
        const unsigned levels = PlogptTree::height_of(0, of.processes - 1);
        for (unsigned h = 1; h <= levels; ++h) {
            links_.emplace_back();
            for (std::uint32_t below = 0; below < of.processes >> (h - 1); ++below) {
                for (const char* way : {"up", "down"}) {
                    auto* link = zone_->create_link(fmt::format("{}{}.{}", way, h, below),
                                                    of.system.tree.bandwidth(h));
                    // every pair crosses two links at the leaves
                    link->set_latency(h == 1 ? of.system.latency_s / 2 : 0);
                    links_.back().push_back(link->seal());
                }
            }
        }
        for (std::uint32_t rank = 0; rank < of.processes; ++rank) {
            hosts_.push_back(zone_->create_host(fmt::format("h{}", rank), 1e9)->seal());
        }
        for (std::uint32_t from = 0; from < of.processes; ++from) {
            for (std::uint32_t to = 0; to < of.processes; ++to) {
                if (from != to) add_route(from, to);
            }
        }
        zone_->seal();
    }

    [[nodiscard]] const std::vector<sg::Host*>& hosts() const { return hosts_; }

private:
    void add_route(std::uint32_t from, std::uint32_t to) {
        std::vector<sg::LinkInRoute> route;
        const unsigned height = PlogptTree::height_of(from, to);
        for (unsigned h = 1; h <= height; ++h) {
            route.emplace_back(links_[h - 1][2 * (from >> (h - 1))]);
        }
        for (unsigned h = height; h >= 1; --h) {
            route.emplace_back(links_[h - 1][2 * (to >> (h - 1)) + 1]);
        }
        zone_->add_route(hosts_[from]->get_netpoint(), hosts_[to]->get_netpoint(), nullptr,
                         nullptr, route, false);
    }

    sg::NetZone* zone_;
    std::vector<sg::Host*> hosts_;
    std::vector<std::vector<sg::Link*>> links_;  ///< [height - 1][2 * edge + down]
};

/// A process of an all-to-all; its mailboxes are looked up beforehand.
class Process {
public:
    Process(const Case& of, std::uint32_t rank, double bytes) : of_(of), bytes_(bytes) {
        for (std::uint32_t i = 1; i < of.processes; ++i) {
            to_.push_back(mailbox(rank, rank ^ i));
            from_.push_back(mailbox(rank ^ i, rank));
        }
    }

    void operator()() {
        if (of_.algorithm == Algorithm::a) run_a();
        else run_b();
    }

private:
    static sg::Mailbox* mailbox(std::uint32_t from, std::uint32_t to) {
        return sg::Mailbox::by_name(fmt::format("{}>{}", from, to));
    }

    void run_a() {
        for (std::size_t i = 0; i < to_.size(); ++i) {
            const auto received = from_[i]->get_async<int>(&buffer_);
            const auto sent = to_[i]->put_async(&token_, bytes());
            received->wait();
            sent->wait();
        }
    }

    void run_b() {
        std::vector<int*> buffers(from_.size());
        std::vector<sg::CommPtr> received;
        for (std::size_t i = 0; i < from_.size(); ++i) {
            received.push_back(from_[i]->get_async<int>(&buffers[i]));
        }
        for (sg::Mailbox* to : to_) to->put_async(&token_, bytes())->wait();
        for (const sg::CommPtr& comm : received) comm->wait();
    }

    [[nodiscard]] std::uint64_t bytes() const { return static_cast<std::uint64_t>(bytes_); }

    const Case& of_;
    double bytes_;
    std::vector<sg::Mailbox*> to_;
    std::vector<sg::Mailbox*> from_;
    int* buffer_ = nullptr;
    int token_ = 0;
};

Outcome simgrid(const Case& of, int* argc, char** argv) {
    sg::Engine engine(argc, argv);
    configure();
    const Platform platform(of);
    // PlogPT moves a message's gap at the bandwidth of a leaf.
    const double bytes =
        of.system.tree.bandwidth(1) * of.system.gap(message_bytes);
    for (std::uint32_t rank = 0; rank < of.processes; ++rank) {
        sg::Actor::create(fmt::format("p{}", rank), platform.hosts()[rank],
                          Process(of, rank, bytes));
    }
    return measure(of, [&] {
        engine.run();
        return sg::Engine::get_clock();
    });
}

int run(int argc, char** argv) {
    const std::string_view name = argc > 1 ? argv[1] : "";
    const auto processes = argc > 2 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 0;
    const bool a = name == "a";
    if ((!a && name != "b") || processes < 2 || (processes & (processes - 1)) != 0) {
        std::fputs("usage: simgrid_bench a|b PROCESSES (a power of two)\n", stderr);
        return 2;
    }
    const unsigned height = PlogptTree::height_of(0, processes - 1);
    const Case of{a ? Algorithm::a : Algorithm::b, processes,
                  oversubscribed(height, a ? 50e-6 : 0)};
    const Outcome ours = plogpt(of);
    const Outcome theirs = simgrid(of, &argc, argv);
    fmt::print("{} {} {} {:.0f} {:.0f} {:.1f} {:.9f} {:.9f} {:+.6f}\n", name, processes,
               processes * (processes - 1), ours.messages_per_s, theirs.messages_per_s,
               ours.messages_per_s / theirs.messages_per_s, ours.predicted_s, theirs.predicted_s,
               100 * (ours.predicted_s / theirs.predicted_s - 1));
    return 0;
}

}  // namespace
}  // namespace headway::bench

int main(int argc, char** argv) { return headway::bench::run(argc, argv); }
