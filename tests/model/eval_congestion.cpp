// SPDX-License-Identifier: Apache-2.0
// The congestion factors of models/congestion.hpp.
#include <unordered_map>

#include "eval_interface.hpp"
#include "models/congestion.hpp"

namespace headway {
namespace {

constexpr std::size_t links_max = 4'000'000;
constexpr std::size_t nodes_max = 4'000'000;
// The algorithm runs again for every link that finishes.
constexpr std::size_t timed_links_max = 10'000;

/// Names or numbers, as small numbers in the order in which they first appear.
class Numbering {
public:
    std::uint32_t add(const std::string& name) {
        return number_.emplace(name, static_cast<std::uint32_t>(number_.size())).first->second;
    }
    [[nodiscard]] std::optional<std::uint32_t> find(const std::string& name) const {
        const auto found = number_.find(name);
        if (found == number_.end()) return std::nullopt;
        return found->second;
    }
    [[nodiscard]] std::size_t size() const { return number_.size(); }

private:
    std::unordered_map<std::string, std::uint32_t> number_;
};

/// nodes[] and rack[] are parallel: entry i stands in rack[i].  A link's ends are
/// entries, by name.  Where nodes repeat, entries are processes on nodes (the
/// paper's mapping), and a link's ends are positions in the list.
class Placement {
public:
    Placement(EvalInput& in, CongestionPattern& pattern) {
        const EvalValue names = in["nodes"];
        const EvalValue racks = in["rack"];
        const std::size_t entries = names.size(0, nodes_max);
        if (racks.size(entries, entries) != entries) return;
        Numbering rack_numbers;
        for (std::size_t i = 0; i < entries; ++i) {
            const std::uint32_t node = nodes_.add(names[i].name());
            const std::uint32_t rack = rack_numbers.add(racks[i].name());
            if (node == pattern.rack_of_node.size()) pattern.rack_of_node.push_back(rack);
            if (pattern.rack_of_node[node] != rack) racks[i].fail("puts a node into two racks");
            node_of_entry_.push_back(node);
        }
    }

    [[nodiscard]] std::uint32_t node(const EvalValue& end) const {
        const bool names = end.is_string() || nodes_.size() == node_of_entry_.size();
        if (!names) return node_at(end);
        if (const auto found = nodes_.find(end.name())) return *found;
        // positions are understood where they cannot be names
        if (!end.is_string()) return node_at(end);
        end.fail("is not in nodes");
        return 0;
    }

private:
    [[nodiscard]] std::uint32_t node_at(const EvalValue& end) const {
        if (node_of_entry_.empty()) {
            end.fail("is not in nodes");
            return 0;
        }
        return node_of_entry_[end.count(0, node_of_entry_.size() - 1)];
    }

    Numbering nodes_;
    std::vector<std::uint32_t> node_of_entry_;
};

CongestionPattern read_pattern(EvalInput& in, std::size_t most_links) {
    CongestionPattern pattern;
    pattern.nic_bandwidth = in["nic"].number(Sign::positive);
    pattern.backbone_bandwidth = in["backbone"].number_or_infinite(Sign::positive);
    const Placement placement(in, pattern);
    const EvalValue links = in["links"];
    const std::size_t count = links.size(0, most_links);
    pattern.links.reserve(count);
    for (std::size_t i = 0; i < count && !in.has_failed(); ++i) {
        if (links[i].size(2, 2) == 0) break;
        pattern.links.push_back({placement.node(links[i][0]), placement.node(links[i][1])});
    }
    return pattern;
}

EvalResult algorithm1(const EvalJson& input) {
    EvalInput in(input);
    const CongestionPattern pattern = read_pattern(in, links_max);
    if (auto error = in.finish()) return tl::unexpected(*error);

    EvalJson result = EvalJson::object();
    constexpr std::pair<const char*, CongestionVariant> variants[] = {
        {"bandwidth", CongestionVariant::paper},
        {"bandwidth_feasible", CongestionVariant::feasible},
        {"bandwidth_fairness_only", CongestionVariant::fairness_only},
        {"bandwidth_bidirectional_max_min", CongestionVariant::bidirectional_max_min},
    };
    for (const auto& [key, variant] : variants) {
        const auto bandwidths = congestion_bandwidths(pattern, variant);
        if (!bandwidths) return eval_failure("{}: {}", key, bandwidths.error().message);
        result[key] = *bandwidths;
    }
    const auto factors = congestion_factors(pattern);
    if (!factors) return tl::unexpected(factors.error().message);
    EvalJson& list = result["k_kbar_mul_nic"] = EvalJson::array();
    for (const CongestionFactors& factor : *factors) {
        list.push_back({factor.with_flow, factor.contra_flow});
    }
    return result;
}

EvalResult closed(const EvalJson& input) {
    EvalInput in(input);
    constexpr std::uint64_t most = 1'000'000'000;
    const auto incoming = in["n_in"].count(0, most);
    const auto outgoing = in["n_out"].count(0, most);
    const double bandwidth = in["bandwidth"].number_or_infinite(Sign::positive);
    const double link = in["link"].number_or_infinite(Sign::positive);
    if (auto error = in.finish()) return tl::unexpected(*error);
    return EvalJson{
        {"fairness_in", congestion_fair_share(incoming, bandwidth, link)},
        {"asymmetric", congestion_asymmetric_share(incoming, outgoing, bandwidth, link)}};
}

EvalResult times(const EvalJson& input) {
    EvalInput in(input);
    const CongestionPattern pattern = read_pattern(in, timed_links_max);
    const auto megabits =
        in["megabits"].numbers(pattern.links.size(), pattern.links.size(), Sign::not_negative);
    if (auto error = in.finish()) return tl::unexpected(*error);
    const auto fixed = congestion_static_times_s(pattern, CongestionVariant::paper, megabits);
    if (!fixed) return tl::unexpected(fixed.error().message);
    const auto dynamic = congestion_dynamic_times_s(pattern, CongestionVariant::paper, megabits);
    if (!dynamic) return tl::unexpected(dynamic.error().message);
    return EvalJson{{"static_s", *fixed}, {"dynamic_s", *dynamic}};
}

constexpr EvalOperation operations[] = {
    {"congestion", "algorithm1", algorithm1},
    {"congestion", "closed", closed},
    {"congestion", "times", times},
};

}  // namespace

std::span<const EvalOperation> eval_congestion_operations() { return operations; }

}  // namespace headway
