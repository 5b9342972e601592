// SPDX-License-Identifier: Apache-2.0
#include "jobs/job_shares.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace headway {
namespace {

/// The jobs that use a link, ascending.
using Users = std::vector<std::size_t>;

LinkPart fraction(std::uint64_t amount, std::uint64_t of) {
    return {static_cast<std::uint64_t>(static_cast<unsigned __int128>(amount) * LinkPart::one / of)};
}

/// Numbers from 0 on, one for each key that it was asked for.
template <class Key>
class Numbers {
public:
    std::size_t operator[](const Key& key) { return numbers_.try_emplace(key, numbers_.size()).first->second; }
    [[nodiscard]] std::size_t size() const { return numbers_.size(); }

private:
    std::map<Key, std::size_t> numbers_;
};

/// Divides one link after the other: among users, then among a user's allocations, then among an
/// allocation's jobs.
class Divider {
public:
    Divider(std::span<const SharingJob> jobs, SharePolicy policy) {
        Numbers<uid_t> users;
        Numbers<std::size_t> allocations;
        for (const SharingJob& job : jobs) {
            claims_.push_back({users[job.user], allocations[job.allocation],
                               policy == SharePolicy::per_host ? 1 : job.weight});
        }
        users_.resize(users.size());
        jobs_of_.resize(allocations.size());
    }

    /// Among these; weight_part() and sharers() then tell of each of them.
    void divide(const Users& among) {
        for (const std::size_t job : among_) {
            users_[claims_[job].user] = {};
            jobs_of_[claims_[job].allocation] = 0;
        }
        among_ = among;
        user_count_ = all_weights_ = 0;
        for (const std::size_t job : among_) count(claims_[job]);
    }

    /// The job's part of the link, where weights decide.
    [[nodiscard]] LinkPart weight_part(std::size_t job) const {
        const Claim& claim = claims_[job];
        const User& user = users_[claim.user];
        return fraction(user.weight * claim.weight,
                        all_weights_ * user.allocation_weights * jobs_of_[claim.allocation]);
    }
    /// The job has this part of the link where all users count the same: one of so many.
    [[nodiscard]] std::uint64_t sharers(std::size_t job) const {
        const Claim& claim = claims_[job];
        return user_count_ * users_[claim.user].allocations * jobs_of_[claim.allocation];
    }

private:
    struct Claim {
        std::size_t user = 0, allocation = 0;
        std::uint64_t weight = 1;
    };
    struct User {
        std::uint64_t weight = 0;  ///< the greatest of the user's jobs
        std::uint64_t allocations = 0, allocation_weights = 0;
    };

    void count(const Claim& claim) {
        User& user = users_[claim.user];
        if (user.allocations == 0) ++user_count_;
        if (claim.weight > user.weight) {
            all_weights_ += claim.weight - user.weight;
            user.weight = claim.weight;
        }
        if (jobs_of_[claim.allocation]++ > 0) return;
        ++user.allocations;
        user.allocation_weights += claim.weight;
    }

    std::vector<Claim> claims_;            ///< of each job
    std::vector<User> users_;
    std::vector<std::uint64_t> jobs_of_;   ///< of each allocation, how many
    Users among_;
    std::uint64_t user_count_ = 0, all_weights_ = 0;
};

/// Hosts of a cluster that have the same jobs: their links are divided alike.
struct AlikeHosts {
    std::size_t cluster = 0;
    std::uint64_t hosts = 0;
    Users jobs;  ///< at least one
};

/// The jobs of each set of hosts that several may have.
std::vector<std::pair<const HostSet*, Users>> distinct_sets(std::span<const SharingJob> jobs) {
    const auto precedes = [](const HostSet* a, const HostSet* b) { return *a < *b; };
    std::map<const HostSet*, Users, decltype(precedes)> sets(precedes);
    for (std::size_t job = 0; job < jobs.size(); ++job) sets[&jobs[job].hosts].push_back(job);
    return {std::make_move_iterator(sets.begin()), std::make_move_iterator(sets.end())};
}

std::vector<AlikeHosts> group_hosts(const Topology& topology, std::span<const SharingJob> jobs) {
    const auto sets = distinct_sets(jobs);
    using Members = std::pair<std::size_t, std::vector<std::size_t>>;  // a cluster, and numbers of sets
    std::map<Members, std::uint64_t> counted;
    auto last = counted.end();  // neighbours have the same jobs more often than not
    Members members;
    for (std::size_t host = 0; host < topology.host_count(); ++host) {
        members.first = topology.cluster_of(host);
        members.second.clear();
        for (std::size_t set = 0; set < sets.size(); ++set) {
            if (sets[set].first->contains(host)) members.second.push_back(set);
        }
        if (members.second.empty()) continue;
        if (last == counted.end() || last->first != members) last = counted.try_emplace(members, 0).first;
        ++last->second;
    }
    std::vector<AlikeHosts> groups;
    for (const auto& [its, hosts] : counted) {
        Users users;
        for (const std::size_t set : its.second) {
            users.insert(users.end(), sets[set].second.begin(), sets[set].second.end());
        }
        std::ranges::sort(users);
        groups.push_back({its.first, hosts, std::move(users)});
    }
    return groups;
}

/// Hosts where a job has the same part count together, so that little is rounded away.
void share_by_host(const Topology& topology, std::size_t trunk, std::span<const AlikeHosts> groups,
                   const Users& users, Divider& divider, std::vector<LinkPart>& parts) {
    std::uint64_t hosts = 0;
    // of each job, how many hosts it has a so-many-th of
    std::vector<std::map<std::uint64_t, std::uint64_t>> hosts_by_sharers(parts.size());
    for (const AlikeHosts& group : groups) {
        if (!topology.is_below(group.cluster, trunk)) continue;
        Users here;
        std::ranges::set_intersection(group.jobs, users, std::back_inserter(here));
        if (here.empty()) continue;
        hosts += group.hosts;
        divider.divide(here);
        for (const std::size_t job : here) hosts_by_sharers[job][divider.sharers(job)] += group.hosts;
    }
    for (const std::size_t job : users) {
        std::uint64_t part = 0;
        for (const auto& [sharers, count] : hosts_by_sharers[job])
            part += fraction(count, hosts * sharers).value;
        parts[job] = {std::max<std::uint64_t>(part, 1)};
    }
}

/// Shares the links between hosts and their switches.  By job and cluster it gives the least part
/// that the job has of a host's link there, because a packet ends at some host of the cluster.
std::vector<std::vector<LinkPart>> share_edges(const Topology& topology, std::size_t jobs,
                                               std::span<const AlikeHosts> groups, Divider& divider) {
    std::vector<std::vector<LinkPart>> least(jobs, std::vector<LinkPart>(topology.clusters().size()));
    for (const AlikeHosts& group : groups) {
        divider.divide(group.jobs);
        for (const std::size_t job : group.jobs) {
            LinkPart& part = least[job][group.cluster];
            part = std::min(part, divider.weight_part(job));
        }
    }
    return least;
}

/// How many hosts a job has, in all and below each trunk.
struct CountedJob {
    std::uint32_t hosts = 0;
    std::vector<std::uint32_t> below;
};

std::vector<CountedJob> count_hosts(const Topology& topology, std::size_t jobs,
                                    std::span<const AlikeHosts> groups) {
    std::vector<HostCounts> counts(jobs, {std::vector<std::uint32_t>(topology.clusters().size())});
    for (const AlikeHosts& group : groups) {
        for (const std::size_t job : group.jobs)
            counts[job].per_cluster[group.cluster] += static_cast<std::uint32_t>(group.hosts);
    }
    std::vector<CountedJob> counted;
    for (const HostCounts& one : counts) counted.push_back({one.total(), topology.hosts_below(one)});
    return counted;
}

std::vector<LinkPart> share_trunk(const Topology& topology, std::size_t trunk, SharePolicy policy,
                                  std::span<const AlikeHosts> groups,
                                  std::span<const CountedJob> counted, Divider& divider) {
    std::vector<LinkPart> parts(counted.size());
    Users users;
    for (std::size_t job = 0; job < counted.size(); ++job) {
        const std::uint32_t below = counted[job].below[trunk];
        if (below > 0 && below < counted[job].hosts) users.push_back(job);
    }
    if (policy == SharePolicy::per_host) {
        share_by_host(topology, trunk, groups, users, divider, parts);
        return parts;
    }
    divider.divide(users);
    for (const std::size_t job : users) parts[job] = divider.weight_part(job);
    return parts;
}

}  // namespace

std::vector<LinkPart> share_trunk(const Topology& topology, std::size_t trunk, SharePolicy policy,
                                  std::span<const SharingJob> jobs) {
    const auto groups = group_hosts(topology, jobs);
    Divider divider(jobs, policy);
    return share_trunk(topology, trunk, policy, groups, count_hosts(topology, jobs.size(), groups), divider);
}

std::vector<std::vector<LinkPart>> share_links(const Topology& topology,
                                               const KernelLayout& layout, SharePolicy policy,
                                               std::span<const SharingJob> jobs) {
    std::vector<std::vector<LinkPart>> parts(jobs.size(),
                                             std::vector<LinkPart>(layout.classes.size()));
    if (jobs.size() < 2) return parts;
    const auto groups = group_hosts(topology, jobs);
    const auto counted = count_hosts(topology, jobs.size(), groups);
    Divider divider(jobs, policy);
    std::vector<std::vector<LinkPart>> of_trunk;
    for (std::size_t trunk = 0; trunk < topology.trunk_count(); ++trunk) {
        of_trunk.push_back(share_trunk(topology, trunk, policy, groups, counted, divider));
    }
    const auto of_edges = share_edges(topology, jobs.size(), groups, divider);
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
