// SPDX-License-Identifier: Apache-2.0
// One host's part in a measurement: `headway measure --agent`, which the coordinator starts
// on every host and speaks to over standard input and output.
//
// An agent ends when its input does, so that none outlives its coordinator; every command
// is bounded in time.
#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <string>

#include "measure/agent_messages.hpp"
#include "measure/bulk_endpoint.hpp"
#include "measure/tcp_mesh.hpp"

namespace headway {

class Agent {
public:
    /// `first_port` 0: ports that are free; else that one for frames to count, the next for
    /// round trips, the one after that for TCP.
    [[nodiscard]] static Result<Agent> open(std::uint16_t first_port);

    [[nodiscard]] AgentGreeting greeting() const;
    /// The answer to a line, as a line.
    [[nodiscard]] std::string answer(std::string_view line);

private:
    struct Peer {
        std::string address;
        SocketAddress data, echo, tcp;
    };

    Agent(std::unique_ptr<ArrivalSink> sink, std::unique_ptr<FrameEcho> echo, TcpMesh mesh)
        : sink_(std::move(sink)), echo_(std::move(echo)), mesh_(std::move(mesh)) {}

    Result<AgentJson> carry_out(const AgentJson& command);
    Result<AgentJson> meet_peers(const AgentJson& command);
    Result<AgentJson> connect_mesh(const AgentJson& command);
    Result<AgentJson> send(const AgentJson& command);
    Result<AgentJson> probe(const AgentJson& command);
    Result<AgentJson> tell_routes();
    Result<AgentJson> tell_arrivals(const AgentJson& command);
    Result<AgentJson> run_rounds(const AgentJson& command);

    std::unique_ptr<ArrivalSink> sink_;
    std::unique_ptr<FrameEcho> echo_;
    TcpMesh mesh_;
    std::uint64_t token_ = 0;
    std::uint32_t self_ = 0;
    std::vector<Peer> peers_;
    std::map<std::uint32_t, FrameRoute> answers_;  ///< the routes of those that came back, by who answered
};

/// Runs until `in` ends.  Fails if the agent could not begin; that has been told to `out`, too.
[[nodiscard]] Result<void> run_agent(std::istream& in, std::ostream& out, std::uint16_t first_port);

}  // namespace headway
