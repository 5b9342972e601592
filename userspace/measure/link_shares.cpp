// SPDX-License-Identifier: Apache-2.0
#include "measure/link_shares.hpp"

#include <algorithm>

namespace headway {
namespace {

constexpr std::uint64_t share_bytes = 512 << 10;
constexpr std::uint32_t share_rounds = 9;  // the first is not counted: it finds connections that have rested

using Place = SharedLink::Place;

/// 1, 2, 4 .. and all.
std::vector<std::size_t> flow_counts(std::size_t all) {
    std::vector<std::size_t> counts;
    for (std::size_t flows = 1; flows < all; flows *= 2) counts.push_back(flows);
    if (all > 0) counts.push_back(all);
    return counts;
}

/// Returns each flow's mean rate, by the times at which one host has seen messages or their answers
/// come.
std::vector<double> rates_seen_by(const ProgramOutcome& outcome, std::size_t flows) {
    std::vector<double> rates(flows, 0);
    for (std::size_t round = 1; round < outcome.received_s.size(); ++round) {
        for (std::size_t i = 0; i < flows; ++i)
            rates[i] += static_cast<double>(share_bytes) / outcome.received_s[round].at(i);
    }
    for (double& rate : rates) rate /= static_cast<double>(outcome.received_s.size() - 1);
    return rates;
}

double seconds_of_rounds(const ProgramOutcome& outcome) {
    double sum = 0;
    for (std::size_t round = 1; round < outcome.received_s.size(); ++round)
        sum += *std::ranges::max_element(outcome.received_s[round]);
    return sum / static_cast<double>(outcome.received_s.size() - 1);
}

SharedLink shared(Place place, std::size_t node, const std::vector<double>& rates, double seconds) {
    const auto [least, most] = std::ranges::minmax(rates);
    return {place, node, rates.size(), static_cast<double>(rates.size() * share_bytes) / seconds, least, most};
}

class ShareMeasurement {
public:
    ShareMeasurement(Laboratory& laboratory, const MeasuredNetwork& network, const std::function<void()>& advance)
        : laboratory_(laboratory), network_(network), advance_(advance) {
        for (std::size_t other = 1; other < laboratory.host_count(); ++other) nearest_.push_back(other);
        std::ranges::stable_sort(nearest_, {},
                                 [&](std::size_t other) { return network.tree.path({other, 0}).size(); });
    }

    Result<MeasuredShares> run() {
        for (const std::size_t flows : flow_counts(nearest_.size())) {
            for (const Place place : {Place::out_of_host, Place::into_host}) {
                if (auto done = measure_host(place, flows); !done) return tl::unexpected(done.error());
            }
        }
        for (const std::size_t trunk : network_.tree.trunks()) {
            const auto pairs = pairs_across(network_.tree, trunk);
            for (const std::size_t flows : flow_counts(pairs.size())) {
                if (auto done = measure_trunk(trunk, std::span(pairs).first(flows)); !done)
                    return tl::unexpected(done.error());
            }
        }
        if (nearest_.size() >= 3) {
            if (auto done = measure_both_ways(); !done) return tl::unexpected(done.error());
        }
        return std::move(found_);
    }

private:
    Result<std::vector<ProgramOutcome>> run(std::vector<HostProgram> programs) {
        auto outcomes = laboratory_.run({std::move(programs), share_rounds, true});
        advance_();
        return outcomes;
    }

    /// The host begins a round: nobody who sends runs ahead.
    Result<void> measure_host(Place place, std::size_t flows) {
        const bool is_in = place == Place::into_host;
        HostProgram host{0, {{}, {}}};
        std::vector<HostProgram> programs{host};
        for (const std::size_t peer : std::span(nearest_).first(flows)) {
            const std::uint64_t asked = is_in ? 1 : share_bytes, answered = is_in ? share_bytes : 1;
            programs[0].steps[0].send.push_back({peer, asked});
            programs[0].steps[1].receive.push_back({peer, answered});
            programs.push_back({peer, {{{}, {{0, asked}}}, {{{0, answered}}, {}}}});
        }
        const auto outcomes = run(std::move(programs));
        if (!outcomes) return tl::unexpected(outcomes.error());
        const ProgramOutcome& seen = outcomes->front();
        found_.links.push_back(shared(place, 0, rates_seen_by(seen, flows), seconds_of_rounds(seen)));
        return {};
    }

    /// Pairs that do not wait for each other: each sender sees its receiver's answer.
    Result<void> measure_trunk(std::size_t trunk, std::span<const Flow> pairs) {
        std::vector<HostProgram> programs;
        for (const Flow& pair : pairs) programs.push_back({pair.from, {{{{pair.to, share_bytes}}, {}}, {{}, {{pair.to, 1}}}}});
        for (const Flow& pair : pairs) programs.push_back({pair.to, {{{}, {{pair.from, share_bytes}}}, {{{pair.from, 1}}, {}}}});
        const auto outcomes = run(std::move(programs));
        if (!outcomes) return tl::unexpected(outcomes.error());
        std::vector<double> rates;
        double longest_s = 0;
        for (const ProgramOutcome& seen : std::span(*outcomes).first(pairs.size())) {
            rates.push_back(rates_seen_by(seen, 1).front());
            longest_s = std::max(longest_s, seconds_of_rounds(seen));
        }
        found_.links.push_back(shared(Place::across_trunk, trunk, rates, longest_s));
        return {};
    }

    Result<void> measure_both_ways() {
        const std::size_t first = nearest_[0], second = nearest_[1], receiver = nearest_[2];
        HostProgram host{0, {{{{first, 1}, {second, 1}, {receiver, share_bytes}}, {}},
                             {{}, {{first, share_bytes}, {second, share_bytes}, {receiver, 1}}}}};
        const auto sender = [](std::size_t peer) { return HostProgram{peer, {{{}, {{0, 1}}}, {{{0, share_bytes}}, {}}}}; };
        const auto outcomes = run({std::move(host), sender(first), sender(second),
                                   {receiver, {{{}, {{0, share_bytes}}}, {{{0, 1}}, {}}}}});
        if (!outcomes) return tl::unexpected(outcomes.error());
        const auto rates = rates_seen_by(outcomes->front(), 3);
        found_.both_ways = FlowsBothWays{(rates[0] + rates[1]) / 2, rates[2]};
        return {};
    }

    Laboratory& laboratory_;
    const MeasuredNetwork& network_;
    const std::function<void()>& advance_;
    std::vector<std::size_t> nearest_;  ///< to the first host: those of its switch first
    MeasuredShares found_;
};

}  // namespace

Result<MeasuredShares> measure_shares(Laboratory& laboratory, const MeasuredNetwork& network,
                                      const std::function<void()>& advance) {
    return ShareMeasurement(laboratory, network, advance).run();
}

}  // namespace headway
