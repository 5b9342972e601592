// SPDX-License-Identifier: Apache-2.0
#include "measure/network_difference.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/hostlist.hpp"
#include "base/units.hpp"

namespace headway {
namespace {

constexpr double rate_share = 0.05;
constexpr double delay_share = 0.1;
constexpr double buffer_share = 0.15;
constexpr double frame_bytes = 1514;
// A port holds, beside its queue, the frame that it sends and the one that is next.
constexpr double ring_frames = 2;

HostSide other_side(const HostSide& side, std::size_t hosts) {
    HostSide rest;
    for (std::size_t host = 0; host < hosts; ++host) {
        if (!std::binary_search(side.begin(), side.end(), host)) rest.push_back(host);
    }
    return rest;
}

/// Links one behind the other are as wide as the narrowest, whose buffer fills.
void put_behind(LinkSide& all, const LinkSide& one) {
    if (all.bytes_per_s != 0 && all.bytes_per_s <= one.bytes_per_s) {
        if (all.bytes_per_s == one.bytes_per_s && !all.buffer_bytes) all.buffer_bytes = one.buffer_bytes;
        return;
    }
    all = one;
}

std::optional<double> as_double(const std::optional<std::uint64_t>& bytes) {
    if (!bytes) return std::nullopt;
    return static_cast<double>(*bytes);
}

std::set<HostSide> sides_of(const ComparedNetwork& links) {
    std::set<HostSide> sides;
    for (const auto& [side, link] : links) sides.insert(side);
    return sides;
}

/// Returns the sides of links that join switches.
std::set<HostSide> trunk_sides(const ComparedNetwork& links, std::size_t hosts) {
    auto sides = sides_of(links);
    std::erase_if(sides, [&](const HostSide& side) { return side.size() == 1 || side.size() + 1 == hosts; });
    return sides;
}

std::set<HostSide> exchanged(const std::set<HostSide>& sides, std::size_t a, std::size_t b, std::size_t hosts) {
    std::set<HostSide> result;
    for (HostSide side : sides) {
        for (std::size_t& host : side) host = host == a ? b : host == b ? a : host;
        std::sort(side.begin(), side.end());
        if (side.front() == 0) side = other_side(side, hosts);
        result.insert(std::move(side));
    }
    return result;
}

class Comparison {
public:
    Comparison(const ComparedNetwork& said, const ComparedNetwork& measured, const std::vector<std::string>& hosts,
               double resolution_s, SaidBy by)
        : said_(said), measured_(measured), hosts_(hosts), resolution_s_(resolution_s), by_(by) {}

    std::vector<std::string> run() {
        compare_trees();
        for (const auto& [side, said] : said_) {
            const auto found = measured_.find(side);
            if (found != measured_.end()) compare_links(side, said, found->second);
        }
        return std::move(told_);
    }

private:
    [[nodiscard]] std::string list(const HostSide& side) const {
        std::vector<std::string> names;
        for (const std::size_t host : side) names.push_back(hosts_[host]);
        return format_hostlist(names);
    }

    [[nodiscard]] const char* verb() const {
        return by_ == SaidBy::description ? "it is described with" : "it was";
    }

    /// The smaller of both sides tells more.
    [[nodiscard]] std::string name(const HostSide& side, bool is_out) const {
        const bool is_host = side.size() == 1;
        const HostSide rest = other_side(side, hosts_.size());
        if (rest.size() < side.size())
            return fmt::format("{} {}", is_out ? "towards" : "from", list(rest));
        return fmt::format("{} {}{}", is_out ? "from" : "towards", is_host ? "" : "the switch of ", list(side));
    }

    void compare_trees() {
        const std::size_t n = hosts_.size();
        const auto said = trunk_sides(said_, n), measured = trunk_sides(measured_, n);
        if (said == measured) return;
        for (std::size_t a = 0; a < n; ++a) {
            for (std::size_t b = a + 1; b < n; ++b) {
                if (exchanged(said, a, b, n) != measured) continue;
                told_.push_back(fmt::format("{} and {} are exchanged", hosts_[a], hosts_[b]));
                return;
            }
        }
        for (const HostSide& side : said) {
            if (!measured.contains(side))
                told_.push_back(fmt::format("no link was found that has {} on one side, and {} on the other",
                                            list(side), list(other_side(side, n))));
        }
        for (const HostSide& side : measured) {
            if (!said.contains(side))
                told_.push_back(fmt::format("there is a link that is not described, with {} on one side and {} on the "
                                            "other",
                                            list(side), list(other_side(side, n))));
        }
    }

    void compare_links(const HostSide& side, const ComparedLink& said, const ComparedLink& measured) {
        for (const bool is_out : {true, false}) {
            compare_rates(side, is_out, is_out ? said.out : said.in, is_out ? measured.out : measured.in);
            compare_buffers(side, is_out, is_out ? said.out : said.in, is_out ? measured.out : measured.in);
        }
        const bool is_trunk = side.size() > 1 && side.size() + 1 < hosts_.size();
        const double tolerance = std::max(delay_share * measured.delay_s, resolution_s_);
        if (is_trunk && std::abs(said.delay_s - measured.delay_s) > tolerance)
            told_.push_back(fmt::format("the delay of the link {} is {:.2f} us; {} {:.2f} us", name(side, true),
                                        1e6 * measured.delay_s, verb(), 1e6 * said.delay_s));
    }

    void compare_rates(const HostSide& side, bool is_out, const LinkSide& said, const LinkSide& measured) {
        if (measured.bytes_per_s <= 0 || said.bytes_per_s <= 0) return;
        const double ratio = said.bytes_per_s / measured.bytes_per_s;
        const bool too_fast = measured.is_exact && ratio > 1 + rate_share;
        const bool too_slow = said.is_exact && ratio < 1 - rate_share;
        if (!too_fast && !too_slow) return;
        const auto text = [](double bytes) { return rate_to_text({static_cast<std::uint64_t>(8 * bytes)}); };
        auto& sentence = told_.emplace_back(
            fmt::format("the link {} carries {}{}; {} {}", name(side, is_out), measured.is_exact ? "" : "at least ",
                        text(measured.bytes_per_s), verb(), text(said.bytes_per_s)));
        if (by_ == SaidBy::description)
            sentence += fmt::format(", {:.0f} % too {}", 100 * std::abs(ratio - 1), too_fast ? "fast" : "slow");
    }

    void compare_buffers(const HostSide& side, bool is_out, const LinkSide& said, const LinkSide& measured) {
        if (!said.buffer_bytes || !measured.buffer_bytes) return;
        const double tolerance =
            std::max({buffer_share * *measured.buffer_bytes, measured.buffer_error_bytes, said.buffer_error_bytes,
                      ring_frames * frame_bytes});
        if (std::abs(*said.buffer_bytes - *measured.buffer_bytes) <= tolerance) return;
        told_.push_back(fmt::format("the buffer before the link {} holds {:.0f} bytes; {} {:.0f}", name(side, is_out),
                                    *measured.buffer_bytes, verb(), *said.buffer_bytes));
    }

    const ComparedNetwork& said_;
    const ComparedNetwork& measured_;
    const std::vector<std::string>& hosts_;
    double resolution_s_;
    SaidBy by_;
    std::vector<std::string> told_;
};

}  // namespace

void add_link(ComparedNetwork& links, HostSide below, std::size_t hosts, ComparedLink link) {
    if (below.empty() || below.size() == hosts) return;
    if (below.front() == 0) {
        below = other_side(below, hosts);
        std::swap(link.out, link.in);
    }
    ComparedLink& all = links[std::move(below)];
    put_behind(all.out, link.out);
    put_behind(all.in, link.in);
    all.delay_s += link.delay_s;
}

Result<ComparedNetwork> links_of(const NetworkTree& tree, const std::vector<std::string>& hosts) {
    std::vector<NetworkTree::Node> nodes;
    for (const std::string& host : hosts) {
        const auto node = tree.find_host(host);
        if (!node) return failure("host \"{}\" is not described", host);
        nodes.push_back(*node);
    }
    std::map<NetworkTree::Node, HostSide> below;
    for (std::size_t host = 0; host < hosts.size(); ++host) {
        for (NetworkTree::Node node = nodes[host]; node != NetworkTree::root; node = tree.parent(node))
            below[node].push_back(host);
    }
    ComparedNetwork links;
    for (auto& [node, side] : below) {
        NetworkEdge edge = tree.edge(node);
        if (edge.links.are_hashed()) {  // what of them a measurement fills is chance
            edge.up_rate = edge.down_rate = {};
            edge.up_buffer_bytes = edge.down_buffer_bytes = {};
        }
        add_link(links, side, hosts.size(),
                 {{bytes_per_s(edge.up_rate), true, as_double(edge.up_buffer_bytes), 0},
                  {bytes_per_s(edge.down_rate), true, as_double(edge.down_buffer_bytes), 0},
                  std::chrono::duration<double>(edge.delay).count()});
    }
    return links;
}

ComparedNetwork links_of(const MeasuredNetwork& network) {
    const HostTree& tree = network.tree;
    const auto side_of = [&](DirectedLink link) {
        LinkSide side;
        if (const auto found = network.capacities.find(link); found != network.capacities.end()) {
            side.bytes_per_s = found->second.bytes_per_s;
            side.is_exact = found->second.is_exact;
        }
        const auto buffer = network.buffers.find(link);
        if (buffer != network.buffers.end() && !buffer->second.is_lower_bound) {
            side.buffer_bytes = buffer->second.bytes;
            side.buffer_error_bytes = buffer->second.error_bytes;
        }
        return side;
    };
    ComparedNetwork links;
    for (std::size_t node = 0; node < tree.size(); ++node) {
        if (node == tree.root()) continue;
        const auto delay = network.delay_s.find(node);
        add_link(links, tree.is_host(node) ? HostSide{node} : tree.hosts_below(node), tree.host_count(),
                 {side_of({node, true}), side_of({node, false}),
                  delay == network.delay_s.end() ? 0 : delay->second});
    }
    return links;
}

ComparedNetwork links_of(const MeasuredDocument& document) {
    std::map<std::string, std::size_t> numbers;
    for (const std::string& name : document.host_names()) numbers.emplace(name, numbers.size());
    std::map<HostSide, ComparedLink> rows;
    for (const MeasuredDocument::Link& row : document.links) {
        HostSide below;
        for (const std::string& name : row.hosts)
            if (const auto host = numbers.find(name); host != numbers.end())
                below.push_back(host->second);
        std::sort(below.begin(), below.end());
        ComparedLink& link = rows[below];
        LinkSide& side = row.is_up ? link.out : link.in;
        if (row.bps) side.bytes_per_s = *row.bps / 8;
        side.is_exact = row.is_exact;
        if (row.is_buffer_exact) {
            side.buffer_bytes = row.buffer_bytes;
            side.buffer_error_bytes = row.buffer_error_bytes.value_or(0);
        }
        if (row.delay_s) link.delay_s = *row.delay_s;
    }
    ComparedNetwork links;
    for (const auto& [below, link] : rows) add_link(links, below, document.hosts.size(), link);
    return links;
}

std::vector<std::string> differences(const ComparedNetwork& said, const ComparedNetwork& measured,
                                     const std::vector<std::string>& hosts, double resolution_s, SaidBy by) {
    return Comparison(said, measured, hosts, resolution_s, by).run();
}

}  // namespace headway
