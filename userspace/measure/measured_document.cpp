// SPDX-License-Identifier: Apache-2.0
#include "measure/measured_document.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "daemon/version.hpp"
#include "model/byte_size.hpp"
#include "model/hostlist.hpp"

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

}  // namespace

OrderedJson measured_json(const MeasuredNetwork& network, const MeasureCircumstances& circumstances,
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
            {"differences", differences},
            {"remarks", network.remarks}};
}

std::string measured_text(const MeasuredNetwork& network, const MeasureCircumstances& circumstances,
                          const std::vector<std::string>& differences) {
    std::string text;
    print_tree(text, network, circumstances.hosts, network.tree.root(), 0);
    const auto out = std::back_inserter(text);
    fmt::format_to(out, "\n{} hosts in {:.0f} s, {:.1f} MB sent; hosts began within {:.2f} ms of each other\n",
                   circumstances.hosts.size(), circumstances.seconds,
                   static_cast<double>(circumstances.bytes_sent) / 1e6, 1e3 * circumstances.start_skew_s);
    for (const std::string& remark : network.remarks) fmt::format_to(out, "note: {}\n", remark);
    for (const std::string& difference : differences) fmt::format_to(out, "wrong: {}\n", difference);
    return text;
}

}  // namespace headway
