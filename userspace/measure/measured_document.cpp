// SPDX-License-Identifier: Apache-2.0
#include "measure/measured_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/hostlist.hpp"
#include "base/json.hpp"
#include "base/units.hpp"
#include "base/version.hpp"

namespace headway {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::vector<std::string> names_below(const HostTree& tree, std::size_t node, const std::vector<std::string>& hosts) {
    std::vector<std::string> names;
    for (const std::size_t host : tree.is_host(node) ? std::vector<std::size_t>{node} : tree.hosts_below(node))
        names.push_back(hosts[host]);
    return names;
}

OrderedJson link_json(const MeasuredNetwork& network, const std::vector<std::string>& hosts, DirectedLink link) {
    const bool is_trunk = !network.tree.is_host(link.node);
    OrderedJson json{{"hosts", names_below(network.tree, link.node, hosts)},
                     {"is_trunk", is_trunk},
                     {"direction", link.is_up ? "up" : "down"},
                     {"bps", nullptr},
                     {"exact", false},
                     {"delay_s", nullptr},
                     {"buffer_bytes", nullptr},
                     {"buffer_error_bytes", nullptr},
                     {"buffer_exact", false}};
    if (const auto found = network.capacities.find(link); found != network.capacities.end()) {
        json["bps"] = std::llround(8 * found->second.bytes_per_s);
        json["exact"] = found->second.is_exact;
    }
    if (is_trunk) json["delay_s"] = network.delay_s.at(link.node);
    if (const auto found = network.buffers.find(link); found != network.buffers.end()) {
        json["buffer_bytes"] = std::llround(found->second.bytes);
        json["buffer_error_bytes"] = std::llround(found->second.error_bytes);
        json["buffer_exact"] = !found->second.is_lower_bound;
    }
    return json;
}

std::vector<DirectedLink> all_links(const HostTree& tree) {
    std::vector<DirectedLink> links;
    const auto add = [&](std::size_t node) {
        links.push_back({node, true});
        links.push_back({node, false});
    };
    for (const std::size_t trunk : tree.trunks()) add(trunk);
    for (std::size_t host = 0; host < tree.host_count(); ++host) add(host);
    return links;
}

std::string rate_of(const MeasuredNetwork& network, DirectedLink link) {
    const auto found = network.capacities.find(link);
    if (found == network.capacities.end()) return "not measured";
    const auto rounded = static_cast<std::uint64_t>(std::llround(8 * found->second.bytes_per_s));
    return (found->second.is_exact ? "" : "at least ") + rate_to_text({rounded});
}

std::string buffer_of(const MeasuredNetwork& network, DirectedLink link) {
    const auto found = network.buffers.find(link);
    if (found == network.buffers.end()) return "";
    const MeasuredBuffer& buffer = found->second;
    if (buffer.is_lower_bound) return fmt::format(", buffer at least {:.0f} bytes", buffer.bytes);
    return fmt::format(", buffer {:.0f} bytes (+- {:.0f})", buffer.bytes, buffer.error_bytes);
}

void print_tree(std::string& text, const MeasuredNetwork& network, const std::vector<std::string>& hosts,
                std::size_t node, std::size_t depth) {
    const HostTree& tree = network.tree;
    const std::string indent(2 * depth, ' ');
    const auto out = std::back_inserter(text);
    if (node == tree.root()) {
        fmt::format_to(out, "{}switch\n", indent);
    } else {
        fmt::format_to(out, "{}switch, by a trunk of {:.2f} us\n", indent, 1e6 * network.delay_s.at(node));
        fmt::format_to(out, "{}  up {}{}\n", indent, rate_of(network, {node, true}), buffer_of(network, {node, true}));
        fmt::format_to(out, "{}  down {}{}\n", indent, rate_of(network, {node, false}),
                       buffer_of(network, {node, false}));
    }
    for (const std::size_t child : tree.children(node)) {
        if (!tree.is_host(child)) {
            print_tree(text, network, hosts, child, depth + 1);
            continue;
        }
        fmt::format_to(out, "{}  {}: up {}, down {}{}\n", indent, hosts[child], rate_of(network, {child, true}),
                       rate_of(network, {child, false}), buffer_of(network, {child, false}));
    }
}

// ----------------------------------------------------------------------- messages

OrderedJson time_json(const SizedTime& time) {
    const bool is_known = std::isfinite(time.time_s.half_width);
    return {{"bytes", time.bytes},
            {"seconds", time.time_s.value},
            {"half_width_s", is_known ? OrderedJson(time.time_s.half_width) : OrderedJson()},
            {"rounds", time.rounds_s.size()},
            {"retransmissions", time.retransmissions}};
}

OrderedJson times_json(const std::vector<SizedTime>& times) {
    OrderedJson list = OrderedJson::array();
    for (const SizedTime& time : times) list.push_back(time_json(time));
    return list;
}

OrderedJson points_json(const std::vector<GapPoint>& gap) {
    OrderedJson list = OrderedJson::array();
    for (const GapPoint& point : gap) list.push_back({point.message_bytes, point.gap_s});
    return list;
}

OrderedJson pair_json(const PairMessages& pair, const std::vector<std::string>& hosts) {
    return {{"from", hosts[pair.from]},
            {"to", hosts[pair.to]},
            {"L_s", pair.gap.empty() ? OrderedJson() : OrderedJson(pair.latency_s)},
            {"g0_s", pair.empty_gap_s.value},
            {"alpha_s", pair.cost.startup_s},
            {"beta_s_per_byte", pair.cost.per_byte_s},
            {"one_way_bytes_per_s", pair.one_way_bytes_per_s},
            {"both_ways_bytes_per_s", pair.both_ways_bytes_per_s},
            {"round_trips", times_json(pair.round_trips)},
            {"gap", points_json(pair.gap)}};
}

/// In the document, and for people.
struct PlaceWords {
    const char* name;
    const char* phrase;
};

PlaceWords words_of(SharedLink::Place place) {
    switch (place) {
        case SharedLink::Place::into_host: return {"in", "into"};
        case SharedLink::Place::out_of_host: return {"out", "out of"};
        case SharedLink::Place::across_trunk: break;
    }
    return {"trunk", "from the switch of"};
}

/// Times of collectives, with the levels to which they escalated.
OrderedJson levels_json(const std::vector<SizedTime>& times) {
    OrderedJson list = times_json(times);
    for (std::size_t i = 0; i < times.size(); ++i) {
        list[i]["median_s"] = times[i].median_s;
        if (times[i].median_s == 0) list[i]["seconds"] = list[i]["half_width_s"] = list[i]["median_s"] = nullptr;  // all waited
        OrderedJson& levels = list[i]["levels"] = OrderedJson::array();
        for (const EscalationLevel& level : times[i].levels) levels.push_back({level.time_s, level.probability});
    }
    return list;
}

OrderedJson messages_json(const MeasuredMessages& messages, const HostTree& tree,
                          const std::vector<std::string>& hosts) {
    OrderedJson pairs = OrderedJson::array(), delays = OrderedJson::array(), shares = OrderedJson::array(),
                all_to_all = OrderedJson::array(), neighbours = OrderedJson::array();
    for (const PairMessages& pair : messages.pairs) pairs.push_back(pair_json(pair, hosts));
    for (const ProcessingDelay& host : messages.hosts) delays.push_back({{"C", host.fixed_s}, {"t", host.per_byte_s}});
    for (const SharedLink& link : messages.shares.links)
        shares.push_back({{"hosts", names_below(tree, link.node, hosts)},
                          {"direction", words_of(link.place).name},
                          {"flows", link.flows},
                          {"total_bytes_per_s", link.total_bytes_per_s},
                          {"least_bytes_per_s", link.least_bytes_per_s},
                          {"most_bytes_per_s", link.most_bytes_per_s}});
    const auto& both_ways = messages.shares.both_ways;
    for (const AllToAllTimes& all : messages.all_to_all)
        all_to_all.push_back({{"hosts", all.hosts}, {"times", levels_json(all.times)}});
    for (const NeighbourTimes& grid : messages.neighbours) {
        OrderedJson flows = OrderedJson::array();
        for (const Flow& flow : grid.flows) flows.push_back({flow.from, flow.to});
        neighbours.push_back({{"flows", std::move(flows)}, {"times", levels_json(grid.times)}});
    }
    const bool has_timeout = messages.least_timeout_us > 0;
    return {{"pairs", std::move(pairs)},
            {"hosts", std::move(delays)},
            {"shares", std::move(shares)},
            {"two_in_one_out", both_ways ? OrderedJson{{"in_bytes_per_s", both_ways->in_bytes_per_s},
                                                       {"out_bytes_per_s", both_ways->out_bytes_per_s}}
                                         : OrderedJson()},
            {"all_to_all", std::move(all_to_all)},
            {"neighbours", std::move(neighbours)},
            {"many_to_one", levels_json(messages.many_to_one)},
            {"one_to_many", times_json(messages.one_to_many)},
            {"least_retransmission_timeout_s",
             has_timeout ? OrderedJson(messages.least_timeout_us / 1e6) : OrderedJson()}};
}

OrderedJson heights_json(const std::vector<MeasuredHeight>& heights) {
    OrderedJson list = OrderedJson::array();
    for (const MeasuredHeight& height : heights) {
        OrderedJson pairs = OrderedJson::array();
        for (const Flow& pair : height.pairs) pairs.push_back({pair.from, pair.to});
        list.push_back({{"pairs", std::move(pairs)},
                        {"one_way_bytes_per_s", height.one_way_bytes_per_s},
                        {"both_ways_bytes_per_s", height.both_ways_bytes_per_s},
                        {"buffer_delay_s", height.buffer_delay_s ? OrderedJson(*height.buffer_delay_s) : OrderedJson()},
                        {"buffer_delay_exact", height.buffer_delay_s && !height.is_delay_lower_bound}});
    }
    return list;
}

OrderedJson sharing_json(const std::vector<MeasuredSharing>& sharing, const std::vector<std::string>& hosts) {
    OrderedJson list = OrderedJson::array();
    for (const MeasuredSharing& one : sharing) {
        const auto is_shared = one.is_shared();
        list.push_back({{"port", hosts[one.port]},
                        {"other_port", hosts[one.other_port]},
                        {"alone_bytes", std::llround(one.alone.bytes)},
                        {"together_bytes", std::llround(one.together.bytes)},
                        {"error_bytes", std::llround(one.alone.error_bytes + one.together.error_bytes)},
                        {"shared", is_shared ? OrderedJson(*is_shared) : OrderedJson()}});
    }
    return list;
}

/// Writes the models as headway fit writes them and headway predict reads them.
OrderedJson models_json(const MeasuredMessages& messages) {
    OrderedJson models = OrderedJson::array();
    const auto finite = [](double value) { return std::isfinite(value) ? OrderedJson(value) : OrderedJson(); };
    if (const auto& fitted = messages.contention) {
        models.push_back({{"model", "contention"},
                          {"n", fitted->processes},
                          {"alpha", fitted->cost.startup_s},
                          {"beta", fitted->cost.per_byte_s},
                          {"gamma", fitted->signature.ratio},
                          {"delta_s", fitted->signature.startup_s},
                          {"M_bytes", finite(fitted->signature.threshold_bytes)}});
    }
    if (const auto& fitted = messages.many_to_one_fit; fitted && std::isfinite(fitted->regions.small_bytes)) {
        OrderedJson sources = OrderedJson::array(), rates = OrderedJson::array();
        for (const DelayedPath& source : fitted->sources) {
            sources.push_back({{"C", source.host.fixed_s}, {"t", source.host.per_byte_s}});
            rates.push_back(source.rate_bytes_per_s);
        }
        models.push_back({{"model", "manytoone"},
                          {"sources", std::move(sources)},
                          {"rates", std::move(rates)},
                          {"M1_bytes", fitted->regions.small_bytes},
                          {"M2_bytes", fitted->regions.large_bytes},
                          {"C_s", fitted->regions.congested_s},
                          {"delta1", fitted->regions.small_factor},
                          {"delta2", fitted->regions.large_factor}});
        if (fitted->buffered_bytes) models.back()["S_bytes"] = finite(*fitted->buffered_bytes);
    }
    if (const auto& plogpt = messages.plogpt) {
        models.push_back({{"model", "plogpt"},
                          {"L", plogpt->latency_s},
                          {"gap", points_json(plogpt->gap)},
                          {"b", plogpt->links.bandwidth_bytes_per_s},
                          {"d", plogpt->links.buffer_delay_s}});
    }
    return models;
}

std::vector<std::string> all_remarks(const MeasuredNetwork& network, const MeasuredMessages* messages) {
    auto remarks = network.remarks;
    if (messages != nullptr) remarks.insert(remarks.end(), messages->remarks.begin(), messages->remarks.end());
    return remarks;
}

/// ", 204 ms in 6 % of rounds"
std::string levels_text(const SizedTime& time) {
    std::string text;
    for (const EscalationLevel& level : time.levels)
        fmt::format_to(std::back_inserter(text), ", {:.0f} ms in {:.0f} % of rounds", 1e3 * level.time_s,
                       100 * level.probability);
    return text;
}

std::string usual_text(const SizedTime& time) {
    if (time.median_s == 0) return "every round waited for a retransmission";
    return fmt::format("{:.3f} ms (+- {:.3f})", 1e3 * time.time_s.value, 1e3 * time.time_s.half_width);
}

void print_messages(std::string& text, const MeasuredMessages& messages, const HostTree& tree,
                    const std::vector<std::string>& hosts) {
    const auto out = std::back_inserter(text);
    for (const PairMessages& pair : messages.pairs)
        fmt::format_to(out,
                       "{} to {}: L {:.2f} us, g(0) {:.2f} us, alpha {:.2f} us, beta {:.3f} ns/byte; one way {:.1f} "
                       "MB/s, both ways {:.1f} MB/s each\n",
                       hosts[pair.from], hosts[pair.to], 1e6 * pair.latency_s, 1e6 * pair.empty_gap_s.value,
                       1e6 * pair.cost.startup_s, 1e9 * pair.cost.per_byte_s, pair.one_way_bytes_per_s / 1e6,
                       pair.both_ways_bytes_per_s / 1e6);
    for (const SharedLink& link : messages.shares.links) {
        const auto below = names_below(tree, link.node, hosts);
        fmt::format_to(out, "{} flows {} {}: {:.1f} MB/s in all, {:.1f} to {:.1f} MB/s each\n", link.flows,
                       words_of(link.place).phrase,
                       format_hostlist(below), link.total_bytes_per_s / 1e6, link.least_bytes_per_s / 1e6,
                       link.most_bytes_per_s / 1e6);
    }
    if (const auto& both = messages.shares.both_ways)
        fmt::format_to(out, "two flows into {} and one out of it: {:.1f} MB/s each in, {:.1f} MB/s out\n", hosts.front(),
                       both->in_bytes_per_s / 1e6, both->out_bytes_per_s / 1e6);
    const auto print_times = [&](const std::string& what, const std::vector<SizedTime>& times) {
        for (const SizedTime& time : times)
            fmt::format_to(out, "{}, {} bytes: {}, {} retransmissions{}\n", what, time.bytes, usual_text(time),
                           time.retransmissions, levels_text(time));
    };
    for (const AllToAllTimes& all : messages.all_to_all)
        print_times(fmt::format("all-to-all of {} hosts", all.hosts), all.times);
    for (const NeighbourTimes& grid : messages.neighbours)
        print_times(fmt::format("{} messages between neighbours on a grid", grid.flows.size()), grid.times);
    for (const SizedTime& time : messages.many_to_one)
        fmt::format_to(out, "many to one, {} bytes: {}{}\n", time.bytes, usual_text(time), levels_text(time));
    for (const SizedTime& time : messages.one_to_many)
        fmt::format_to(out, "one to many, {} bytes: {:.3f} ms\n", time.bytes, 1e3 * time.time_s.value);
    if (messages.least_timeout_us > 0)
        fmt::format_to(out, "least retransmission time-out in force: {:.1f} ms\n", messages.least_timeout_us / 1e3);
}

}  // namespace

OrderedJson measured_json(const MeasuredNetwork& network, const MeasuredMessages* messages,
                          const MeasureCircumstances& circumstances,
                          const std::vector<std::string>& differences) {
    OrderedJson hosts = OrderedJson::array(), links = OrderedJson::array(), trips = OrderedJson::array();
    for (std::size_t i = 0; i < circumstances.hosts.size(); ++i)
        hosts.push_back({{"name", circumstances.hosts[i]},
                         {"address", circumstances.addresses[i]},
                         {"node", circumstances.nodes[i]}});
    for (const DirectedLink& link : all_links(network.tree))
        links.push_back(link_json(network, circumstances.hosts, link));
    for (std::size_t i = 0; i < network.tree.host_count(); ++i) {
        for (std::size_t j = i + 1; j < network.tree.host_count(); ++j)
            trips.push_back({i, j, 2 * network.shortest_s.at(i, j), 2 * network.shortest_full_s.at(i, j)});
    }
    return {{"format", "headway-measure"},
            {"headway", version},
            {"hosts", std::move(hosts)},
            {"bytes_sent", circumstances.bytes_sent},
            {"seconds", circumstances.seconds},
            {"start_skew_s", circumstances.start_skew_s},
            {"resolution_s", network.resolution_s},
            {"links", std::move(links)},
            {"round_trips", std::move(trips)},
            {"buffer_sharing", sharing_json(network.sharing, circumstances.hosts)},
            {"heights", heights_json(network.heights)},
            {"messages", messages != nullptr ? messages_json(*messages, network.tree, circumstances.hosts) : OrderedJson()},
            {"models", messages != nullptr ? models_json(*messages) : OrderedJson::array()},
            {"differences", differences},
            {"remarks", all_remarks(network, messages)}};
}

std::string measured_text(const MeasuredNetwork& network, const MeasuredMessages* messages,
                          const MeasureCircumstances& circumstances,
                          const std::vector<std::string>& differences) {
    std::string text;
    print_tree(text, network, circumstances.hosts, network.tree.root(), 0);
    const auto out = std::back_inserter(text);
    fmt::format_to(out, "\n{} hosts in {:.0f} s, {:.1f} MB sent; hosts began within {:.2f} ms of each other\n",
                   circumstances.hosts.size(), circumstances.seconds,
                   static_cast<double>(circumstances.bytes_sent) / 1e6, 1e3 * circumstances.start_skew_s);
    for (const MeasuredSharing& one : network.sharing) {
        const auto is_shared = one.is_shared();
        fmt::format_to(out, "the buffer to {}: {:.0f} bytes alone, {:.0f} while that to {} is full: {}\n",
                       circumstances.hosts[one.port], one.alone.bytes, one.together.bytes,
                       circumstances.hosts[one.other_port],
                       !is_shared ? "whether ports share memory is not known" : *is_shared ? "ports share memory" : "each port has its own");
    }
    for (std::size_t i = 0; i < network.heights.size(); ++i) {
        const MeasuredHeight& height = network.heights[i];
        fmt::format_to(out, "height {}: b {:.1f} MB/s of {} pairs, {:.1f} MB/s each way while both are busy", i + 1,
                       height.one_way_bytes_per_s / 1e6, height.pairs.size(), height.both_ways_bytes_per_s / 1e6);
        if (height.buffer_delay_s)
            fmt::format_to(out, "; d {}{:.1f} us", height.is_delay_lower_bound ? "at least " : "", 1e6 * *height.buffer_delay_s);
        text += '\n';
    }
    if (messages != nullptr) print_messages(text, *messages, network.tree, circumstances.hosts);
    for (const std::string& remark : all_remarks(network, messages)) fmt::format_to(out, "note: {}\n", remark);
    for (const std::string& difference : differences) fmt::format_to(out, "different: {}\n", difference);
    return text;
}

}  // namespace headway
