// SPDX-License-Identifier: MIT
#include "host_table.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <numeric>
#include <utility>

#include "job_texts.hpp"
#include "message_size.hpp"
#include "real.hpp"

namespace headway::glue {
namespace {

constexpr int unknown_cluster = -1;
constexpr char between_names = '\n';  // neither a host's name nor a cluster's has one

}  // namespace

void HostTable::gather(const std::string& own_name, const std::string& own_cluster,
                       std::uint64_t min_message_bytes) {
    const auto texts = allgather_texts(own_text([&] {
        return own_name + between_names + own_cluster + between_names + std::to_string(min_message_bytes);
    }));
    if (!texts) throw std::bad_alloc();
    std::vector<std::string> names;
    std::vector<std::size_t> ranks;
    std::map<std::string, int> places;
    for (const std::string& text : *texts) {
        const std::size_t end = text.find(between_names), last = text.rfind(between_names);
        min_message_bytes_ = std::max<std::uint64_t>(min_message_bytes_, std::strtoull(&text[last + 1], nullptr, 10));
        const auto [entry, is_new] = places.try_emplace(text.substr(0, end), static_cast<int>(names.size()));
        if (is_new) {
            names.push_back(entry->first);
            ranks.push_back(0);
        }
        ++ranks[static_cast<std::size_t>(entry->second)];
        host_of_rank_.push_back(entry->second);
        cluster_of_rank_.push_back(cluster_named(text.substr(end + 1, last - end - 1)));
    }
    job_hosts_ = JobHosts(std::move(names), *std::max_element(ranks.begin(), ranks.end()));
    PMPI_Comm_group(MPI_COMM_WORLD, &world_);
}

/// A new one, too.
int HostTable::cluster_named(const std::string& name) {
    if (name.empty()) return unknown_cluster;
    return cluster_numbers_.try_emplace(name, static_cast<int>(cluster_numbers_.size())).first->second;
}

void HostTable::place(PlannedNetwork network) {
    for (std::size_t rank = 0; rank < host_of_rank_.size(); ++rank)
        cluster_of_rank_[rank] = cluster_named(network.clusters[static_cast<std::size_t>(host_of_rank_[rank])]);
    for (const std::string& cluster : network.clusters)
        cluster_in_links_.push_back(static_cast<int>(network.links.number_of(cluster)));
    links_ = std::move(network.links);
    min_message_bytes_ = network.min_message_bytes;
}

std::vector<int> HostTable::clusters_in_links(const HostSet& hosts) const {
    std::vector<int> clusters;
    for (const int host : hosts) clusters.push_back(cluster_in_links_[static_cast<std::size_t>(host)]);
    return clusters;
}

void HostTable::release() {
    if (world_ != MPI_GROUP_NULL) PMPI_Group_free(&world_);
}

std::vector<int> ranks_within(MPI_Group world, MPI_Comm communicator) {
    MPI_Group group = MPI_GROUP_NULL;
    int size = 0;
    PMPI_Comm_group(communicator, &group);
    PMPI_Group_size(group, &size);
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<int> world_ranks(ranks.size(), MPI_UNDEFINED);  // as it stays of a session's group that MPI refuses
    PMPI_Group_translate_ranks(group, size, ranks.data(), world, world_ranks.data());
    PMPI_Group_free(&group);
    return world_ranks;
}

std::vector<int> HostTable::world_ranks_of(MPI_Comm communicator) const {
    return ranks_within(world_, communicator);
}

std::optional<HostSet> HostTable::hosts_of(MPI_Comm communicator) const {
    HostSet hosts;
    for (const int rank : world_ranks_of(communicator)) {
        if (rank == MPI_UNDEFINED) return std::nullopt;
        hosts.push_back(host_of_rank_[static_cast<std::size_t>(rank)]);
    }
    std::sort(hosts.begin(), hosts.end());
    hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
    return hosts;
}

std::optional<int> HostTable::host_of(MPI_Comm communicator, int rank) const {
    MPI_Group group = MPI_GROUP_NULL;
    int size = 0;
    int world_rank = MPI_UNDEFINED;
    PMPI_Comm_group(communicator, &group);
    PMPI_Group_size(group, &size);
    if (rank >= 0 && rank < size)
        PMPI_Group_translate_ranks(group, 1, &rank, world_, &world_rank);
    PMPI_Group_free(&group);
    if (world_rank == MPI_UNDEFINED) return std::nullopt;
    return host_of_rank_[static_cast<std::size_t>(world_rank)];
}

/// One after the other, without memory for all of them.
bool HostTable::is_on_several(MPI_Comm communicator) const noexcept {
    const int ranks = place_in(communicator).ranks;
    const auto first = host_of(communicator, 0);
    bool differs = false;
    for (int rank = 0; rank < ranks; ++rank) {
        const auto host = host_of(communicator, rank);
        if (!host) return false;
        differs = differs || host != first;
    }
    return differs;
}

std::vector<int> HostTable::places_of(MPI_Comm communicator, const HostSet& hosts) const {
    std::vector<int> places;
    for (const int rank : world_ranks_of(communicator)) {
        const int host = host_of_rank_[static_cast<std::size_t>(rank)];
        places.push_back(static_cast<int>(
            std::lower_bound(hosts.begin(), hosts.end(), host) - hosts.begin()));
    }
    return places;
}

std::vector<std::string> HostTable::cluster_names_of(MPI_Comm communicator) const {
    std::map<int, std::string> names;
    for (const int world_rank : world_ranks_of(communicator)) {
        if (world_rank == MPI_UNDEFINED) return {};
        names[cluster_of_rank_[static_cast<std::size_t>(world_rank)]];
    }
    for (const auto& [name, number] : cluster_numbers_) {
        if (const auto used = names.find(number); used != names.end()) used->second = name;
    }
    std::vector<std::string> ordered;
    for (auto& [number, name] : names) ordered.push_back(std::move(name));
    return ordered;
}

RanksByCluster HostTable::clusters_of(MPI_Comm communicator) const {
    std::map<int, std::map<int, std::vector<int>>> members;
    int member = 0;
    for (const int world_rank : world_ranks_of(communicator)) {
        if (world_rank == MPI_UNDEFINED) return {};
        const auto at = static_cast<std::size_t>(world_rank);
        members[cluster_of_rank_[at]][host_of_rank_[at]].push_back(member++);
    }
    RanksByCluster clusters;
    for (auto& [cluster, hosts] : members) {
        clusters.emplace_back();
        for (auto& [host, ranks] : hosts) clusters.back().push_back(std::move(ranks));
    }
    return clusters;
}

}  // namespace headway::glue
