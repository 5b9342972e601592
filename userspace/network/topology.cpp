// SPDX-License-Identifier: Apache-2.0
#include "network/topology.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace headway {

std::uint32_t HostCounts::total() const {
    return std::accumulate(per_cluster.begin(), per_cluster.end(), std::uint32_t{0});
}

std::size_t HostCounts::clusters_used() const {
    return static_cast<std::size_t>(
        std::count_if(per_cluster.begin(), per_cluster.end(), [](auto n) { return n > 0; }));
}

bool HostSet::add(std::size_t host) {
    if (contains(host)) return false;
    words_[host / hosts_per_word] |= std::uint64_t{1} << host % hosts_per_word;
    return true;
}

bool HostSet::add_all(const HostSet& others) {
    if (contains_all(others)) return false;
    std::ranges::transform(words_, others.words_, words_.begin(), std::bit_or<>());
    return true;
}

bool HostSet::contains_all(const HostSet& others) const {
    return std::ranges::equal(others.words_, words_, [](std::uint64_t theirs, std::uint64_t own) {
        return (theirs & ~own) == 0;
    });
}

Result<Topology> Topology::make(std::vector<Cluster> clusters,
                                std::vector<TrunkSwitch> switches) {
    Topology topology;
    topology.clusters_ = std::move(clusters);
    topology.switches_ = std::move(switches);
    if (const auto linked = topology.link_up(); !linked) return tl::unexpected(linked.error());
    for (std::size_t c = 0; c < topology.clusters_.size(); ++c) {
        for (const std::string& host : topology.clusters_[c].hosts) {
            if (!topology.host_names_.add(host, topology.host_count()))
                return failure("the name of host \"{}\" is used twice", host);
            topology.cluster_of_host_.push_back(c);
        }
    }
    return topology;
}

/// Follows every cluster's parents to the centre.
Result<void> Topology::link_up() {
    std::unordered_map<std::string_view, std::size_t> numbers;
    for (std::size_t t = 0; t < trunk_count(); ++t) {
        if (numbers.emplace(trunk(t).name, t).second) continue;
        return failure("the name of switch \"{}\" is used twice", trunk(t).name);
    }
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
        std::vector<std::size_t>& path = above_.emplace_back(1, c);
        while (!trunk(path.back()).parent.empty()) {
            const auto parent = numbers.find(trunk(path.back()).parent);
            if (parent == numbers.end()) {
                return failure("there is no switch \"{}\" above \"{}\"",
                               trunk(path.back()).parent, trunk(path.back()).name);
            }
            if (path.size() == trunk_count()) {
                return failure("switch \"{}\" is below itself", trunk(path.back()).name);
            }
            path.push_back(parent->second);
        }
    }
    return {};
}

bool Topology::is_below(std::size_t cluster, std::size_t trunk) const {
    return std::ranges::find(above_[cluster], trunk) != above_[cluster].end();
}

std::vector<TopologyLink> Topology::trunk_path(std::size_t from, std::size_t to) const {
    // what both ways to the centre have in common is not crossed
    std::vector<TopologyLink> path;
    for (const std::size_t trunk : above_[from]) {
        if (!is_below(to, trunk)) path.push_back({LinkKind::trunk_up, trunk});
    }
    for (auto trunk = above_[to].rbegin(); trunk != above_[to].rend(); ++trunk) {
        if (!is_below(from, *trunk)) path.push_back({LinkKind::trunk_down, *trunk});
    }
    return path;
}

std::vector<std::uint32_t> Topology::hosts_below(const HostCounts& hosts) const {
    std::vector<std::uint32_t> below(trunk_count());
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
        for (const std::size_t trunk : above_[c]) below[trunk] += hosts.per_cluster[c];
    }
    return below;
}

bool Topology::is_one_cable() const {
    return trunk_count() == 2 && clusters_.size() == 2 && above_[0].size() == 1 &&
           above_[1].size() == 1;
}

std::vector<std::string> Topology::names_of(const HostSet& hosts) const {
    std::vector<std::string> names;
    std::size_t number = 0;
    for (const Cluster& cluster : clusters()) {
        for (const std::string& name : cluster.hosts) {
            if (hosts.contains(number++)) names.push_back(name);
        }
    }
    return names;
}

Result<HostSet> Topology::resolve(std::span<const std::string> names) const {
    constexpr std::size_t names_told_max = 5;
    HostSet hosts(host_count());
    std::string unknown;
    std::size_t unknown_count = 0;
    for (const std::string& name : names) {
        if (const auto host = find_host(name)) {
            hosts.add(*host);
        } else if (++unknown_count <= names_told_max) {
            unknown += fmt::format("{}\"{}\"", unknown.empty() ? "" : ", ", name);
        }
    }
    if (unknown_count > names_told_max) {
        unknown += fmt::format(" and {} more", unknown_count - names_told_max);
    }
    if (unknown_count > 0) return failure("not in the topology: {}", unknown);
    return hosts;
}

HostCounts Topology::count(const HostSet& hosts) const {
    HostCounts counts{std::vector<std::uint32_t>(clusters_.size())};
    for (std::size_t host = 0; host < host_count(); ++host) {
        if (hosts.contains(host)) ++counts.per_cluster[cluster_of_host_[host]];
    }
    return counts;
}

std::uint64_t Topology::least_host_buffer_bytes() const {
    std::uint64_t least = 0;
    for (const Cluster& cluster : clusters_) {
        const std::uint64_t bytes = cluster.host_buffer_bytes.value_or(0);
        if (least == 0 || (bytes > 0 && bytes < least)) least = bytes;
    }
    return least;
}

Topology Topology::without_buffers() const {
    Topology topology = *this;
    for (Cluster& cluster : topology.clusters_) {
        cluster.trunk_buffer_bytes.reset();
        cluster.host_buffer_bytes.reset();
    }
    for (TrunkSwitch& trunk : topology.switches_) trunk.trunk_buffer_bytes.reset();
    return topology;
}

Topology Topology::with_rates_times(double part) const {
    const auto reduce = [part](BitsPerSecond& rate) {
        rate.value = static_cast<std::uint64_t>(part * static_cast<double>(rate.value));
    };
    const auto reduce_trunk = [&](TrunkSwitch& trunk) {
        reduce(trunk.trunk_up_rate);
        reduce(trunk.trunk_down_rate);
    };
    Topology topology = *this;
    for (Cluster& cluster : topology.clusters_) {
        reduce_trunk(cluster);
        reduce(cluster.host_rate);
    }
    for (TrunkSwitch& trunk : topology.switches_) reduce_trunk(trunk);
    return topology;
}

BitsPerSecond Topology::rate_of(const TopologyLink& link) const {
    if (link.kind == LinkKind::trunk_up) return trunk(link.owner).trunk_up_rate;
    if (link.kind == LinkKind::trunk_down) return trunk(link.owner).trunk_down_rate;
    return clusters_[link.owner].host_rate;
}

std::string Topology::name_of(const TopologyLink& link) const {
    const std::string& name = trunk(link.owner).name;
    switch (link.kind) {
        case LinkKind::trunk_up: return fmt::format("trunk of {} (up)", name);
        case LinkKind::trunk_down: return fmt::format("trunk of {} (down)", name);
        case LinkKind::edge_out: return fmt::format("edge of a sender in {}", name);
        case LinkKind::edge_in: break;
    }
    return fmt::format("edge of a receiver in {}", name);
}

std::chrono::nanoseconds Topology::delay(std::size_t from, std::size_t to) const {
    std::chrono::nanoseconds sum{};
    for (const TopologyLink& link : trunk_path(from, to)) {
        const auto delay = trunk(link.owner).trunk_delay;
        sum = is_one_cable() ? std::max(sum, delay) : sum + delay;
    }
    return sum;
}

}  // namespace headway
