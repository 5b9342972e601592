// SPDX-License-Identifier: Apache-2.0
#include "model/plogpt_network.hpp"

#include <algorithm>
#include <bit>

namespace headway {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Levels of edges that processes 0 to leaves - 1 can use, at least one.
unsigned levels_of(std::uint32_t leaves) {
    return std::max(1U, PlogptTree::height_of(0, leaves - 1));
}

}  // namespace

PlogptNetwork::PlogptNetwork(const PlogptTree& tree, std::uint32_t leaves)
    : first_leaf_(1U << levels_of(leaves)),
      down_(2 * first_leaf_),
      edges_(2 * std::size_t{down_}),
      leaves_(first_leaf_),
      queue_(edges_.size()) {
    const unsigned levels = levels_of(leaves);
    for (std::uint32_t node = 2; node < down_; ++node) {
        const auto depth = static_cast<unsigned>(std::bit_width(node)) - 1;
        edges_[node].bandwidth = tree.bandwidth(levels - depth + 1);
        edges_[node + down_].bandwidth = edges_[node].bandwidth;
    }
}

/// The two halves of the tree are joined by one pair of edges, of which the
/// upper one would do; the lower one is left out.
template <class Visit>
void PlogptNetwork::for_each_edge(const Flow& flow, Visit visit) {
    std::uint32_t from = first_leaf_ + flow.source;
    std::uint32_t to = first_leaf_ + flow.destination;
    for (; from != to; from /= 2, to /= 2) {
        visit(from);
        if (from > 3) visit(to + down_);
    }
}

/// Every settled flow that crosses the edge.
template <class Visit>
void PlogptNetwork::for_each_flow(EdgeId edge, Visit visit) {
    const bool is_down = edge >= down_;
    const std::uint32_t node = is_down ? edge - down_ : edge;
    const int level = std::bit_width(first_leaf_) - std::bit_width(node);
    const std::uint32_t begin = (node << level) - first_leaf_;
    const std::uint32_t end = begin + (1U << level);
    for (std::uint32_t leaf = begin; leaf < end; ++leaf) {
        FlowId id = is_down ? leaves_[leaf].first_in : leaves_[leaf].first_out;
        while (id != none) {
            Flow& flow = flows_[id];
            const std::uint32_t other = is_down ? flow.source : flow.destination;
            const bool inside = other >= begin && other < end;
            if (!inside && flow.edge != none) visit(id, flow);
            id = is_down ? flow.next_in : flow.next_out;
        }
    }
}

// ------------------------------------------------------------------ the lists

PlogptNetwork::FlowId PlogptNetwork::new_flow() {
    if (free_.empty()) {
        flows_.emplace_back();
        return static_cast<FlowId>(flows_.size() - 1);
    }
    const FlowId id = free_.back();
    free_.pop_back();
    flows_[id] = Flow{};
    return id;
}

void PlogptNetwork::link(FlowId id) {
    Flow& flow = flows_[id];
    FlowId& out = leaves_[flow.source].first_out;
    FlowId& in = leaves_[flow.destination].first_in;
    if (out != none) flows_[out].previous_out = id;
    if (in != none) flows_[in].previous_in = id;
    flow.next_out = out;
    flow.next_in = in;
    out = in = id;
}

void PlogptNetwork::unlink(FlowId id) {
    const Flow& flow = flows_[id];
    if (flow.next_out != none) flows_[flow.next_out].previous_out = flow.previous_out;
    if (flow.next_in != none) flows_[flow.next_in].previous_in = flow.previous_in;
    if (flow.previous_out != none) flows_[flow.previous_out].next_out = flow.next_out;
    else leaves_[flow.source].first_out = flow.next_out;
    if (flow.previous_in != none) flows_[flow.previous_in].next_in = flow.next_in;
    else leaves_[flow.destination].first_in = flow.next_in;
    free_.push_back(id);
}

void PlogptNetwork::touch(EdgeId edge) {
    if (!std::exchange(edges_[edge].touched, true)) touched_.push_back(edge);
}

// --------------------------------------------------------------- starts, ends

void PlogptNetwork::start(std::uint32_t source, std::uint32_t destination, double amount_bytes,
                          std::uint32_t label) {
    const FlowId id = new_flow();
    Flow& flow = flows_[id];
    flow.source = source;
    flow.destination = destination;
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
    ended.push_back({flow.label, edges_[flow.edge].share});
    for_each_edge(flow, [this](EdgeId edge) {
        --edges_[edge].flows;
        touch(edge);
    });
    unlink(id);
}

void PlogptNetwork::take_ended(double until, std::vector<Ended>& ended) {
    while (next_end() <= until) {
        const EdgeId id = queue_.top();
        const FlowId first = edges_[id].first_to_end;
        PairingHeap(flows_, edges_[id].first_to_end).remove(first);
        end(first, ended);
        update_queue(id);
    }
}

// ------------------------------------------------------------------- settling

double PlogptNetwork::reading(const Edge& edge, double now) const {
    return edge.moved + edge.share * (now - edge.since);
}

void PlogptNetwork::settle(double now) {
    for (const EdgeId id : touched_) change_share(id, now);
    for (const FlowId id : started_) find_bottleneck(id, now);
    for (const FlowId id : checked_) find_bottleneck(id, now);
    touched_.clear();
    started_.clear();
    checked_.clear();
}

void PlogptNetwork::change_share(EdgeId id, double now) {
    Edge& edge = edges_[id];
    edge.touched = false;
    const double before = edge.share;
    const double share = edge.flows == 0 ? infinite : edge.bandwidth / edge.flows;
    if (share == before) return;
    if (edge.first_to_end != none) edge.moved = reading(edge, now);
    edge.since = now;
    edge.share = share;
    if (share > before ? share > edge.threshold_least : share < edge.threshold_most) {
        look_through(id);
    }
    update_queue(id);
}

/// Notes the flows whose bottleneck may have become another, and makes the
/// bounds exact again for all others.
void PlogptNetwork::look_through(EdgeId id) {
    Edge& edge = edges_[id];
    edge.threshold_least = infinite;
    edge.threshold_most = 0;
    for_each_flow(id, [&](FlowId flow_id, Flow& flow) {
        if (flow.is_checked) return;  // it will tell its bounds itself
        const bool here = flow.edge == id;
        if (here ? flow.threshold < edge.share : flow.threshold > edge.share) {
            flow.is_checked = true;
            checked_.push_back(flow_id);
        } else if (here) {
            edge.threshold_least = std::min(edge.threshold_least, flow.threshold);
        } else {
            edge.threshold_most = std::max(edge.threshold_most, flow.threshold);
        }
    });
}

void PlogptNetwork::find_bottleneck(FlowId id, double now) {
    Flow& flow = flows_[id];
    flow.is_checked = false;
    EdgeId best = none;
    double least = infinite;
    double second = infinite;
    for_each_edge(flow, [&](EdgeId edge) {
        const double share = edges_[edge].share;
        if (best == none || share < least) {
            second = least;
            least = share;
            best = edge;
        } else {
            second = std::min(second, share);
        }
    });
    if (flow.edge == none) {
        hang(id, best, flow.amount, now);
    } else if (edges_[flow.edge].share > least) {
        hang(id, best, take_down(id, now), now);
    }
    flow.threshold = least + (second - least) / 2;
    for_each_edge(flow, [&](EdgeId crossed) {
        Edge& edge = edges_[crossed];
        if (crossed == flow.edge) {
            edge.threshold_least = std::min(edge.threshold_least, flow.threshold);
        } else {
            edge.threshold_most = std::max(edge.threshold_most, flow.threshold);
        }
    });
}

void PlogptNetwork::hang(FlowId id, EdgeId to, double amount, double now) {
    Edge& edge = edges_[to];
    if (edge.first_to_end == none) {  // small readings are exact ones
        edge.moved = 0;
        edge.since = now;
    }
    flows_[id].edge = to;
    PairingHeap(flows_, edge.first_to_end).add(id, reading(edge, now) + amount);
    update_queue(to);
}

/// Gives what is left to move.
double PlogptNetwork::take_down(FlowId id, double now) {
    Flow& flow = flows_[id];
    Edge& edge = edges_[flow.edge];
    const double left = std::max(0.0, flow.heap_link.key - reading(edge, now));
    PairingHeap(flows_, edge.first_to_end).remove(id);
    update_queue(flow.edge);
    return left;
}

void PlogptNetwork::update_queue(EdgeId id) {
    const Edge& edge = edges_[id];
    if (edge.first_to_end == none) {
        queue_.remove(id);
        return;
    }
    const double left = flows_[edge.first_to_end].heap_link.key - edge.moved;
    queue_.set(id, edge.since + left / edge.share);
}

std::vector<PlogptNetwork::Ended> PlogptNetwork::rates() const {
    std::vector<Ended> rates;
    for (const Leaf& leaf : leaves_) {
        for (FlowId id = leaf.first_out; id != none; id = flows_[id].next_out) {
            rates.push_back({flows_[id].label, edges_[flows_[id].edge].share});
        }
    }
    return rates;
}

}  // namespace headway
