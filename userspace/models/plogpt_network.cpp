// SPDX-License-Identifier: Apache-2.0
#include "models/plogpt_network.hpp"

#include <bit>
#include <cmath>

namespace headway {
namespace {

enum Side : unsigned { upwards, downwards };

/// The share of what a flow has left to use on a side: infinite.
constexpr std::uint32_t no_edge_down = downwards;

unsigned side_of(std::uint32_t edge) { return edge % 2; }

/// Levels of edges that processes 0 to leaves - 1 can use, at least one.
unsigned levels_of(std::uint32_t leaves) {
    return std::max(1U, PlogptTree::height_of(0, leaves - 1));
}

/// An item that is no longer used, or a new one.
template <class Item>
std::uint32_t take_item(std::vector<Item>& items, std::vector<std::uint32_t>& free) {
    if (free.empty()) {
        items.emplace_back();
        return static_cast<std::uint32_t>(items.size() - 1);
    }
    const std::uint32_t id = free.back();
    free.pop_back();
    items[id] = {};
    return id;
}

/// `neighbours_of` gives an item's links in this list.
template <class NeighboursOf>
void link_first(std::uint32_t& first, std::uint32_t id, NeighboursOf neighbours_of) {
    if (first != no_node) neighbours_of(first).previous = id;
    neighbours_of(id).next = first;
    first = id;
}

template <class NeighboursOf>
void unlink_from(std::uint32_t& first, std::uint32_t id, NeighboursOf neighbours_of) {
    const auto [next, previous] = neighbours_of(id);
    if (next != no_node) neighbours_of(next).previous = previous;
    if (previous != no_node) neighbours_of(previous).next = next;
    else first = next;
}

double between(double least, double next) {
    return std::isinf(next) ? next : least + (next - least) / 2;
}

}  // namespace

PlogptNetwork::PlogptNetwork(const PlogptTree& tree, std::uint32_t leaves)
    : levels_(levels_of(leaves)),
      first_leaf_(1U << levels_),
      edges_(4 * std::size_t{first_leaf_}),
      clocks_(edges_.size()),
      fans_(2 * std::size_t{levels_} * first_leaf_),
      rows_in_use_(2 * std::size_t{first_leaf_}),
      queue_(edges_.size()) {
    for (EdgeId id = 4; id < edges_.size(); ++id) {
        const auto depth = static_cast<unsigned>(std::bit_width(id)) - 2;
        edges_[id].bandwidth = tree.bandwidth(levels_ - depth + 1);
    }
}

// -------------------------------------------------------- who uses which edges

PlogptNetwork::FanId PlogptNetwork::fan_of(const Flow& flow, unsigned side) const {
    const unsigned height = PlogptTree::height_of(flow.leaf[upwards], flow.leaf[downwards]);
    return ((side * levels_ + height - 1) << levels_) + flow.leaf[side];
}

/// The two halves of the tree are joined by one pair of edges, of which the
/// upper one would do; the lower one is left out.
template <class Visit>
void PlogptNetwork::for_each_edge(FanId fan, Visit visit) const {
    const unsigned row = fan >> levels_;
    const unsigned side = row >= levels_ ? downwards : upwards;
    const unsigned height = row - side * levels_ + 1;
    EdgeId id = 2 * (first_leaf_ + (fan & (first_leaf_ - 1))) + side;
    for (unsigned left = std::min(height, levels_ - side); left > 0; --left) {
        visit(id);
        id = (id >> 2 << 1) + side;
    }
}

template <class Visit>
void PlogptNetwork::for_each_edge(const Flow& flow, Visit visit) const {
    std::uint32_t from = first_leaf_ + flow.leaf[upwards];
    std::uint32_t to = first_leaf_ + flow.leaf[downwards];
    for (; from != to; from /= 2, to /= 2) {
        visit(2 * from + upwards);
        if (from > 3) visit(2 * to + downwards);
    }
}

/// All that use the edge: those of the leaves below it that turn above.
template <class Visit>
void PlogptNetwork::for_each_fan(EdgeId edge, Visit visit) const {
    const unsigned side = side_of(edge);
    const std::uint32_t node = edge / 2;
    const int level = std::bit_width(first_leaf_) - std::bit_width(node);
    const std::uint32_t begin = ((node << level) - first_leaf_) + side * first_leaf_;
    const unsigned first_row = side * levels_;
    for (std::uint32_t at = begin; at < begin + (1U << level); ++at) {
        std::uint32_t rows = rows_in_use_[at] >> level << level;
        for (; rows != 0; rows &= rows - 1) {
            const unsigned row = first_row + static_cast<unsigned>(std::countr_zero(rows));
            visit((row << levels_) + (at & (first_leaf_ - 1)));
        }
    }
}

void PlogptNetwork::link(FlowId id) {
    for (const unsigned side : {upwards, downwards}) {
        const FanId fan = fan_of(flows_[id], side);
        if (fans_[fan].first == none) switch_row(fan);
        link_first(fans_[fan].first, id,
                   [&](FlowId flow) -> Neighbours& { return flows_[flow].in_fan[side]; });
    }
}

void PlogptNetwork::unlink(FlowId id) {
    for (const unsigned side : {upwards, downwards}) {
        const FanId fan = fan_of(flows_[id], side);
        unlink_from(fans_[fan].first, id,
                    [&](FlowId flow) -> Neighbours& { return flows_[flow].in_fan[side]; });
        if (fans_[fan].first != none) continue;
        fans_[fan].choice.edge = none;
        switch_row(fan);
    }
    free_flows_.push_back(id);
}

/// The fan comes into use, or goes out of use.
void PlogptNetwork::switch_row(FanId fan) {
    const unsigned row = fan >> levels_;
    const unsigned side = row >= levels_ ? downwards : upwards;
    const std::uint32_t leaf = fan & (first_leaf_ - 1);
    rows_in_use_[leaf + side * first_leaf_] ^= 1U << (row - side * levels_);
}

PlogptNetwork::BundleId PlogptNetwork::new_bundle(EdgeId up, EdgeId down) {
    const BundleId id = take_item(bundles_, free_bundles_);
    bundles_[id].edges = {up, down};
    for (const unsigned side : {upwards, downwards}) {
        link_first(edges_[bundles_[id].edges[side]].first_bundle, id,
                   [&](BundleId bundle) -> Neighbours& { return bundles_[bundle].at_edge[side]; });
    }
    bundle_of_edges_.add(up, down, id);
    choose_edge_of_bundle(id);
    return id;
}

void PlogptNetwork::remove_bundle(BundleId id) {
    const auto [up, down] = bundles_[id].edges;
    bundle_of_edges_.remove(up, down);
    for (const unsigned side : {upwards, downwards}) {
        unlink_from(edges_[bundles_[id].edges[side]].first_bundle, id,
                    [&](BundleId bundle) -> Neighbours& { return bundles_[bundle].at_edge[side]; });
    }
    bundles_[id].choice.is_checked = false;
    free_bundles_.push_back(id);
}

// --------------------------------------------------------------- starts, ends

void PlogptNetwork::touch(EdgeId edge) {
    if (!std::exchange(edges_[edge].is_touched, true)) touched_.push_back(edge);
}

void PlogptNetwork::start(std::uint32_t source, std::uint32_t destination, double amount_bytes,
                          std::uint32_t label) {
    const FlowId id = take_item(flows_, free_flows_);
    Flow& flow = flows_[id];
    flow.leaf = {source, destination};
    flow.amount = amount_bytes;
    flow.label = label;
    link(id);
    for_each_edge(flow, [this](EdgeId edge) {
        ++edges_[edge].flows;
        touch(edge);
    });
    started_.push_back(id);
}

void PlogptNetwork::end(FlowId id, std::vector<Ended>& ended) {
    const Flow& flow = flows_[id];
    ended.push_back({flow.label, edges_[bundles_[flow.bundle].choice.edge].share});
    for_each_edge(flow, [this](EdgeId edge) {
        --edges_[edge].flows;
        touch(edge);
    });
    leave_bundle(id);
    unlink(id);
}

void PlogptNetwork::take_ended(double until, std::vector<Ended>& ended) {
    while (next_end() <= until) {
        end(bundles_[clocks_[queue_.top()].first_to_end].first_to_end, ended);
    }
}

// ------------------------------------------------------------------- settling

double PlogptNetwork::reading(EdgeId edge, double now) const {
    return clocks_[edge].moved + edges_[edge].share * (now - clocks_[edge].since);
}

double PlogptNetwork::reading(const Bundle& bundle, double now) const {
    return reading(bundle.choice.edge, now) + bundle.ahead;
}

void PlogptNetwork::settle(double now) {
    for (const EdgeId id : touched_) change_share(id, now);
    for (const FanId id : checked_fans_) choose_edge_of_fan(id, now);
    for (const FlowId id : started_) settle_start(id, now);
    for (const BundleId id : checked_bundles_) {
        if (bundles_[id].choice.is_checked) change_over(id, now);  // else it has been removed
    }
    touched_.clear();
    checked_fans_.clear();
    started_.clear();
    checked_bundles_.clear();
}

void PlogptNetwork::change_share(EdgeId id, double now) {
    Edge& edge = edges_[id];
    edge.is_touched = false;
    const double before = edge.share;
    const double share = edge.flows == 0 ? infinite : edge.bandwidth / edge.flows;
    if (share == before) return;
    if (clocks_[id].first_to_end != none) clocks_[id].moved = reading(id, now);
    clocks_[id].since = now;
    edge.share = share;
    if (edge.of_fans.are_passed(before, share)) look_through_fans(id);
    if (edge.of_bundles.are_passed(before, share)) look_through_bundles(id);
    update_queue(id);
}

/// Notes those that may have to choose another edge, and makes the bounds exact
/// again for all others.
void PlogptNetwork::look_through_fans(EdgeId id) {
    Edge& edge = edges_[id];
    edge.of_fans = {};
    if (edge.flows == 0) return;
    for_each_fan(id, [&](FanId fan) {
        Choice& choice = fans_[fan].choice;
        if (choice.edge != none) look_at(choice, id, edge.of_fans, fan, checked_fans_);
    });
}

void PlogptNetwork::look_through_bundles(EdgeId id) {
    Edge& edge = edges_[id];
    edge.of_bundles = {};
    const unsigned side = side_of(id);
    for (BundleId bundle = edge.first_bundle; bundle != none;
         bundle = bundles_[bundle].at_edge[side].next) {
        look_at(bundles_[bundle].choice, id, edge.of_bundles, bundle, checked_bundles_);
    }
}

void PlogptNetwork::look_at(Choice& choice, EdgeId edge, Bounds& bounds, std::uint32_t chooser,
                            std::vector<std::uint32_t>& checked) {
    if (choice.is_checked) return;  // it will tell its bounds itself
    const bool has_chosen_it = choice.edge == edge;
    const double share = edges_[edge].share;
    if (has_chosen_it ? choice.threshold < share : choice.threshold > share) {
        choice.is_checked = true;
        checked.push_back(chooser);
    } else {
        bounds.include(has_chosen_it, choice.threshold);
    }
}

void PlogptNetwork::choose_edge_of_fan(FanId id, double now) {
    Choice& choice = fans_[id].choice;
    EdgeId best = no_edge_down;
    double least = infinite;
    double second = infinite;
    for_each_edge(id, [&](EdgeId edge) {
        const double share = edges_[edge].share;
        if (share < least) {
            second = least;
            least = share;
            best = edge;
        } else {
            second = std::min(second, share);
        }
    });
    const EdgeId before = choice.edge;
    if (before != none && edges_[before].share <= least) best = before;
    choice = {best, false, between(least, second)};
    for_each_edge(id, [&](EdgeId edge) {
        edges_[edge].of_fans.include(edge == best, choice.threshold);
    });
    if (before == none || before == best) return;
    const unsigned side = side_of(best);
    for (FlowId flow = fans_[id].first; flow != none; flow = flows_[flow].in_fan[side].next) {
        const BundleId bundle = flows_[flow].bundle;
        if (bundle == none) continue;
        const double left = flows_[flow].heap_link.key - reading(bundles_[bundle], now);
        leave_bundle(flow);
        join_bundle(flow, std::max(0.0, left), now);
    }
}

void PlogptNetwork::settle_start(FlowId id, double now) {
    for (const unsigned side : {upwards, downwards}) {
        const FanId fan = fan_of(flows_[id], side);
        if (fans_[fan].choice.edge == none) choose_edge_of_fan(fan, now);
    }
    join_bundle(id, flows_[id].amount, now);
}

void PlogptNetwork::choose_edge_of_bundle(BundleId id) {
    Bundle& bundle = bundles_[id];
    const auto [up, down] = bundle.edges;
    const double up_share = edges_[up].share;
    const double down_share = edges_[down].share;
    const auto [least, next] = std::minmax(up_share, down_share);
    EdgeId best = up_share <= down_share ? up : down;
    if (up_share == down_share && bundle.choice.edge != none) best = bundle.choice.edge;
    bundle.choice = {best, false, between(least, next)};
    for (const EdgeId edge : bundle.edges) {
        edges_[edge].of_bundles.include(edge == best, bundle.choice.threshold);
    }
}

/// Hangs the bundle on that of its edges which has the lesser share now.
void PlogptNetwork::change_over(BundleId id, double now) {
    Bundle& bundle = bundles_[id];
    const EdgeId before = bundle.choice.edge;
    const double moved = reading(bundle, now);
    choose_edge_of_bundle(id);
    if (bundle.choice.edge == before) return;
    unqueue(id, before);
    bundle.ahead = moved - started_reading(bundle.choice.edge, now);
    requeue(id);
}

/// Reads the edge's clock, which it sets back first if nobody needs it: small readings are exact
/// ones.
double PlogptNetwork::started_reading(EdgeId id, double now) {
    Clock& clock = clocks_[id];
    if (clock.first_to_end == none) {
        clock.moved = 0;
        clock.since = now;
    }
    return reading(id, now);
}

void PlogptNetwork::join_bundle(FlowId id, double amount, double now) {
    const auto edge_of = [&](Side side) { return fans_[fan_of(flows_[id], side)].choice.edge; };
    const EdgeId up = edge_of(upwards);
    const EdgeId down = edge_of(downwards);
    const BundleId found = bundle_of_edges_.find(up, down);
    const BundleId bundle_id = found == PairMap::absent ? new_bundle(up, down) : found;
    Bundle& bundle = bundles_[bundle_id];
    if (bundle.first_to_end == none) bundle.ahead = -started_reading(bundle.choice.edge, now);
    flows_[id].bundle = bundle_id;
    PairingHeap(flows_, bundle.first_to_end).add(id, reading(bundle, now) + amount);
    if (bundle.first_to_end == id) requeue(bundle_id);
}

void PlogptNetwork::leave_bundle(FlowId id) {
    const BundleId bundle_id = flows_[id].bundle;
    Bundle& bundle = bundles_[bundle_id];
    const bool was_first = bundle.first_to_end == id;
    PairingHeap(flows_, bundle.first_to_end).remove(id);
    if (!was_first) return;
    requeue(bundle_id);
    if (bundle.first_to_end == none) remove_bundle(bundle_id);
}

void PlogptNetwork::unqueue(BundleId id, EdgeId edge) {
    if (!std::exchange(bundles_[id].is_queued, false)) return;
    PairingHeap(bundles_, clocks_[edge].first_to_end).remove(id);
    update_queue(edge);
}

/// The bundle's first flow to end has become another.
void PlogptNetwork::requeue(BundleId id) {
    Bundle& bundle = bundles_[id];
    const EdgeId edge = bundle.choice.edge;
    PairingHeap queue(bundles_, clocks_[edge].first_to_end);
    if (bundle.is_queued) queue.remove(id);
    bundle.is_queued = bundle.first_to_end != none;
    if (bundle.is_queued) queue.add(id, flows_[bundle.first_to_end].heap_link.key - bundle.ahead);
    update_queue(edge);
}

void PlogptNetwork::update_queue(EdgeId id) {
    const Clock& clock = clocks_[id];
    if (clock.first_to_end == none) {
        queue_.remove(id);
        return;
    }
    const double left = bundles_[clock.first_to_end].heap_link.key - clock.moved;
    queue_.set(id, clock.since + left / edges_[id].share);
}

std::vector<PlogptNetwork::Ended> PlogptNetwork::rates() const {
    std::vector<Ended> rates;
    for (FanId fan = 0; fan < fans_.size() / 2; ++fan) {
        for (FlowId id = fans_[fan].first; id != none; id = flows_[id].in_fan[upwards].next) {
            const Bundle& bundle = bundles_[flows_[id].bundle];
            rates.push_back({flows_[id].label, edges_[bundle.choice.edge].share});
        }
    }
    return rates;
}

}  // namespace headway
