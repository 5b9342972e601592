// SPDX-License-Identifier: Apache-2.0
#include "measure/remote_laboratory.hpp"

#include <poll.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <thread>

#include "base/json.hpp"
#include "base/json_number.hpp"
#include "base/units.hpp"
#include "base/version.hpp"
#include "base/wire.hpp"

namespace headway {
namespace {

using SteadyTime = std::chrono::steady_clock;

// Frames that are still on their way when their senders have ended: queues drain, even
// those of a slow wide-area link.
constexpr std::chrono::milliseconds drain_pause{60};
constexpr int skew_tries = 5;

std::vector<std::string> command_for(const LaboratoryOptions& options, const std::string& host) {
    std::vector<std::string> words;
    for (std::string word : options.launch) {
        for (auto at = word.find("{host}"); at != std::string::npos; at = word.find("{host}", at + host.size()))
            word.replace(at, 6, host);
        words.push_back(std::move(word));
    }
    words.insert(words.end(), options.agent_command.begin(), options.agent_command.end());
    return words;
}

std::uint64_t draw_token() {
    std::random_device device;
    return (std::uint64_t{device()} << 32 | device()) | 1;  // 0 stands for none
}

}  // namespace

Result<std::unique_ptr<RemoteLaboratory>> RemoteLaboratory::open(std::vector<MeasuredHost> hosts,
                                                                 LaboratoryOptions options) {
    std::unique_ptr<RemoteLaboratory> made(new RemoteLaboratory(std::move(hosts), std::move(options)));
    if (auto started = made->start_agents(); !started) return tl::unexpected(started.error());
    if (auto met = made->meet_agents(); !met) return tl::unexpected(met.error());
    return made;
}

Result<std::unique_ptr<RemoteLaboratory>> RemoteLaboratory::over(std::vector<MeasuredHost> hosts,
                                                                 std::vector<AgentProcess> agents,
                                                                 LaboratoryOptions options) {
    std::unique_ptr<RemoteLaboratory> made(
        new RemoteLaboratory(std::move(hosts), std::move(options)));
    made->agents_ = std::move(agents);
    if (auto met = made->meet_agents(); !met) return tl::unexpected(met.error());
    return made;
}

Result<void> RemoteLaboratory::start_agents() {
    for (const MeasuredHost& host : hosts_) {
        auto agent = AgentProcess::start(command_for(options_, host.name));
        if (!agent) return tl::unexpected(agent.error().within(fmt::format("host {}", host.name)));
        agents_.push_back(std::move(*agent));
    }
    return {};
}

Result<void> RemoteLaboratory::meet_agents() {
    for (auto step : {&RemoteLaboratory::hear_greetings, &RemoteLaboratory::introduce,
                      &RemoteLaboratory::measure_skew}) {
        if (auto done = (this->*step)(); !done) return done;
    }
    return {};
}

Result<void> RemoteLaboratory::hear_greetings() {
    std::vector<std::size_t> all(hosts_.size());
    std::iota(all.begin(), all.end(), 0);
    Answers greetings = lines_of(all, options_.start_patience);
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        if (!greetings[i]) continue;
        const auto greeting = read_greeting(*greetings[i]);
        if (!greeting) {
            greetings[i] = tl::unexpected(greeting.error());
        } else if (greeting->version != version) {
            greetings[i] = failure("it has headway {}, this is {}; install the same", greeting->version, version);
        } else {
            peers_.push_back({hosts_[i].address, greeting->ports});
            node_names_.push_back(greeting->node);
        }
    }
    if (peers_.size() == hosts_.size()) return {};
    return tl::unexpected(failures(all, greetings));
}

Result<void> RemoteLaboratory::introduce() {
    const std::uint64_t token = draw_token();
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < hosts_.size(); ++i) tasks.push_back({i, peers_command(token, i, peers_)});
    const auto answers = ask(tasks, options_.answer_patience);
    if (!answers) return tl::unexpected(answers.error());
    return {};
}

/// A command to all hosts takes effect within the time from the first word to the last answer.
Result<void> RemoteLaboratory::measure_skew() {
    start_skew_ = std::chrono::hours(1);
    for (int i = 0; i < skew_tries; ++i) {
        const auto began = SteadyTime::now();
        const auto answers = ask_all({{"do", "nothing"}}, options_.answer_patience);
        if (!answers) return tl::unexpected(answers.error());
        start_skew_ = std::min<std::chrono::nanoseconds>(start_skew_, SteadyTime::now() - began);
    }
    return {};
}

RemoteLaboratory::Answers RemoteLaboratory::lines_of(const std::vector<std::size_t>& hosts,
                                                     std::chrono::nanoseconds patience) {
    const auto until = SteadyTime::now() + patience;
    Answers answers(hosts.size(), failure("it has not answered within {:.0f} s",
                                          std::chrono::duration<double>(patience).count()));
    std::vector<std::size_t> open(hosts.size());
    std::iota(open.begin(), open.end(), 0);
    while (!open.empty()) {
        std::erase_if(open, [&](std::size_t i) {
            AgentProcess& agent = agents_[hosts[i]];
            const auto received = agent.receive();
            if (auto line = agent.line()) answers[i] = read_answer(*line);
            else if (!received) answers[i] = tl::unexpected(received.error());
            else return false;
            return true;
        });
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyTime::now());
        if (open.empty() || left.count() <= 0) break;
        std::vector<pollfd> waiting;
        for (const std::size_t i : open) waiting.push_back({agents_[hosts[i]].output(), POLLIN, 0});
        ::poll(waiting.data(), waiting.size(), static_cast<int>(std::min<std::int64_t>(left.count(), 1000)));
    }
    for (const std::size_t i : open) {
        const std::string complaint = agents_[hosts[i]].complaint();
        if (!complaint.empty()) answers[i] = failure("{}: {}", answers[i].error().message, complaint);
    }
    return answers;
}

Error RemoteLaboratory::failures(const std::vector<std::size_t>& hosts, const Answers& answers) const {
    std::string told;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        if (answers[i]) continue;
        told += fmt::format("{}host {}: {}", told.empty() ? "" : "\n", hosts_[hosts[i]].name,
                            answers[i].error().message);
    }
    return {told};
}

Result<std::vector<AgentJson>> RemoteLaboratory::ask(const std::vector<Task>& tasks,
                                                     std::chrono::nanoseconds patience) {
    std::vector<std::string> lines;
    for (const Task& task : tasks) lines.push_back(json_text(task.command));
    std::vector<std::size_t> hosts;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        hosts.push_back(tasks[i].host);
        if (auto said = agents_[tasks[i].host].say(std::move(lines[i])); !said)
            return tl::unexpected(said.error().within(fmt::format("host {}", hosts_[tasks[i].host].name)));
    }
    const Answers answers = lines_of(hosts, patience);
    std::vector<AgentJson> results;
    for (const auto& answer : answers) {
        if (!answer) return tl::unexpected(failures(hosts, answers));
        results.push_back(*answer);
    }
    return results;
}

Result<std::vector<AgentJson>> RemoteLaboratory::ask_all(const AgentJson& command, std::chrono::nanoseconds patience) {
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < hosts_.size(); ++i) tasks.push_back({i, command});
    return ask(tasks, patience);
}

Result<void> RemoteLaboratory::count_bytes(std::uint64_t bytes) {
    bytes_sent_ += bytes;
    if (bytes_sent_ <= options_.bytes_max) return {};
    return failure("{} have been sent, as much as --max-bytes allows; nothing more is measured",
                   byte_size_to_text(options_.bytes_max));
}

void RemoteLaboratory::rest_after(std::chrono::nanoseconds busy) const {
    std::this_thread::sleep_for(busy * (1 / options_.load_share - 1));
}

// -------------------------------------------------------------------------- bulks

Result<BulkOutcome> RemoteLaboratory::run(const Bulk& bulk) {
    if (auto allowed = count_bytes(0); !allowed) return tl::unexpected(allowed.error());
    const std::uint32_t run = ++run_;
    std::vector<std::vector<std::size_t>> flows_of(hosts_.size());
    for (std::size_t i = 0; i < bulk.flows.size(); ++i) flows_of[bulk.flows[i].from].push_back(i);
    std::vector<Task> tasks;
    // those that look come first: they have to see the beginning
    for (const Probe& probe : bulk.probes) {
        if (!flows_of[probe.from].empty()) return failure("host {} sends and probes", hosts_[probe.from].name);
        tasks.push_back({probe.from, {{"do", "probe"}, {"run", run}, {"to", probe.to}, {"count", probe.count},
                                      {"full", probe.is_full_frame}, {"interval_ns", probe.interval.count()}}});
    }
    for (std::size_t host = 0; host < hosts_.size(); ++host) {
        if (flows_of[host].empty()) continue;
        std::vector<std::size_t> to;
        double rate = 0;
        for (const std::size_t flow : flows_of[host]) {
            to.push_back(bulk.flows[flow].to);
            rate += bulk.flows[flow].bytes_per_s;
        }
        tasks.push_back({host, {{"do", "bulk"}, {"run", run}, {"to", to}, {"duration_ns", bulk.duration.count()},
                                {"bytes_per_s", rate}}});
    }
    std::chrono::nanoseconds longest_probe{};
    for (const Probe& probe : bulk.probes) longest_probe = std::max(longest_probe, probe.interval * probe.count);
    const auto answers = ask(tasks, options_.answer_patience + std::max(bulk.duration, longest_probe));
    if (!answers) return tl::unexpected(answers.error());

    BulkOutcome outcome;
    outcome.flows.resize(bulk.flows.size());
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const AgentJson& answer = (*answers)[i];
        if (i < bulk.probes.size()) {
            auto probed = read_probe_outcome(answer);
            if (!probed) return tl::unexpected(probed.error().within(fmt::format("host {}", hosts_[tasks[i].host].name)));
            bytes += static_cast<std::uint64_t>(2 * bulk.probes[i].count * probed->wire_bytes);
            outcome.probes.push_back(std::move(*probed));
            continue;
        }
        const auto read = reading(fmt::format("what host {} sent", hosts_[tasks[i].host].name), [&] {
            const auto& flows = flows_of[tasks[i].host];
            for (std::size_t k = 0; k < flows.size(); ++k) {
                FlowOutcome& flow = outcome.flows[flows[k]];
                flow.sent_frames = whole_number<std::uint64_t>(answer.at("sent").at(k).at(0));
                flow.sent_wire_bytes = whole_number<std::uint64_t>(answer.at("sent").at(k).at(1));
                flow.fills_interface = whole_number<std::uint64_t>(answer.at("sent").at(k).at(2)) > 0;
                bytes += flow.sent_wire_bytes;
            }
            return true;
        });
        if (!read) return tl::unexpected(read.error());
    }
    if (!bulk.flows.empty()) {
        std::this_thread::sleep_for(drain_pause);
        if (auto collected = collect_arrivals(bulk, run, outcome); !collected) return tl::unexpected(collected.error());
        rest_after(bulk.duration);
    }
    bytes_sent_ += bytes;
    return outcome;
}

Result<void> RemoteLaboratory::collect_arrivals(const Bulk& bulk, std::uint32_t run, BulkOutcome& outcome) {
    std::vector<std::size_t> receivers;
    for (const Flow& flow : bulk.flows) receivers.push_back(flow.to);
    std::sort(receivers.begin(), receivers.end());
    receivers.erase(std::unique(receivers.begin(), receivers.end()), receivers.end());
    std::vector<Task> tasks;
    for (const std::size_t host : receivers) tasks.push_back({host, {{"do", "arrivals"}, {"run", run}}});
    const auto answers = ask(tasks, options_.answer_patience);
    if (!answers) return tl::unexpected(answers.error());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto read = reading(fmt::format("what host {} received", hosts_[tasks[i].host].name), [&] {
            const AgentJson& answer = (*answers)[i];
            outcome.socket_drops += whole_number<std::uint64_t>(answer.at("drops"));
            for (const AgentJson& one : answer.at("from")) {
                const auto sender = whole_number<std::size_t>(one.at(0));
                for (std::size_t k = 0; k < bulk.flows.size(); ++k) {
                    if (bulk.flows[k].from != sender || bulk.flows[k].to != tasks[i].host) continue;
                    outcome.flows[k].received_frames = whole_number<std::uint64_t>(one.at(1));
                    outcome.flows[k].received_bytes_per_s = one.at(2).get<double>();
                }
            }
            return true;
        });
        if (!read) return tl::unexpected(read.error());
    }
    return {};
}

// ------------------------------------------------------------------------- routes

Result<std::vector<SeenRoute>> RemoteLaboratory::routes() {
    const auto answers = ask_all({{"do", "routes"}}, options_.answer_patience);
    if (!answers) return tl::unexpected(answers.error());
    std::vector<SeenRoute> all;
    for (std::size_t host = 0; host < answers->size(); ++host) {
        const auto seen = read_routes((*answers)[host], host);
        if (!seen) return tl::unexpected(seen.error().within(fmt::format("host {}", hosts_[host].name)));
        all.insert(all.end(), seen->begin(), seen->end());
    }
    return all;
}

// ------------------------------------------------------------------------- rounds

Result<std::vector<ProgramOutcome>> RemoteLaboratory::run(const Rounds& rounds) {
    std::uint64_t bytes = 0;
    for (const HostProgram& program : rounds.programs) {
        for (const Step& step : program.steps) {
            for (const Transfer& transfer : step.send) bytes += tcp_wire_bytes(transfer.bytes) * rounds.count;
        }
    }
    if (auto allowed = count_bytes(bytes); !allowed) return tl::unexpected(allowed.error());
    if (!has_mesh_) {
        const auto connected = ask_all({{"do", "mesh"}, {"patience_ms", options_.answer_patience.count()}},
                                       options_.answer_patience * 2);
        if (!connected) return tl::unexpected(connected.error());
        has_mesh_ = true;
    }
    std::vector<Task> tasks;
    for (const HostProgram& program : rounds.programs)
        tasks.push_back({program.host, rounds_command(program, rounds, options_.answer_patience.count())});
    const auto began = SteadyTime::now();
    const auto answers = ask(tasks, options_.answer_patience * 2);
    if (!answers) return tl::unexpected(answers.error());
    const auto took = SteadyTime::now() - began;
    std::vector<ProgramOutcome> outcomes;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        auto outcome = read_program_outcome((*answers)[i]);
        if (!outcome) return tl::unexpected(outcome.error().within(fmt::format("host {}", hosts_[tasks[i].host].name)));
        outcomes.push_back(std::move(*outcome));
    }
    // Small messages keep no link busy: only what the bytes take by themselves is rested for.
    constexpr double slow_link_bytes_per_s = 125e6;
    rest_after(std::min<std::chrono::nanoseconds>(
        took, std::chrono::nanoseconds(static_cast<std::int64_t>(
                  1e9 * static_cast<double>(bytes) / slow_link_bytes_per_s / static_cast<double>(hosts_.size())))));
    return outcomes;
}

}  // namespace headway
