// SPDX-License-Identifier: Apache-2.0
#include "config/config.hpp"

#include <algorithm>
#include <cmath>

#include "base/wire.hpp"
#include "config/toml_reader.hpp"
#include "config/topology_toml.hpp"
#include "plan/collective.hpp"
#include "plan/planner_measured.hpp"

namespace headway {
namespace {

constexpr std::size_t interface_max_bytes = 15;  // IFNAMSIZ less its final zero
constexpr std::size_t socket_max_bytes = 107;    // sun_path less its final zero

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
    const auto part = reader.number(
        "target_utilisation",
        {1e-6, 1, "the planned part of a trunk's wire rate",
         "write a number above 0 and up to 1, without quotes (default 0.99)"});
    if (!part) return;
    policy.target_utilisation_millionths =
        static_cast<std::uint32_t>(std::lround(*part * utilisation_one));
}

void read_divisor(TomlReader& reader, PlanPolicy& policy) {
    const toml::node* node = reader.find("divisor");
    const auto* text = node == nullptr ? nullptr : node->as_string();
    if (text != nullptr && **text == "senders") return;
    constexpr std::uint32_t largest = divisor_max / divisor_one;
    const auto divisor = reader.number(
        "divisor",
        {1, largest, "what a trunk's rate is divided by for each node",
         fmt::format("write \"senders\", or a number 1 .. {} without quotes", largest)});
    if (!divisor) return;
    policy.trunk_divisor_thousandths =
        static_cast<std::uint32_t>(std::lround(*divisor * divisor_one));
}

PolicyConfig read_policy(TomlReader& reader) {
    PolicyConfig policy;
    read_utilisation(reader, policy.plan);
    read_divisor(reader, policy.plan);
    policy.share = read_share(reader);
    if (const auto bytes = reader.integer("min_message_bytes")) {
        if (bytes->value < 0) {
            reader.error(bytes->line, "min_message_bytes", "it is negative",
                         "write 0 to pace every collective");
        } else {
            policy.min_message_bytes = static_cast<std::uint64_t>(bytes->value);
        }
    }
    reader.finish();
    return policy;
}

void read_auto_or_off(TomlReader& reader, const char* key, bool& value) {
    const auto text = reader.string(key);
    if (!text) return;
    value = text->value != "off";
    if (value && text->value != "auto") {
        reader.error(text->line, key, fmt::format("\"{}\" is unknown", text->value),
                     "write \"auto\" (default) or \"off\"");
    }
}

void read_backend(TomlReader& reader, PacingQdisc& qdisc) {
    const auto text = reader.string("backend");
    if (!text) return;
    if (text->value == "gap") {
        qdisc = PacingQdisc::gap;
    } else if (text->value == "fq") {
        qdisc = PacingQdisc::fq;
    } else if (text->value != "auto") {
        reader.error(text->line, "backend", fmt::format("\"{}\" is unknown", text->value),
                     "write \"auto\" (default), \"gap\" or \"fq\"");
    }
}

KernelConfig read_kernel(TomlReader& reader) {
    KernelConfig kernel;
    read_backend(reader, kernel.qdisc);
    read_auto_or_off(reader, "phases", kernel.phases);
    read_auto_or_off(reader, "gap_frames", kernel.gap_frames);
    if (kernel.qdisc == PacingQdisc::fq && !kernel.phases) {
        reader.error(reader.line(), "backend", "\"fq\" paces by the program that phases need",
                     "remove phases = \"off\"");
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

AccessConfig read_access(TomlReader& reader) {
    AccessConfig access;
    if (const auto group = reader.string("administrators")) {
        access.administrators = group->value;
        if (group->value.empty()) {
            reader.error(group->line, "administrators", "it is empty",
                         "name the group that may do what root may, or leave the key out");
        }
    }
    reader.finish();
    return access;
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

/// Where the file does not say: what is smaller needs no pacing, because the buffer of a
/// port, as far as plans rely on it, holds a message of every other host at once.
std::uint64_t default_min_message_bytes(const Topology& topology) {
    // MPICH combines messages up to this size (Bruck's algorithm), so that few meet.
    constexpr std::uint64_t combined_bytes = 256;
    std::uint64_t least = PolicyConfig{}.min_message_bytes;
    for (const Cluster& cluster : topology.clusters()) {
        if (!cluster.host_buffer_bytes || topology.host_count() < 2) continue;
        const double room = buffer_part * static_cast<double>(*cluster.host_buffer_bytes) /
                            static_cast<double>(topology.host_count() - 1);
        least = std::min(least, tcp_payload_within(static_cast<std::uint64_t>(room)));
    }
    return std::max(least, combined_bytes);
}

void read_clusters(TomlReader& top, PrefixesAre prefixes, Config& config,
                   std::vector<ConfigError>& errors) {
    auto topology = read_topology(top, prefixes);
    if (!topology) return;
    if (topology->no_clusters) errors.push_back(*topology->no_clusters);
    if (topology->clusters) config.topology = std::move(*topology->clusters);
    config.network = std::move(topology->network);
}

/// What `headway measure` has written, in a file named from the folder of headway.toml on.
FileResult<MeasuredCosts> load_measured(const Config& config) {
    const auto text = read_text_file(*config.measured_file, config_file_max_bytes);
    if (!text) return tl::unexpected(text.error());
    return read_measured_costs(*text, *config.measured_file, config.topology);
}

/// The clusters have been read before.
void read_network(TomlReader& reader, Config& config) {
    const auto name = reader.string("measured");
    reader.finish();
    // a mistake in the clusters has been told, and the file's hosts would be mistakes, too
    if (!name || config.topology.host_count() == 0) return;
    config.measured_file = (std::filesystem::path(config.file).parent_path() / name->value).string();
    auto costs = load_measured(config);
    if (costs) {
        config.topology.set_measured(std::make_shared<const MeasuredCosts>(std::move(*costs)));
        return;
    }
    const FileError& first = costs.error().front();
    reader.error(name->line, "measured", fmt::format("{}: {}", first.file, first.reason), first.advice);
}

ConfigResult<Config> read_root(const toml::table& root, std::string_view file,
                               PrefixesAre prefixes) {
    std::vector<ConfigError> errors;
    TomlReader top(root, "", std::string(file), errors);
    Config config;
    config.file = file;
    if (auto reader = top.table("node")) config.node = read_node(*reader);
    if (auto reader = top.table("policy")) config.policy = read_policy(*reader);
    if (auto reader = top.table("kernel")) config.kernel = read_kernel(*reader);
    if (auto reader = top.table("daemon")) config.daemon = read_daemon(*reader);
    if (auto reader = top.table("access")) config.access = read_access(*reader);
    if (auto reader = top.table("coordination")) config.coordination = read_coordination(*reader);
    if (auto reader = top.table("feedback")) config.feedback = read_feedback(*reader);
    read_clusters(top, prefixes, config, errors);
    if (auto reader = top.table("network")) read_network(*reader, config);
    top.finish();
    check_node_is_known(top, root, config);
    if (!root["policy"]["min_message_bytes"]) {
        config.policy.min_message_bytes = default_min_message_bytes(config.topology);
    }

    if (errors.empty()) return config;
    std::ranges::stable_sort(errors, {}, &FileError::line);
    return tl::unexpected(std::move(errors));
}

}  // namespace

ConfigResult<Config> parse_config(std::string_view text, std::string_view file,
                                  PrefixesAre prefixes) {
    std::vector<ConfigError> errors;
    const auto root = parse_toml(text, file, errors);
    if (!root) return tl::unexpected(std::move(errors));
    return read_root(*root, file, prefixes);
}

ConfigResult<Config> load_config(const std::filesystem::path& file, PrefixesAre prefixes) {
    const auto text = read_text_file(file, config_file_max_bytes);
    if (!text) return tl::unexpected(text.error());
    return parse_config(*text, file.string(), prefixes);
}

}  // namespace headway
