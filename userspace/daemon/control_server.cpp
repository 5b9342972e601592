// SPDX-License-Identifier: Apache-2.0
#include "daemon/control_server.hpp"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <nlohmann/json.hpp>

#include "base/log.hpp"

namespace headway {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds accept_pause = 100ms;
constexpr std::chrono::microseconds hand_over_pause = 100ms;

/// A client takes two descriptors.  Those of one user, other than root, take a half of what
/// there are at most, however few that is.
std::size_t clients_of_user_max() {
    constexpr rlim_t others = 2 * HEADWAY_PHASE_JOBS + 64;  // the jobs' arrays, and our own
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return clients_per_user_max;
    const rlim_t left = limit.rlim_cur > others ? limit.rlim_cur - others : 0;
    return std::min<rlim_t>(clients_per_user_max, left / 4);
}

/// True if the answer could be handed over at once.
bool send_answer(int socket, std::string_view text, int fd_with_it = -1) {
    iovec piece{const_cast<char*>(text.data()), text.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    if (fd_with_it >= 0) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(header), &fd_with_it, sizeof(int));
    }
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::start(sd_event* event, int listening_fd,
                                                            ControlService& service,
                                                            spdlog::logger& log) {
    std::unique_ptr<ControlServer> server(new ControlServer(event, listening_fd, service, log));
    sd_event_source* source = nullptr;
    const int added = sd_event_add_io(event, &source, listening_fd, EPOLLIN, on_listening,
                                      server.get());
    if (added < 0) return event_failure(added, "watching the control socket");
    server->listening_.reset(source);
    auto accept_again = make_timer(event, on_accept_again, server.get());
    if (!accept_again) return tl::unexpected(accept_again.error());
    server->accept_again_ = std::move(*accept_again);
    auto retry = make_timer(event, on_retry, server.get());
    if (!retry) return tl::unexpected(retry.error());
    server->retry_ = std::move(*retry);
    auto serve_again = make_timer(event, on_serve_again, server.get());
    if (!serve_again) return tl::unexpected(serve_again.error());
    server->serve_again_ = std::move(*serve_again);
    auto hand_over_again = make_timer(event, on_hand_over_again, server.get());
    if (!hand_over_again) return tl::unexpected(hand_over_again.error());
    server->hand_over_again_ = std::move(*hand_over_again);
    return server;
}

ControlServer::~ControlServer() {
    if (keeps_sessions_) return;
    for (const auto& [id, client] : clients_) {
        shutdown(client->socket.get(), SHUT_RDWR);
        service_.close(id);
    }
    if (hand_over_ != nullptr) hand_over_->forget_all();
}

// ------------------------------------------------------------------------- restart

Result<void> ControlServer::hand_over_to(HandOver& hand_over,
                                         std::vector<HandOver::Returned> returned) {
    for (HandOver::Returned& one : returned) {
        auto client = std::make_unique<Client>(Client{this, one.session, one.peer,
                                                      std::move(one.socket), std::move(one.process),
                                                      nullptr, nullptr});
        if (auto watching = watch(*client); !watching) return watching;
        clients_.emplace(one.session, std::move(client));
    }
    // After any event: timers, signals and coordination change what is handed over, too.
    sd_event_source* source = nullptr;
    const int added = sd_event_add_post(event_, &source, on_changed, this);
    if (added < 0) return event_failure(added, "following what is handed over");
    changed_.reset(source);
    hand_over_ = &hand_over;
    this->hand_over(std::nullopt);
    return {};
}

/// Whoever ends this process now, the next run knows of all that has been granted.
void ControlServer::hand_over(const std::optional<PhaseSeat>& served) {
    if (hand_over_ == nullptr || !hand_over_->is_behind(service_)) return;
    hand_over_->begin_request(served);
    hand_over_->update(service_, [this] {
        HandOver::Joined joined;
        for (const auto& [id, client] : clients_) {
            const auto seat = service_.seat_of(id);
            if (seat) joined[*seat] = {id, client->socket.get(), client->process.get()};
        }
        return joined;
    });
    if (hand_over_->is_behind(service_)) start_timer(hand_over_again_, hand_over_pause);
}

int ControlServer::on_changed(sd_event_source*, void* server) {
    static_cast<ControlServer*>(server)->hand_over(std::nullopt);
    return 0;
}

/// An event is all it takes: on_changed() follows.
int ControlServer::on_hand_over_again(sd_event_source*, std::uint64_t, void*) { return 0; }

// ------------------------------------------------------------------ accepting

int ControlServer::on_listening(sd_event_source*, int, std::uint32_t, void* server) {
    static_cast<ControlServer*>(server)->accept_one();
    return 0;
}

void ControlServer::accept_one() {
    auto accepted = accept_client(listening_fd_);
    if (!accepted) {
        pause_accepting(accepted.error());
    } else if (*accepted) {
        if (auto added = add(std::move(**accepted)); !added) {
            log_warning(log_, "HW-302 {}", added.error().message);
        }
    }
}

/// Out of descriptors or memory: waiting clients would make the loop spin.
void ControlServer::pause_accepting(const Error& why) {
    log_warning(log_, "HW-303 {}; pausing for {} ms", why.message, accept_pause / 1ms);
    sd_event_source_set_enabled(listening_.get(), SD_EVENT_OFF);
    start_timer(accept_again_, accept_pause);
}

int ControlServer::on_accept_again(sd_event_source*, std::uint64_t, void* server) {
    auto* self = static_cast<ControlServer*>(server);
    sd_event_source_set_enabled(self->listening_.get(), SD_EVENT_ON);
    return 0;
}

Result<void> ControlServer::add(AcceptedClient accepted) {
    accepted.peer.process = accepted.process.get();
    const uid_t user = accepted.peer.uid;
    const auto of_user = std::count_if(clients_.begin(), clients_.end(), [user](const auto& one) {
        return one.second->peer.uid == user;
    });
    if (user != 0 && static_cast<std::size_t>(of_user) >= clients_of_user_max()) {
        refuse(accepted, {fmt::format("too many clients of user {} ({})", user, of_user)});
        return {};
    }
    const auto session = service_.open(accepted.peer);
    if (!session) {
        refuse(accepted, session.error());
        return {};
    }
    auto client = std::make_unique<Client>(
        Client{this, *session, accepted.peer, std::move(accepted.socket),
               std::move(accepted.process), nullptr, nullptr});
    if (auto watching = watch(*client); !watching) {
        service_.close(*session);
        return watching;
    }
    log_debug(log_, "client connected: pid {}, uid {}", client->peer.pid, client->peer.uid);
    clients_.emplace(*session, std::move(client));
    return {};
}

Result<void> ControlServer::watch(Client& client) {
    sd_event_source* source = nullptr;
    int added =
        sd_event_add_io(event_, &source, client.socket.get(), EPOLLIN, on_client, &client);
    if (added < 0) return event_failure(added, "watching a client");
    client.source.reset(source);
    if (held_back_.contains(client.peer.uid)) sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IDLE);
    if (!client.process) return {};
    added = sd_event_add_io(event_, &source, client.process.get(), EPOLLIN, on_process_end, &client);
    if (added < 0) return event_failure(added, "watching a client's process");
    client.process_source.reset(source);
    sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IMPORTANT);
    return {};
}

int ControlServer::on_process_end(sd_event_source*, int, std::uint32_t, void* client) {
    auto& self = *static_cast<Client*>(client);
    self.server->drop(self, "its process ended");
    return 0;
}

void ControlServer::refuse(const AcceptedClient& accepted, const Error& why) {
    log_warning(log_, "HW-304 refusing a client (pid {}, uid {}): {}", accepted.peer.pid, accepted.peer.uid,
              why.message);
    // Closing is answer enough for one that does not even take this.
    (void)send_answer(accepted.socket.get(),
                      to_datagram(make_refusal(std::nullopt, why.message)));
}

// -------------------------------------------------------------------- serving

int ControlServer::on_client(sd_event_source*, int, std::uint32_t, void* client) {
    auto& self = *static_cast<Client*>(client);
    self.server->serve(self);
    return 0;
}

void ControlServer::serve(Client& client) {
    if (hand_over_ != nullptr) hand_over_->begin_request(service_.seat_of(client.session));
    // MSG_TRUNC: the true length, so that a request that is too long is known.
    const ssize_t length =
        recv(client.socket.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT | MSG_TRUNC);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (hand_over_ != nullptr) hand_over_->end_request();
        return;
    }
    if (length <= 0) {
        drop(client, length == 0 ? "it closed" : std::strerror(errno));
        return;
    }
    const auto size = static_cast<std::size_t>(length);
    const ControlAnswer answer =
        size > buffer_.size()
            ? ControlAnswer{to_datagram(make_refusal(
                  std::nullopt, fmt::format("a request has at most {} bytes", buffer_.size())))}
            : service_.answer(client.session, {buffer_.data(), size});
    hand_over(service_.seat_of(client.session));
    const bool taken = send_answer(client.socket.get(), answer.text, answer.fd);
    if (hand_over_ != nullptr) hand_over_->end_request();
    after_kernel_change();
    const auto until = user_time_.charge(client.peer.uid, answer.charged, clock_.now());
    if (until) hold_back(client.peer.uid, *until);
    if (!taken) drop(client, "it does not fetch its answers");
}

/// They are served when nobody else waits.  Whether they live is looked at all the same.
void ControlServer::hold_back(uid_t user, std::chrono::nanoseconds until) {
    held_back_[user] = until;
    for (const auto& [id, client] : clients_) {
        if (client->peer.uid != user) continue;
        sd_event_source_set_priority(client->source.get(), SD_EVENT_PRIORITY_IDLE);
    }
    serve_again();
}

/// In turn with all others, those whose time it is.
void ControlServer::serve_again() {
    std::optional<std::chrono::nanoseconds> next;
    const auto now = clock_.now();
    for (const auto& [id, client] : clients_) {
        const auto held = held_back_.find(client->peer.uid);
        if (held != held_back_.end() && held->second <= now)
            sd_event_source_set_priority(client->source.get(), SD_EVENT_PRIORITY_NORMAL);
    }
    std::erase_if(held_back_, [now](const auto& one) { return one.second <= now; });
    for (const auto& [user, until] : held_back_) next = next ? std::min(*next, until) : until;
    set_timer(serve_again_, next);
}

int ControlServer::on_serve_again(sd_event_source*, std::uint64_t, void* server) {
    static_cast<ControlServer*>(server)->serve_again();
    return 0;
}

void ControlServer::drop(const Client& client, std::string_view why) {
    log_debug(log_, "client gone: pid {}, uid {}: {}", client.peer.pid, client.peer.uid, why);
    const auto session = client.session;
    // the connection's end, whoever else holds the socket
    shutdown(client.socket.get(), SHUT_RDWR);
    clients_.erase(session);
    service_.close(session);
    after_kernel_change();
}

// ---------------------------------------------------------------------- retry

/// Tells a failure that no client was told, and has it tried again in time.
void ControlServer::after_kernel_change() {
    if (const auto error = service_.take_error()) {
        if (error->message != last_kernel_error_) {
            log_error(log_, "HW-204 {}; trying again until it succeeds", error->message);
        }
        last_kernel_error_ = error->message;
    }
    const auto at = service_.retry_at();
    if (!at && !last_kernel_error_.empty()) {
        log_info(log_, "the kernel holds the wanted rates again");
        last_kernel_error_.clear();
    }
    set_timer(retry_, at);
}

int ControlServer::on_retry(sd_event_source*, std::uint64_t, void* server) {
    auto* self = static_cast<ControlServer*>(server);
    self->service_.retry();
    self->after_kernel_change();
    return 0;
}

}  // namespace headway
