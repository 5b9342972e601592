// SPDX-License-Identifier: Apache-2.0
#include "measure/agent_messages.hpp"

#include "base/json.hpp"
#include "base/json_number.hpp"

namespace headway {
namespace {

AgentJson transfers_json(const std::vector<Transfer>& transfers) {
    AgentJson list = AgentJson::array();
    for (const Transfer& transfer : transfers) list.push_back({transfer.peer, transfer.bytes});
    return list;
}

std::vector<Transfer> read_transfers(const AgentJson& list) {
    std::vector<Transfer> transfers;
    for (const AgentJson& one : list)
        transfers.push_back({whole_number<std::size_t>(one.at(0)), whole_number<std::uint64_t>(one.at(1))});
    return transfers;
}

}  // namespace

AgentJson greeting_json(const AgentGreeting& greeting) {
    return {{"headway", greeting.version},    {"node", greeting.node},
            {"data", greeting.ports.data},    {"echo", greeting.ports.echo},
            {"tcp", greeting.ports.tcp}};
}

Result<AgentGreeting> read_greeting(const AgentJson& json) {
    return reading("the agent's greeting", [&] {
        return AgentGreeting{json.at("headway").get<std::string>(),
                             json.at("node").get<std::string>(),
                             {whole_number<std::uint16_t>(json.at("data")), whole_number<std::uint16_t>(json.at("echo")),
                              whole_number<std::uint16_t>(json.at("tcp"))}};
    });
}

AgentJson peers_command(std::uint64_t token, std::size_t self, const std::vector<AgentPeer>& peers) {
    AgentJson list = AgentJson::array();
    for (const AgentPeer& peer : peers)
        list.push_back({peer.address, peer.ports.data, peer.ports.echo, peer.ports.tcp});
    return {{"do", "peers"}, {"token", token}, {"self", self}, {"list", std::move(list)}};
}

Result<std::vector<AgentPeer>> read_peers(const AgentJson& command) {
    return reading("the list of hosts", [&] {
        std::vector<AgentPeer> peers;
        for (const AgentJson& one : command.at("list"))
            peers.push_back({one.at(0).get<std::string>(),
                             {whole_number<std::uint16_t>(one.at(1)), whole_number<std::uint16_t>(one.at(2)),
                              whole_number<std::uint16_t>(one.at(3))}});
        return peers;
    });
}

AgentJson rounds_command(const HostProgram& program, const Rounds& rounds, std::int64_t patience_ms) {
    AgentJson steps = AgentJson::array();
    for (const Step& step : program.steps)
        steps.push_back({transfers_json(step.send), transfers_json(step.receive), step.pause.count()});
    return {{"do", "rounds"},
            {"count", rounds.count},
            {"receipts", rounds.tells_receipts},
            {"steps", std::move(steps)},
            {"untimed", program.untimed_steps},
            {"patience_ms", patience_ms}};
}

Result<HostProgram> read_program(const AgentJson& command) {
    return reading("the program", [&] {
        HostProgram program;
        program.untimed_steps = whole_number<std::size_t>(command.at("untimed"));
        for (const AgentJson& one : command.at("steps"))
            program.steps.push_back({read_transfers(one.at(0)), read_transfers(one.at(1)),
                                     std::chrono::nanoseconds(whole_number<std::int64_t>(one.at(2)))});
        return program;
    });
}

AgentJson json_of(const ProgramOutcome& outcome) {
    return {{"round_s", outcome.round_s},
            {"received_s", outcome.received_s},
            {"retransmissions", outcome.retransmissions},
            {"rto_us", outcome.retransmission_timeout_us}};
}

Result<ProgramOutcome> read_program_outcome(const AgentJson& json) {
    return reading("the times of rounds", [&] {
        return ProgramOutcome{json.at("round_s").get<std::vector<double>>(),
                              json.at("received_s").get<std::vector<std::vector<double>>>(),
                              whole_number<std::uint64_t>(json.at("retransmissions")),
                              whole_number<std::uint32_t>(json.at("rto_us"))};
    });
}

AgentJson json_of(const std::vector<SeenRoute>& routes) {
    AgentJson list = AgentJson::array();
    for (const SeenRoute& one : routes)
        list.push_back({one.from, one.hops ? AgentJson(*one.hops) : AgentJson(), one.enters, one.leaves});
    return {{"from", std::move(list)}};
}

Result<std::vector<SeenRoute>> read_routes(const AgentJson& answer, std::size_t to) {
    return reading("the routes of frames", [&] {
        std::vector<SeenRoute> routes;
        for (const AgentJson& one : answer.at("from")) {
            SeenRoute& route = routes.emplace_back();
            route.from = whole_number<std::size_t>(one.at(0));
            route.to = to;
            if (!one.at(1).is_null()) route.hops = whole_number<unsigned>(one.at(1));
            route.enters = one.at(2).get<std::string>();
            route.leaves = one.at(3).get<std::string>();
        }
        return routes;
    });
}

AgentJson json_of(const ProbeOutcome& outcome) {
    return {{"round_trip_s", outcome.round_trip_s}, {"lost", outcome.lost}, {"wire_bytes", outcome.wire_bytes}};
}

Result<ProbeOutcome> read_probe_outcome(const AgentJson& json) {
    return reading("the round trips", [&] {
        return ProbeOutcome{json.at("round_trip_s").get<std::vector<double>>(),
                            whole_number<std::uint32_t>(json.at("lost")), json.at("wire_bytes").get<double>()};
    });
}

Result<AgentJson> read_answer(std::string_view line) {
    AgentJson json = parse_json<AgentJson>(line);
    if (!json.is_object()) {
        constexpr std::size_t shown_max = 120;
        return failure("instead of an answer came \"{}\"", line.substr(0, shown_max));
    }
    if (const auto error = json.find("error"); error != json.end())
        return failure("{}", error->is_string() ? error->get<std::string>() : json_text(*error));
    return json;
}

}  // namespace headway
