// SPDX-License-Identifier: Apache-2.0
#include "measure/measured_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/hostlist.hpp"
#include "base/text_lines.hpp"
#include "base/units.hpp"
#include "base/version.hpp"

namespace headway {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Document = MeasuredDocument;

std::vector<std::string> names_below(const HostTree& tree, std::size_t node, const std::vector<std::string>& hosts) {
    std::vector<std::string> names;
    for (const std::size_t host : tree.is_host(node) ? std::vector<std::size_t>{node} : tree.hosts_below(node))
        names.push_back(hosts[host]);
    return names;
}

Document::Link document_of(const MeasuredNetwork& network, const std::vector<std::string>& hosts,
                           DirectedLink link) {
    Document::Link row;
    row.hosts = names_below(network.tree, link.node, hosts);
    row.is_trunk = !network.tree.is_host(link.node);
    row.is_up = link.is_up;
    if (const auto found = network.capacities.find(link); found != network.capacities.end()) {
        row.bps = 8 * found->second.bytes_per_s;
        row.is_exact = found->second.is_exact;
    }
    if (row.is_trunk) row.delay_s = network.delay_s.at(link.node);
    if (const auto found = network.buffers.find(link); found != network.buffers.end()) {
        row.buffer_bytes = found->second.bytes;
        row.buffer_error_bytes = found->second.error_bytes;
        row.is_buffer_exact = !found->second.is_lower_bound;
    }
    return row;
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

/// Of a time, and of one with the levels to which it escalated.
Document::Time document_of(const SizedTime& time) {
    Document::Time row{time.bytes, {}, time.time_s.half_width, time.rounds_s.size(),
                       time.retransmissions, {}, {}};
    if (!time.rounds_s.empty()) row.mean_s = time.time_s.value;
    for (const EscalationLevel& level : time.levels)
        row.levels.push_back({level.time_s, level.probability});
    return row;
}

std::vector<Document::Time> document_of(const std::vector<SizedTime>& times) {
    std::vector<Document::Time> rows;
    for (const SizedTime& time : times) rows.push_back(document_of(time));
    return rows;
}

/// Of collectives, with their medians; all rounds of some are on levels.
std::vector<Document::Time> escalating_of(const std::vector<SizedTime>& times) {
    std::vector<Document::Time> rows = document_of(times);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (times[i].median_s != 0) rows[i].median_s = times[i].median_s;
        else rows[i].mean_s = rows[i].half_width_s = std::nullopt;
    }
    return rows;
}

std::vector<Document::Pair> document_of(const std::vector<Flow>& flows) {
    std::vector<Document::Pair> pairs;
    for (const Flow& flow : flows) pairs.emplace_back(flow.from, flow.to);
    return pairs;
}

OrderedJson points_json(const std::vector<GapPoint>& gap) {
    OrderedJson list = OrderedJson::array();
    for (const GapPoint& point : gap) list.push_back({point.message_bytes, point.gap_s});
    return list;
}

Document::MessagePair document_of(const PairMessages& pair, const std::vector<std::string>& hosts) {
    Document::MessagePair row{hosts[pair.from],
                              hosts[pair.to],
                              {},
                              pair.empty_gap_s.value,
                              pair.cost.startup_s,
                              pair.cost.per_byte_s,
                              pair.one_way_bytes_per_s,
                              pair.both_ways_bytes_per_s,
                              document_of(pair.round_trips),
                              {}};
    if (!pair.gap.empty()) row.latency_s = pair.latency_s;
    for (const GapPoint& point : pair.gap) row.gap.push_back({point.message_bytes, point.gap_s});
    return row;
}

/// In the document, and for people.
struct PlaceWords {
    Document::Share::Direction direction;
    const char* phrase;
};

PlaceWords words_of(SharedLink::Place place) {
    using Direction = Document::Share::Direction;
    switch (place) {
        case SharedLink::Place::into_host: return {Direction::in, "into"};
        case SharedLink::Place::out_of_host: return {Direction::out, "out of"};
        case SharedLink::Place::across_trunk: break;
    }
    return {Direction::trunk, "from the switch of"};
}

Document::Messages document_of(const MeasuredMessages& messages, const HostTree& tree,
                               const std::vector<std::string>& hosts) {
    Document::Messages document;
    for (const PairMessages& pair : messages.pairs)
        document.pairs.push_back(document_of(pair, hosts));
    for (const ProcessingDelay& host : messages.hosts)
        document.hosts.push_back({host.fixed_s, host.per_byte_s});
    for (const SharedLink& link : messages.shares.links)
        document.shares.push_back({names_below(tree, link.node, hosts),
                                   words_of(link.place).direction, link.flows,
                                   link.total_bytes_per_s, link.least_bytes_per_s,
                                   link.most_bytes_per_s});
    if (const auto& both = messages.shares.both_ways)
        document.two_in_one_out = {both->in_bytes_per_s, both->out_bytes_per_s};
    for (const AllToAllTimes& all : messages.all_to_all)
        document.all_to_all.push_back({all.hosts, escalating_of(all.times)});
    for (const NeighbourTimes& grid : messages.neighbours)
        document.neighbours.push_back({document_of(grid.flows), escalating_of(grid.times)});
    document.many_to_one = escalating_of(messages.many_to_one);
    document.one_to_many = document_of(messages.one_to_many);
    if (messages.least_timeout_us > 0)
        document.least_retransmission_timeout_s = messages.least_timeout_us / 1e6;
    return document;
}

Document::Height document_of(const MeasuredHeight& height) {
    return {document_of(height.pairs), height.one_way_bytes_per_s, height.both_ways_bytes_per_s,
            height.buffer_delay_s, height.buffer_delay_s && !height.is_delay_lower_bound};
}

Document::BufferSharing document_of(const MeasuredSharing& sharing,
                                    const std::vector<std::string>& hosts) {
    return {hosts[sharing.port],
            hosts[sharing.other_port],
            sharing.alone.bytes,
            sharing.together.bytes,
            sharing.alone.error_bytes + sharing.together.error_bytes,
            sharing.is_shared()};
}

/// Makes the models as headway fit writes them and headway predict reads them.
std::vector<OrderedJson> models_of(const MeasuredMessages& messages) {
    std::vector<OrderedJson> models;
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
        fmt::format_to(out, "{} {} {}: {:.1f} MB/s in all, {:.1f} to {:.1f} MB/s each\n", counted(link.flows, "flow"),
                       words_of(link.place).phrase,
                       format_hostlist(below), link.total_bytes_per_s / 1e6, link.least_bytes_per_s / 1e6,
                       link.most_bytes_per_s / 1e6);
    }
    if (const auto& both = messages.shares.both_ways)
        fmt::format_to(out, "two flows into {} and one out of it: {:.1f} MB/s each in, {:.1f} MB/s out\n", hosts.front(),
                       both->in_bytes_per_s / 1e6, both->out_bytes_per_s / 1e6);
    const auto print_times = [&](const std::string& what, const std::vector<SizedTime>& times) {
        for (const SizedTime& time : times)
            fmt::format_to(out, "{}, {}: {}, {}{}\n", what, counted(time.bytes, "byte"), usual_text(time),
                           counted(time.retransmissions, "retransmission"), levels_text(time));
    };
    for (const AllToAllTimes& all : messages.all_to_all)
        print_times(fmt::format("all-to-all of {} hosts", all.hosts), all.times);
    for (const NeighbourTimes& grid : messages.neighbours)
        print_times(counted(grid.flows.size(), "message") + " between neighbours on a grid", grid.times);
    for (const SizedTime& time : messages.many_to_one)
        fmt::format_to(out, "many to one, {} bytes: {}{}\n", time.bytes, usual_text(time), levels_text(time));
    for (const SizedTime& time : messages.one_to_many)
        fmt::format_to(out, "one to many, {} bytes: {:.3f} ms\n", time.bytes, 1e3 * time.time_s.value);
    if (messages.least_timeout_us > 0)
        fmt::format_to(out, "least retransmission time-out in force: {:.1f} ms\n", messages.least_timeout_us / 1e3);
}

}  // namespace

MeasuredDocument document_of(const MeasuredNetwork& network, const MeasuredMessages* messages,
                             const MeasureCircumstances& circumstances,
                             const std::vector<std::string>& differences) {
    const std::vector<std::string>& hosts = circumstances.hosts;
    MeasuredDocument document;
    document.headway = version;
    for (std::size_t i = 0; i < hosts.size(); ++i)
        document.hosts.push_back({hosts[i], circumstances.addresses[i], circumstances.nodes[i]});
    document.bytes_sent = circumstances.bytes_sent;
    document.seconds = circumstances.seconds;
    document.start_skew_s = circumstances.start_skew_s;
    document.resolution_s = network.resolution_s;
    for (const DirectedLink& link : all_links(network.tree))
        document.links.push_back(document_of(network, hosts, link));
    for (std::size_t i = 0; i < network.tree.host_count(); ++i) {
        for (std::size_t j = i + 1; j < network.tree.host_count(); ++j)
            document.round_trips.push_back({{i, j},
                                            2 * network.shortest_s.at(i, j),
                                            2 * network.shortest_full_s.at(i, j)});
    }
    for (const MeasuredSharing& one : network.sharing)
        document.buffer_sharing.push_back(document_of(one, hosts));
    for (const MeasuredHeight& height : network.heights)
        document.heights.push_back(document_of(height));
    if (messages != nullptr) {
        document.messages = document_of(*messages, network.tree, hosts);
        document.models = models_of(*messages);
    }
    document.differences = differences;
    document.remarks = all_remarks(network, messages);
    return document;
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
        fmt::format_to(out, "height {}: b {:.1f} MB/s of {}, {:.1f} MB/s each way while both are busy", i + 1,
                       height.one_way_bytes_per_s / 1e6, counted(height.pairs.size(), "pair"), height.both_ways_bytes_per_s / 1e6);
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
