// SPDX-License-Identifier: Apache-2.0
#include "daemon/job_shares.hpp"

#include <algorithm>
#include <map>

namespace headway {
namespace {

/// Which of the jobs use a link.
using Users = std::vector<std::size_t>;

LinkPart fraction(std::uint64_t amount, std::uint64_t of) {
    return {static_cast<std::uint64_t>(static_cast<unsigned __int128>(amount) * LinkPart::one / of)};
}

void share_by_weight(std::span<const SharingJob> jobs, const Users& users,
                     std::vector<LinkPart>& parts) {
    std::uint64_t all = 0;
    for (const std::size_t job : users) all += jobs[job].weight;
    for (const std::size_t job : users) parts[job] = fraction(jobs[job].weight, all);
}

/// Hosts with equally many jobs count together, so that little is rounded away.
void share_by_host(const Topology& topology, std::size_t trunk, std::span<const SharingJob> jobs,
                   const Users& users, std::vector<LinkPart>& parts) {
    std::vector<std::uint32_t> jobs_on(topology.host_count());
    std::uint64_t hosts = 0;
    const auto is_below = [&](std::size_t host) {
        return topology.is_below(topology.cluster_of(host), trunk);
    };
    for (std::size_t host = 0; host < jobs_on.size(); ++host) {
        if (!is_below(host)) continue;
        for (const std::size_t job : users) jobs_on[host] += jobs[job].hosts.contains(host) ? 1 : 0;
        hosts += jobs_on[host] > 0 ? 1 : 0;
    }
    for (const std::size_t job : users) {
        std::map<std::uint32_t, std::uint64_t> hosts_by_jobs;
        for (std::size_t host = 0; host < jobs_on.size(); ++host) {
            if (jobs_on[host] > 0 && jobs[job].hosts.contains(host)) ++hosts_by_jobs[jobs_on[host]];
        }
        std::uint64_t part = 0;
        for (const auto& [shared_by, count] : hosts_by_jobs) {
            part += fraction(count, hosts * shared_by).value;
        }
        parts[job] = {std::max<std::uint64_t>(part, 1)};
    }
}

/// Of the links between hosts and their switches: per host, per job.
class Edges {
public:
    Edges(const Topology& topology, SharePolicy policy, std::span<const SharingJob> jobs)
        : policy_(policy), jobs_(jobs), all_(topology.host_count()) {
        for (const SharingJob& job : jobs) {
            for (std::size_t host = 0; host < all_.size(); ++host) {
                if (job.hosts.contains(host)) all_[host] += weight(job);
            }
        }
    }

    [[nodiscard]] LinkPart part(std::size_t job, std::size_t host) const {
        if (!jobs_[job].hosts.contains(host)) return {};
        return fraction(weight(jobs_[job]), all_[host]);
    }

private:
    [[nodiscard]] std::uint64_t weight(const SharingJob& job) const {
        return policy_ == SharePolicy::per_job ? job.weight : 1;
    }

    SharePolicy policy_;
    std::span<const SharingJob> jobs_;
    std::vector<std::uint64_t> all_;  ///< weights, by host
};

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
    const Edges edges(topology, policy, jobs);
    for (std::size_t job = 0; job < jobs.size(); ++job) {
        // by cluster: a packet to it ends at some host of the job there
        std::vector<LinkPart> narrowest(topology.clusters().size());
        for (std::size_t host = 0; host < topology.host_count(); ++host) {
            LinkPart& least = narrowest[topology.cluster_of(host)];
            least = std::min(least, edges.part(job, host));
        }
        for (std::size_t i = 0; i < layout.classes.size(); ++i) {
            const std::size_t to = layout.classes[i].cluster;
            LinkPart& part = parts[job][i];
            part = std::min(narrowest[to], narrowest[layout.own_cluster]);
            const TrunkPath path = topology.trunk_path(layout.own_cluster, to);
            for (const std::size_t trunk : path.up) part = std::min(part, of_trunk[trunk][job]);
            for (const std::size_t trunk : path.down) part = std::min(part, of_trunk[trunk][job]);
        }
    }
    return parts;
}

}  // namespace headway
