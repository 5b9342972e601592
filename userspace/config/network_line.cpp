// SPDX-License-Identifier: Apache-2.0
#include "config/network_line.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/hostlist.hpp"
#include "base/text_lines.hpp"

namespace headway {
namespace {

constexpr std::string_view form = "write it as in \"a[0-7] 1gbit | b[0-7] 1gbit : 2.5gbit\"";

struct TrunkText {
    BitsPerSecond rate;
    ParallelLinks links{};
};

/// [LINKS x] RATE
Result<TrunkText> read_trunk(std::string_view text, std::size_t clusters) {
    if (text.empty() && clusters > 1) {
        return failure("nothing says how fast the clusters' links to each other are; {}", form);
    }
    if (text.empty()) return TrunkText{rate_max};  // nothing crosses it
    TrunkText trunk;
    if (const auto times = text.find('x'); times != std::string_view::npos) {
        const std::string_view count = trimmed(text.substr(0, times));
        const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), trunk.links.count);
        if (error != std::errc() || end != count.data() + count.size() || trunk.links.count == 0 ||
            trunk.links.count > ParallelLinks::count_max) {
            return failure("{} before 'x' is no number of links from 1 to {}; write it as in \": 4x2.5gbit\"",
                           in_quotes(count), ParallelLinks::count_max);
        }
        text = trimmed(text.substr(times + 1));
    }
    const auto rate = parse_rate(text);
    if (!rate) return tl::unexpected(rate.error().within("the rate behind ':'"));
    trunk.rate = *rate;
    return trunk;
}

/// HOSTS [RATE]
Result<Cluster> read_cluster(std::string_view text, const FindHostRate& find_host_rate,
                             std::size_t hosts_left) {
    std::string_view hosts = text;
    std::optional<BitsPerSecond> host_rate;
    if (const auto blank = text.find_last_of(" \t"); blank != std::string_view::npos) {
        if (const auto rate = parse_rate(text.substr(blank + 1))) {
            host_rate = *rate;
            hosts = trimmed(text.substr(0, blank));
        }
    }
    auto names = parse_hostlist(hosts, hosts_left);
    if (!names) return failure("{}: {}; {}", in_quotes(text), names.error().message, form);
    if (!host_rate) host_rate = find_host_rate();
    if (!host_rate) {
        return failure(
            "nothing says how fast the links of {} are; write it behind them, as in "
            "\"a[0-7] 1gbit\"",
            hosts);
    }
    Cluster cluster;
    cluster.hosts = std::move(*names);
    cluster.host_rate = *host_rate;
    return cluster;
}

/// Hosts' common name where no other cluster has it.
void name_clusters(std::vector<Cluster>& clusters) {
    std::set<std::string> taken;
    for (const Cluster& cluster : clusters)
        taken.insert(cluster.hosts.begin(), cluster.hosts.end());
    std::size_t number = 0;
    for (Cluster& cluster : clusters) {
        cluster.name = common_name(cluster.hosts);
        while (cluster.name.empty() || !taken.insert(cluster.name).second) {
            cluster.name = fmt::format("cluster{}", ++number);
        }
    }
}

/// Splits the text at the separator; pieces may be empty.
std::vector<std::string_view> pieces_between(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    for (;;) {
        const auto end = text.find(separator);
        pieces.push_back(trimmed(text.substr(0, end)));
        if (end == std::string_view::npos) return pieces;
        text.remove_prefix(end + 1);
    }
}

}  // namespace

Result<Config> parse_network_line(std::string_view line, const FindHostRate& find_host_rate) {
    const auto parts = pieces_between(line, ':');
    if (parts.size() > 2) return failure("there are several ':'; {}", form);
    const auto texts = pieces_between(parts.front(), '|');
    if (texts.size() > clusters_max)
        return failure("there are more than {} clusters", clusters_max);
    const auto trunk = read_trunk(parts.size() == 2 ? parts[1] : "", texts.size());
    if (!trunk) return tl::unexpected(trunk.error());
    std::vector<Cluster> clusters;
    std::size_t hosts_left = hosts_max;
    for (const std::string_view text : texts) {
        auto cluster = read_cluster(text, find_host_rate, hosts_left);
        if (!cluster) return tl::unexpected(cluster.error());
        hosts_left -= cluster->hosts.size();
        cluster->trunk_up_rate = cluster->trunk_down_rate = trunk->rate;
        cluster->trunk_links = trunk->links;
        clusters.push_back(std::move(*cluster));
    }
    name_clusters(clusters);
    auto topology = Topology::make(std::move(clusters));
    if (!topology) return tl::unexpected(topology.error());
    Config config;
    config.file = line;
    config.topology = std::move(*topology);
    return config;
}

}  // namespace headway
