// SPDX-License-Identifier: Apache-2.0
// The flows of a PlogPT simulation: equation (7) of plogpt_rates.hpp kept up to
// date while flows start and end, and who ends next, equation (6).
//
// Vocabulary
//   share       b(h)/c(E) of a directed edge
//   fan         the flows that leave one leaf, or that enter one, and turn at
//               one height: on that side of the tree they use the same edges,
//               of which the one of least share is the fan's
//   bundle      the flows of one edge of fans upwards and one downwards: they
//               have one rate, the lesser of the two shares
//
// A flow belongs to two fans, and these to edges, which make its bundle.  A
// bundle hangs on one of its two edges.  An edge has a clock that counts the
// bytes that a flow on it has moved.  A bundle's clock goes with that of its
// edge and is a constant ahead of it; each flow ends at a fixed reading of its
// bundle's clock.  So a new share costs O(1) for all flows of an edge, a bundle
// that changes over from its edge upwards to that downwards O(log) for all of
// its flows, and only a fan that finds another edge costs O(log) for each flow.
//
// What remains is to notice when a fan or a bundle has to choose another edge.
// Either keeps a threshold between the least share and the next one of those
// that it chooses from, and an edge keeps bounds of these thresholds,
//
//   least  of those that have chosen the edge, or less
//   most   of those that could have and chose another, or more
//
// Only if the share rises above the one or falls below the other are the fans
// or the bundles of the edge looked at.
//
// Example (III-E): b(1) = 3, b(2) = 4; flows 0->2 and 1->3.  Their fans upwards
// have the edge to the root, share 4/2 = 2, next 3, threshold 2.5; those
// downwards their leaves' edges, 3: two bundles that hang on the edge upwards,
// also with threshold 2.5.  If 1->3 ends, the share becomes 4 > 2.5, the fan of
// 0->2 chooses its leaf's edge, and its bundle is one of two shares of 3.
//
// Starts and ends take effect with settle(), so that what happens at one time
// is one change.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "models/indexed_heap.hpp"
#include "models/pair_map.hpp"
#include "models/pairing_heap.hpp"
#include "models/plogpt_tree.hpp"

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

    [[nodiscard]] std::size_t flows() const { return flows_.size() - free_flows_.size(); }

    /// Rates as settled, as (label, rate); for tests.
    [[nodiscard]] std::vector<Ended> rates() const;

private:
    using EdgeId = std::uint32_t;
    using FanId = std::uint32_t;
    using BundleId = std::uint32_t;
    using FlowId = std::uint32_t;
    static constexpr std::uint32_t none = no_node;
    static constexpr double infinite = std::numeric_limits<double>::infinity();

    struct Bounds {
        double least = infinite;
        double most = 0;

        [[nodiscard]] bool are_passed(double before, double after) const {
            return after > before ? after > least : after < most;
        }
        void include(bool has_chosen_it, double threshold) {
            if (has_chosen_it) least = std::min(least, threshold);
            else most = std::max(most, threshold);
        }
    };

    struct alignas(64) Edge {
        double bandwidth = 0;
        double share = infinite;  ///< as settled
        Bounds of_fans;
        Bounds of_bundles;
        std::uint32_t flows = 0;
        BundleId first_bundle = none;  ///< of those that could
        bool is_touched = false;
    };

    /// Edges on which bundles hang need a clock; other edges do not.
    struct Clock {
        double moved = 0;  ///< reading, bytes, ...
        double since = 0;  ///< ... at this time
        BundleId first_to_end = none;
    };

    /// The chosen edge, which a fan and a bundle both have.
    struct Choice {
        EdgeId edge = none;
        bool is_checked = false;  ///< it will be made again
        double threshold = 0;
    };

    struct Fan {
        Choice choice;  ///< none before its first flow is settled
        FlowId first = none;
    };

    struct Neighbours {
        std::uint32_t next = none;
        std::uint32_t previous = none;
    };

    /// A bundle of flows between two edges: of every pair, the first is upwards, the second
    /// downwards.
    struct Bundle {
        PairingLink heap_link;  ///< key: the reading of the edge's clock at its first end
        std::array<EdgeId, 2> edges{};
        std::array<Neighbours, 2> at_edge;  ///< the edge's other bundles
        Choice choice;
        double ahead = 0;  ///< of its edge's clock
        FlowId first_to_end = none;
        bool is_queued = false;
    };

    struct Flow {
        PairingLink heap_link;  ///< key: the reading of the bundle's clock at its end
        std::array<std::uint32_t, 2> leaf{};
        std::array<Neighbours, 2> in_fan;
        BundleId bundle = none;  ///< none before it is settled
        std::uint32_t label = 0;
        double amount = 0;
    };

    [[nodiscard]] FanId fan_of(const Flow& flow, unsigned side) const;
    template <class Visit>
    void for_each_edge(FanId fan, Visit visit) const;
    template <class Visit>
    void for_each_edge(const Flow& flow, Visit visit) const;
    template <class Visit>
    void for_each_fan(EdgeId edge, Visit visit) const;

    void link(FlowId id);
    void unlink(FlowId id);
    void switch_row(FanId fan);
    BundleId new_bundle(EdgeId up, EdgeId down);
    void remove_bundle(BundleId id);
    void touch(EdgeId edge);

    [[nodiscard]] double reading(EdgeId edge, double now) const;
    [[nodiscard]] double reading(const Bundle& bundle, double now) const;
    void change_share(EdgeId id, double now);
    void look_through_fans(EdgeId id);
    void look_through_bundles(EdgeId id);
    void look_at(Choice& choice, EdgeId edge, Bounds& bounds, std::uint32_t chooser,
                 std::vector<std::uint32_t>& checked);
    void choose_edge_of_fan(FanId id, double now);
    void choose_edge_of_bundle(BundleId id);
    void settle_start(FlowId id, double now);
    void change_over(BundleId id, double now);
    void join_bundle(FlowId id, double amount, double now);
    void leave_bundle(FlowId id);
    [[nodiscard]] double started_reading(EdgeId edge, double now);
    void unqueue(BundleId id, EdgeId edge);
    void requeue(BundleId id);
    void update_queue(EdgeId id);
    void end(FlowId id, std::vector<Ended>& ended);

    unsigned levels_;           ///< of edges
    std::uint32_t first_leaf_;  ///< nodes are numbered from the root, 1, to the leaves
    std::vector<Edge> edges_;   ///< above node n: upwards 2n, downwards 2n + 1
    std::vector<Clock> clocks_;  ///< of edges
    std::vector<Fan> fans_;  ///< a row for each side and height
    std::vector<std::uint32_t> rows_in_use_;  ///< by side and leaf: bits, by height
    std::vector<Bundle> bundles_;
    std::vector<BundleId> free_bundles_;
    PairMap bundle_of_edges_;
    std::vector<Flow> flows_;
    std::vector<FlowId> free_flows_;
    IndexedHeap queue_;  ///< edges by the end of their first flow
    std::vector<EdgeId> touched_;
    std::vector<FlowId> started_;
    std::vector<FanId> checked_fans_;
    std::vector<BundleId> checked_bundles_;
};

}  // namespace headway
