// SPDX-License-Identifier: Apache-2.0
#include "model/topology.hpp"

#include <algorithm>
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
    if (member_[host]) return false;
    member_[host] = true;
    return true;
}

Result<Topology> Topology::make(std::vector<Cluster> clusters) {
    const auto conflicts = find_conflicts(clusters);
    if (!conflicts.empty()) {
        return failure("cluster \"{}\": {}", clusters[conflicts.front().cluster].name,
                       conflicts.front().message);
    }
    Topology topology;
    topology.clusters_ = std::move(clusters);
    for (std::size_t c = 0; c < topology.clusters_.size(); ++c) {
        for (const std::string& host : topology.clusters_[c].hosts) {
            topology.host_by_name_.emplace(host, topology.cluster_of_host_.size());
            topology.cluster_of_host_.push_back(c);
        }
    }
    return topology;
}

std::optional<std::size_t> Topology::find_host(std::string_view name) const {
    auto found = host_by_name_.find(name);
    if (found == host_by_name_.end()) found = host_by_name_.find(name.substr(0, name.find('.')));
    if (found == host_by_name_.end()) return std::nullopt;
    return found->second;
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

HostSet Topology::all_hosts() const {
    HostSet hosts(host_count());
    for (std::size_t host = 0; host < host_count(); ++host) hosts.add(host);
    return hosts;
}

std::chrono::nanoseconds Topology::delay(std::size_t from, std::size_t to) const {
    if (from == to) return std::chrono::nanoseconds::zero();
    const auto a = clusters_[from].trunk_delay;
    const auto b = clusters_[to].trunk_delay;
    return clusters_.size() == 2 ? std::max(a, b) : a + b;
}

}  // namespace headway
