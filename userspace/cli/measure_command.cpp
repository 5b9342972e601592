// SPDX-License-Identifier: Apache-2.0
// `headway measure`: what the network between some hosts is, by trying it.
#include <filesystem>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/hostlist.hpp"
#include "base/json.hpp"
#include "base/progress.hpp"
#include "base/text_lines.hpp"
#include "base/units.hpp"
#include "cli/command.hpp"
#include "cli/network_options.hpp"
#include "config/config.hpp"
#include "config/network_file.hpp"
#include "config/user_networks.hpp"
#include "formats/simgrid_platform.hpp"
#include "formats/slurm_topology.hpp"
#include "measure/agent.hpp"
#include "measure/agent_call.hpp"
#include "measure/measured_report.hpp"
#include "measure/measured_tree.hpp"
#include "measure/network_difference.hpp"
#include "measure/remote_laboratory.hpp"

namespace headway {
namespace {

struct MeasureOptions {
    std::vector<std::string> hosts;
    std::string launch;
    std::string program;
    std::string config;
    std::string from;
    std::string since;
    std::vector<std::string> write;
    std::string output;
    std::string max_bytes;
    std::uint32_t max_load_percent = 25;
    std::uint32_t patience_s = 30;
    std::uint32_t first_port = 0;
    bool network_only = false;
    bool forget = false;
    bool json = false;
    bool agent = false;
    bool call = false;
};

class MeasureCommand final : public Command {
public:
    explicit MeasureCommand(const CommandLine& line);
    [[nodiscard]] ExitStatus run() const override;

private:
    MeasureOptions options_;
};

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t measured_hosts_max = 256;
constexpr const char* measure_verb = "measure";
constexpr const char* default_launch = "ssh -o BatchMode=yes {host}";

/// Splits the text at blanks, as a shell would but without its quotes.
std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(std::move(word));
    return words;
}

/// NAME or NAME=ADDRESS: a host by a name, and what the others call it.
/// A list in which hosts have addresses is cut at its commas.
std::vector<std::string> separated(const std::vector<std::string>& lists) {
    std::vector<std::string> parts;
    for (const std::string& list : lists) {
        std::istringstream rest(list);
        const char between = list.find('=') != std::string::npos ? ',' : '\n';
        for (std::string part; std::getline(rest, part, between);) parts.push_back(part);
    }
    return parts;
}

Result<std::vector<MeasuredHost>> chosen_hosts(const std::vector<std::string>& lists) {
    std::vector<MeasuredHost> hosts;
    for (const std::string& list : separated(lists)) {
        const auto equals = list.find('=');
        if (equals != std::string::npos) {
            hosts.push_back({list.substr(0, equals), list.substr(equals + 1)});
            continue;
        }
        const auto names = parse_hostlist(list, measured_hosts_max);
        if (!names) return tl::unexpected(names.error().within("--hosts"));
        for (const std::string& name : *names) hosts.push_back({name, name});
    }
    if (hosts.size() < 2) return failure("--hosts: a network has two hosts at least");
    if (hosts.size() > measured_hosts_max) return failure("--hosts: at most {} are measured at once", measured_hosts_max);
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (hosts[i].name == hosts[j].name) return failure("--hosts: {} is named twice", hosts[i].name);
        }
        auto address = resolve_host(hosts[i].address);
        if (!address) return tl::unexpected(address.error().within("--hosts"));
        hosts[i].address = std::move(*address);
    }
    return hosts;
}

Result<std::string> own_program() {
    std::error_code error;
    const auto path = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return failure("--program: this program's own path cannot be read: {}", error.message());
    return path.string();
}

Result<LaboratoryOptions> laboratory_options(const MeasureOptions& options) {
    LaboratoryOptions made;
    made.launch = words_of(options.launch);
    if (made.launch.empty()) return failure("--launch: there is no command");
    auto program = options.program.empty() ? own_program() : Result<std::string>(options.program);
    if (!program) return tl::unexpected(program.error());
    made.agent_command = {*program, "measure", "--agent", "--port", std::to_string(options.first_port)};
    made.start_patience = std::chrono::seconds(options.patience_s);
    made.load_share = options.max_load_percent / 100.0;
    const auto bytes = parse_size_or_bytes(options.max_bytes);
    if (!bytes) return tl::unexpected(bytes.error().within("--max-bytes"));
    made.bytes_max = *bytes;
    return made;
}

enum class WrittenAs { toml, slurm, simgrid };

Result<WrittenAs> format_of(const std::string& file) {
    const std::string end = std::filesystem::path(file).extension().string();
    if (end == ".toml") return WrittenAs::toml;
    if (end == ".conf") return WrittenAs::slurm;
    if (end == ".xml") return WrittenAs::simgrid;
    return failure("--write: the name of {} does not tell its format; end it in .toml (headway.toml), .conf (Slurm's "
                   "topology.conf) or .xml (SimGrid)",
                   file);
}

/// headway.toml, with what its values were taken for.
std::string commented_toml(const NetworkTree& tree, const std::vector<std::string>& notes) {
    std::string text = "# Written by headway measure; what is not named here is measured.\n";
    for (const std::string& note : notes) text += fmt::format("# {}\n", note);
    return text + write_topology_toml(tree);
}

Result<WrittenTopology> written(const NetworkTree& tree, const std::vector<std::string>& notes, WrittenAs format) {
    if (format == WrittenAs::toml) return WrittenTopology{commented_toml(tree, notes), {}};
    auto topology = format == WrittenAs::simgrid ? write_simgrid_platform(tree) : write_slurm_topology(tree, {});
    if (topology) topology->losses.insert(topology->losses.end(), notes.begin(), notes.end());
    return topology;
}

/// Says what has been written, and whether it is a configuration that headwayd takes.
void tell_written(const std::string& file, const WrittenTopology& topology, const NetworkTree& tree,
                  const std::vector<std::string>& notes) {
    std::uint64_t clusters = 0;
    for (NetworkTree::Node node = 0; node < tree.size(); ++node) clusters += tree.item(node).is_cluster ? 1 : 0;
    fmt::print(stderr, "headway measure: {} is written: {}, {}; {}\n", file, counted(clusters, "cluster"),
               counted(tree.host_count(), "host"),
               notes.empty() ? "all of it is measured"
               : file.ends_with(".toml") ? "its first lines name what is not measured"
                                         : "what follows is not measured");
    for (const std::string& loss : topology.losses) fmt::print(stderr, "headway measure: {}: {}\n", file, loss);
    if (!file.ends_with(".toml")) return;
    const auto config = parse_config(topology.text, file);
    if (config) return;
    for (const FileError& mistake : config.error())
        fmt::print(stderr, "headway measure: headwayd would refuse it: {}\n", mistake.to_string());
}

/// Writes all files, or none if any cannot be written.
Result<void> write_files(const NetworkTree& tree, const std::vector<std::string>& notes,
                         const std::vector<std::string>& files) {
    std::vector<WrittenTopology> texts;
    for (const std::string& file : files) {
        auto text = written(tree, notes, *format_of(file));
        if (!text) return tl::unexpected(text.error().within(file));
        texts.push_back(std::move(*text));
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (!write_file(measure_verb, files[i], texts[i].text)) return failure("nothing more is written");
        tell_written(files[i], texts[i], tree, notes);
    }
    return {};
}

/// The networks that a measurement is compared with.  They are read before anything is sent, so
/// that a mistake in one is told at once.
struct Said {
    std::optional<ComparedNetwork> description;
    std::optional<MeasuredDocument> earlier;
};

Result<MeasuredDocument> read_document(const std::string& file) {
    const auto text = read_text_file(file, data_file_max_bytes);
    if (!text) return failure("{}", text.error().front().to_string());
    auto document = parse_measured_document(*text, file);
    if (!document) return failure("{}", document.error().front().to_string());
    if (document->links.empty() || !document->resolution_s)
        return failure("{}: it has no links that could be compared", file);
    return std::move(*document);
}

Result<Said> read_said(const MeasureOptions& options, const std::vector<std::string>& hosts) {
    Said said;
    if (!options.config.empty()) {
        const auto text = read_text_file(options.config, config_file_max_bytes);
        if (!text) return failure("{}", text.error().front().to_string());
        const auto topology = parse_topology_toml(*text, options.config);
        if (!topology) return failure("{}", topology.error().front().to_string());
        auto links = links_of(*NetworkTree::make(topology->network), hosts);
        if (!links) return tl::unexpected(links.error().within(options.config));
        said.description = std::move(*links);
    }
    if (!options.since.empty()) {
        auto earlier = read_document(options.since);
        if (!earlier) return tl::unexpected(earlier.error());
        if (earlier->host_names() != hosts)
            return failure("{} is of other hosts, or of the same in another order: {}", options.since,
                           format_hostlist(earlier->host_names()));
        said.earlier = std::move(*earlier);
    }
    return said;
}

std::vector<std::string> compared(const Said& said, const ComparedNetwork& measured,
                                  const std::vector<std::string>& hosts, double resolution_s) {
    std::vector<std::string> sentences;
    if (said.description) sentences = differences(*said.description, measured, hosts, resolution_s);
    if (said.earlier) {
        for (std::string& change : differences(links_of(*said.earlier), measured, hosts, resolution_s,
                                               SaidBy::earlier_measurement))
            sentences.push_back(std::move(change));
    }
    return sentences;
}

/// A document against what others say, without another measurement.
ExitStatus compare_document(const MeasureOptions& options) {
    const auto document = read_document(options.from);
    if (!document) return tell(measure_verb, document.error(), ExitStatus::bad_config);
    const auto hosts = document->host_names();
    const auto said = read_said(options, hosts);
    if (!said) return tell(measure_verb, said.error(), ExitStatus::bad_config);
    if (!said->description && !said->earlier)
        return tell(measure_verb, {"--from: say what to compare it with, --config or --since"}, ExitStatus::bad_config);
    const auto sentences = compared(*said, links_of(*document), hosts, *document->resolution_s);
    if (options.json) fmt::print("{}\n", json_text(OrderedJson(sentences), 2));
    else if (sentences.empty()) fmt::print("nothing differs by more than what can be told apart\n");
    else
        for (const std::string& sentence : sentences) fmt::print("{}\n", sentence);
    return sentences.empty() ? ExitStatus::ok : ExitStatus::failure;
}

/// Keeps the network for `headway run`.  It tells what cannot be kept, and does not fail for it.
void keep(const NetworkTree& tree, const std::vector<std::string>& notes, const MeasureCircumstances& circumstances,
          const std::string& document) {
    const auto folder = user_networks_folder();
    if (!folder) return;
    const auto file =
        keep_network(*folder, circumstances.hosts, commented_toml(tree, notes), document);
    if (file)
        fmt::print(stderr, "headway measure: {} keeps it for headway run\n", file->string());
    else
        (void)tell(measure_verb, file.error(), ExitStatus::failure);
}

ExitStatus measure(const MeasureOptions& options) {
    for (const std::string& file : options.write) {
        if (const auto format = format_of(file); !format) return tell(measure_verb, format.error(), ExitStatus::bad_config);
    }
    const auto hosts = chosen_hosts(options.hosts);
    if (!hosts) return tell(measure_verb, hosts.error(), ExitStatus::bad_config);
    auto settings = laboratory_options(options);
    if (!settings) return tell(measure_verb, settings.error(), ExitStatus::bad_config);
    MeasureCircumstances circumstances;
    for (const MeasuredHost& host : *hosts) {
        circumstances.hosts.push_back(host.name);
        circumstances.addresses.push_back(host.address);
    }
    const auto said = read_said(options, circumstances.hosts);
    if (!said) return tell(measure_verb, said.error(), ExitStatus::bad_config);

    const SteadyClock clock;
    const auto began = clock.now();
    const auto laboratory = RemoteLaboratory::open(*hosts, std::move(*settings));
    if (!laboratory) return tell(measure_verb, laboratory.error(), ExitStatus::failure);
    Progress bar(std::cerr, clock, is_terminal_stderr(), "measuring");
    const double parts = options.network_only ? 1 : 2;
    const auto show = [&](double before) {
        return [&bar, parts, before](const std::string&, double done) {
            constexpr double steps = 1000;
            bar.show(static_cast<std::uint64_t>((before + done) / parts * steps), static_cast<std::uint64_t>(steps));
        };
    };
    NetworkMeasurement measurement(**laboratory, circumstances.hosts, show(0));
    const auto network = measurement.run();
    if (!network) {
        bar.erase();
        return tell(measure_verb, network.error(), ExitStatus::failure);
    }
    std::optional<MeasuredMessages> messages;
    if (!options.network_only && !network->ended_by)
        messages = measure_messages(**laboratory, *network, circumstances.hosts, show(1));
    bar.erase();
    const auto& why = network->ended_by || !messages ? network->ended_by : messages->ended_by;
    const bool is_complete = !why;
    if (why) tell(measure_verb, *why, ExitStatus::failure);
    const MeasuredMessages* found = messages ? &*messages : nullptr;

    circumstances.nodes = (*laboratory)->node_names();
    circumstances.bytes_sent = (*laboratory)->bytes_sent();
    circumstances.start_skew_s = std::chrono::duration<double>((*laboratory)->start_skew()).count();
    circumstances.seconds = std::chrono::duration<double>(clock.now() - began).count();
    const auto wrong = compared(*said, links_of(*network), circumstances.hosts, network->resolution_s);
    const std::string document = write_measured_document(document_of(*network, found, circumstances, wrong));
    if (!options.output.empty() && !write_file(measure_verb, options.output, document)) return ExitStatus::failure;
    fmt::print("{}", options.json ? document : measured_text(*network, found, circumstances, wrong));
    const bool is_kept = is_complete && !options.forget;
    if (is_kept || !options.write.empty()) {
        const auto tree = network_tree_of(*network, circumstances.hosts, circumstances.addresses);
        if (!tree) return tell(measure_verb, tree.error(), ExitStatus::failure);
        const auto notes = notes_on_values(*network, circumstances.hosts);
        if (is_kept) keep(*tree, notes, circumstances, messages ? document : "");
        if (const auto done = write_files(*tree, notes, options.write); !done)
            return tell(measure_verb, done.error(), ExitStatus::failure);
    }
    return wrong.empty() && is_complete ? ExitStatus::ok : ExitStatus::failure;
}

}  // namespace

MeasureCommand::MeasureCommand(const CommandLine& line)
    : Command(line, measure_verb, "find out what the network between hosts is, by trying it") {
    options_.launch = default_launch;
    options_.max_bytes = "2GiB";
    verb().add_option("--hosts", options_.hosts, "who takes part: lists such as a[0-3],b[0-3], or name=address");
    verb()
        .add_option("--launch", options_.launch, "what starts a program on a host, such as \"srun -w {host} -n 1\"")
        .shows_default();
    verb().add_option("--program", options_.program, "headway on the hosts (default: where this one is)");
    verb().add_option("-c,--config", options_.config, "a headway.toml to compare with");
    verb().add_option("--since", options_.since, "an earlier document: tell what has changed");
    verb().add_option("--from", options_.from, "measure nothing, compare this document");
    verb().add_option("--write", options_.write,
                      "describe the network in this file, by its name: .toml, .conf (Slurm) or .xml (SimGrid)");
    verb().add_option("-o,--output", options_.output, "write the JSON document to this file");
    verb()
        .add_option("--max-load", options_.max_load_percent,
                    "per cent of the time that a host's link may be busy with the measurement")
        .between(1U, 100U)
        .shows_default();
    verb().add_option("--max-bytes", options_.max_bytes, "end when so much has been sent").shows_default();
    verb()
        .add_option("--patience", options_.patience_s, "seconds that a host may take to answer first")
        .between(1U, 600U)
        .in_seconds()
        .shows_default();
    verb()
        .add_option("--port", options_.first_port, "the first of three ports that hosts listen on (0: any)")
        .between(0U, 65533U)
        .shows_default();
    verb().add_flag("--network-only", options_.network_only, "tree, capacities, delays and buffers; no messages");
    verb().add_flag("--no-keep", options_.forget, "keep nothing for headway run");
    verb().add_flag("-j,--json", options_.json, "print the JSON document");
    verb().add_flag("--agent", options_.agent, "be the part on a host; headway measure starts it");
    verb().add_flag("--call", options_.call, "of the part on a host: call headway run --measure");
}

ExitStatus MeasureCommand::run() const {
    if (!options_.agent) return options_.from.empty() ? measure(options_) : compare_document(options_);
    if (options_.call) {
        if (const auto called = call_coordinator(); !called)
            return tell(measure_verb, called.error(), ExitStatus::failure);
    }
    const auto done = run_agent(std::cin, std::cout, static_cast<std::uint16_t>(options_.first_port));
    return done ? ExitStatus::ok : tell(measure_verb, done.error(), ExitStatus::failure);
}

std::unique_ptr<Command> measure_command(const CommandLine& line) {
    return std::make_unique<MeasureCommand>(line);
}

}  // namespace headway
