// SPDX-License-Identifier: Apache-2.0
#include "measure/agent.hpp"

#include <istream>
#include <ostream>

#include "base/host_name.hpp"
#include "base/json.hpp"
#include "base/json_number.hpp"
#include "base/version.hpp"
#include "look/netlink_route.hpp"

namespace headway {
namespace {

// No coordinator asks for more: a mistake of one must not keep a network busy.
constexpr std::chrono::seconds bulk_longest{5};
constexpr std::uint32_t probes_max = 100'000;
constexpr std::uint32_t rounds_max = 100'000;
constexpr std::chrono::milliseconds patience_longest{120'000};

std::chrono::milliseconds patience_of(const AgentJson& command) {
    return std::min(std::chrono::milliseconds(whole_number<std::int64_t>(command.at("patience_ms"))), patience_longest);
}

}  // namespace

Result<Agent> Agent::open(std::uint16_t first_port) {
    const auto port = [&](int offset) {
        return static_cast<std::uint16_t>(first_port == 0 ? 0 : first_port + offset);
    };
    auto sink = ArrivalSink::open(port(0));
    if (!sink) return tl::unexpected(sink.error());
    auto echo = FrameEcho::open(port(1));
    if (!echo) return tl::unexpected(echo.error());
    auto listener = bind_socket(SocketKind::listener, port(2));
    if (!listener) return tl::unexpected(listener.error());
    return Agent(std::move(*sink), std::move(*echo), TcpMesh(std::move(*listener)));
}

AgentGreeting Agent::greeting() const {
    return {version, host_name(), {sink_->port(), echo_->port(), mesh_.port()}};
}

std::string Agent::answer(std::string_view line) {
    const AgentJson command = parse_json<AgentJson>(line);
    if (!command.is_object()) return json_text(AgentJson{{"error", "the command is no JSON object"}});
    const auto done = reading("the command", [&] { return carry_out(command); });
    const auto failed = [](const Error& error) { return json_text(AgentJson{{"error", error.message}}); };
    if (!done) return failed(done.error());
    return *done ? json_text(**done) : failed(done->error());
}

Result<AgentJson> Agent::carry_out(const AgentJson& command) {
    const auto& wanted = command.at("do").get_ref<const std::string&>();
    if (wanted == "nothing") return AgentJson::object();
    if (wanted == "peers") return meet_peers(command);
    if (wanted == "mesh") return connect_mesh(command);
    if (wanted == "bulk") return send(command);
    if (wanted == "probe") return probe(command);
    if (wanted == "routes") return tell_routes();
    if (wanted == "arrivals") return tell_arrivals(command);
    if (wanted == "rounds") return run_rounds(command);
    return failure("there is no command \"{}\"", wanted);
}

Result<AgentJson> Agent::meet_peers(const AgentJson& command) {
    const auto list = read_peers(command);
    if (!list) return tl::unexpected(list.error());
    std::vector<Peer> peers;
    for (const AgentPeer& one : *list) {
        auto data = socket_address(one.address, one.ports.data);
        if (!data) return tl::unexpected(data.error());
        auto echo = socket_address(one.address, one.ports.echo);
        if (!echo) return tl::unexpected(echo.error());
        auto tcp = socket_address(one.address, one.ports.tcp);
        if (!tcp) return tl::unexpected(tcp.error());
        peers.push_back({one.address, *data, *echo, *tcp});
    }
    peers_ = std::move(peers);
    answers_.clear();
    token_ = whole_number<std::uint64_t>(command.at("token"));
    self_ = whole_number<std::uint32_t>(command.at("self"));
    sink_->listen_for(token_);
    echo_->listen_for(token_);
    return AgentJson::object();
}

Result<AgentJson> Agent::connect_mesh(const AgentJson& command) {
    std::vector<SocketAddress> addresses;
    for (const Peer& peer : peers_) addresses.push_back(peer.tcp);
    if (auto connected = mesh_.connect(token_, self_, addresses, patience_of(command)); !connected)
        return tl::unexpected(connected.error());
    return AgentJson::object();
}

Result<AgentJson> Agent::send(const AgentJson& command) {
    std::vector<SocketAddress> destinations;
    for (const std::size_t to : command.at("to").get<std::vector<std::size_t>>()) {
        if (to >= peers_.size()) return failure("there is no host {}", to);
        destinations.push_back(peers_[to].data);
    }
    if (destinations.empty()) return failure("a bulk goes to somebody");
    const std::chrono::nanoseconds duration(whole_number<std::int64_t>(command.at("duration_ns")));
    const auto sent = send_bulk({token_, whole_number<std::uint32_t>(command.at("run")), self_}, destinations,
                                std::min<std::chrono::nanoseconds>(duration, bulk_longest),
                                command.at("bytes_per_s").get<double>());
    if (!sent) return tl::unexpected(sent.error());
    AgentJson list = AgentJson::array();
    for (const SentFlow& flow : *sent) list.push_back({flow.frames, flow.wire_bytes, flow.waits});
    return AgentJson{{"sent", std::move(list)}};
}

Result<AgentJson> Agent::probe(const AgentJson& command) {
    const auto to = whole_number<std::size_t>(command.at("to"));
    if (to >= peers_.size()) return failure("there is no host {}", to);
    const Probe probe{self_, to, std::min(whole_number<std::uint32_t>(command.at("count")), probes_max),
                      command.at("full").get<bool>(),
                      std::chrono::nanoseconds(whole_number<std::int64_t>(command.at("interval_ns")))};
    const auto probed =
        probe_round_trips({token_, whole_number<std::uint32_t>(command.at("run")), self_}, peers_[to].echo, probe);
    if (!probed) return tl::unexpected(probed.error());
    if (probed->route) answers_[static_cast<std::uint32_t>(to)] = *probed->route;
    return json_of(probed->outcome);
}

/// An agent without netlink does not tell how frames leave.
Result<AgentJson> Agent::tell_routes() {
    std::map<std::uint32_t, FrameRoute> seen = echo_->routes();
    seen.insert(answers_.begin(), answers_.end());
    auto transport = MnlTransport::open();
    std::vector<SeenRoute> routes;
    for (const auto& [peer, route] : seen) {
        if (peer >= peers_.size()) continue;
        SeenRoute& one = routes.emplace_back(SeenRoute{peer, self_, route.hops, interface_name(route.ifindex), ""});
        if (!transport) continue;
        NetlinkExchange kernel(*transport);
        one.leaves = interface_towards(kernel, peers_[peer].address);
    }
    return json_of(routes);
}

Result<AgentJson> Agent::tell_arrivals(const AgentJson& command) {
    const BulkArrivals arrivals = sink_->take(whole_number<std::uint32_t>(command.at("run")));
    AgentJson list = AgentJson::array();
    std::vector<std::span<const Arrival>> flows;
    for (const auto& [sender, frames] : arrivals.by_sender) flows.emplace_back(frames);
    const auto summaries = summarise(flows);
    for (std::size_t i = 0; const auto& [sender, frames] : arrivals.by_sender) {
        list.push_back({sender, summaries[i].frames, summaries[i].bytes_per_s});
        ++i;
    }
    return AgentJson{{"from", std::move(list)}, {"drops", arrivals.socket_drops}};
}

Result<AgentJson> Agent::run_rounds(const AgentJson& command) {
    const auto program = read_program(command);
    if (!program) return tl::unexpected(program.error());
    auto outcome = mesh_.run(*program, std::min(whole_number<std::uint32_t>(command.at("count")), rounds_max),
                             patience_of(command));
    if (!outcome) return tl::unexpected(outcome.error());
    if (!command.at("receipts").get<bool>()) outcome->received_s.clear();  // many, of an all-to-all
    return json_of(*outcome);
}

Result<void> run_agent(std::istream& in, std::ostream& out, std::uint16_t first_port) {
    auto agent = Agent::open(first_port);
    if (!agent) {
        out << json_text(AgentJson{{"error", agent.error().message}}) << std::endl;
        return tl::unexpected(agent.error());
    }
    out << json_text(greeting_json(agent->greeting())) << std::endl;
    for (std::string line; std::getline(in, line);) out << agent->answer(line) << std::endl;
    return {};
}

}  // namespace headway
