// SPDX-License-Identifier: Apache-2.0
#include "daemon/control_server.hpp"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/json.hpp"
#include "base/log.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds accept_pause = 100ms;
constexpr std::chrono::microseconds keep_pause = 100ms;
/// The server undoes so many clients, or as many as take so long, and then serves others first.
constexpr int undone_at_once = 16;
constexpr std::chrono::nanoseconds undoing_at_once = 2ms;

/// Counts the clients for whom there are descriptors.
std::size_t clients_most() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return clients_max;
    const rlim_t left = limit.rlim_cur > descriptors_for(0) ? limit.rlim_cur - descriptors_for(0) : 0;
    return std::min<rlim_t>(clients_max, left / 2);
}

}  // namespace

ControlServer::ControlServer(EventLoop& loop, int listening_fd, ControlService& service,
                             HandOver& hand_over, spdlog::logger& log, const Clock& clock)
    : loop_(loop),
      listening_fd_(listening_fd),
      service_(service),
      hand_over_(hand_over),
      log_(log),
      listening_(loop.readable(listening_fd, "watching the control socket",
                               [this] { accept_one(); })),
      accept_again_(loop.timer(
          [this] { sd_event_source_set_enabled(listening_.get(), SD_EVENT_ON); })),
      retry_(loop.timer([this] {
          service_.retry();
          after_kernel_change();
      })),
      turn_(loop.timer([this] { serve_in_turn(); })),
      undo_(loop.deferred([this] { undo_some(); })),
      // Timers, signals and coordination change what is handed over, too.
      changed_(loop.after_events([this] { after_turn(); })),
      // an event is all it takes: changed_ follows
      keep_again_(loop.timer([] {})),
      clock_(clock) {
    service.limit_clients(clients_most());
}

ControlServer::~ControlServer() {
    if (keeps_sessions_) return;
    for (const auto& [id, client] : clients_) {
        shutdown(client.connection.socket.get(), SHUT_RDWR);
        service_.close(id);
    }
    hand_over_.forget_all();
}

// ------------------------------------------------------------------------- restart

Result<void> ControlServer::take_back(std::vector<HandOver::Client> returned) {
    for (HandOver::Client& one : returned) {
        if (auto watching = watch(std::move(one)); !watching) return watching;
    }
    keep_state(std::nullopt);
    return loop_.check();
}

/// Shares the links once for all clients and jobs that ended in this turn, and charges their users
/// together.
void ControlServer::after_turn() {
    const auto begin = clock_.now();
    const auto accounts = service_.settle();
    if (!accounts.empty()) {
        const auto each = (clock_.now() - begin) / accounts.size();
        for (const uid_t account : accounts) charge(account, each);
        after_kernel_change();
    }
    keep_state(std::nullopt);
}

/// Writes down all that has been granted, so that the next run knows it whoever ends this process.
void ControlServer::keep_state(const std::optional<PhaseSeat>& served) {
    if (!hand_over_.is_behind(service_)) return;
    hand_over_.begin_request(served);
    hand_over_.update(service_, [this] {
        HandOver::Joined joined;
        for (const auto& [id, client] : clients_) {
            if (const auto seat = service_.seat_of(id)) joined[*seat] = &client;
        }
        return joined;
    });
    if (hand_over_.is_behind(service_)) start_timer(keep_again_, keep_pause);
}

// ------------------------------------------------------------------ accepting

void ControlServer::accept_one() {
    auto accepted = accept_client(listening_fd_);
    if (!accepted) {
        // Out of descriptors or memory: waiting clients would make the loop spin.
        log_warning(log_, "HW-303 cannot accept clients: {}; pausing for {} ms",
                    accepted.error().message, accept_pause / 1ms);
        sd_event_source_set_enabled(listening_.get(), SD_EVENT_OFF);
        start_timer(accept_again_, accept_pause);
    } else if (*accepted) {
        const uid_t account = service_.account_of((*accepted)->peer);
        if (auto added = add(std::move(**accepted)); !added && refusals_.tell(account, clock_.now())) {
            log_warning(log_, "HW-302 cannot watch a client: {}", added.error().message);
        }
    }
}

Result<void> ControlServer::add(Connection connection) {
    const uid_t user = connection.peer.uid;
    const Result<ControlService::SessionId> session = service_.open(connection.peer);
    if (!session) {
        const std::string& why = session.error().message;
        if (const auto untold = refusals_.tell(service_.account_of(connection.peer), clock_.now())) {
            log_warning(log_, "HW-304 refusing a client (pid {}, uid {}): {}{}", connection.peer.pid, user,
                        why, *untold > 0 ? fmt::format("; {} more were refused meanwhile", *untold) : "");
        }
        // Closing is answer enough for one that does not even take this.
        const std::string answer = json_text(make_refusal(std::nullopt, why));
        (void)send_datagram(connection.socket.get(), answer, {});
        return {};
    }
    log_debug(log_, "accepted a client: pid {}, uid {}", connection.peer.pid, user);
    return watch({*session, std::move(connection)});
}

Result<void> ControlServer::watch(HandOver::Client accepted) {
    const auto session = accepted.session;
    Client& client = clients_.emplace(session, Client{std::move(accepted), {}, {}}).first->second;
    const auto& [socket, peer, process] = client.connection;
    client.requests =
        loop_.readable(socket.get(), "watching a client", [this, &client] { serve(client); });
    if (user_time_.waits_until(service_.account_of(peer), clock_.now())) serve_in_turn();
    if (process) {
        client.end = loop_.readable(process.get(), "watching a client's process",
                                    [this, &client] { drop_ended(client); },
                                    SD_EVENT_PRIORITY_IMPORTANT);
    }
    auto watching = loop_.check();
    if (!watching) {
        clients_.erase(session);
        service_.close(session);
    }
    return watching;
}

// -------------------------------------------------------------------- serving

void ControlServer::serve(Client& client) {
    const auto& [socket, peer, process] = client.connection;
    hand_over_.begin_request(service_.seat_of(client.session));
    // MSG_TRUNC: the true length, so that a request that is too long is known.
    const ssize_t length =
        recv(socket.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT | MSG_TRUNC);
    const bool is_nothing = length < 0 && (errno == EAGAIN || errno == EINTR);
    if (is_nothing) return hand_over_.begin_request(std::nullopt);
    if (length <= 0) return drop(client, length == 0 ? "it closed" : std::strerror(errno));
    const auto size = static_cast<std::size_t>(length);
    const ControlAnswer answer =
        size > buffer_.size()
            ? ControlAnswer{json_text(make_refusal(
                  std::nullopt, fmt::format("a request has at most {} bytes", buffer_.size())))}
            : service_.answer(client.session, {buffer_.data(), size});
    keep_state(service_.seat_of(client.session));
    const std::span<const int> fds(&answer.fd, answer.fd >= 0 ? 1 : 0);
    const bool taken = send_datagram(socket.get(), answer.text, fds);
    hand_over_.begin_request(std::nullopt);
    after_kernel_change();
    charge(service_.account_of(peer), answer.charged);
    if (!taken) drop(client, "it does not fetch its answers");
    // The loop undoes when nobody asks; clients who always ask do not put it off.
    if (!gone_.empty() && ++served_meanwhile_ >= undone_at_once) undo_some();
}

void ControlServer::charge(uid_t account, std::chrono::nanoseconds took) {
    if (user_time_.charge(account, took, clock_.now())) serve_in_turn();
}

/// Clients of users who have taken too much time are served when nobody else waits, until theirs
/// has come again.  Whether they live is looked at all the same.
void ControlServer::serve_in_turn() {
    std::optional<std::chrono::nanoseconds> next;
    for (const auto& [id, client] : clients_) {
        const auto until = user_time_.waits_until(service_.account_of(client.connection.peer), clock_.now());
        sd_event_source_set_priority(client.requests.get(),
                                     until ? SD_EVENT_PRIORITY_IDLE : SD_EVENT_PRIORITY_NORMAL);
        if (until) next = std::min(next.value_or(*until), *until);
    }
    set_timer(turn_, next);
}

void ControlServer::drop(Client& client, std::string_view why) {
    if (!client.why_gone.empty()) return;
    client.why_gone = why;
    // the connection's end, whoever else holds the socket
    shutdown(client.connection.socket.get(), SHUT_RDWR);
    sd_event_source_set_enabled(client.requests.get(), SD_EVENT_OFF);
    if (client.end) sd_event_source_set_enabled(client.end.get(), SD_EVENT_OFF);
    gone_.push_back(client.session);
    sd_event_source_set_enabled(undo_.get(), SD_EVENT_ONESHOT);
}

/// Drops every client whose process has ended: one poll() finds all, where the event loop would
/// look at all of them again for each one that it tells of.
void ControlServer::drop_ended(Client& ended) {
    constexpr const char* why = "its process ended";
    drop(ended, why);
    if (gone_.size() % undone_at_once != 0) return;
    std::vector<pollfd> processes;
    std::vector<Client*> clients;
    for (auto& [session, client] : clients_) {
        if (!client.connection.process || !client.why_gone.empty()) continue;
        processes.push_back({client.connection.process.get(), POLLIN, 0});
        clients.push_back(&client);
    }
    (void)poll(processes.data(), processes.size(), 0);
    for (std::size_t i = 0; i < clients.size(); ++i) {
        if (processes[i].revents != 0) drop(*clients[i], why);
    }
}

void ControlServer::undo_some() {
    served_meanwhile_ = 0;
    const auto end = clock_.now() + undoing_at_once;
    for (int i = 0; i < undone_at_once && !gone_.empty(); ++i) {
        undo(clients_.at(gone_.front()));
        gone_.pop_front();
        if (clock_.now() >= end) break;
    }
    if (!gone_.empty()) sd_event_source_set_enabled(undo_.get(), SD_EVENT_ONESHOT);
    after_kernel_change();
}

void ControlServer::undo(const Client& client) {
    const Peer& peer = client.connection.peer;
    log_debug(log_, "dropped a client: pid {}, uid {}: {}", peer.pid, peer.uid, client.why_gone);
    const auto session = client.session;
    const uid_t account = service_.account_of(peer);
    clients_.erase(session);
    const auto begin = clock_.now();
    service_.close(session);
    charge(account, clock_.now() - begin);
}

// ---------------------------------------------------------------------- retry

/// Tells a failure that no client was told, and has it tried again in time.
void ControlServer::after_kernel_change() {
    if (const auto error = service_.take_error()) {
        if (std::exchange(last_kernel_error_, error->message) != error->message) {
            log_error(log_, "HW-204 cannot set wanted rates: {}; trying again until it succeeds",
                      error->message);
        }
    }
    const auto at = service_.retry_at();
    if (!at && !std::exchange(last_kernel_error_, "").empty()) {
        log_info(log_, "set wanted rates: the kernel holds the wanted rates again");
    }
    set_timer(retry_, at);
}

}  // namespace headway
