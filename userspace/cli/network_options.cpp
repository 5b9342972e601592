// SPDX-License-Identifier: Apache-2.0
#include "cli/network_options.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/core.h>

#include "base/hostlist.hpp"
#include "base/limits.hpp"
#include "base/nearest.hpp"
#include "base/text_lines.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/control_options.hpp"
#include "config/config.hpp"
#include "config/network_line.hpp"
#include "formats/matrix_csv.hpp"
#include "formats/matrix_json.hpp"
#include "formats/open_mpi_monitoring.hpp"
#include "formats/rank_placement.hpp"
#include "formats/recording_json.hpp"
#include "look/device_speed.hpp"
#include "models/fitted_file.hpp"
#include "models/what_if.hpp"

namespace headway {
namespace {

constexpr std::uint64_t message_max_bytes = std::uint64_t{1} << 40;

/// Every host once, where it was named first.
Result<std::vector<std::size_t>> named_hosts(const Topology& topology,
                                             const std::vector<std::string>& lists) {
    std::vector<std::string> names;
    for (const std::string& list : lists) {
        if (list == "all") {
            for (const Cluster& cluster : topology.clusters()) {
                names.insert(names.end(), cluster.hosts.begin(), cluster.hosts.end());
            }
            continue;
        }
        auto some = parse_hostlist(list);
        if (!some) return tl::unexpected(some.error().within("--hosts"));
        names.insert(names.end(), some->begin(), some->end());
    }
    if (const auto known = topology.resolve(names); !known) {
        return tl::unexpected(known.error().within("--hosts"));
    }
    HostSet seen(topology.host_count());
    std::vector<std::size_t> hosts;
    for (const std::string& name : names) {
        const std::size_t host = *topology.find_host(name);
        if (seen.add(host)) hosts.push_back(host);
    }
    if (hosts.empty()) return failure("--hosts: nobody takes part");
    return hosts;
}

HostCounts count(const Topology& topology, const std::vector<std::size_t>& hosts) {
    HostCounts counts{std::vector<std::uint32_t>(topology.clusters().size())};
    for (const std::size_t host : hosts) ++counts.per_cluster[topology.cluster_of(host)];
    return counts;
}

Result<std::size_t> chosen_root(const Topology& topology, const std::string& name,
                                const std::vector<std::size_t>& hosts) {
    if (name.empty()) return hosts.front();
    const auto host = topology.find_host(name);
    if (!host) return failure("--root: host \"{}\" is in no cluster", name);
    if (std::find(hosts.begin(), hosts.end(), *host) == hosts.end()) {
        return failure("--root: host \"{}\" does not take part", name);
    }
    return *host;
}

// ------------------------------------------------------------------- matrices

/// A recording as a whole: all its phases, by what they send.
FileResult<TrafficMatrix> read_whole_recording(const NamedText& file) {
    const auto recording = read_recording_json(file.text, file.file);
    if (!recording) return tl::unexpected(recording.error());
    std::vector<TrafficFlow> flows;
    for (const RecordedPhase& phase : recording->phases)
        flows.insert(flows.end(), phase.matrix.flows().begin(), phase.matrix.flows().end());
    auto matrix = TrafficMatrix::make(static_cast<std::uint32_t>(recording->hosts.size()), std::move(flows));
    if (matrix) return std::move(*matrix);
    return tl::unexpected(std::vector<FileError>{
        {std::string(file.file), 0, "", matrix.error().message, "see headway-formats(5) for the members"}});
}

bool is_recording(const NamedText& file) { return file.text.find("\"headway_recording\"") != std::string_view::npos; }

FileResult<TrafficMatrix> parse_matrix(const std::vector<NamedText>& files) {
    const std::string& name = files.front().file;
    const std::string end = std::filesystem::path(name).extension().string();
    if (end == ".prof") return read_open_mpi_monitoring(files);
    const auto mistake = [&](const char* reason, const char* advice) {
        return tl::unexpected(std::vector<FileError>{{name, 0, "", reason, advice}});
    };
    if (files.size() > 1) return mistake("it is not the only file", "only .prof files are several");
    if (end == ".csv") return read_matrix_csv(files.front().text, name);
    if (end == ".json" && is_recording(files.front())) return read_whole_recording(files.front());
    if (end == ".json") return read_matrix_json(files.front().text, name);
    return mistake("its name does not tell its format", "end it in .csv, .json or .prof");
}

Result<Exchange> placed(const TrafficMatrix& matrix, const ChosenPattern& pattern,
                        const PatternOptions& options) {
    if (pattern.hosts.size() > matrix_hosts_max) {
        return failure("--matrix: {} hosts are too many; at most {} can be planned for one by one",
                       pattern.hosts.size(), matrix_hosts_max);
    }
    auto bytes = bytes_between_hosts(matrix, static_cast<std::uint32_t>(pattern.hosts.size()),
                                     options.ranks_per_host,
                                     *parse_rank_placement(options.map_by));
    if (!bytes) return tl::unexpected(bytes.error().within("--matrix"));
    Exchange exchange = make_exchange(pattern.config.topology, pattern.hosts, std::move(*bytes));
    exchange.message_bytes = matrix.message_bytes().value_or(exchange.message_bytes);
    return exchange;
}

// ------------------------------------------------------------------ the choice

/// "MPI_Alltoall" is "alltoall".
std::string operation_name(std::string_view said) {
    std::string name(said.starts_with("MPI_") ? said.substr(4) : said);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
}

Result<const PlannedOperation*> chosen_operation(const PatternOptions& options) {
    const PlannedOperation* const operation = find_operation(operation_name(options.operation));
    if (operation == nullptr) {
        std::vector<std::string> known;
        std::istringstream names(operation_names());
        for (std::string name; std::getline(names >> std::ws, name, ',');) known.push_back(name);
        return failure("--operation: there is no \"{}\"; {}", options.operation,
                       did_you_mean(operation_name(options.operation), known));
    }
    if (!options.root.empty() && !operation->has_root) {
        return failure("--root: {} has none",
                       options.matrix.empty() ? options.operation : "a matrix");
    }
    return operation;
}

Result<void> choose(ChosenPattern& pattern, const PatternOptions& options) {
    const auto operation = chosen_operation(options);
    if (!operation) return tl::unexpected(operation.error());
    pattern.planned = *operation;
    Topology& topology = pattern.config.topology;
    if (auto changed = apply_what_if(topology, options.what_if); !changed) return changed;
    pattern.what_if = options.what_if;
    auto hosts = named_hosts(topology, options.hosts);
    if (!hosts) return tl::unexpected(hosts.error());
    pattern.hosts = std::move(*hosts);
    pattern.counts = count(topology, pattern.hosts);
    if (!pattern.planned->has_root) return {};
    const auto root = chosen_root(topology, options.root, pattern.hosts);
    if (!root) return tl::unexpected(root.error());
    pattern.root = *root;
    return {};
}

}  // namespace

void add_pattern_options(const Verb& verb, PatternOptions& options) {
    const auto config = add_config_option(verb, options.config);
    verb.add_option(
            "--network", options.network,
            "a network as a line, instead of a file: \"a[0-7] 1gbit | b[0-7] 1gbit : 2.5gbit\"")
        .excludes(config);
    const auto operation =
        verb.add_option("--operation", options.operation,
                        "alltoall, alltoallv, bcast, allreduce or any other that the manual names")
            .default_text("alltoall");
    verb.add_option("--hosts", options.hosts, "who takes part: lists such as a[0-3],b[0-3], or all")
        .default_text("all");
    verb.add_option("--root", options.root, "the root's host (default: the first that takes part)");
    verb.add_option("--ranks-per-host", options.ranks_per_host, "ranks on each host")
        .between(1U, ranks_per_host_max);
    verb.add_option("--matrix", options.matrix,
                    "who sends how much to whom: a .csv or .json file, or .prof files of Open MPI")
        .excludes(operation);
    verb.add_option("--map-by", options.map_by,
                    "where a matrix's ranks run: slot fills a host before the next, node goes round")
        .one_of({"slot", "node"});
    verb.add_option("--what-if", options.what_if,
                    "for another network: trunk=20gbit, host@a=1gbit, trunk_buffer=1MiB, "
                    "delay=5ms; may be repeated");
}

std::string_view ChosenPattern::name() const {
    return measured ? "matrix" : planned->name;
}

const std::string& ChosenPattern::host_name(std::size_t host) const {
    const auto& clusters = config.topology.clusters();
    std::size_t c = 0;
    while (host >= clusters[c].hosts.size()) host -= clusters[c++].hosts.size();
    return clusters[c].hosts[host];
}

FileResult<TrafficMatrix> load_matrix(const std::vector<std::string>& names) {
    std::vector<std::string> texts;
    for (const std::string& name : names) {
        auto text = read_text_file(name, data_file_max_bytes);
        if (!text) return tl::unexpected(text.error());
        texts.push_back(std::move(*text));
    }
    std::vector<NamedText> files;
    for (std::size_t i = 0; i < names.size(); ++i) files.push_back({names[i], texts[i]});
    return parse_matrix(files);
}

/// A matrix may have fewer ranks than there is place for: whose they are is told.
void tell_idle_hosts(std::string_view verb, const TrafficMatrix& matrix, const ChosenPattern& pattern,
                     const PatternOptions& options) {
    const auto all = static_cast<std::uint32_t>(pattern.hosts.size());
    const bool fills_hosts = *parse_rank_placement(options.map_by) == RankPlacement::by_slot;
    const std::uint32_t places = fills_hosts ? options.ranks_per_host : 1;
    const std::uint32_t used = (matrix.ranks() + places - 1) / places;
    if (used == 0 || used >= all) return;
    const std::string last = used == 1 ? "" : " to " + pattern.host_name(pattern.hosts[used - 1]);
    fmt::print(stderr, "headway {}: the matrix's {} run on {}{}; {} of {} are idle\n", verb, counted(matrix.ranks(), "rank"),
               pattern.host_name(pattern.hosts.front()), last, all - used, counted(all, "host"));
}

std::optional<ChosenPattern> choose_pattern(std::string_view verb, const PatternOptions& options) {
    const auto refuse = [&](const Error& error) {
        (void)tell(verb, error, ExitStatus::bad_config);
        return std::nullopt;
    };
    ChosenPattern pattern;
    std::error_code error;
    if (options.network.empty() && !std::filesystem::exists(options.config, error)) {
        return refuse({fmt::format("{}: there is no such file; name one by --config, say the network by --network, or "
                                   "write one: headway measure --hosts LIST --write headway.toml",
                                   options.config)});
    }
    if (options.network.empty()) {
        auto config = load_config(options.config, PrefixesAre::optional);
        if (!config) {
            report_config_errors(config.error());
            return std::nullopt;
        }
        pattern.config = std::move(*config);
    } else {
        auto config = parse_network_line(options.network, [] { return speed_of_all_cards(); });
        if (!config) return refuse(config.error().within("--network"));
        pattern.config = std::move(*config);
    }
    if (const auto chosen = choose(pattern, options); !chosen) return refuse(chosen.error());
    if (pattern.hosts.size() > hosts_per_request_max) {
        return refuse({fmt::format("--hosts: {} hosts are too many; one job can be planned on {} of them at most",
                                   pattern.hosts.size(), hosts_per_request_max)});
    }
    if (options.matrix.empty()) return pattern;
    const auto matrix = load_matrix(options.matrix);
    if (!matrix) {
        report_config_errors(matrix.error());
        return std::nullopt;
    }
    auto exchange = placed(*matrix, pattern, options);
    if (!exchange) return refuse(exchange.error());
    tell_idle_hosts(verb, *matrix, pattern, options);
    pattern.measured = std::move(*exchange);
    return pattern;
}

FittedParameters measured_parameters(const Config& config) {
    if (!config.measured_file) return {};
    return load_fitted({*config.measured_file}).value_or(FittedParameters());
}

Result<std::uint64_t> parse_size_or_bytes(std::string_view text) {
    const bool digits_only = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
    return parse_byte_size(digits_only ? fmt::format("{}B", text) : std::string(text));
}

Result<std::uint64_t> parse_message_size(std::string_view text) {
    const auto bytes = parse_size_or_bytes(text);
    if (!bytes) return tl::unexpected(bytes.error().within("--bytes"));
    if (*bytes == 0 || *bytes > message_max_bytes) {
        return failure("--bytes: {} is not within 1 byte and 1 TiB", text);
    }
    return *bytes;
}

bool write_file(std::string_view verb, const std::string& name, const std::string& content) {
    if (name == standard_output) {
        fmt::print("{}", content);  // main() finds out whether it could be written
        return true;
    }
    std::ofstream file(name, std::ios::binary);
    file << content;
    file.close();
    if (file) return true;
    (void)tell(verb, {"cannot write " + name}, ExitStatus::failure);
    return false;
}

}  // namespace headway
