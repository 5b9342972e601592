// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_shares.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

namespace headway {
namespace {

/// Which of the jobs use a link.
using Users = std::vector<std::size_t>;

LinkPart fraction(std::uint64_t amount, std::uint64_t of) {
    return {static_cast<std::uint64_t>(static_cast<unsigned __int128>(amount) * LinkPart::one / of)};
}

/// What one level of the division is by: users, then a user's allocations, then an
/// allocation's jobs.
struct Division {
    std::map<uid_t, std::uint64_t> weights;                   ///< of users: the greatest of theirs
    std::map<uid_t, std::map<std::size_t, std::uint64_t>> allocations;  ///< and their weights
    std::map<std::size_t, std::uint64_t> jobs;                ///< of each allocation, how many
};

Division divide(std::span<const SharingJob> jobs, const Users& users) {
    Division division;
    for (const std::size_t number : users) {
        const SharingJob& job = jobs[number];
        std::uint64_t& most = division.weights[job.user];
        most = std::max<std::uint64_t>(most, job.weight);
        division.allocations[job.user][job.allocation] = job.weight;
        ++division.jobs[job.allocation];
    }
    return division;
}

template <class Map>
std::uint64_t sum_of(const Map& weights) {
    return std::accumulate(weights.begin(), weights.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& one) { return sum + one.second; });
}

void share_by_weight(std::span<const SharingJob> jobs, const Users& users,
                     std::vector<LinkPart>& parts) {
    const Division division = divide(jobs, users);
    const std::uint64_t all = sum_of(division.weights);
    std::map<uid_t, std::uint64_t> of_user;
    for (const auto& [user, allocations] : division.allocations) of_user[user] = sum_of(allocations);
    for (const std::size_t number : users) {
        const SharingJob& job = jobs[number];
        parts[number] = fraction(division.weights.at(job.user) * job.weight,
                                 all * of_user.at(job.user) * division.jobs.at(job.allocation));
    }
}

/// Those of the users that have the host.
Users users_of(std::size_t host, std::span<const SharingJob> jobs, const Users& users) {
    Users of_host;
    std::copy_if(users.begin(), users.end(), std::back_inserter(of_host),
                 [&](std::size_t job) { return jobs[job].hosts.contains(host); });
    return of_host;
}

/// Hosts where a job has the same part count together, so that little is rounded away.
void share_by_host(const Topology& topology, std::size_t trunk, std::span<const SharingJob> jobs,
                   const Users& users, std::vector<LinkPart>& parts) {
    std::uint64_t hosts = 0;
    // of each job, how many hosts it has a so-many-th of
    std::vector<std::map<std::uint64_t, std::uint64_t>> hosts_by_sharers(jobs.size());
    for (std::size_t host = 0; host < topology.host_count(); ++host) {
        if (!topology.is_below(topology.cluster_of(host), trunk)) continue;
        const Users here = users_of(host, jobs, users);
        if (here.empty()) continue;
        ++hosts;
        const Division division = divide(jobs, here);
        for (const std::size_t job : here)
            ++hosts_by_sharers[job][division.weights.size() *
                                    division.allocations.at(jobs[job].user).size() *
                                    division.jobs.at(jobs[job].allocation)];
    }
    for (const std::size_t job : users) {
        std::uint64_t part = 0;
        for (const auto& [sharers, count] : hosts_by_sharers[job])
            part += fraction(count, hosts * sharers).value;
        parts[job] = {std::max<std::uint64_t>(part, 1)};
    }
}

/// Of the links between hosts and their switches: by job and cluster, the least part that the job
/// has of a host's, because a packet ends at some host of it there.
std::vector<std::vector<LinkPart>> share_edges(const Topology& topology, SharePolicy policy,
                                               std::span<const SharingJob> jobs) {
    Users all(jobs.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<SharingJob> weighed(jobs.begin(), jobs.end());
    if (policy == SharePolicy::per_host) {
        for (SharingJob& job : weighed) job.weight = 1;
    }
    std::vector<std::vector<LinkPart>> least(
        jobs.size(), std::vector<LinkPart>(topology.clusters().size()));
    std::map<Users, std::vector<LinkPart>> divided;  // hosts of the same jobs are divided alike
    for (std::size_t host = 0; host < topology.host_count(); ++host) {
        const auto [of_host, is_new] = divided.try_emplace(users_of(host, jobs, all), jobs.size());
        const auto& [users, parts] = *of_host;
        if (is_new) share_by_weight(weighed, users, of_host->second);
        for (const std::size_t job : users) {
            LinkPart& part = least[job][topology.cluster_of(host)];
            part = std::min(part, parts[job]);
        }
    }
    return least;
}

/// How many hosts a job has, in all and below each trunk.
struct CountedJob {
    std::uint32_t hosts = 0;
    std::vector<std::uint32_t> below;
};

std::vector<CountedJob> count_hosts(const Topology& topology, std::span<const SharingJob> jobs) {
    std::vector<CountedJob> counted;
    for (const SharingJob& job : jobs) {
        const HostCounts counts = topology.count(job.hosts);
        counted.push_back({counts.total(), topology.hosts_below(counts)});
    }
    return counted;
}

std::vector<LinkPart> share_trunk(const Topology& topology, std::size_t trunk, SharePolicy policy,
                                  std::span<const SharingJob> jobs,
                                  std::span<const CountedJob> counted) {
    std::vector<LinkPart> parts(jobs.size());
    Users users;
    for (std::size_t job = 0; job < jobs.size(); ++job) {
        const std::uint32_t below = counted[job].below[trunk];
        if (below > 0 && below < counted[job].hosts) users.push_back(job);
    }
    if (policy == SharePolicy::per_job) {
        share_by_weight(jobs, users, parts);
    } else {
        share_by_host(topology, trunk, jobs, users, parts);
    }
    return parts;
}

}  // namespace

std::vector<LinkPart> share_trunk(const Topology& topology, std::size_t trunk, SharePolicy policy,
                                  std::span<const SharingJob> jobs) {
    return share_trunk(topology, trunk, policy, jobs, count_hosts(topology, jobs));
}

std::vector<std::vector<LinkPart>> share_links(const Topology& topology,
                                               const KernelLayout& layout, SharePolicy policy,
                                               std::span<const SharingJob> jobs) {
    std::vector<std::vector<LinkPart>> parts(jobs.size(),
                                             std::vector<LinkPart>(layout.classes.size()));
    if (jobs.size() < 2) return parts;
    const auto counted = count_hosts(topology, jobs);
    std::vector<std::vector<LinkPart>> of_trunk;
    for (std::size_t trunk = 0; trunk < topology.trunk_count(); ++trunk) {
        of_trunk.push_back(share_trunk(topology, trunk, policy, jobs, counted));
    }
    const auto of_edges = share_edges(topology, policy, jobs);
    for (std::size_t i = 0; i < layout.classes.size(); ++i) {
        const std::size_t to = layout.classes[i].cluster;
        const auto path = topology.trunk_path(layout.own_cluster, to);
        for (std::size_t job = 0; job < jobs.size(); ++job) {
            LinkPart& part = parts[job][i];
            part = std::min(of_edges[job][to], of_edges[job][layout.own_cluster]);
            for (const TopologyLink& link : path) part = std::min(part, of_trunk[link.owner][job]);
        }
    }
    return parts;
}

}  // namespace headway
