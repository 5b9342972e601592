// SPDX-License-Identifier: Apache-2.0
#include "plan/topology.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace headway {
namespace {

constexpr std::size_t names_told_max = 5;

void find_host_conflicts(std::span<const Cluster> clusters, std::vector<TopologyConflict>& found) {
    std::unordered_map<std::string_view, std::size_t> owner;
    for (std::size_t c = 0; c < clusters.size(); ++c) {
        for (std::size_t h = 0; h < clusters[c].hosts.size(); ++h) {
            const auto [entry, is_new] = owner.emplace(clusters[c].hosts[h], c);
            if (is_new) continue;
            const auto where = entry->second == c
                                   ? std::string("is listed twice")
                                   : fmt::format("is already in cluster \"{}\"",
                                                 clusters[entry->second].name);
            found.push_back({TopologyConflict::Kind::host, c, h,
                             fmt::format("host \"{}\" {}", clusters[c].hosts[h], where)});
        }
    }
}

void find_prefix_conflicts(std::span<const Cluster> clusters,
                           std::vector<TopologyConflict>& found) {
    struct Seen {
        const IpPrefix* prefix;
        std::size_t cluster;
    };
    std::vector<Seen> seen;
    for (std::size_t c = 0; c < clusters.size(); ++c) {
        for (std::size_t p = 0; p < clusters[c].prefixes.size(); ++p) {
            const IpPrefix& prefix = clusters[c].prefixes[p];
            const auto clash = std::find_if(seen.begin(), seen.end(), [&](const Seen& other) {
                return overlap(*other.prefix, prefix);
            });
            if (clash != seen.end()) {
                found.push_back({TopologyConflict::Kind::prefix, c, p,
                                 fmt::format("{} overlaps {} of cluster \"{}\"",
                                             prefix.to_string(), clash->prefix->to_string(),
                                             clusters[clash->cluster].name)});
            }
            seen.push_back({&prefix, c});
        }
    }
}

}  // namespace

std::vector<TopologyConflict> find_conflicts(std::span<const Cluster> clusters) {
    std::vector<TopologyConflict> found;
    for (std::size_t c = 0; c < clusters.size(); ++c) {
        const bool used = std::any_of(clusters.begin(), clusters.begin() + static_cast<long>(c),
                                      [&](const Cluster& o) { return o.name == clusters[c].name; });
        if (used) {
            found.push_back({TopologyConflict::Kind::name, c, 0,
                             fmt::format("\"{}\" is the name of an earlier cluster",
                                         clusters[c].name)});
        }
    }
    find_host_conflicts(clusters, found);
    find_prefix_conflicts(clusters, found);
    return found;
}

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
    const auto conflicts = find_conflicts(clusters);
    if (!conflicts.empty()) {
        return failure("cluster \"{}\": {}", clusters[conflicts.front().cluster].name,
                       conflicts.front().message);
    }
    Topology topology;
    topology.clusters_ = std::move(clusters);
    topology.switches_ = std::move(switches);
    if (const auto linked = topology.link_up(); !linked) return tl::unexpected(linked.error());
    for (std::size_t c = 0; c < topology.clusters_.size(); ++c) {
        for (const std::string& host : topology.clusters_[c].hosts) {
            topology.host_by_name_.emplace(host, topology.cluster_of_host_.size());
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
    const auto& path = above_[cluster];
    return std::find(path.begin(), path.end(), trunk) != path.end();
}

TrunkPath Topology::trunk_path(std::size_t from, std::size_t to) const {
    TrunkPath path{above_[from], above_[to]};
    while (!path.up.empty() && !path.down.empty() && path.up.back() == path.down.back()) {
        path.up.pop_back();
        path.down.pop_back();
    }
    std::reverse(path.down.begin(), path.down.end());
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

std::optional<std::size_t> Topology::find_host(std::string_view name) const {
    auto found = host_by_name_.find(name);
    if (found == host_by_name_.end()) found = host_by_name_.find(name.substr(0, name.find('.')));
    if (found == host_by_name_.end()) return std::nullopt;
    return found->second;
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

Topology Topology::without_buffers() const {
    Topology topology = *this;
    for (Cluster& cluster : topology.clusters_) {
        cluster.trunk_buffer_bytes.reset();
        cluster.host_buffer_bytes.reset();
    }
    for (TrunkSwitch& trunk : topology.switches_) trunk.trunk_buffer_bytes.reset();
    return topology;
}

HostSet Topology::all_hosts() const {
    HostSet hosts(host_count());
    for (std::size_t host = 0; host < host_count(); ++host) hosts.add(host);
    return hosts;
}

std::chrono::nanoseconds Topology::delay(std::size_t from, std::size_t to) const {
    const TrunkPath path = trunk_path(from, to);
    std::chrono::nanoseconds sum{};
    for (const auto* trunks : {&path.up, &path.down}) {
        for (const std::size_t crossed : *trunks) {
            const auto delay = trunk(crossed).trunk_delay;
            sum = is_one_cable() ? std::max(sum, delay) : sum + delay;
        }
    }
    return sum;
}

}  // namespace headway
