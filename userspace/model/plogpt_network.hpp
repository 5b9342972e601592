// SPDX-License-Identifier: Apache-2.0
// The flows of a PlogPT simulation: equation (7) of plogpt_rates.hpp kept up to
// date while flows start and end, and who ends next, equation (6).
//
// Vocabulary
//   share       b(h)/c(E) of a directed edge
//   bottleneck  the edge of least share on a flow's path: its share is the
//               flow's rate
//
// A flow hangs on its bottleneck.  An edge has a clock that counts the bytes
// that a flow on it has moved; each flow on it ends at a fixed reading of that
// clock.  So a new share costs O(1) for all flows of an edge, not O(1) for each.
// What remains is to notice when a flow's bottleneck becomes another edge: a
// flow keeps a threshold between its rate and the least share elsewhere on its
// path, and an edge keeps bounds of the thresholds of its flows,
//
//   threshold_least  of the flows that hang on it, or less
//   threshold_most   of those that cross it and hang elsewhere, or more
//
// Only if the share rises above the one or falls below the other are the flows
// of the edge looked at.  They are found leaf by leaf below the edge.
//
// Example (III-E): b(1) = 3, b(2) = 4; flows 0->2 and 1->3 hang on the edges up
// to the root, share 4/2 = 2, the least elsewhere is 3, the threshold 2.5.  If
// 1->3 ends, the share becomes 4 > 2.5, and 0->2 moves to its leaf's edge: 3.
//
// Starts and ends take effect with settle(), so that what happens at one time
// is one change.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "model/indexed_heap.hpp"
#include "model/pairing_heap.hpp"
#include "model/plogpt_tree.hpp"

namespace headway {

class PlogptNetwork {
public:
    /// A flow that has ended, and how fast it was at the end.
    struct Ended {
        std::uint32_t label = 0;
        double rate = 0;
    };

    /// `leaves` that take part, 0 to leaves - 1; the tree has as many.
    PlogptNetwork(const PlogptTree& tree, std::uint32_t leaves);

    /// Source and destination differ.  The label is the caller's.
    void start(std::uint32_t source, std::uint32_t destination, double amount_bytes,
               std::uint32_t label);

    /// All starts and ends at this time have been told.
    void settle(double now);

    /// When the next flow ends; infinite without flows.
    [[nodiscard]] double next_end() const {
        return queue_.empty() ? std::numeric_limits<double>::infinity() : queue_.top_key();
    }

    /// Takes out the flows that end until `until`, and adds them to `ended`.
    void take_ended(double until, std::vector<Ended>& ended);

    [[nodiscard]] std::size_t flows() const { return flows_.size() - free_.size(); }

    /// Rates as settled, as (label, rate); for tests.
    [[nodiscard]] std::vector<Ended> rates() const;

private:
    using EdgeId = std::uint32_t;
    using FlowId = std::uint32_t;
    static constexpr std::uint32_t none = no_node;

    struct Edge {
        double bandwidth = 0;
        double share = std::numeric_limits<double>::infinity();  ///< as settled
        double moved = 0;   ///< the clock's reading, bytes, ...
        double since = 0;   ///< ... at this time
        double threshold_least = std::numeric_limits<double>::infinity();
        double threshold_most = 0;
        std::uint32_t flows = 0;
        FlowId first_to_end = none;  ///< of those that hang on it
        bool touched = false;
    };

    struct Flow {
        PairingLink heap_link;  ///< key: the reading of the edge's clock at its end
        std::uint32_t source = 0;
        std::uint32_t destination = 0;
        EdgeId edge = none;  ///< the bottleneck; none before it is settled
        bool is_checked = false;
        double threshold = 0;
        double amount = 0;
        std::uint32_t label = 0;
        // lists of the flows that leave a leaf and that enter one
        FlowId next_out = none, previous_out = none;
        FlowId next_in = none, previous_in = none;
    };

    struct Leaf {
        FlowId first_out = none;
        FlowId first_in = none;
    };

    template <class Visit>
    void for_each_edge(const Flow& flow, Visit visit);
    template <class Visit>
    void for_each_flow(EdgeId edge, Visit visit);

    FlowId new_flow();
    void link(FlowId id);
    void unlink(FlowId id);
    void touch(EdgeId edge);

    [[nodiscard]] double reading(const Edge& edge, double now) const;
    void change_share(EdgeId id, double now);
    void look_through(EdgeId id);
    void find_bottleneck(FlowId id, double now);
    void hang(FlowId id, EdgeId to, double amount, double now);
    double take_down(FlowId id, double now);
    void update_queue(EdgeId id);
    void end(FlowId id, std::vector<Ended>& ended);

    std::uint32_t first_leaf_;  ///< edges are numbered as the nodes below them: root 1, leaves last
    std::uint32_t down_;        ///< the same edge downwards is this much further
    std::vector<Edge> edges_;
    std::vector<Leaf> leaves_;
    std::vector<Flow> flows_;
    std::vector<FlowId> free_;
    IndexedHeap queue_;  ///< edges by the end of their first flow
    std::vector<EdgeId> touched_;
    std::vector<FlowId> started_;
    std::vector<FlowId> checked_;
};

}  // namespace headway
