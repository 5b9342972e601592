// SPDX-License-Identifier: Apache-2.0
#include "measure/measured_tree.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/hostlist.hpp"

namespace headway {
namespace {

// Hosts of a switch whose rates differ by less are alike.
constexpr double alike_share = 0.03;

BitsPerSecond rounded(double bytes_per_s) {
    const double bits = bytes_per_s * 8;
    if (bits <= 0) return {};
    const double step = std::pow(10, std::floor(std::log10(bits)) - 2);
    return {static_cast<std::uint64_t>(std::round(bits / step) * step)};
}

std::string common_beginning(const std::vector<std::size_t>& hosts,
                             const std::vector<std::string>& names) {
    std::vector<std::string> own;
    for (const std::size_t host : hosts) own.push_back(names[host]);
    return common_name(own);
}

class Describer {
public:
    Describer(const MeasuredNetwork& network, const std::vector<std::string>& names,
              const std::vector<std::string>& addresses)
        : network_(network), tree_(network.tree), names_(names), addresses_(addresses),
          switches_(switch_names(tree_, names)) {}

    std::vector<NetworkItem> items() {
        const bool is_star = tree_.switches().size() == 2;
        // A cluster has a trunk in every description; nothing crosses that of the root.
        has_centre_ = is_star || !tree_.hosts_at(tree_.root()).empty();
        if (has_centre_) items_.push_back({NetworkNodeKind::switch_node, "centre", "", {}, false, {}});
        for (const std::size_t node : tree_.switches()) add_switch(node, is_star);
        for (const std::size_t node : tree_.switches()) add_hosts(node);
        return std::move(items_);
    }

private:
    void add_switch(std::size_t node, bool is_star) {
        NetworkItem item;
        item.name = switches_[node];
        const auto hosts = tree_.hosts_at(node);
        item.is_cluster = !hosts.empty();
        if (item.is_cluster) item.prefixes = prefixes_of(node);
        const bool is_root = node == tree_.root();
        if (is_star) {
            // One cable between two switches: both trunks are it, and the first has its delay.
            const std::size_t trunk = tree_.trunks().front();
            item.parent = "centre";
            item.edge = trunk_edge(trunk);
            if (is_root) {
                std::swap(item.edge.up_rate, item.edge.down_rate);
                std::swap(item.edge.up_buffer_bytes, item.edge.down_buffer_bytes);
            }
            if (items_.size() > 1) item.edge.delay = {};
        } else if (!is_root) {
            item.parent = switches_[tree_.parent(node)];
            item.edge = trunk_edge(node);
        } else if (has_centre_) {
            item.parent = "centre";
            double all = 0;
            for (std::size_t host = 0; host < tree_.host_count(); ++host) all += rate_of({host, true});
            item.edge.up_rate = item.edge.down_rate = rounded(all);
        }
        items_.push_back(std::move(item));
    }

    void add_hosts(std::size_t node) {
        const auto hosts = tree_.hosts_at(node);
        if (hosts.empty()) return;
        const double up = median_rate(hosts, true), down = median_rate(hosts, false);
        std::optional<std::uint64_t> buffer;
        for (const std::size_t host : hosts) {
            const auto one = buffer_of({host, false});
            if (one) buffer = std::min(buffer.value_or(*one), *one);
        }
        for (const std::size_t host : hosts) {
            NetworkItem item;
            item.kind = NetworkNodeKind::host;
            item.name = names_[host];
            item.parent = switches_[node];
            item.edge.up_rate = rounded(alike(rate_of({host, true}), up));
            item.edge.down_rate = rounded(alike(rate_of({host, false}), down));
            // headwayd plans with one rate for both, and noise is no difference
            if (std::abs(1 - bytes_per_s(item.edge.up_rate) / bytes_per_s(item.edge.down_rate)) < alike_share)
                item.edge.up_rate = item.edge.down_rate = std::min(item.edge.up_rate, item.edge.down_rate);
            item.edge.up_buffer_bytes = item.edge.down_buffer_bytes = buffer;
            items_.push_back(std::move(item));
        }
    }

    [[nodiscard]] NetworkEdge trunk_edge(std::size_t node) const {
        NetworkEdge edge;
        edge.up_rate = rounded(rate_of({node, true}));
        edge.down_rate = rounded(rate_of({node, false}));
        edge.delay = std::chrono::nanoseconds(
            std::llround(network_.delay_s.at(node) * 1e8) * 10);  // ten nanoseconds are beyond any measurement
        edge.up_buffer_bytes = buffer_of({node, true});
        edge.down_buffer_bytes = buffer_of({node, false});
        const auto &up = edge.up_buffer_bytes, &down = edge.down_buffer_bytes;
        constexpr double same_share = 0.1;
        if (up && down && std::max(*up, *down) - std::min(*up, *down) <= same_share * static_cast<double>(*up))
            edge.up_buffer_bytes = edge.down_buffer_bytes = std::min(*up, *down);
        return edge;
    }

    /// A direction that nothing crossed is as the other one.
    [[nodiscard]] double rate_of(DirectedLink link) const {
        const auto found = network_.capacities.find(link);
        if (found != network_.capacities.end() && found->second.bytes_per_s > 0) return found->second.bytes_per_s;
        link.is_up = !link.is_up;
        const auto other = network_.capacities.find(link);
        return other == network_.capacities.end() ? 0 : other->second.bytes_per_s;
    }

    [[nodiscard]] double median_rate(const std::vector<std::size_t>& hosts, bool is_up) const {
        std::vector<double> rates;
        for (const std::size_t host : hosts) rates.push_back(rate_of({host, is_up}));
        std::sort(rates.begin(), rates.end());
        return rates[rates.size() / 2];
    }

    static double alike(double rate, double median) {
        return std::abs(rate / median - 1) < alike_share ? median : rate;
    }

    /// A buffer that was never full is not known.
    [[nodiscard]] std::optional<std::uint64_t> buffer_of(DirectedLink link) const {
        const auto found = network_.buffers.find(link);
        if (found == network_.buffers.end() || found->second.is_lower_bound) return std::nullopt;
        return static_cast<std::uint64_t>(found->second.bytes);
    }

    [[nodiscard]] std::vector<IpPrefix> prefixes_of(std::size_t node) const {
        std::vector<IpPrefix> own, others;
        for (std::size_t host = 0; host < tree_.host_count(); ++host) {
            const auto address = parse_ip_prefix(addresses_[host]);
            if (!address) return {};
            (tree_.parent(host) == node ? own : others).push_back(*address);
        }
        const auto common = common_prefix(own);
        const bool is_free = common && std::none_of(others.begin(), others.end(), [&](const IpPrefix& other) {
            return overlap(*common, other);
        });
        if (is_free) return {*common};
        return own;
    }

    static std::optional<IpPrefix> common_prefix(const std::vector<IpPrefix>& addresses) {
        IpPrefix common = addresses.front();
        const auto bit = [](const IpPrefix& one, unsigned i) { return one.address[i / 8] >> (7 - i % 8) & 1; };
        for (const IpPrefix& one : addresses) {
            if (one.family != common.family) return std::nullopt;
            unsigned same = 0;
            while (same < common.length_bits && bit(one, same) == bit(common, same)) ++same;
            common.length_bits = static_cast<std::uint8_t>(same);
        }
        if (common.length_bits == 0) return std::nullopt;
        const auto mask = common.mask();
        for (std::size_t i = 0; i < common.address.size(); ++i) common.address[i] &= mask[i];
        return common;
    }

    const MeasuredNetwork& network_;
    const HostTree& tree_;
    const std::vector<std::string>& names_;
    const std::vector<std::string>& addresses_;
    std::vector<std::string> switches_;
    std::vector<NetworkItem> items_;
    bool has_centre_ = false;
};

}  // namespace

std::vector<std::string> switch_names(const HostTree& tree, const std::vector<std::string>& hosts) {
    std::vector<std::string> names(tree.size());
    std::map<std::string, int> uses;
    for (const std::size_t node : tree.switches()) {
        const auto own = tree.hosts_at(node);
        if (!own.empty()) names[node] = common_beginning(own, hosts);
        ++uses[names[node]];
    }
    std::set<std::string> taken(hosts.begin(), hosts.end());
    taken.insert("centre");
    int clusters = 0, switches = 0;
    for (const std::size_t node : tree.switches()) {
        const bool is_cluster = !tree.hosts_at(node).empty();
        if (!names[node].empty() && uses[names[node]] == 1 && !taken.contains(names[node]))
            continue;
        do {
            names[node] = is_cluster ? fmt::format("cluster{}", ++clusters) : fmt::format("switch{}", ++switches);
        } while (taken.contains(names[node]) || uses.contains(names[node]));
    }
    return names;
}

std::vector<std::string> notes_on_values(const MeasuredNetwork& network, const std::vector<std::string>& names) {
    const HostTree& tree = network.tree;
    const auto switches = switch_names(tree, names);
    std::map<std::string, std::string> links;  // by what there is to say of them
    for (std::size_t node = 0; node < tree.size(); ++node) {
        if (node == tree.root()) continue;
        const std::string name = tree.is_host(node) ? names[node] : "the trunk of " + switches[node];
        for (const bool is_up : {true, false}) {
            const auto tell = [&](const char* what) {
                std::string& list = links[what];
                list += fmt::format("{}{} {}", list.empty() ? "" : ", ", name, is_up ? "up" : "down");
            };
            const auto rate = network.capacities.find({node, is_up});
            if (rate == network.capacities.end() || rate->second.bytes_per_s <= 0)
                tell("Not measured, the rate of the other direction is taken");
            else if (!rate->second.is_exact) tell("At least so fast, nothing filled the link");
            const auto buffer = network.buffers.find({node, is_up});
            if (buffer != network.buffers.end() && buffer->second.is_lower_bound)
                tell("Left out, a buffer that was never full");
        }
    }
    std::vector<std::string> notes;
    for (const auto& [what, list] : links) notes.push_back(fmt::format("{}: {}.", what, list));
    if (!tree.hosts_at(tree.root()).empty() && tree.switches().size() != 2)
        notes.push_back(fmt::format("Assumed: the trunk of {}, which nothing crosses, carries what all hosts send.",
                                    switches[tree.root()]));
    if (network.ended_by) notes.push_back("The measurement ended early: " + network.ended_by->message + ".");
    return notes;
}

Result<NetworkTree> network_tree_of(const MeasuredNetwork& network, const std::vector<std::string>& names,
                                    const std::vector<std::string>& addresses) {
    return NetworkTree::make(Describer(network, names, addresses).items());
}

}  // namespace headway
