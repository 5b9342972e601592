// SPDX-License-Identifier: MIT
// Which host each rank of the job runs on, and what all ranks know of their daemons.  Gathered
// once, in MPI_Init; from then on the hosts of any communicator are known without communication.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exchange_order.hpp"
#include "job_hosts.hpp"
#include "job_planning.hpp"

namespace headway::glue {

/// By rank in the communicator, each member's rank in `world`; MPI_UNDEFINED of
/// those that are not in it.
[[nodiscard]] std::vector<int> ranks_within(MPI_Group world, MPI_Comm communicator);

class HostTable {
public:
    /// More hosts, or neighbours, headwayd does not want to be told of.
    static constexpr std::size_t told_max = 512;

    HostTable() = default;
    HostTable(const HostTable&) = delete;
    HostTable& operator=(const HostTable&) = delete;

    /// Collective over MPI_COMM_WORLD: every rank gives its host's name, and what its daemon has
    /// told, "" and 0 if it has none: its cluster, and that smaller messages are not paced.
    /// May throw std::bad_alloc, after all communication.
    void gather(const std::string& own_name, const std::string& own_cluster, std::uint64_t min_message_bytes);

    /// Where no daemon has told: the cluster of each of the job's hosts.  May throw std::bad_alloc.
    void place(PlannedNetwork network);

    /// Frees what MPI holds for the table; MPI is about to be finalised.
    void release();

    /// None: some member is not of this job (spawned, connected), so its host
    /// is not known.  Every member comes to that same result.
    [[nodiscard]] std::optional<HostSet> hosts_of(MPI_Comm communicator) const;

    /// Whether all members are of this job, and on more than one host.
    [[nodiscard]] bool is_on_several(MPI_Comm communicator) const noexcept;

    /// By rank in the communicator, each member's rank in MPI_COMM_WORLD; MPI_UNDEFINED: it is not of this job.
    [[nodiscard]] std::vector<int> world_ranks_of(MPI_Comm communicator) const;

    /// The host of one member; none: as above.
    [[nodiscard]] std::optional<int> host_of(MPI_Comm communicator, int rank) const;

    /// The place in `hosts`, which are the communicator's, of each member's host.
    [[nodiscard]] std::vector<int> places_of(MPI_Comm communicator, const HostSet& hosts) const;

    /// Returns, by cluster and host in it, the members on the host.  Empty if some member is not of
    /// this job.
    [[nodiscard]] RanksByCluster clusters_of(MPI_Comm communicator) const;

    /// Their names.
    [[nodiscard]] std::vector<std::string> cluster_names_of(MPI_Comm communicator) const;

    /// Of place(): what joins the clusters, and the number that it has for each of `hosts`.
    [[nodiscard]] const NetworkLinks& links() const { return links_; }
    [[nodiscard]] std::vector<int> clusters_in_links(const HostSet& hosts) const;

    /// The most of any rank.
    [[nodiscard]] std::uint64_t min_message_bytes() const { return min_message_bytes_; }

    /// In the order of their first rank; empty until gather().
    [[nodiscard]] const JobHosts& job_hosts() const { return job_hosts_; }

private:
    [[nodiscard]] int cluster_named(const std::string& name);

    JobHosts job_hosts_;
    std::uint64_t min_message_bytes_ = 0;
    std::vector<int> host_of_rank_;     ///< place among the job's hosts
    std::vector<int> cluster_of_rank_;  ///< unknown_cluster, or a number of cluster_numbers_
    std::map<std::string, int> cluster_numbers_;
    NetworkLinks links_;
    std::vector<int> cluster_in_links_;  ///< by host of the job
    MPI_Group world_ = MPI_GROUP_NULL;
};

}  // namespace headway::glue
