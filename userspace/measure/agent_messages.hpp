// SPDX-License-Identifier: Apache-2.0
// What a coordinator and its agents say to each other: a line of JSON each way.
//
// An agent begins with a greeting; then it answers every command with one line, a result
// or {"error": "..."}.  It ends when its input does.
//
//   greeting  {"headway": VERSION, "node": NAME, "data": PORT, "echo": PORT, "tcp": PORT}
//   {"do": "peers", "token": T, "self": I, "list": [[ADDRESS, DATA, ECHO, TCP], ...]}
//   {"do": "nothing"}
//   {"do": "mesh", "patience_ms": MS}
//   {"do": "bulk", "run": R, "to": [I, ...], "duration_ns": NS, "bytes_per_s": B or 0}
//                                     -> "sent": [[frames, wire bytes, waits], ...]
//   {"do": "probe", "run": R, "to": I, "count": N, "full": B, "interval_ns": NS}
//                                     -> "round_trip_s": [...], "lost": N, "wire_bytes": N
//   {"do": "routes"}                  -> "from": [[I, hops or null, interface that frames from I came by,
//                                        interface that frames to I leave by], ...]
//   {"do": "arrivals", "run": R}      -> "from": [[I, frames, bytes_per_s], ...], "drops": N
//   {"do": "rounds", "count": N, "receipts": B, "steps": [[[[peer, bytes], ...], [[peer, bytes], ...],
//    PAUSE_NS], ...], "untimed": N, "patience_ms": MS}
//                                     -> "round_s": [...], "received_s": [[...]] (with receipts),
//                                        "retransmissions": N, "rto_us": N
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "measure/bulk_endpoint.hpp"
#include "measure/laboratory.hpp"

namespace headway {

using AgentJson = nlohmann::json;

struct AgentPorts {
    std::uint16_t data = 0;
    std::uint16_t echo = 0;
    std::uint16_t tcp = 0;
};

struct AgentGreeting {
    std::string version;
    std::string node;
    AgentPorts ports;
};

struct AgentPeer {
    std::string address;
    AgentPorts ports;
};

[[nodiscard]] AgentJson greeting_json(const AgentGreeting& greeting);
[[nodiscard]] Result<AgentGreeting> read_greeting(const AgentJson& json);

[[nodiscard]] AgentJson peers_command(std::uint64_t token, std::size_t self, const std::vector<AgentPeer>& peers);
[[nodiscard]] Result<std::vector<AgentPeer>> read_peers(const AgentJson& command);

[[nodiscard]] AgentJson rounds_command(const HostProgram& program, const Rounds& rounds, std::int64_t patience_ms);
/// Its host is not told.
[[nodiscard]] Result<HostProgram> read_program(const AgentJson& command);

[[nodiscard]] AgentJson json_of(const ProgramOutcome& outcome);
[[nodiscard]] Result<ProgramOutcome> read_program_outcome(const AgentJson& json);
/// `to` is who saw them.
[[nodiscard]] AgentJson json_of(const std::vector<SeenRoute>& routes);
[[nodiscard]] Result<std::vector<SeenRoute>> read_routes(const AgentJson& answer, std::size_t to);

[[nodiscard]] AgentJson json_of(const ProbeOutcome& outcome);
[[nodiscard]] Result<ProbeOutcome> read_probe_outcome(const AgentJson& json);

/// A line of it as an object: the answer, or the error it tells.
[[nodiscard]] Result<AgentJson> read_answer(std::string_view line);

/// Runs `read` over JSON that may be anything, and tells what is wrong with it.
template <class Read>
auto reading(std::string_view what, Read read) -> Result<decltype(read())> {
    try {
        return read();
    } catch (const AgentJson::exception& error) {
        return failure("{} cannot be understood: {}", what, error.what());
    } catch (const std::out_of_range& error) {  // whole_number()'s
        return failure("{} cannot be understood: {}", what, error.what());
    }
}

}  // namespace headway
