// SPDX-License-Identifier: Apache-2.0
#include "config/config.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/text_lines.hpp"
#include "base/wire.hpp"
#include "config/doubts.hpp"
#include "config/network_file.hpp"
#include "config/toml_reader.hpp"
#include "config/topology_toml.hpp"
#include "plan/exchange.hpp"
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

bool is_not_empty(std::string_view text) { return !text.empty(); }

NodeConfig read_node(TomlReader& reader) {
    NodeConfig node;
    if (const auto name = reader.string("name")) node.name = name->value;
    const auto interface = reader.text(
        "interface", {is_interface_name, "\"{}\" is no name of a network interface",
                      "write 1 to 15 visible characters without '/' and ':', as `ip link` "
                      "shows them"});
    if (interface) node.interface = *interface;
    reader.finish();
    return node;
}

void read_divisor(TomlReader& reader, PlanPolicy& policy) {
    const toml::node* node = reader.find("divisor");
    const auto* text = node == nullptr ? nullptr : node->as_string();
    if (text != nullptr && **text == "senders") return;
    constexpr std::uint32_t largest = divisor_max / divisor_one;
    policy.trunk_divisor_thousandths = reader.parts(
        "divisor", divisor_one,
        {{1, largest}, "it is what a trunk's rate is divided by for each node",
         fmt::format("write \"senders\", or a number 1 .. {} without quotes", largest)});
}

PolicyConfig read_policy(TomlReader& reader) {
    PolicyConfig policy;
    const auto utilisation = reader.parts(
        "target_utilisation", utilisation_one,
        {{1e-6, 1}, "it is the planned part of a trunk's wire rate",
         "write a number above 0 and up to 1, without quotes (default 0.99)"});
    if (utilisation) policy.plan.target_utilisation_millionths = *utilisation;
    read_divisor(reader, policy.plan);
    policy.share = read_share(reader);
    const auto bytes = reader.integer("min_message_bytes", {{0, INT64_MAX}, "it is negative",
                                                            "write 0 to pace every collective"});
    if (bytes) policy.min_message_bytes = static_cast<std::uint64_t>(*bytes);
    reader.finish();
    return policy;
}

KernelConfig read_kernel(TomlReader& reader) {
    KernelConfig kernel;
    kernel.qdisc = static_cast<PacingQdisc>(reader.choice("backend", {"auto", "gap", "bpf", "fq"}));
    kernel.phases = reader.choice("phases", {"auto", "off"}) == 0;
    kernel.gap_frames = reader.choice("gap_frames", {"auto", "off"}) == 0;
    const bool is_by_program = kernel.qdisc == PacingQdisc::fq || kernel.qdisc == PacingQdisc::bpf;
    if (is_by_program && !kernel.phases) {
        reader.error(reader.line(), "backend", "\"fq\" and \"bpf\" pace by the program that phases need",
                     "remove phases = \"off\"");
    }
    reader.finish();
    return kernel;
}

DaemonConfig read_daemon(TomlReader& reader) {
    DaemonConfig daemon;
    const auto is_socket_path = [](std::string_view path) {
        return path.starts_with('/') && path.size() <= socket_max_bytes;
    };
    const auto socket = reader.text(
        "socket", {is_socket_path, "\"{}\" cannot be the path of a socket",
                   fmt::format("write an absolute path of at most {} bytes", socket_max_bytes)});
    if (socket) daemon.socket = *socket;
    daemon.group = reader.text("group", {is_not_empty, "it is empty",
                                         "name the group that may connect, or leave the key out"});
    reader.finish();
    return daemon;
}

AccessConfig read_access(TomlReader& reader) {
    AccessConfig access{reader.text(
        "administrators", {is_not_empty, "it is empty",
                           "name the group that may do what root may, or leave the key out"})};
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

/// Returns the size below which messages need no pacing, if the file does not say: the buffer of a
/// port, as far as plans rely on it, holds such a message of every other host at once.
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

/// Reads the document of `headway measure`, whose path is relative to headway.toml's folder.  The
/// clusters have been read before.
void read_network(TomlReader& reader, Config& config) {
    const auto name = reader.string("measured");
    reader.finish();
    // a mistake in the clusters has been told, and the file's hosts would be mistakes, too
    if (!name || config.topology.host_count() == 0) return;
    config.measured_file = (std::filesystem::path(config.file).parent_path() / name->value).string();
    auto costs = read_text_file(*config.measured_file, config_file_max_bytes)
                     .and_then([&](const std::string& text) {
                         return read_measured_costs(text, *config.measured_file, config.topology);
                     });
    if (costs) {
        config.topology.set_measured(std::make_shared<const MeasuredCosts>(std::move(*costs)));
        return;
    }
    const FileError& first = costs.error().front();
    reader.error(name->line, "measured", fmt::format("{}: {}", first.file, first.reason), first.advice);
}

}  // namespace

FileResult<Config> parse_config(std::string_view text, std::string_view file,
                                  PrefixesAre prefixes) {
    std::vector<FileError> errors;
    const auto root = parse_toml(text, file, errors);
    if (!root) return tl::unexpected(std::move(errors));
    TomlReader top(*root, "", std::string(file), errors);
    Config config;
    config.file = file;
    if (auto reader = top.table("node")) config.node = read_node(*reader);
    if (auto reader = top.table("policy")) config.policy = read_policy(*reader);
    if (auto reader = top.table("kernel")) config.kernel = read_kernel(*reader);
    if (auto reader = top.table("daemon")) config.daemon = read_daemon(*reader);
    if (auto reader = top.table("access")) config.access = read_access(*reader);
    if (auto reader = top.table("coordination")) config.coordination = read_coordination(*reader);
    if (auto reader = top.table("feedback")) config.feedback = read_feedback(*reader);
    if (auto read = read_topology(top, prefixes)) {
        if (read->clusters) config.topology = std::move(*read->clusters);
        else errors.push_back(read->clusters.error());
    }
    if (auto reader = top.table("network")) read_network(*reader, config);
    top.finish();
    check_node_is_known(top, *root, config);
    if (!(*root)["policy"]["min_message_bytes"]) {
        config.policy.min_message_bytes = default_min_message_bytes(config.topology);
    }

    if (errors.empty()) return config;
    std::ranges::stable_sort(errors, {}, &FileError::line);
    return tl::unexpected(std::move(errors));
}

FileResult<Config> load_config(const std::filesystem::path& file, PrefixesAre prefixes) {
    return read_text_file(file, config_file_max_bytes).and_then([&](const std::string& text) {
        return parse_config(text, file.string(), prefixes);
    });
}

NamedSocket find_control_socket(const std::filesystem::path& file) {
    const std::string name = file.string();
    const auto text = read_text_file(file, config_file_max_bytes);
    if (!text) return {socket_default_path, text.error().front().to_string()};
    std::vector<FileError> errors;
    NamedSocket found{socket_default_path, ""};
    if (const auto root = parse_toml(*text, name, errors)) {
        TomlReader top(*root, "", name, errors);
        if (auto reader = top.table("daemon")) found.path = read_daemon(*reader).socket;
    }
    if (const auto config = parse_config(*text, name); !config) {
        found.trouble = fmt::format("{} has mistakes, which headway check-config {} names", name, name);
    }
    return found;
}

void report_config_errors(std::span<const FileError> errors) {
    std::string told;  // once for mistakes that follow each other
    for (FileError error : errors) {
        if (error.advice == told) error.advice.clear();
        else told = error.advice;
        fmt::print(stderr, "{}\n", error.to_string());
    }
}

void report_doubts(std::string_view file, const std::vector<std::string>& doubts) {
    for (const std::string& doubt : doubts) fmt::print(stderr, "{}: warning: {}\n", file, doubt);
}

ExitStatus check_config(const std::filesystem::path& file) {
    const auto text = read_text_file(file, config_file_max_bytes);
    const auto config = text ? parse_config(*text, file.string()) : FileResult<Config>(tl::unexpected(text.error()));
    if (!config) {
        report_config_errors(config.error());
        return ExitStatus::bad_config;
    }
    report_doubts(file.string(), doubts_of(*NetworkTree::make(parse_topology_toml(*text, file.string())->network)));
    report_doubts(file.string(), doubts_of(config->policy));
    const std::size_t clusters = config->topology.clusters().size();
    const std::size_t hosts = config->topology.host_count();
    fmt::print("{}: no mistakes: {}, {}\n", file.string(), counted(clusters, "cluster"), counted(hosts, "host"));
    return ExitStatus::ok;
}

}  // namespace headway
