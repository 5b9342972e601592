// SPDX-License-Identifier: Apache-2.0
// Clusters of hosts joined by trunks: what the planner divides.
//
//   host --edge-- switch of a --trunk of a-- centre --trunk of b-- switch of b --edge-- host
//
// Clusters form a tree around the centre: trunks may lead to other clusters, or
// to switches without hosts, which have trunks as well.  Mostly they are a star.
// With two clusters in a star the two trunks are one cable: the path from a to b
// crosses the trunk of a upwards and that of b downwards, so the smaller rate of
// both counts.  Every link carries its rate in each direction independently.
//
// A trunk may be several links of one rate, of which a hash of each packet's headers chooses one
// (LACP, ECMP; the links may lead to as many spines).  Rates and buffers of a trunk are those of one of
// its links: what all of them carry depends on the flows (plan/hashed_links.hpp).
//
// A cluster may be the centre itself: then all others are below it, and nothing
// crosses its trunk.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/host_name.hpp"
#include "base/ip_prefix.hpp"
#include "base/units.hpp"

namespace headway {

inline constexpr double rto_default_s = 0.2;  ///< Linux' least retransmission time-out

struct MeasuredCosts;

/// What a switch looks at when it chooses one of several links.
enum class LinkHash : std::uint8_t {
    flow,  ///< addresses and ports (layer 3+4): each connection by itself.  Taken where it is unknown
    pair,  ///< addresses alone (layer 2+3): all that two hosts send each other goes the same way
};

/// "flow", "pair".
[[nodiscard]] constexpr std::string_view hash_name(LinkHash hash) { return hash == LinkHash::flow ? "flow" : "pair"; }

/// Parallel links of one rate.
struct ParallelLinks {
    static constexpr std::uint32_t count_max = 64;

    std::uint32_t count = 1;
    LinkHash hash = LinkHash::flow;

    [[nodiscard]] bool are_hashed() const { return count > 1; }
    friend bool operator==(const ParallelLinks&, const ParallelLinks&) = default;
};

/// A switch and the link from it towards the centre, its trunk.
struct TrunkSwitch {
    std::string name;
    std::string parent;                     ///< a cluster or switch; empty: the centre
    BitsPerSecond trunk_up_rate;            ///< towards the centre, of one link
    BitsPerSecond trunk_down_rate;
    std::chrono::nanoseconds trunk_delay{};  ///< one way
    /// In front of each of the trunk's links, each end.  None: unknown, and taken for nothing.
    std::optional<std::uint64_t> trunk_buffer_bytes;
    ParallelLinks trunk_links{};
};

struct Cluster : TrunkSwitch {
    std::vector<std::string> hosts;
    /// Where packets to these hosts go.  None: not known, then only predicted.
    std::vector<IpPrefix> prefixes;
    BitsPerSecond host_rate;                ///< of a host's edge, each direction
    /// In front of a host, on its switch.
    std::optional<std::uint64_t> host_buffer_bytes;
};

/// Hosts of a job, told apart by cluster.  The planner needs no more: all
/// hosts of a cluster are alike.
struct HostCounts {
    std::vector<std::uint32_t> per_cluster;

    [[nodiscard]] std::uint32_t total() const;
    [[nodiscard]] std::size_t clusters_used() const;
    friend auto operator<=>(const HostCounts&, const HostCounts&) = default;
};

/// A set of the topology's hosts.
class HostSet {
public:
    explicit HostSet(std::size_t hosts) : words_((hosts + hosts_per_word - 1) / hosts_per_word) {}

    /// False if it was a member already.
    bool add(std::size_t host);
    /// Adds the hosts of another set of the same topology.  False if all were members already.
    bool add_all(const HostSet& others);
    [[nodiscard]] bool contains(std::size_t host) const {
        return (words_[host / hosts_per_word] >> host % hosts_per_word & 1) != 0;
    }
    [[nodiscard]] bool contains_all(const HostSet& others) const;
    friend auto operator<=>(const HostSet&, const HostSet&) = default;

private:
    static constexpr std::size_t hosts_per_word = 64;

    std::vector<std::uint64_t> words_;
};

enum class LinkKind { edge_out, trunk_up, trunk_down, edge_in };

/// One direction of a cable.
struct TopologyLink {
    LinkKind kind = LinkKind::edge_out;
    std::size_t owner = 0;  ///< a trunk's number; of an edge, the cluster of its host

    [[nodiscard]] bool is_trunk() const {
        return kind == LinkKind::trunk_up || kind == LinkKind::trunk_down;
    }
    friend bool operator==(const TopologyLink&, const TopologyLink&) = default;
};

/// rates[i][c]: of the class of a sender i (a host of cluster i, of group i of an exchange, or the
/// host i) towards cluster c, bytes of wire time per second; none: not limited.
using RatesByCluster = std::vector<std::vector<std::optional<BytesPerSecond>>>;

/// Clusters, with look-up by host name.  A value.
class Topology {
public:
    Topology() = default;

    /// Fails for hosts or switches whose names are used twice, for parents that do not exist and
    /// for switches that are below themselves.
    [[nodiscard]] static Result<Topology> make(std::vector<Cluster> clusters,
                                               std::vector<TrunkSwitch> switches = {});

    [[nodiscard]] const std::vector<Cluster>& clusters() const { return clusters_; }
    [[nodiscard]] const std::vector<TrunkSwitch>& switches() const { return switches_; }

    /// Trunks have numbers: those of the clusters theirs, then the switches'.
    [[nodiscard]] std::size_t trunk_count() const { return clusters_.size() + switches_.size(); }
    [[nodiscard]] const TrunkSwitch& trunk(std::size_t number) const {
        if (number < clusters_.size()) return clusters_[number];
        return switches_[number - clusters_.size()];
    }
    /// From a cluster to the centre, its own first.
    [[nodiscard]] const std::vector<std::size_t>& trunks_above(std::size_t cluster) const {
        return above_[cluster];
    }
    [[nodiscard]] bool is_below(std::size_t cluster, std::size_t trunk) const;
    /// The trunks that a message between two clusters crosses: upwards, then downwards.
    [[nodiscard]] std::vector<TopologyLink> trunk_path(std::size_t from, std::size_t to) const;
    /// Counts the hosts on each trunk's side that is away from the centre.
    [[nodiscard]] std::vector<std::uint32_t> hosts_below(const HostCounts& hosts) const;

    [[nodiscard]] std::size_t host_count() const { return cluster_of_host_.size(); }
    [[nodiscard]] std::size_t cluster_of(std::size_t host) const { return cluster_of_host_[host]; }

    /// Number of the host of that name, as HostNames finds it.
    [[nodiscard]] std::optional<std::size_t> find_host(std::string_view name) const {
        return host_names_.find(name);
    }

    /// In the order of the clusters.
    [[nodiscard]] std::vector<std::string> names_of(const HostSet& hosts) const;
    /// The hosts of these names; a host named twice counts once.  Fails if any
    /// is unknown, naming (the first few of) them.
    [[nodiscard]] Result<HostSet> resolve(std::span<const std::string> names) const;

    [[nodiscard]] HostCounts count(const HostSet& hosts) const;

    /// The rate of the cable in that direction; of one link, if a trunk has several.
    [[nodiscard]] BitsPerSecond rate_of(const TopologyLink& link) const;
    /// "trunk of a (up)", "edge of a receiver in b".
    [[nodiscard]] std::string name_of(const TopologyLink& link) const;

    /// The smallest of the buffers in front of hosts that are known; 0: none is.
    [[nodiscard]] std::uint64_t least_host_buffer_bytes() const;
    /// Returns the topology with buffers of which nothing is known.
    [[nodiscard]] Topology without_buffers() const;
    /// Returns the topology with a part of every link's rate, 0 < part <= 1.
    [[nodiscard]] Topology with_rates_times(double part) const;

    /// The times that messages were measured to take here (planner_measured.hpp); null: none are
    /// known.
    [[nodiscard]] const MeasuredCosts* measured() const { return measured_.get(); }
    void set_measured(std::shared_ptr<const MeasuredCosts> costs) { measured_ = std::move(costs); }

    /// For retransmission, in force on the node that plans; Linux' own until it is told.
    [[nodiscard]] double least_timeout_s() const { return least_timeout_s_; }
    void set_least_timeout_s(double timeout_s) { least_timeout_s_ = timeout_s; }

    /// One-way delay of the trunks between two clusters: their sum, or the
    /// larger of both if two clusters are all there is (one cable).
    [[nodiscard]] std::chrono::nanoseconds delay(std::size_t from, std::size_t to) const;

    /// Two clusters are all there is, and their trunks the same cable.
    [[nodiscard]] bool is_one_cable() const;

private:
    Result<void> link_up();

    std::vector<Cluster> clusters_;
    std::vector<TrunkSwitch> switches_;
    std::vector<std::vector<std::size_t>> above_;  ///< trunks, of each cluster
    std::vector<std::size_t> cluster_of_host_;
    std::shared_ptr<const MeasuredCosts> measured_;
    double least_timeout_s_ = rto_default_s;
    HostNames host_names_;
};

}  // namespace headway
