// SPDX-License-Identifier: Apache-2.0
#include "models/congestion.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "models/congestion_resources.hpp"
#include "plan/compensated_sum.hpp"
#include "plan/max_min.hpp"

namespace headway {
namespace {

using Id = CongestionResources::Id;
constexpr double tolerance = CongestionResources::tolerance;

Result<void> check_bandwidths(const CongestionPattern& pattern) {
    const double unshared = pattern.unshared_bandwidth.value_or(pattern.nic_bandwidth);
    if (!(pattern.nic_bandwidth > 0) || !std::isfinite(pattern.nic_bandwidth)) {
        return failure("the bandwidth of a NIC must be positive and finite");
    }
    if (!(pattern.backbone_bandwidth > 0)) {
        return failure("a backbone's bandwidth must be positive");
    }
    if (!(unshared > 0)) return failure("the bandwidth of an unshared link must be positive");
    return {};
}

Result<void> check(const CongestionPattern& pattern) {
    if (auto good = check_bandwidths(pattern); !good) return good;
    const std::size_t nodes = pattern.rack_of_node.size();
    // both kinds of numbers become ids of directed resources
    constexpr std::size_t most = std::size_t{1} << 29;
    if (nodes > most || pattern.links.size() > most) {
        return failure("more than {} nodes or links", most);
    }
    for (std::size_t node = 0; node < nodes; ++node) {
        if (pattern.rack_of_node[node] >= nodes) {
            return failure("node {}: there are fewer racks than {}", node,
                           pattern.rack_of_node[node]);
        }
    }
    for (std::size_t link = 0; link < pattern.links.size(); ++link) {
        const auto [source, destination] = pattern.links[link];
        if (source >= nodes || destination >= nodes) {
            return failure("link {}: there is no node {}", link, std::max(source, destination));
        }
    }
    return {};
}

/// The largest factor of the first sets of a link, without those of `emptied`.
double worst_factor(const CongestionResources& resources, const CongestionResources::Set& set,
                    unsigned emptied) {
    double worst = 0;
    for (std::size_t i = 0; i < CongestionResources::sets_of_paper; ++i) {
        if ((emptied >> i & 1) == 0) worst = std::max(worst, resources.factor(set[i]));
    }
    return worst;
}

class Algorithm1 {
public:
    Algorithm1(const CongestionPattern& pattern, CongestionVariant variant)
        : pattern_(pattern),
          feasible_(variant == CongestionVariant::feasible),
          resources_(pattern),
          unshared_(pattern.unshared_bandwidth.value_or(pattern.nic_bandwidth)),
          bandwidth_(pattern.links.size()),
          emptied_(pattern.links.size(),
                   variant == CongestionVariant::fairness_only ? all_sets : 0),
          waiting_(resources_.count()),
          done_(resources_.count()) {
        for (Id id = 0; id < resources_.count(); ++id) waiting_[id] = resources_.users(id);
    }

    Result<std::vector<double>> run() {
        for (std::uint32_t link = 0; link < pattern_.links.size(); ++link) enqueue(link);
        while (!queue_.empty()) {
            auto next = queue_.extract(queue_.begin());
            const Key& key = next.key();
            std::vector<std::uint32_t>& links = next.mapped();
            // those that came back came in another order
            if (!std::is_sorted(links.begin(), links.end())) std::sort(links.begin(), links.end());
            for (const std::uint32_t link : links) {
                auto bandwidth = key.with_flow >= key.contra_flow
                                     ? with_flow_bandwidth(link, key)
                                     : contra_flow_bandwidth(link, key);
                if (!bandwidth) return tl::unexpected(bandwidth.error());
                if (*bandwidth) assign(link, **bandwidth);
                else enqueue(link);  // under a smaller key
            }
        }
        return std::move(bandwidth_);
    }

private:
    static constexpr std::uint8_t all_sets = (1U << CongestionResources::sets_of_paper) - 1;
    using Bandwidth = Result<std::optional<double>>;  ///< none: back into the queue

    /// (7); the largest is the first.
    struct Key {
        double worst;
        double with_flow;
        double contra_flow;

        auto operator<=>(const Key&) const = default;
    };

    void enqueue(std::uint32_t link) {
        const CongestionLink& ends = pattern_.links[link];
        const double with_flow = worst_factor(resources_, resources_.with_flow(ends), 0);
        const double contra_flow =
            worst_factor(resources_, resources_.contra_flow(ends), emptied_[link]);
        queue_[{std::max(with_flow, contra_flow), with_flow, contra_flow}].push_back(link);
    }

    [[nodiscard]] Bandwidth with_flow_bandwidth(std::uint32_t link, const Key& key) const {
        const auto set = resources_.with_flow(pattern_.links[link]);
        double least = unshared_;
        for (std::size_t i = 0; i < set.size(); ++i) {
            if (set[i] == CongestionResources::none || !shares(i, set[i], key.with_flow)) continue;
            const double capacity = resources_.capacity(set[i]);
            const double rest = capacity - done_[set[i]].value();
            if (std::abs(rest) <= tolerance * capacity && std::isfinite(capacity)) {
                return failure("link {}: earlier links left exactly nothing of a resource", link);
            }
            if (rest > 0) least = std::min(least, rest / waiting_[set[i]]);
        }
        return least;
    }

    /// Whether the share of set i counts.
    [[nodiscard]] bool shares(std::size_t i, Id id, double with_flow) const {
        if (feasible_) return true;
        return i < CongestionResources::sets_of_paper && resources_.factor(id) == with_flow;
    }

    [[nodiscard]] Bandwidth contra_flow_bandwidth(std::uint32_t link, const Key& key) {
        const auto set = resources_.contra_flow(pattern_.links[link]);
        bool saturated = false;
        for (std::size_t i = 0; i < CongestionResources::sets_of_paper; ++i) {
            const bool empty = (emptied_[link] >> i & 1) != 0;
            if (empty || resources_.factor(set[i]) != key.contra_flow) continue;
            const double capacity = resources_.capacity(set[i]);
            const double rest = capacity - done_[set[i]].value();
            if (std::abs(rest) <= tolerance * capacity) saturated = true;
            else emptied_[link] |= static_cast<std::uint8_t>(1U << i);
        }
        if (!saturated) return std::nullopt;
        const double bandwidth = std::min(unshared_, pattern_.nic_bandwidth / key.contra_flow);
        if (!feasible_) return bandwidth;
        // matters with more than two racks only
        const auto share = with_flow_bandwidth(link, key);
        if (!share) return share;
        return std::min(bandwidth, **share);
    }

    void assign(std::uint32_t link, double bandwidth) {
        bandwidth_[link] = bandwidth;
        for (const Id id : resources_.with_flow(pattern_.links[link])) {
            if (id == CongestionResources::none) continue;
            --waiting_[id];
            done_[id].add(bandwidth);
        }
    }

    const CongestionPattern& pattern_;
    bool feasible_;
    CongestionResources resources_;
    double unshared_;
    std::vector<double> bandwidth_;
    /// Factors are few: links with the same ones wait together, in order.
    std::map<Key, std::vector<std::uint32_t>, std::greater<>> queue_;
    std::vector<std::uint8_t> emptied_;   ///< of each link: bit i for Sbar[i]
    std::vector<std::uint32_t> waiting_;  ///< of each resource: users not done
    std::vector<CompensatedSum> done_;    ///< and what those done have
};

Result<void> check_sizes(const CongestionPattern& pattern, std::span<const double> megabits) {
    if (megabits.size() != pattern.links.size()) {
        return failure("{} sizes for {} links", megabits.size(), pattern.links.size());
    }
    for (std::size_t link = 0; link < megabits.size(); ++link) {
        if (!(megabits[link] >= 0) || !std::isfinite(megabits[link])) {
            return failure("link {}: its size must be finite and not negative", link);
        }
    }
    return {};
}

/// The links that have not finished, and what is left of them.
class UnderWay {
public:
    UnderWay(CongestionPattern pattern, std::span<const double> megabits)
        : pattern_(std::move(pattern)),
          megabits_(megabits),
          rest_(megabits.begin(), megabits.end()),
          number_(rest_.size()) {
        std::iota(number_.begin(), number_.end(), std::size_t{0});
    }

    [[nodiscard]] bool none() const { return rest_.empty(); }
    [[nodiscard]] const CongestionPattern& pattern() const { return pattern_; }

    [[nodiscard]] double time_to_first_end(const std::vector<double>& bandwidths) const {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t i = 0; i < rest_.size(); ++i) {
            least = std::min(least, rest_[i] / bandwidths[i]);
        }
        return least;
    }

    /// The links that have finished after `step` seconds; they are left out then.
    std::vector<std::size_t> advance(const std::vector<double>& bandwidths, double step) {
        constexpr double rounding = 1e-12;  // so much of a message is no message
        std::vector<std::size_t> finished;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < rest_.size(); ++i) {
            const double rest = rest_[i] - step * bandwidths[i];
            if (rest <= rounding * megabits_[number_[i]]) {
                finished.push_back(number_[i]);
                continue;
            }
            rest_[kept] = rest;
            number_[kept] = number_[i];
            pattern_.links[kept++] = pattern_.links[i];
        }
        rest_.resize(kept);
        number_.resize(kept);
        pattern_.links.resize(kept);
        return finished;
    }

private:
    CongestionPattern pattern_;
    std::span<const double> megabits_;
    std::vector<double> rest_;         ///< of those, Mbit
    std::vector<std::size_t> number_;  ///< of the link in the input
};

std::vector<double> max_min_bandwidths(const CongestionPattern& pattern) {
    const CongestionResources resources(pattern);
    const double unshared = pattern.unshared_bandwidth.value_or(pattern.nic_bandwidth);
    MaxMinSystem system;
    for (Id id = 0; id < resources.count(); ++id) {
        system.add_constraint(resources.capacity(id), CongestionResources::reverse(id));
    }
    std::vector<MaxMinSystem::Element> uses;
    for (const CongestionLink& link : pattern.links) {
        uses.clear();
        for (const Id id : resources.with_flow(link)) {
            if (id != CongestionResources::none) uses.push_back({id});
        }
        system.add_variable(unshared, uses);
    }
    return system.solve();
}

}  // namespace

Result<std::vector<CongestionFactors>> congestion_factors(const CongestionPattern& pattern) {
    if (auto good = check(pattern); !good) return tl::unexpected(good.error());
    const CongestionResources resources(pattern);
    std::vector<CongestionFactors> factors;
    factors.reserve(pattern.links.size());
    for (const CongestionLink& link : pattern.links) {
        factors.push_back({worst_factor(resources, resources.with_flow(link), 0),
                           worst_factor(resources, resources.contra_flow(link), 0)});
    }
    return factors;
}

Result<std::vector<double>> congestion_bandwidths(const CongestionPattern& pattern,
                                                  CongestionVariant variant) {
    if (auto good = check(pattern); !good) return tl::unexpected(good.error());
    if (variant == CongestionVariant::bidirectional_max_min) return max_min_bandwidths(pattern);
    return Algorithm1(pattern, variant).run();
}

double congestion_fair_share(std::uint64_t links, double bandwidth, double unshared) {
    return links == 0 ? unshared : std::min(unshared, bandwidth / static_cast<double>(links));
}

double congestion_asymmetric_share(std::uint64_t incoming, std::uint64_t outgoing,
                                   double bandwidth, double unshared) {
    return congestion_fair_share(std::max(incoming, outgoing), bandwidth, unshared);
}

Result<std::vector<double>> congestion_static_times_s(const CongestionPattern& pattern,
                                                      CongestionVariant variant,
                                                      std::span<const double> megabits) {
    if (auto good = check_sizes(pattern, megabits); !good) return tl::unexpected(good.error());
    auto times = congestion_bandwidths(pattern, variant);
    if (!times) return times;
    for (std::size_t link = 0; link < times->size(); ++link) {
        (*times)[link] = megabits[link] / (*times)[link];
    }
    return times;
}

Result<std::vector<double>> congestion_dynamic_times_s(const CongestionPattern& pattern,
                                                       CongestionVariant variant,
                                                       std::span<const double> megabits) {
    if (auto good = check_sizes(pattern, megabits); !good) return tl::unexpected(good.error());
    UnderWay links(pattern, megabits);
    std::vector<double> times(megabits.size());
    CompensatedSum now;
    while (!links.none()) {
        const auto bandwidths = congestion_bandwidths(links.pattern(), variant);
        if (!bandwidths) {
            return tl::unexpected(bandwidths.error().within(fmt::format("at {} s", now.value())));
        }
        const double step = links.time_to_first_end(*bandwidths);
        now.add(step);
        for (const std::size_t link : links.advance(*bandwidths, step)) times[link] = now.value();
    }
    return times;
}

}  // namespace headway
