// SPDX-License-Identifier: Apache-2.0
// A network that is computed, for what measures networks: hosts at a tree of links with
// capacity, delay and buffer, shared as bulks of frames share them.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "measure/host_tree.hpp"
#include "measure/laboratory.hpp"

namespace headway {

struct ComputedLink {
    double bytes_per_s = 125e6;
    double delay_s = 0;
    double buffer_bytes = 65536;
};

class ComputedLaboratory final : public Laboratory {
public:
    explicit ComputedLaboratory(HostTree tree) : tree_(std::move(tree)) {
        for (std::size_t node = 0; node < tree_.size(); ++node) {
            for (const bool is_up : {true, false}) links[{node, is_up}] = {};
        }
    }

    std::map<DirectedLink, ComputedLink> links;
    double noise = 0.002;      ///< relative, of rates
    double noise_s = 20e-9;    ///< of round trips, upwards
    std::uint64_t bytes_sent = 0;
    double shared_bytes = 0;   ///< memory of all ports to hosts, beyond which full ones divide it; 0: each has its own
    std::vector<SeenRoute> seen_routes;
    int late_bulks = 0;        ///< of the next ones of one flow, so many are over when the host begins

    void set_both(std::size_t node, ComputedLink link) {
        links[{node, true}] = links[{node, false}] = link;
    }

    [[nodiscard]] const HostTree& tree() const { return tree_; }
    [[nodiscard]] std::size_t host_count() const override { return tree_.host_count(); }
    [[nodiscard]] std::chrono::nanoseconds start_skew() const override { return std::chrono::microseconds(100); }

    [[nodiscard]] Result<BulkOutcome> run(const Bulk& bulk) override {
        const double seconds = std::chrono::duration<double>(bulk.duration).count();
        const auto rates = share(bulk.flows);
        std::map<DirectedLink, double> arriving, leaving;
        BulkOutcome outcome;
        for (std::size_t i = 0; i < bulk.flows.size(); ++i) {
            const double offered = offered_by(bulk.flows, i);
            const auto sent = static_cast<std::uint64_t>(offered * seconds / frame);
            const auto received = std::min(sent, static_cast<std::uint64_t>(rates[i] * seconds / frame));
            bytes_sent += static_cast<std::uint64_t>(offered * seconds);
            outcome.flows.push_back({sent, static_cast<std::uint64_t>(offered * seconds), received,
                                     rates[i] * (1 + noise * spread(random_)), bulk.flows[i].bytes_per_s == 0});
            for (const DirectedLink& link : tree_.path(bulk.flows[i])) {
                arriving[link] += offered;
                leaving[link] += rates[i];
            }
        }
        if (bulk.flows.size() == 1 && late_bulks > 0) {
            --late_bulks;
            outcome.flows = {{1, 1538, 1, 0, false}};
        }
        for (const Probe& probe : bulk.probes) outcome.probes.push_back(look(probe, arriving, leaving));
        return outcome;
    }

    [[nodiscard]] Result<std::vector<ProgramOutcome>> run(const Rounds&) override {
        return failure("there is no TCP here");
    }

    void connect_anew() override {}
    [[nodiscard]] Result<std::vector<SeenRoute>> routes() override { return seen_routes; }

private:
    static constexpr double frame = 1538, short_frame = 94;

    /// A host divides its interface between its flows.
    [[nodiscard]] double offered_by(const std::vector<Flow>& flows, std::size_t i) const {
        const auto own = std::count_if(flows.begin(), flows.end(),
                                       [&](const Flow& other) { return other.from == flows[i].from; });
        const double most = links.at({flows[i].from, true}).bytes_per_s / static_cast<double>(own);
        return flows[i].bytes_per_s > 0 ? std::min(most, flows[i].bytes_per_s) : most;
    }

    /// Progressive filling, up to what is offered.
    [[nodiscard]] std::vector<double> share(const std::vector<Flow>& flows) const {
        std::vector<double> rates(flows.size());
        std::vector<bool> is_done(flows.size());
        while (std::find(is_done.begin(), is_done.end(), false) != is_done.end()) {
            double step = 1e300;
            std::map<DirectedLink, std::pair<double, int>> use;
            for (std::size_t i = 0; i < flows.size(); ++i) {
                for (const DirectedLink& link : tree_.path(flows[i])) {
                    use[link].first += rates[i];
                    use[link].second += is_done[i] ? 0 : 1;
                }
                if (!is_done[i]) step = std::min(step, offered_by(flows, i) - rates[i]);
            }
            for (const auto& [link, load] : use) {
                if (load.second > 0) step = std::min(step, (links.at(link).bytes_per_s - load.first) / load.second);
            }
            for (std::size_t i = 0; i < flows.size(); ++i) rates[i] += is_done[i] ? 0 : step;
            for (std::size_t i = 0; i < flows.size(); ++i) {
                bool is_full = rates[i] >= offered_by(flows, i) - 1;
                for (const DirectedLink& link : tree_.path(flows[i])) {
                    double load = 0;
                    for (std::size_t k = 0; k < flows.size(); ++k) {
                        const auto path = tree_.path(flows[k]);
                        if (std::find(path.begin(), path.end(), link) != path.end()) load += rates[k];
                    }
                    is_full |= load >= links.at(link).bytes_per_s - 1;
                }
                is_done[i] = is_done[i] || is_full;
            }
        }
        return rates;
    }

    [[nodiscard]] ProbeOutcome look(const Probe& probe, const std::map<DirectedLink, double>& arriving,
                                    const std::map<DirectedLink, double>& leaving) {
        ProbeOutcome outcome;
        outcome.wire_bytes = probe.is_full_frame ? frame : short_frame;
        const auto is_full = [&](const auto& entry) {
            return !entry.first.is_up && tree_.is_host(entry.first.node) && entry.second > 1.001 * links.at(entry.first).bytes_per_s;
        };
        const auto full_ports = static_cast<double>(std::ranges::count_if(arriving, is_full));
        double idle_s = 4e-6;  // of the stacks
        double waits_s = 0;
        for (const Flow flow : {Flow{probe.from, probe.to}, Flow{probe.to, probe.from}}) {
            for (const DirectedLink& link : tree_.path(flow)) {
                const ComputedLink& one = links.at(link);
                idle_s += one.delay_s + outcome.wire_bytes / one.bytes_per_s;
                const auto in = arriving.find(link);
                if (in == arriving.end() || in->second <= 1.001 * one.bytes_per_s) continue;
                // only where the frames get that far
                double buffer_bytes = one.buffer_bytes;
                if (shared_bytes > 0 && is_full(*in)) buffer_bytes = std::min(buffer_bytes, shared_bytes / full_ports);
                if (leaving.at(link) >= 0.999 * one.bytes_per_s) waits_s += buffer_bytes * frame / 1514 / one.bytes_per_s;
            }
        }
        for (std::uint32_t i = 0; i < probe.count; ++i)
            outcome.round_trip_s.push_back(idle_s + waits_s + noise_s * std::abs(spread(random_)));
        std::sort(outcome.round_trip_s.begin(), outcome.round_trip_s.end());
        return outcome;
    }

    HostTree tree_;
    std::minstd_rand random_{7};
    std::uniform_real_distribution<double> spread{-1, 1};
};

}  // namespace headway
