// SPDX-License-Identifier: Apache-2.0
// headway planner: plans for one job whose nodes have no daemon (jobs/job_planner.hpp).  The MPI helper of
// rank 0 starts it, with a socket as its standard input; nobody needs to call it.
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/file_descriptor.hpp"
#include "base/json.hpp"
#include "base/limits.hpp"
#include "cli/command.hpp"
#include "config/network_line.hpp"
#include "config/user_networks.hpp"
#include "jobs/job_planner.hpp"
#include "look/device_speed.hpp"
#include "protocol/protocol.hpp"

namespace headway {
namespace {

class PlannerCommand final : public Command {
public:
    explicit PlannerCommand(const CommandLine& line);

    /// Until the other end of the socket is closed, or its process has ended.
    [[nodiscard]] ExitStatus run() const override;

private:
    std::string network_;
};

constexpr const char* planner_verb = "planner";

bool is_datagram_socket(int file) {
    int type = 0;
    socklen_t size = sizeof(type);
    return ::getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

/// Opens the process that made the socket, since a child of it may hold the other end for longer.
FileDescriptor watch_peer(int socket) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return FileDescriptor();
    return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
}

/// Finds the network that `headway run` names: by the path of a file or of a folder of kept
/// networks, or as a line.
Result<Config> find_network(const std::string& name, std::span<const std::string> hosts) {
    if (!name.starts_with('/')) {
        auto config = parse_network_line(name, [] { return speed_of_all_cards(); });
        return config ? std::move(config) : tl::unexpected(config.error().within("--network"));
    }
    std::error_code error;
    if (std::filesystem::is_directory(name, error)) return find_kept_network(name, hosts);
    auto config = load_config(name, PrefixesAre::optional);
    if (!config) return failure("{}", config.error().front().to_string());
    return std::move(*config);
}

/// The network may depend on the hosts, which a job names in its first request.
class Server {
public:
    explicit Server(std::string network) : network_(std::move(network)) {}

    void serve(int socket, int peer) {
        while (wait_for(socket, peer)) {
            const ssize_t size = ::recv(socket, datagram_.data(), datagram_.size(), 0);
            if (size < 0 && errno == EINTR) continue;
            if (size <= 0) return;
            const std::string_view request(datagram_.data(), static_cast<std::size_t>(size));
            const std::string answer = answer_to(request);
            if (::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
        }
    }

private:
    std::string answer_to(std::string_view datagram) {
        if (!planner_) {
            const Request request = parse_request(datagram);
            if (auto made = begin(request); !made)
                return json_text(make_refusal(request.id, made.error().message));
        }
        return planner_->answer(datagram);
    }

    Result<void> begin(const Request& request) {
        if (!request.body) return tl::unexpected(request.body.error());
        const auto* const clusters = std::get_if<ClustersRequest>(&*request.body);
        if (clusters == nullptr) return failure("the first request is \"clusters\"");
        auto config = find_network(network_, clusters->hosts);
        if (!config) return tl::unexpected(config.error());
        auto planner = JobPlanner::make(std::move(*config));
        if (!planner) return tl::unexpected(planner.error());
        planner_.emplace(std::move(*planner));
        return {};
    }

    /// Waits for a request; false: there will be none.
    static bool wait_for(int socket, int peer) {
        std::array<pollfd, 2> watched{{{socket, POLLIN, 0}, {peer, POLLIN, 0}}};
        while (::poll(watched.data(), watched.size(), -1) < 0) {
            if (errno != EINTR) return false;
        }
        return watched[0].revents != 0 && watched[1].revents == 0;
    }

    std::string network_;
    std::optional<JobPlanner> planner_;
    std::vector<char> datagram_ = std::vector<char>(datagram_max_bytes);
};

}  // namespace

PlannerCommand::PlannerCommand(const CommandLine& line)
    : Command(line, planner_verb, "plan for one job; started by its rank 0, not by people") {
    verb().add_option("--network", network_, "a file, a folder of them, or a line").required();
}

ExitStatus PlannerCommand::run() const {
    if (!is_datagram_socket(STDIN_FILENO)) {
        return tell(planner_verb, {"this is started by the MPI helper of a job, with a socket as its standard input; "
                                   "to see a plan use headway plan"},
                    ExitStatus::bad_config);
    }
    const FileDescriptor peer = watch_peer(STDIN_FILENO);
    Server(network_).serve(STDIN_FILENO, peer.get());
    return ExitStatus::ok;
}

std::unique_ptr<Command> planner_command(const CommandLine& line) {
    return std::make_unique<PlannerCommand>(line);
}

}  // namespace headway
