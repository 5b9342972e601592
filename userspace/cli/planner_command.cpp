// SPDX-License-Identifier: Apache-2.0
#include "cli/planner_command.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "base/file_descriptor.hpp"
#include "base/json.hpp"
#include "base/limits.hpp"
#include "config/config.hpp"
#include "control/protocol.hpp"
#include "jobs/job_planner.hpp"

#include <nlohmann/json.hpp>

namespace headway {
namespace {

constexpr const char* planner_verb = "planner";

bool is_datagram_socket(int file) {
    int type = 0;
    socklen_t size = sizeof(type);
    return ::getsockopt(file, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

/// Of the process that made the socket: a child of it may hold the other end open longer than it lives.
FileDescriptor watch_peer(int socket) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return FileDescriptor();
    return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
}

/// To every request: what is wrong with the network's description is told to whoever wanted to use it.
std::string refusal(std::string_view datagram, const std::string& why) {
    return json_text(make_refusal(parse_request(datagram).id, why));
}

class Server {
public:
    explicit Server(FileResult<Config> config) {
        if (!config) {
            why_none_ = config.error().front().to_string();
            return;
        }
        auto planner = JobPlanner::make(std::move(*config));
        if (planner) planner_.emplace(std::move(*planner));
        else why_none_ = planner.error().message;
    }

    void serve(int socket, int peer) {
        while (wait_for(socket, peer)) {
            const ssize_t size = ::recv(socket, datagram_.data(), datagram_.size(), 0);
            if (size < 0 && errno == EINTR) continue;
            if (size <= 0) return;
            const std::string_view request(datagram_.data(), static_cast<std::size_t>(size));
            const std::string answer = planner_ ? planner_->answer(request) : refusal(request, why_none_);
            if (::send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) return;
        }
    }

private:
    /// For a request; false: there will be none.
    static bool wait_for(int socket, int peer) {
        std::array<pollfd, 2> watched{{{socket, POLLIN, 0}, {peer, POLLIN, 0}}};
        while (::poll(watched.data(), watched.size(), -1) < 0) {
            if (errno != EINTR) return false;
        }
        return watched[0].revents != 0 && watched[1].revents == 0;
    }

    std::optional<JobPlanner> planner_;
    std::string why_none_;
    std::vector<char> datagram_ = std::vector<char>(datagram_max_bytes);
};

}  // namespace

PlannerCommand::PlannerCommand(const CommandLine& line)
    : Command(line, planner_verb, "plan for one job; started by its rank 0, not by people") {
    verb().add_option("--config", network_, "the network").required();
}

ExitStatus PlannerCommand::run() const {
    if (!is_datagram_socket(STDIN_FILENO)) {
        return tell(planner_verb, {"this is started by the MPI helper of a job, with a socket as its standard input; "
                                   "to see a plan use headway plan"},
                    ExitStatus::bad_config);
    }
    const FileDescriptor peer = watch_peer(STDIN_FILENO);
    Server(load_config(network_, PrefixesAre::optional)).serve(STDIN_FILENO, peer.get());
    return ExitStatus::ok;
}

}  // namespace headway
