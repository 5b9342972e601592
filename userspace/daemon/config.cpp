// SPDX-License-Identifier: Apache-2.0
#include "daemon/config.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "daemon/toml_reader.hpp"
#include "model/duration.hpp"
#include "model/hostlist.hpp"

namespace headway {
namespace {

constexpr std::size_t file_max_bytes = 4 << 20;
constexpr std::size_t clusters_max = 128;  // a status answer fits into a datagram
constexpr std::size_t prefixes_max = 1024;
constexpr std::size_t cluster_name_max_bytes = 64;
constexpr std::size_t interface_max_bytes = 15;  // IFNAMSIZ less its final zero
constexpr std::size_t socket_max_bytes = 107;    // sun_path less its final zero
constexpr std::int64_t linger_max_ms = GAP_LINGER_MAX_NS / 1'000'000;

constexpr const char* rate_advice = "write a number and one of bit, kbit, mbit, gbit, tbit";

/// A cluster with the line of each of its hosts and prefixes, for messages
/// about two clusters.
struct LocatedCluster {
    Cluster cluster;
    std::uint32_t line = 0;
    std::uint32_t name_line = 0;
    std::vector<std::uint32_t> host_lines;
    std::vector<std::uint32_t> prefix_lines;
};

bool is_plain_name(std::string_view name, std::size_t max_bytes) {
    return !name.empty() && name.size() <= max_bytes &&
           std::all_of(name.begin(), name.end(), [](unsigned char c) {
               return std::isalnum(c) || c == '.' || c == '-' || c == '_';
           });
}

bool is_interface_name(std::string_view name) {
    return !name.empty() && name.size() <= interface_max_bytes && name != "." && name != ".." &&
           std::all_of(name.begin(), name.end(),
                       [](unsigned char c) { return std::isgraph(c) && c != '/' && c != ':'; });
}

// ------------------------------------------------------------- small tables

NodeConfig read_node(TomlReader& reader) {
    NodeConfig node;
    if (const auto name = reader.string("name")) node.name = name->value;
    if (const auto interface = reader.string("interface")) {
        node.interface = interface->value;
        if (!is_interface_name(interface->value)) {
            reader.error(interface->line, "interface",
                         fmt::format("\"{}\" is no name of a network interface", interface->value),
                         "write 1 to 15 visible characters without '/' and ':', as `ip link` "
                         "shows them");
        }
    }
    reader.finish();
    return node;
}

void read_utilisation(TomlReader& reader, PlanPolicy& policy) {
    const toml::node* node = reader.find("target_utilisation");
    if (node == nullptr) return;
    const auto part = node->value<double>();
    if (!node->is_number() || !part || !(*part >= 1e-6 && *part <= 1.0)) {
        reader.error(node->source().begin.line, "target_utilisation",
                     "it is the planned part of a trunk's wire rate",
                     "write a number above 0 and up to 1, without quotes (default 0.99)");
        return;
    }
    policy.target_utilisation_millionths =
        static_cast<std::uint32_t>(std::lround(*part * utilisation_one));
}

void read_divisor(TomlReader& reader, PlanPolicy& policy) {
    const toml::node* node = reader.find("divisor");
    if (node == nullptr) return;
    if (const auto* text = node->as_string(); text != nullptr && **text == "senders") return;
    const auto number = node->value<double>();
    if (!node->is_number() || !number ||
        !(*number >= 1.0 && *number <= divisor_max / divisor_one)) {
        reader.error(node->source().begin.line, "divisor",
                     "it is what a trunk's rate is divided by for each node",
                     fmt::format("write \"senders\", or a number 1 .. {} without quotes",
                                 divisor_max / divisor_one));
        return;
    }
    policy.trunk_divisor_thousandths =
        static_cast<std::uint32_t>(std::lround(*number * divisor_one));
}

PolicyConfig read_policy(TomlReader& reader) {
    PolicyConfig policy;
    read_utilisation(reader, policy.plan);
    read_divisor(reader, policy.plan);
    if (const auto bytes = reader.integer("min_message_bytes")) {
        if (bytes->value < 0) {
            reader.error(bytes->line, "min_message_bytes", "it is negative",
                         "write 0 to pace every collective");
        } else {
            policy.min_message_bytes = static_cast<std::uint64_t>(bytes->value);
        }
    }
    if (const auto linger = reader.integer("linger_ms")) {
        if (linger->value < 0 || linger->value > linger_max_ms) {
            reader.error(linger->line, "linger_ms", fmt::format("{} is out of range", linger->value),
                         fmt::format("write 0 .. {} (default 10)", linger_max_ms));
        } else {
            policy.linger = std::chrono::milliseconds(linger->value);
        }
    }
    reader.finish();
    return policy;
}

KernelConfig read_kernel(TomlReader& reader) {
    KernelConfig kernel;
    if (const auto via = reader.string("via")) {
        if (via->value == "tc") {
            kernel.via = KernelVia::tc;
        } else if (via->value != "netlink") {
            reader.error(via->line, "via", fmt::format("\"{}\" is unknown", via->value),
                         "write \"netlink\" (default) or \"tc\"");
        }
    }
    if (const auto dir = reader.string("tc_plugin_dir")) {
        kernel.tc_plugin_dir = dir->value;
        if (!dir->value.starts_with('/')) {
            reader.error(dir->line, "tc_plugin_dir",
                         fmt::format("\"{}\" is no absolute path", dir->value),
                         "write the folder of q_gap.so, starting with '/'");
        }
    }
    reader.finish();
    return kernel;
}

DaemonConfig read_daemon(TomlReader& reader) {
    DaemonConfig daemon;
    if (const auto socket = reader.string("socket")) {
        daemon.socket = socket->value;
        if (!socket->value.starts_with('/') || socket->value.size() > socket_max_bytes) {
            reader.error(socket->line, "socket",
                         fmt::format("\"{}\" cannot be the path of a socket", socket->value),
                         fmt::format("write an absolute path of at most {} bytes",
                                     socket_max_bytes));
        }
    }
    if (const auto group = reader.string("group")) {
        daemon.group = group->value;
        if (group->value.empty()) {
            reader.error(group->line, "group", "it is empty",
                         "name the group that may connect, or leave the key out");
        }
    }
    reader.finish();
    return daemon;
}

// ------------------------------------------------------------------ clusters

void read_hosts(TomlReader& reader, LocatedCluster& located) {
    for (const auto& item : reader.strings("hosts")) {
        auto hosts = parse_hostlist(item.value);
        if (!hosts) {
            reader.error(item.line, "hosts", hosts.error().message,
                         "write names and ranges such as \"a[0-3,7]\"");
            continue;
        }
        if (located.cluster.hosts.size() + hosts->size() > hosts_max) {
            reader.error(item.line, "hosts", fmt::format("more than {} hosts", hosts_max),
                         "describe only hosts that run MPI jobs");
            return;
        }
        located.host_lines.insert(located.host_lines.end(), hosts->size(), item.line);
        std::move(hosts->begin(), hosts->end(), std::back_inserter(located.cluster.hosts));
    }
}

void read_prefixes(TomlReader& reader, LocatedCluster& located) {
    for (const auto& item : reader.strings("prefixes")) {
        const auto prefix = parse_ip_prefix(item.value);
        if (!prefix) {
            reader.error(item.line, "prefixes", prefix.error().message,
                         "write the addresses of the cluster's hosts as address/length");
            continue;
        }
        located.cluster.prefixes.push_back(*prefix);
        located.prefix_lines.push_back(item.line);
    }
}

/// An empty optional if the key is absent or wrong; `*present` tells which.
std::optional<BitsPerSecond> read_rate(TomlReader& reader, std::string_view key,
                                       bool* present = nullptr) {
    const bool stands_there = reader.find(key) != nullptr;
    if (present != nullptr) *present = stands_there;
    const auto text = reader.string(key);
    if (!text) return std::nullopt;
    const auto rate = parse_rate(text->value);
    if (rate) return *rate;
    reader.error(text->line, key, rate.error().message, rate_advice);
    return std::nullopt;
}

void read_trunk_rates(TomlReader& reader, LocatedCluster& located) {
    bool has_both = false;
    bool has_up = false;
    bool has_down = false;
    const auto both = read_rate(reader, "trunk_rate", &has_both);
    const auto up = read_rate(reader, "trunk_up_rate", &has_up);
    const auto down = read_rate(reader, "trunk_down_rate", &has_down);
    if (has_both && (has_up || has_down)) {
        reader.error(located.line, "trunk_rate", "it contradicts trunk_up_rate and trunk_down_rate",
                     "write either trunk_rate alone or the other two");
    } else if (!has_both && !(has_up && has_down)) {
        reader.error(located.line, has_up ? "trunk_down_rate" : has_down ? "trunk_up_rate"
                                                                         : "trunk_rate",
                     "it is missing",
                     "write trunk_rate, or both trunk_up_rate and trunk_down_rate");
    }
    const BitsPerSecond fallback = both.value_or(BitsPerSecond{});
    located.cluster.trunk_up_rate = up.value_or(fallback);
    located.cluster.trunk_down_rate = down.value_or(fallback);
}

void read_name(TomlReader& reader, LocatedCluster& located) {
    const auto name = reader.string("name");
    located.name_line = name ? name->line : located.line;
    if (!name) {
        if (reader.find("name") == nullptr) {
            reader.error(located.line, "name", "it is missing", "give the cluster a name");
        }
        return;
    }
    located.cluster.name = name->value;
    if (!is_plain_name(name->value, cluster_name_max_bytes)) {
        reader.error(name->line, "name", fmt::format("\"{}\" is no plain name", name->value),
                     fmt::format("use 1 to {} letters, digits, '.', '-', '_'",
                                 cluster_name_max_bytes));
    }
}

void require(TomlReader& reader, const LocatedCluster& located, std::string_view key,
             std::string_view advice) {
    const toml::node* node = reader.find(key);
    const bool empty = node != nullptr && node->is_array() && node->as_array()->empty();
    if (node == nullptr || empty) {
        reader.error(empty ? node->source().begin.line : located.line, key,
                     empty ? "it is empty" : "it is missing", std::string(advice));
    }
}

LocatedCluster read_cluster(TomlReader& reader) {
    LocatedCluster located;
    located.line = reader.line();
    read_name(reader, located);
    read_hosts(reader, located);
    require(reader, located, "hosts", "list the hosts, such as hosts = [\"a[0-3]\"]");
    read_prefixes(reader, located);
    require(reader, located, "prefixes",
            "list the addresses, such as prefixes = [\"10.1.0.0/16\"]");
    located.cluster.host_rate = read_rate(reader, "host_rate").value_or(BitsPerSecond{});
    require(reader, located, "host_rate", "write the rate of a host's link, such as \"1gbit\"");
    read_trunk_rates(reader, located);
    if (const auto delay = reader.string("trunk_delay")) {
        const auto duration = parse_duration(delay->value);
        if (duration) {
            located.cluster.trunk_delay = *duration;
        } else {
            reader.error(delay->line, "trunk_delay", duration.error().message,
                         "write the one-way delay as a number and one of ns, us, ms, s");
        }
    }
    reader.finish();
    return located;
}

/// Tells conflicts between clusters with the lines of their values.
void report_conflicts(TomlReader& top, const std::vector<LocatedCluster>& located,
                      const std::vector<Cluster>& clusters) {
    for (const TopologyConflict& conflict : find_conflicts(clusters)) {
        const LocatedCluster& later = located[conflict.cluster];
        switch (conflict.kind) {
            case TopologyConflict::Kind::name:
                if (later.cluster.name.empty()) break;  // reported as missing
                top.error(later.name_line, "cluster.name", conflict.message,
                          "give every cluster its own name");
                break;
            case TopologyConflict::Kind::host:
                top.error(later.host_lines[conflict.position], "cluster.hosts", conflict.message,
                          "list every host once");
                break;
            case TopologyConflict::Kind::prefix:
                top.error(later.prefix_lines[conflict.position], "cluster.prefixes",
                          conflict.message,
                          "give every cluster addresses of its own, each listed once");
                break;
        }
    }
}

std::vector<Cluster> read_clusters(TomlReader& top) {
    std::vector<LocatedCluster> located;
    if (top.find("cluster") == nullptr) {
        top.error(0, "cluster", "no cluster is described",
                  "add a [[cluster]] table for each cluster of hosts");
        return {};
    }
    for (TomlReader& reader : top.tables("cluster")) located.push_back(read_cluster(reader));

    std::vector<Cluster> clusters;
    std::size_t hosts = 0;
    std::size_t prefixes = 0;
    for (const LocatedCluster& one : located) {
        clusters.push_back(one.cluster);
        hosts += one.cluster.hosts.size();
        prefixes += one.cluster.prefixes.size();
    }
    if (clusters.size() > clusters_max || hosts > hosts_max || prefixes > prefixes_max) {
        top.error(located.front().line, "cluster",
                  fmt::format("{} clusters, {} hosts and {} prefixes are too many",
                              clusters.size(), hosts, prefixes),
                  fmt::format("at most {}, {} and {} can be described", clusters_max, hosts_max,
                              prefixes_max));
        return {};
    }
    report_conflicts(top, located, clusters);
    return clusters;
}

// ---------------------------------------------------------------- whole file

void check_node_is_known(TomlReader& top, const toml::table& root, const Config& config) {
    const toml::node* name = root["node"]["name"].node();
    if (!config.node.name || config.topology.host_count() == 0 ||
        config.topology.find_host(*config.node.name)) {
        return;
    }
    top.error(name->source().begin.line, "node.name",
              fmt::format("host \"{}\" is in no cluster", *config.node.name),
              "add it to the hosts of its cluster, or correct the name");
}

ConfigResult<Config> read_root(const toml::table& root, std::string_view file) {
    std::vector<ConfigError> errors;
    TomlReader top(root, "", std::string(file), errors);
    Config config;
    config.file = file;
    if (auto reader = top.table("node")) config.node = read_node(*reader);
    if (auto reader = top.table("policy")) config.policy = read_policy(*reader);
    if (auto reader = top.table("kernel")) config.kernel = read_kernel(*reader);
    if (auto reader = top.table("daemon")) config.daemon = read_daemon(*reader);
    auto clusters = read_clusters(top);
    top.finish();

    // Fails only on conflicts, which have been reported with their lines.
    if (auto topology = Topology::make(std::move(clusters))) config.topology = std::move(*topology);
    check_node_is_known(top, root, config);

    if (errors.empty()) return config;
    std::stable_sort(errors.begin(), errors.end(),
                     [](const auto& a, const auto& b) { return a.line < b.line; });
    return tl::unexpected(std::move(errors));
}

}  // namespace

std::string ConfigError::to_string() const {
    std::string text = file;
    if (line > 0) text += fmt::format(":{}", line);
    if (!key.empty()) text += fmt::format(": {}", key);
    text += fmt::format(": {}", reason);
    if (!advice.empty()) text += fmt::format("; {}", advice);
    return text;
}

ConfigResult<Config> parse_config(std::string_view text, std::string_view file) {
    const toml::parse_result parsed = toml::parse(text, file);
    if (!parsed) {
        const toml::parse_error& error = parsed.error();
        return tl::unexpected(std::vector<ConfigError>{
            {std::string(file), error.source().begin.line, "syntax",
             std::string(error.description()), "see headway.toml(5) for an example"}});
    }
    return read_root(parsed.table(), file);
}

ConfigResult<Config> load_config(const std::filesystem::path& file) {
    const auto unreadable = [&](std::string reason, std::string advice) {
        return tl::unexpected(std::vector<ConfigError>{
            {file.string(), 0, "", std::move(reason), std::move(advice)}});
    };
    std::error_code status_error;
    if (std::filesystem::is_directory(file, status_error)) {
        return unreadable("it is a directory", "name the file itself");
    }
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        return unreadable(fmt::format("cannot be opened: {}", std::strerror(errno)),
                          "name a readable file with --config");
    }
    std::string text;
    text.resize(file_max_bytes + 1);
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (stream.bad()) return unreadable("cannot be read", "check the disk");
    text.resize(static_cast<std::size_t>(stream.gcount()));
    if (text.size() > file_max_bytes) {
        return unreadable(fmt::format("it is larger than {} MiB", file_max_bytes >> 20),
                          "use host ranges such as \"a[0-999]\"");
    }
    return parse_config(text, file.string());
}

}  // namespace headway
