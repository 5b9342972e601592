// SPDX-License-Identifier: Apache-2.0
// Finds a network's tree, the capacities and delays of its links, and the buffers before
// them, by experiments.  What it does to the network is in the order of the functions of
// NetworkMeasurement.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "measure/delay_tree.hpp"
#include "measure/link_capacity.hpp"

namespace headway {

/// Tells what is being done, and how much of all work has been done (0 .. 1).
using MeasureProgress = std::function<void(const std::string& what, double done)>;

struct MeasuredBuffer {
    double bytes = 0;        ///< of frames, without what the wire adds
    double error_bytes = 0;  ///< half the width of the interval it lies in
    /// The buffer is at least that large, for nothing was lost.
    bool is_lower_bound = false;
};

/// Whether ports of one switch share memory: the buffer before a port, alone and while another
/// port of its switch is full as well.
struct MeasuredSharing {
    std::size_t port = 0, other_port = 0;  ///< hosts
    MeasuredBuffer alone, together;

    /// Says whether it is shared; none: the intervals in which both lie do not tell.
    [[nodiscard]] std::optional<bool> is_shared() const;
};

/// A height of PlogPT's tree (tree_heights.hpp); bytes are those of the wire, of one direction.
struct MeasuredHeight {
    std::vector<Flow> pairs;
    double one_way_bytes_per_s = 0;   ///< b(h): the sum of all pairs
    double both_ways_bytes_per_s = 0; ///< the same, while as many send the other way
    /// d(h): what a frame waits in a full buffer before a link of this height.
    std::optional<double> buffer_delay_s;
    bool is_delay_lower_bound = false;
};

struct MeasuredNetwork {
    explicit MeasuredNetwork(std::size_t hosts) : tree(hosts), shortest_s(hosts), shortest_full_s(hosts) {}

    HostTree tree;
    PairTimes shortest_s;       ///< of the shortest frame, one way
    PairTimes shortest_full_s;  ///< of a full one
    double resolution_s = 0;    ///< links that take less are not told apart
    double probe_wire_bytes = 0;
    LinkCapacities capacities;
    std::map<std::size_t, double> delay_s;  ///< of trunks, by node; without a frame's own time
    std::map<DirectedLink, MeasuredBuffer> buffers;
    std::vector<MeasuredSharing> sharing;  ///< of each switch with hosts enough
    std::vector<MeasuredHeight> heights;  ///< from 1 on; none: the tree is not PlogPT's
    /// Why what comes after the tree is not all there; none: it is.
    std::optional<Error> ended_by;
    /// Says what could not be found, and why, and what the reader should know of the network.
    std::vector<std::string> remarks;
};

/// Disjoint pairs across a trunk, from below it to the rest, as many as there are.
[[nodiscard]] std::vector<Flow> pairs_across(const HostTree& tree, std::size_t trunk);

class NetworkMeasurement {
public:
    /// `names` are the hosts', for remarks.
    NetworkMeasurement(Laboratory& laboratory, std::vector<std::string> names, MeasureProgress progress);

    /// Fails where not even the tree is known; what is missing of the rest `ended_by` tells.
    [[nodiscard]] Result<MeasuredNetwork> run();

private:
    Result<void> look_at_round_trips();
    Result<void> check_routes();
    Result<double> rate_alone(const Flow& flow);
    Result<void> send_alone();
    Result<void> find_tree();
    Result<void> split_by_interference();
    Result<void> fill_trunks();
    Result<void> fill_ports();
    Result<void> fill_links();
    Result<void> measure_beyond_rates();
    Result<void> measure_buffers();
    void find_capacities();

    [[nodiscard]] Result<const ObservedBulk*> observe(std::vector<Flow> flows, std::vector<Probe> probes = {},
                                                      double longer = 1);
    [[nodiscard]] std::vector<std::size_t> nearest_to(std::size_t host) const;
    /// The flows at such rates that they fill the link, and no other one of the probed path;
    /// nothing if they cannot.
    [[nodiscard]] std::vector<Flow> filling_only(DirectedLink link, const std::vector<Flow>& flows, Flow probed) const;
    Result<void> measure_buffer(DirectedLink link, const std::vector<Flow>& flows, Flow probed);
    /// Measures what waits in front of the link while the flows, which overload it, are on their
    /// way.
    Result<MeasuredBuffer> fill_buffer(DirectedLink link, const std::vector<Flow>& flows, Flow probed);
    Result<void> measure_sharing(std::size_t node);
    Result<void> measure_trunk_buffer(std::size_t trunk, bool is_up);
    Result<void> measure_port_buffer(std::size_t host);
    Result<void> measure_heights();
    Result<double> rate_of_burst(const std::vector<Flow>& flows);
    void add_buffer_delay(MeasuredHeight& height) const;
    [[nodiscard]] std::string name_of(DirectedLink link) const;
    void advance(const std::string& what);

    Laboratory& laboratory_;
    std::vector<std::string> names_;
    MeasureProgress progress_;
    MeasuredNetwork network_;
    std::vector<ObservedBulk> observed_;
    std::chrono::nanoseconds duration_{};  ///< of a bulk, once the hosts' speed is known
    std::minstd_rand random_{20260};       ///< the same experiments every time
    double done_ = 0, to_do_ = 1;
};

}  // namespace headway
