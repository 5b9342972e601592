// SPDX-License-Identifier: MIT
#include "network_links.hpp"

#include <bit>

namespace headway::glue {
namespace {

double seconds_of(std::uint64_t bytes, double bytes_per_s) {
    return static_cast<double>(bytes) / bytes_per_s;
}

}  // namespace

NetworkLinks NetworkLinks::read(const JsonObject& answer) {
    NetworkLinks links;
    links.clusters = answer.texts("links.clusters");
    const std::size_t clusters = links.clusters.size();
    const auto of_hosts = answer.whole_numbers("links.host_bytes_per_s");
    const auto up = answer.whole_numbers("links.trunk_up_bytes_per_s");
    const auto down = answer.whole_numbers("links.trunk_down_bytes_per_s");
    const auto below = answer.whole_numbers("links.below_trunk");
    const auto effective = answer.whole_numbers("links.trunk_effective_thousandths");
    const std::size_t flow_counts = up.empty() ? 0 : effective.size() / up.size();
    const auto is_zero = [](std::uint64_t rate) { return rate == 0; };
    const bool fits = of_hosts.size() == clusters && up.size() == down.size() &&
                      below.size() == up.size() * clusters && effective.size() == up.size() * flow_counts &&
                      std::none_of(of_hosts.begin(), of_hosts.end(), is_zero) &&
                      std::none_of(up.begin(), up.end(), is_zero) &&
                      std::none_of(down.begin(), down.end(), is_zero) &&
                      std::none_of(effective.begin(), effective.end(), is_zero);
    if (!fits) return {};
    const double part = answer.number("links.part_for_larger_pieces").value_or(1);
    if (part > 0 && part < 1) links.part_for_larger_pieces = part;
    links.host_bytes_per_s.assign(of_hosts.begin(), of_hosts.end());
    for (std::size_t trunk = 0; trunk < up.size(); ++trunk) {
        const auto first = below.begin() + static_cast<std::ptrdiff_t>(trunk * clusters);
        links.trunks.push_back({static_cast<double>(up[trunk]), static_cast<double>(down[trunk]),
                                {first, first + static_cast<std::ptrdiff_t>(clusters)}});
        for (std::size_t at = trunk * flow_counts; at < (trunk + 1) * flow_counts; ++at)
            links.trunks.back().effective_links.push_back(static_cast<double>(effective[at]) / 1000);
    }
    return links;
}

void LinkLoads::clear() {
    for (auto* loads : {&out_, &in_}) std::fill(loads->begin(), loads->end(), 0);
    for (auto* crossings : {&up_, &down_}) std::fill(crossings->begin(), crossings->end(), Crossing{});
}

void LinkLoads::add(std::size_t from, std::size_t to, std::uint64_t wire_bytes) {
    out_[from] += wire_bytes;
    in_[to] += wire_bytes;
    for (std::size_t trunk = 0; trunk < links_->trunks.size(); ++trunk) {
        const std::vector<bool>& below = links_->trunks[trunk].below;
        const bool leaves = below[cluster_of(from)], enters = below[cluster_of(to)];
        if (leaves && !enters) up_[trunk].add(wire_bytes);
        if (enters && !leaves) down_[trunk].add(wire_bytes);
    }
}

/// Messages are taken for as many as would be as large as the largest, which fill a link no less.
double LinkLoads::seconds(const Crossing& crossing, const TrunkLink& trunk, double bytes_per_s) {
    if (trunk.effective_links.empty() || crossing.sum == 0) return seconds_of(crossing.sum, bytes_per_s);
    const auto power = static_cast<std::size_t>(std::bit_width(crossing.sum / crossing.largest) - 1);
    const std::size_t at = std::min(power, trunk.effective_links.size() - 1);
    return seconds_of(crossing.sum, bytes_per_s * trunk.effective_links[at]);
}

std::chrono::nanoseconds LinkLoads::duration(bool has_larger_pieces) const {
    double longest_s = 0;
    for (std::size_t host = 0; host < out_.size(); ++host) {
        const double rate = links_->host_bytes_per_s[cluster_of(host)];
        longest_s = std::max({longest_s, seconds_of(out_[host], rate), seconds_of(in_[host], rate)});
    }
    for (std::size_t trunk = 0; trunk < links_->trunks.size(); ++trunk) {
        const TrunkLink& link = links_->trunks[trunk];
        longest_s = std::max({longest_s, seconds(up_[trunk], link, link.up_bytes_per_s),
                              seconds(down_[trunk], link, link.down_bytes_per_s)});
    }
    if (has_larger_pieces) longest_s /= links_->part_for_larger_pieces;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(longest_s * 1e9));
}

}  // namespace headway::glue
