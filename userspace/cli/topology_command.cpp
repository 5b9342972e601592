// SPDX-License-Identifier: Apache-2.0
// `headway topology check|draw|convert`: files that describe networks.
#include <cstdio>
#include <filesystem>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "base/json.hpp"
#include "base/text_lines.hpp"
#include "cli/command.hpp"
#include "cli/network_options.hpp"
#include "cli/topology_drawing.hpp"
#include "config/config.hpp"
#include "config/doubts.hpp"
#include "config/network_file.hpp"
#include "formats/simgrid_platform.hpp"
#include "formats/slurm_topology.hpp"
#include "formats/topology_json.hpp"

namespace headway {
namespace {

struct TopologyOptions {
    std::vector<std::string> files;
    std::string from;    ///< toml, slurm, slurm-yaml, simgrid; empty: by the file's name
    std::string to;
    std::string output = standard_output;
    std::string link_speed_unit;
    std::string default_rate;
    bool json = false;
};

/// Adds its verbs to the command line and runs the one that was chosen.
class TopologyCommand final : public Command {
public:
    explicit TopologyCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    void add_input(const Verb& one, bool several);
    void add_output(const Verb& one);

    TopologyOptions options_;
    Verb check_;
    Verb draw_;
    Verb convert_;
};

constexpr const char* topology_verb = "topology";
using Json = nlohmann::json;

enum class Format { toml, slurm, slurm_yaml, simgrid };

const char* format_name(Format format) {
    switch (format) {
    case Format::toml: return "toml";
    case Format::slurm: return "slurm";
    case Format::slurm_yaml: return "slurm-yaml";
    case Format::simgrid: break;
    }
    return "simgrid";
}

struct Input {
    Format format = Format::toml;
    NetworkTree network;
    std::vector<FileError> refused_by_headwayd;  ///< of toml
    std::vector<std::string> doubts;
};

struct Context {
    const TopologyOptions& options;
    SlurmOptions slurm;
};

/// By its option, or else by the end of the file's name.
std::optional<Format> format_of(const TopologyOptions& options, const std::string& file) {
    const std::string name =
        options.from.empty() ? std::filesystem::path(file).extension().string() : options.from;
    if (name == "toml" || name == ".toml") return Format::toml;
    if (name == "slurm" || name == ".conf") return Format::slurm;
    if (name == "slurm-yaml" || name == ".yaml" || name == ".yml") return Format::slurm_yaml;
    if (name == "simgrid" || name == ".xml") return Format::simgrid;
    return std::nullopt;
}

FileResult<NetworkTree> read_toml(const std::string& text, const std::string& file,
                                  std::vector<FileError>& refused) {
    auto topology = parse_topology_toml(text, file);
    if (!topology) return tl::unexpected(topology.error());
    if (auto config = parse_config(text, file); !config) refused = std::move(config.error());
    return *NetworkTree::make(std::move(topology->network));
}

FileResult<Input> read_input(const Context& context, const std::string& file) {
    const auto format = format_of(context.options, file);
    if (!format) {
        return tl::unexpected(
            std::vector<FileError>{{file, 0, "", "its name does not tell its format",
                                    "say --from toml, slurm, slurm-yaml or simgrid"}});
    }
    const auto text = read_text_file(file, config_file_max_bytes);
    if (!text) return tl::unexpected(text.error());
    std::vector<FileError> refused;
    auto network = *format == Format::toml         ? read_toml(*text, file, refused)
                   : *format == Format::slurm      ? read_slurm_topology(*text, file, context.slurm)
                   : *format == Format::slurm_yaml ? read_slurm_yaml(*text, file, context.slurm)
                                                   : read_simgrid_platform(*text, file);
    if (!network) return tl::unexpected(network.error());
    auto doubts = doubts_of(*network);
    return Input{*format, std::move(*network), std::move(refused), std::move(doubts)};
}

// --------------------------------------------------------------------- check

Json errors_json(const std::vector<FileError>& errors) {
    Json list = Json::array();
    for (const FileError& error : errors) {
        list.push_back({{"line", error.line},
                        {"key", error.key},
                        {"reason", error.reason},
                        {"advice", error.advice}});
    }
    return list;
}

void print_checked(const std::string& file, const Input& input) {
    const std::size_t switches = input.network.switch_count();
    const std::size_t hosts = input.network.host_count();
    fmt::print("{}: no mistakes: {}, {}, {}\n", file, format_name(input.format), counted(switches, "switch"),
               counted(hosts, "host"));
    report_doubts(file, input.doubts);
    for (const FileError& error : input.refused_by_headwayd) {
        fmt::print("headwayd would refuse it: {}\n", error.to_string());
    }
}

ExitStatus check_files(const Context& context) {
    bool all_good = true;
    Json list = Json::array();
    for (const std::string& file : context.options.files) {
        const auto input = read_input(context, file);
        all_good &= input.has_value();
        Json entry{{"file", file}, {"mistakes", Json::array()}};
        if (!input) {
            entry["mistakes"] = errors_json(input.error());
            if (!context.options.json) report_config_errors(input.error());
        } else {
            entry["format"] = format_name(input->format);
            entry["switches"] = input->network.switch_count();
            entry["hosts"] = input->network.host_count();
            entry["warnings"] = input->doubts;
            entry["refused_by_headwayd"] = errors_json(input->refused_by_headwayd);
            if (!context.options.json) print_checked(file, *input);
        }
        list.push_back(std::move(entry));
    }
    if (context.options.json) {
        fmt::print("{}\n", json_text(list, 2));
    }
    return all_good ? ExitStatus::ok : ExitStatus::bad_config;
}

// ---------------------------------------------------------- draw and convert

struct NamedFormat {
    const char* ending;
    const char* format;
};
constexpr NamedFormat drawn[] = {{".svg", "svg"}, {".dot", "dot"}};
constexpr NamedFormat said[] = {{".toml", "toml"}, {".conf", "slurm"}, {".xml", "simgrid"}, {".json", "json"}};

/// By --to, or else by the end of the name of the file to write, or else the first one.
Result<std::string> format_to_write(const TopologyOptions& options, std::span<const NamedFormat> formats) {
    if (options.json) return "json";
    if (!options.to.empty()) return options.to;
    if (options.output == standard_output) return formats.front().format;
    const std::string ending = std::filesystem::path(options.output).extension().string();
    for (const NamedFormat& one : formats) {
        if (ending == one.ending) return one.format;
    }
    return failure("--output {}: its name does not tell a format that can be written; say --to {}", options.output,
                   fmt::join(formats | std::views::transform(&NamedFormat::format), ", "));
}

Result<WrittenTopology> converted(const Context& context, const Input& input) {
    const std::string& to = context.options.to;
    if (to == "json") return WrittenTopology{json_text(network_json(input.network), 2) + "\n", {}};
    if (to == "svg") return WrittenTopology{drawing_svg(draw_network(input.network)), {}};
    if (to == "dot") return WrittenTopology{drawing_dot(draw_network(input.network)), {}};
    if (to == "slurm") return write_slurm_topology(input.network, context.slurm);
    if (to == "simgrid") return write_simgrid_platform(input.network);
    return WrittenTopology{write_topology_toml(input.network), {}};
}

ExitStatus convert_file(const Context& context) {
    const auto input = read_input(context, context.options.files.front());
    if (!input) {
        report_config_errors(input.error());
        return ExitStatus::bad_config;
    }
    const auto written = converted(context, *input);
    if (!written) return tell(topology_verb, written.error(), ExitStatus::failure);
    const std::string& to = context.options.to;
    if (const auto cable = cable_text(input->network); !cable.empty() && (to == "simgrid" || to == "json")) {
        fmt::print(stderr, "headway {}:{}\n", topology_verb, cable);
    }
    for (const std::string& loss : written->losses) {
        fmt::print(stderr, "headway {}: {}\n", topology_verb, loss);
    }
    return write_file(topology_verb, context.options.output, written->text) ? ExitStatus::ok : ExitStatus::failure;
}

}  // namespace

TopologyCommand::TopologyCommand(const CommandLine& line)
    : Command(line, topology_verb, "check, draw and convert descriptions of networks"),
      check_(verb().add_verb("check", "tell every mistake in a file")),
      draw_(verb().add_verb("draw", "draw a network and what limits an all-to-all")),
      convert_(verb().add_verb("convert", "say a network in another format")) {
    verb().needs_verb();
    add_input(check_, true);
    add_input(draw_, false);
    add_input(convert_, false);
    draw_.add_option("--to", options_.to, "svg or dot, for Graphviz (default: by the name of --output, or svg)")
        .one_of({"svg", "dot"});
    convert_.add_option("--to", options_.to, "toml, slurm, simgrid or json (default: by the name of --output, or toml)")
        .one_of({"toml", "slurm", "simgrid", "json"});
    add_output(draw_);
    add_output(convert_);
    for (const Verb& one : {check_, draw_, convert_}) {
        one.add_flag("-j,--json", options_.json, "print JSON");
    }
}

void TopologyCommand::add_input(const Verb& one, bool several) {
    const auto files = one.add_option("FILE", options_.files, "what describes the network").required();
    if (!several) files.expected(1);
    one.add_option("--from", options_.from, "the file's format (default: by its name)")
        .one_of({"toml", "slurm", "slurm-yaml", "simgrid"});
    one.add_option("--link-speed-unit", options_.link_speed_unit,
                   "what LinkSpeed=1 of topology.conf is, such as 1mbit");
    one.add_option("--default-rate", options_.default_rate,
                   "the rate of links of which topology.conf or topology.yaml says none");
}

void TopologyCommand::add_output(const Verb& one) {
    one.add_option("-o,--output", options_.output, "the file to write; -: standard output").shows_default();
}

ExitStatus TopologyCommand::run() const {
    TopologyOptions options = options_;
    Context context{options, {}};
    context.slurm.read_file = [](const auto& file) {
        return read_text_file(file, config_file_max_bytes);
    };
    if (!options.link_speed_unit.empty()) {
        const auto unit = parse_rate("1" + options.link_speed_unit);
        const auto number = parse_rate(options.link_speed_unit);
        if (!number && !unit) return tell(topology_verb, number.error().within("--link-speed-unit"), ExitStatus::bad_config);
        context.slurm.link_speed_unit = number ? *number : *unit;
    }
    if (!options.default_rate.empty()) {
        const auto rate = parse_rate(options.default_rate);
        if (!rate) return tell(topology_verb, rate.error().within("--default-rate"), ExitStatus::bad_config);
        context.slurm.default_rate = *rate;
    }
    if (check_.is_chosen()) return check_files(context);
    const auto to = draw_.is_chosen() ? format_to_write(options, drawn) : format_to_write(options, said);
    if (!to) return tell(topology_verb, to.error(), ExitStatus::bad_config);
    options.to = *to;
    return convert_file(context);
}

std::unique_ptr<Command> topology_command(const CommandLine& line) {
    return std::make_unique<TopologyCommand>(line);
}

}  // namespace headway
