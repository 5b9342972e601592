// SPDX-License-Identifier: Apache-2.0
#include "measure/network_measurement.hpp"

#include <algorithm>
#include <cmath>

#include "base/wire.hpp"
#include "measure/asymmetric_routes.hpp"
#include "measure/interference.hpp"
#include "measure/tree_heights.hpp"

namespace headway {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::uint32_t probes_per_look = 16;
// A bulk starts with those: the hosts' speed is not known yet.
constexpr milliseconds first_duration{5};
// Frames of a bulk, so that one more or less is no matter.
constexpr double frames_per_bulk = 600;
// Hosts that begin at different times may spoil this part of a bulk, at either end.
constexpr int skews_per_bulk = 8;
constexpr milliseconds duration_longest{400};
constexpr int bulks_alone = 5;
constexpr int trunk_repeats = 3;
constexpr int cycles_first = 3;
constexpr int burst_repeats = 3;
constexpr double full_frame_bytes = 1514;

double quantile(const std::vector<double>& sorted, double part) {
    if (sorted.empty()) return 0;
    return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5)];
}

/// Adds those of hosts on the senders' side of the trunk that send nothing yet, to receivers that have a flow each.
void add_senders(std::vector<Flow>& flows, const HostTree& tree, std::size_t trunk, bool is_up) {
    const auto below = tree.hosts_below(trunk);
    const std::size_t receivers = flows.size();
    for (std::size_t host = 0; host < tree.host_count(); ++host) {
        const bool is_sender = (std::ranges::find(below, host) != below.end()) == is_up;
        if (!is_sender || std::ranges::find(flows, host, &Flow::from) != flows.end()) continue;
        flows.push_back({host, flows[flows.size() % receivers].to});
    }
}

std::vector<Flow> reversed(std::vector<Flow> flows) {
    for (Flow& flow : flows) std::swap(flow.from, flow.to);
    return flows;
}

/// Hosts of different switches take turns, so that some of them are behind many links.
std::vector<std::size_t> spread(const HostTree& tree, std::vector<std::size_t> hosts) {
    std::map<std::size_t, std::size_t> rank;  // of a host among those of its switch
    std::map<std::size_t, std::size_t> seen;
    for (const std::size_t host : hosts) rank[host] = seen[tree.parent(host)]++;
    std::stable_sort(hosts.begin(), hosts.end(), [&](std::size_t a, std::size_t b) { return rank[a] < rank[b]; });
    return hosts;
}

}  // namespace

std::vector<Flow> pairs_across(const HostTree& tree, std::size_t trunk) {
    const auto below = spread(tree, tree.hosts_below(trunk));
    std::vector<std::size_t> rest;
    for (std::size_t host = 0; host < tree.host_count(); ++host) {
        if (std::find(below.begin(), below.end(), host) == below.end()) rest.push_back(host);
    }
    rest = spread(tree, std::move(rest));
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < std::min(below.size(), rest.size()); ++i) flows.push_back({below[i], rest[i]});
    return flows;
}

NetworkMeasurement::NetworkMeasurement(Laboratory& laboratory, std::vector<std::string> names,
                                       MeasureProgress progress)
    : laboratory_(laboratory), names_(std::move(names)), progress_(std::move(progress)),
      network_(laboratory.host_count()) {
    const auto n = static_cast<double>(laboratory.host_count());
    // round trips, hosts alone, ports and trunks, as many switches as there may be at most, heights
    to_do_ = n * (n - 1) / 2 + 4 * n + 2 * n * trunk_repeats + 2 * burst_repeats * std::log2(n);
}

void NetworkMeasurement::advance(const std::string& what) {
    done_ += 1;
    if (progress_) progress_(what, std::min(1.0, done_ / to_do_));
}

Result<MeasuredNetwork> NetworkMeasurement::run() {
    for (auto step : {&NetworkMeasurement::look_at_round_trips, &NetworkMeasurement::check_routes,
                      &NetworkMeasurement::send_alone, &NetworkMeasurement::find_tree,
                      &NetworkMeasurement::split_by_interference}) {
        if (auto done = (this->*step)(); !done) return tl::unexpected(done.error());
    }
    auto done = fill_links();
    find_capacities();
    if (done) done = measure_beyond_rates();
    if (!done) network_.ended_by = done.error();
    return std::move(network_);
}

Result<void> NetworkMeasurement::fill_links() {
    if (auto done = fill_trunks(); !done) return done;
    return fill_ports();
}

Result<void> NetworkMeasurement::measure_beyond_rates() {
    if (auto done = measure_buffers(); !done) return done;
    for (const std::size_t node : network_.tree.switches()) {
        if (auto done = measure_sharing(node); !done) return done;
    }
    if (network_.sharing.empty())
        network_.remarks.push_back("whether ports of a switch share memory is not known: that takes four hosts at a "
                                   "switch and three more, a port whose buffer is known, and trunks of 0.7 of its rate");
    return measure_heights();
}

std::string NetworkMeasurement::name_of(DirectedLink link) const {
    if (network_.tree.is_host(link.node))
        return fmt::format("{} {}", link.is_up ? "from" : "to", names_[link.node]);
    std::string hosts;
    for (const std::size_t host : network_.tree.hosts_below(link.node))
        hosts += (hosts.empty() ? "" : ",") + names_[host];
    return fmt::format("{} the switch of {}", link.is_up ? "from" : "to", hosts);
}

// -------------------------------------------------------------------- round trips

Result<void> NetworkMeasurement::look_at_round_trips() {
    const std::size_t n = laboratory_.host_count();
    std::vector<double> differences;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
            std::vector<double> shortest;
            for (const bool is_full : {false, true, true}) {
                Bulk bulk;
                bulk.probes.push_back({i, j, probes_per_look, is_full, nanoseconds{0}});
                const auto seen = laboratory_.run(bulk);
                if (!seen) return tl::unexpected(seen.error());
                const ProbeOutcome& probe = seen->probes.front();
                if (!probe.was_answered())
                    return failure("frames from {} to {} are not answered: a firewall, or names that stand for "
                                   "an address of another network (see --network)",
                                   names_[i], names_[j]);
                shortest.push_back(probe.round_trip_s.front() / 2);
                if (!is_full) network_.probe_wire_bytes = probe.wire_bytes;
            }
            network_.shortest_s.set(i, j, shortest[0]);
            network_.shortest_full_s.set(i, j, std::min(shortest[1], shortest[2]));
            differences.push_back(std::abs(shortest[1] - shortest[2]));
            advance("round trips");
        }
    }
    std::sort(differences.begin(), differences.end());
    network_.resolution_s = 4 * quantile(differences, 0.9);
    return {};
}

/// The measurements that follow take half a round trip for the time of one way.
Result<void> NetworkMeasurement::check_routes() {
    const auto routes = laboratory_.routes();
    if (!routes) return tl::unexpected(routes.error());
    if (const auto wrong = routes_that_differ(*routes, names_)) return failure("{}", *wrong);
    for (std::string& remark : interfaces_that_differ(*routes, names_)) network_.remarks.push_back(std::move(remark));
    return {};
}

// -------------------------------------------------------------------------- bulks

Result<const ObservedBulk*> NetworkMeasurement::observe(std::vector<Flow> flows, std::vector<Probe> probes,
                                                        double longer) {
    ObservedBulk one;
    one.bulk = {std::move(flows), std::move(probes),
                std::min<nanoseconds>(duration_longest, nanoseconds(static_cast<std::int64_t>(
                                                            static_cast<double>(duration_.count()) * longer)))};
    auto outcome = laboratory_.run(one.bulk);
    if (!outcome) return tl::unexpected(outcome.error());
    one.outcome = std::move(*outcome);
    observed_.push_back(std::move(one));
    return &observed_.back();
}

/// A host whose processor is busy may come to send when the bulk is nearly over: it is asked again.
Result<double> NetworkMeasurement::rate_alone(const Flow& flow) {
    FlowOutcome seen;
    for (int bulk = 0; bulk < bulks_alone; ++bulk) {
        const auto alone = observe({flow});
        if (!alone) return tl::unexpected(alone.error());
        seen = (*alone)->outcome.flows.front();
        if (seen.received_bytes_per_s > 0) return seen.received_bytes_per_s;
        observed_.pop_back();
    }
    return failure("{} received too little of what {} sent, in each of {} attempts; in the last {} of {} frames: "
                   "a firewall, or a host that is busy", names_[flow.to], names_[flow.from], bulks_alone,
                   seen.received_frames, seen.sent_frames);
}

Result<void> NetworkMeasurement::send_alone() {
    const std::size_t n = laboratory_.host_count();
    duration_ = std::max<nanoseconds>(first_duration, skews_per_bulk * laboratory_.start_skew());
    double slowest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto rate = rate_alone({i, (i + 1) % n});
        if (!rate) return tl::unexpected(rate.error());
        if (slowest == 0 || *rate < slowest) slowest = *rate;
        advance("hosts alone");
    }
    const double frame_s = (full_frame_bytes + 24) / slowest;
    duration_ = std::clamp<nanoseconds>(nanoseconds(static_cast<std::int64_t>(1e9 * frames_per_bulk * frame_s)),
                                        skews_per_bulk * laboratory_.start_skew(), duration_longest);
    duration_ = std::max<nanoseconds>(duration_, first_duration);
    // A switch stores and forwards: one more of them costs a good part of a frame's time, if
    // its trunk is not much faster than the hosts.
    network_.resolution_s = std::max(network_.resolution_s, 0.2 * frame_s);
    return {};
}

Result<void> NetworkMeasurement::find_tree() {
    network_.tree = tree_of_delays(network_.shortest_full_s, network_.resolution_s);
    return {};
}

Result<void> NetworkMeasurement::split_by_interference() {
    for (const std::size_t node : network_.tree.switches()) {
        const auto hosts = network_.tree.hosts_at(node);
        if (hosts.size() < 4) continue;  // fewer meet nobody in a trunk
        std::vector<ObservedBulk> among;
        const auto cycle = [&]() -> Result<bool> {
            const auto one = observe(random_cycle(hosts, random_));
            if (!one) return tl::unexpected(one.error());
            const ObservedBulk seen = **one;
            const auto slowed = slowed_flows(observed_, seen);
            among.push_back(seen);
            advance("who shares a link");
            return std::find(slowed.begin(), slowed.end(), true) != slowed.end();
        };
        bool is_any_slowed = false;
        for (int i = 0; i < cycles_first; ++i) {
            const auto slowed = cycle();
            if (!slowed) return tl::unexpected(slowed.error());
            is_any_slowed |= *slowed;
        }
        if (!is_any_slowed) continue;
        for (std::size_t i = 0; i < 2 * hosts.size(); ++i) {
            if (const auto slowed = cycle(); !slowed) return tl::unexpected(slowed.error());
        }
        const InterferenceGroups found = groups_by_interference(hosts, among, observed_);
        if (found.hosts_are_slow) {
            network_.remarks.push_back("hosts do not send and receive at full speed at the same time");
        } else if (found.groups.size() > 1) {
            const std::size_t other_links =
                network_.tree.children(node).size() - hosts.size() + (node == network_.tree.root() ? 0 : 1);
            // a switch with two links could not be told from a cable: one group stays where it is
            const std::size_t first = found.groups.size() + other_links == 2 ? 1 : 0;
            for (std::size_t i = first; i < found.groups.size(); ++i) {
                if (found.groups[i].size() > 1) network_.tree.add_switch(node, found.groups[i]);
            }
        }
    }
    network_.tree.make_central_root();
    return {};
}

Result<void> NetworkMeasurement::fill_trunks() {
    for (const std::size_t trunk : network_.tree.trunks()) {
        const auto up = pairs_across(network_.tree, trunk);
        auto both = up;
        const auto down = reversed(up);
        both.insert(both.end(), down.begin(), down.end());
        for (int i = 0; i < trunk_repeats; ++i) {
            for (const auto& flows : {up, down, both}) {
                if (const auto seen = observe(flows); !seen) return tl::unexpected(seen.error());
                advance("trunks");
            }
        }
    }
    return {};
}

/// Others by how near they are: those of the same switch first.
std::vector<std::size_t> NetworkMeasurement::nearest_to(std::size_t host) const {
    std::vector<std::size_t> others;
    for (std::size_t other = 0; other < laboratory_.host_count(); ++other) {
        if (other != host) others.push_back(other);
    }
    std::stable_sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) {
        return network_.tree.path({a, host}).size() < network_.tree.path({b, host}).size();
    });
    return others;
}

Result<void> NetworkMeasurement::fill_ports() {
    if (laboratory_.host_count() < 3) return {};
    for (std::size_t host = 0; host < laboratory_.host_count(); ++host) {
        const auto others = nearest_to(host);
        // alone it may have met a trunk that is narrower than its own link
        for (const auto& flows : {std::vector<Flow>{{host, others[0]}}, {{others[0], host}, {others[1], host}}}) {
            if (const auto seen = observe(flows); !seen) return tl::unexpected(seen.error());
        }
        advance("ports");
    }
    return {};
}

void NetworkMeasurement::find_capacities() {
    network_.capacities = link_capacities(network_.tree, observed_);
    const auto lengths_s = link_lengths_s(network_.tree, network_.shortest_s);
    for (const std::size_t trunk : network_.tree.trunks()) {
        // a round trip crosses the link both ways, and its bytes twice
        double frame_s = 0;
        for (const bool is_up : {true, false}) {
            const auto found = network_.capacities.find({trunk, is_up});
            if (found != network_.capacities.end() && found->second.bytes_per_s > 0)
                frame_s += network_.probe_wire_bytes / found->second.bytes_per_s / 2;
        }
        network_.delay_s[trunk] = std::max(0.0, lengths_s[trunk] - frame_s);
    }
}

// ------------------------------------------------------------------------- buffers

Result<void> NetworkMeasurement::measure_buffers() {
    for (const std::size_t trunk : network_.tree.trunks()) {
        for (const bool is_up : {true, false}) {
            if (auto done = measure_trunk_buffer(trunk, is_up); !done) return done;
        }
    }
    for (const std::size_t node : network_.tree.switches()) {
        const auto hosts = network_.tree.hosts_at(node);
        // ports of a switch are alike: its first and its last tell whether they are
        for (std::size_t i = 0; i < hosts.size(); ++i) {
            if (i != 0 && i + 1 != hosts.size()) continue;
            if (auto done = measure_port_buffer(hosts[i]); !done) return done;
        }
    }
    return {};
}

Result<void> NetworkMeasurement::measure_trunk_buffer(std::size_t trunk, bool is_up) {
    const DirectedLink link{trunk, is_up};
    const auto capacity = network_.capacities.find(link);
    auto flows = pairs_across(network_.tree, trunk);
    if (!is_up) flows = reversed(std::move(flows));
    add_senders(flows, network_.tree, trunk, is_up);
    if (capacity == network_.capacities.end() || !capacity->second.is_exact) {
        network_.remarks.push_back(fmt::format("the buffer before the trunk {} is not known: hosts cannot fill it",
                                               name_of(link)));
        return {};
    }
    const Flow probed = flows.back();
    flows.pop_back();
    return measure_buffer(link, flows, probed);
}

Result<void> NetworkMeasurement::measure_port_buffer(std::size_t host) {
    const DirectedLink link{host, false};
    if (laboratory_.host_count() < 4) {
        network_.remarks.push_back(fmt::format("the buffer before the port {} is not known: that takes four hosts",
                                               name_of(link)));
        return {};
    }
    const auto others = nearest_to(host);
    return measure_buffer(link, {{others[0], host}, {others[1], host}}, {others[2], host});
}

std::vector<Flow> NetworkMeasurement::filling_only(DirectedLink link, const std::vector<Flow>& flows,
                                                   Flow probed) const {
    constexpr double overload = 1.1, other_share = 0.9, enough = 1.03;
    const double capacity = network_.capacities.at(link).bytes_per_s;
    const auto probed_path = network_.tree.path(probed);
    std::map<DirectedLink, double> loads;
    std::vector<Flow> chosen;
    double offered = 0;
    for (Flow flow : flows) {
        const double most = network_.capacities.at({flow.from, true}).bytes_per_s;
        const auto path = network_.tree.path(flow);
        double rate = most;
        bool is_before = true;  // what is lost behind the link does no harm
        for (const DirectedLink& other : path) {
            if (other == link) {
                is_before = false;
                continue;
            }
            const bool is_probed = std::find(probed_path.begin(), probed_path.end(), other) != probed_path.end();
            if (!is_probed && (!is_before || network_.tree.is_host(other.node))) continue;
            const double share = is_probed ? other_share : 1;
            rate = std::min(rate, share * network_.capacities.at(other).bytes_per_s - loads[other]);
        }
        if (rate <= 0) continue;
        for (const DirectedLink& crossed : path) loads[crossed] += rate;
        flow.bytes_per_s = rate < most ? rate : 0;
        offered += rate;
        chosen.push_back(flow);
        if (offered >= overload * capacity && chosen.size() > 1) break;
    }
    if (offered < enough * capacity) return {};
    return chosen;
}

/// A queue that is full of `bytes` makes a frame wait for bytes / capacity.  The frames that
/// look are short, so that they find room where no long one does: the longest waits are
/// those of a queue that is full to the last frame.
Result<void> NetworkMeasurement::measure_buffer(DirectedLink link, const std::vector<Flow>& candidates, Flow probed) {
    const auto flows = filling_only(link, candidates, probed);
    if (flows.empty()) {
        network_.remarks.push_back(fmt::format("the buffer before the link {} is not known: it cannot be filled while a "
                                               "host looks and no other link of that way is full",
                                               name_of(link)));
        return {};
    }
    auto buffer = fill_buffer(link, flows, probed);
    if (!buffer) return tl::unexpected(buffer.error());
    network_.buffers[link] = *buffer;
    return {};
}

Result<MeasuredBuffer> NetworkMeasurement::fill_buffer(DirectedLink link, const std::vector<Flow>& flows, Flow probed) {
    const double capacity = network_.capacities.at(link).bytes_per_s;
    const double idle_s = 2 * network_.shortest_s.at(probed.from, probed.to);
    constexpr double flat_share = 0.1, flat_frames = 2;
    MeasuredBuffer buffer;
    for (double longer = 1; longer <= 64; longer *= 2) {
        const auto duration = std::min<nanoseconds>(duration_longest, duration_ * static_cast<int>(longer));
        const auto interval = std::max<nanoseconds>(duration / 200, microseconds(20));
        const auto count = static_cast<std::uint32_t>(duration / interval);
        const auto seen = observe(flows, {{probed.from, probed.to, count, false, interval}}, longer);
        if (!seen) return tl::unexpected(seen.error());
        advance("buffers");
        const BulkOutcome& outcome = (*seen)->outcome;
        const auto& waits_s = outcome.probes.front().round_trip_s;
        double frames = 0, lost = -static_cast<double>(outcome.socket_drops), bytes_sent = 0;
        for (const FlowOutcome& flow : outcome.flows) {
            frames += static_cast<double>(flow.sent_frames);
            lost += static_cast<double>(flow.sent_frames) - static_cast<double>(flow.received_frames);
            bytes_sent += static_cast<double>(flow.sent_wire_bytes);
        }
        const double frame = frames > 0 ? bytes_sent / frames : full_frame_bytes;
        const double of_frames = (frame - 24) / frame;
        const auto queued = [&](double part) {
            return std::max(0.0, quantile(waits_s, part) - idle_s) * capacity * of_frames;
        };
        buffer.bytes = queued(0.9);
        buffer.error_bytes = std::max(full_frame_bytes, (queued(0.97) - queued(0.75)) / 2);
        // A queue that still grows makes every frame wait longer than the one before.
        const double flat = std::max(flat_share * buffer.bytes, flat_frames * full_frame_bytes);
        buffer.is_lower_bound = lost <= 0 || buffer.bytes - queued(0.5) > flat;
        if (!buffer.is_lower_bound || duration == duration_longest) break;
    }
    return buffer;
}

std::optional<bool> MeasuredSharing::is_shared() const {
    if (alone.is_lower_bound || together.is_lower_bound) return std::nullopt;
    const double less = alone.bytes - together.bytes, error = alone.error_bytes + together.error_bytes;
    constexpr double much = 0.2;
    if (less > error && less > much * alone.bytes) return true;
    return error < much * alone.bytes ? std::optional(false) : std::nullopt;
}

/// A port of the switch is overloaded, and then a second one as well.  Each has a host of the switch
/// that sends at full speed, and a part of another's, so that six hosts take part and one looks.
Result<void> NetworkMeasurement::measure_sharing(std::size_t node) {
    constexpr double part = 0.3;
    const auto ports = network_.tree.hosts_at(node);
    if (ports.size() < 4) return {};
    const std::size_t port = ports.front(), other = ports[1];
    const auto buffer = network_.buffers.find({port, false});
    std::vector<std::size_t> rest;
    for (const std::size_t host : nearest_to(port)) {
        if (host != other && host != ports[2] && host != ports[3]) rest.push_back(host);
    }
    if (rest.size() < 3 || buffer == network_.buffers.end() || buffer->second.is_lower_bound) return {};
    const double port_rate = network_.capacities.at({port, false}).bytes_per_s;
    for (const std::size_t host : std::span(rest).first(3)) {  // trunks must not be what is full
        for (const DirectedLink& link : network_.tree.path({host, port})) {
            if (!network_.tree.is_host(link.node) && network_.capacities.at(link).bytes_per_s < (2 * part + 0.1) * port_rate)
                return {};
        }
    }
    const auto overload = [&](std::size_t to, std::size_t near, std::size_t far) {
        return std::vector<Flow>{{near, to}, {far, to, part * network_.capacities.at({to, false}).bytes_per_s}};
    };
    auto flows = overload(port, ports[2], rest[0]);
    const Flow probed{rest[2], port};
    const auto alone = fill_buffer({port, false}, flows, probed);
    if (!alone) return tl::unexpected(alone.error());
    const auto second = overload(other, ports[3], rest[1]);
    flows.insert(flows.end(), second.begin(), second.end());
    const auto together = fill_buffer({port, false}, flows, probed);
    if (!together) return tl::unexpected(together.error());
    network_.sharing.push_back({port, other, *alone, *together});
    return {};
}


// ------------------------------------------------------------------------- heights

/// Returns what all flows get together, as the mean of some bursts.
Result<double> NetworkMeasurement::rate_of_burst(const std::vector<Flow>& flows) {
    double sum = 0;
    for (int i = 0; i < burst_repeats; ++i) {
        const auto seen = observe(flows);
        if (!seen) return tl::unexpected(seen.error());
        for (const FlowOutcome& flow : (*seen)->outcome.flows) sum += flow.received_bytes_per_s;
        advance("heights of the tree");
    }
    return sum / burst_repeats;
}

/// The buffers that were measured before are those of one port of a switch or two, and its ports are alike.
void NetworkMeasurement::add_buffer_delay(MeasuredHeight& height) const {
    const auto rate_of_a_pair = [&](DirectedLink link) {
        const auto crosses = [&](const Flow& pair) {
            const auto path = network_.tree.path(pair);
            return std::ranges::find(path, link) != path.end();
        };
        return network_.capacities.at(link).bytes_per_s / static_cast<double>(std::ranges::count_if(height.pairs, crosses));
    };
    const auto links = top_links(network_.tree, height.pairs.front());
    const DirectedLink narrowest = *std::ranges::min_element(links, {}, rate_of_a_pair);
    for (const auto& [link, buffer] : network_.buffers) {
        const bool is_port_alike = network_.tree.is_host(link.node) && network_.tree.is_host(narrowest.node) &&
                                   network_.tree.parent(link.node) == network_.tree.parent(narrowest.node);
        if (link != narrowest && !is_port_alike) continue;
        const double wire = wire_bytes(static_cast<std::uint64_t>(full_frame_bytes)) / full_frame_bytes;
        height.buffer_delay_s = buffer.bytes * wire / network_.capacities.at(link).bytes_per_s;
        height.is_delay_lower_bound = buffer.is_lower_bound;
        if (link == narrowest || !buffer.is_lower_bound) return;
    }
}

Result<void> NetworkMeasurement::measure_heights() {
    const auto order = binary_leaf_order(network_.tree);
    if (!order) {
        network_.remarks.push_back("PlogPT's b(h) and d(h) are not measured, because its tree is perfect and binary: " +
                                   order.error().message);
        return {};
    }
    for (unsigned h = 1; (std::size_t{1} << h) <= order->size(); ++h) {
        MeasuredHeight height;
        height.pairs = burst_of_height(*order, h);
        auto both_ways = height.pairs;
        const auto back = reversed(height.pairs);
        both_ways.insert(both_ways.end(), back.begin(), back.end());
        const auto one = rate_of_burst(height.pairs), both = rate_of_burst(both_ways);
        if (!one) return tl::unexpected(one.error());
        if (!both) return tl::unexpected(both.error());
        height.one_way_bytes_per_s = *one;
        height.both_ways_bytes_per_s = *both / 2;
        add_buffer_delay(height);
        network_.heights.push_back(std::move(height));
    }
    return {};
}

}  // namespace headway
