// SPDX-License-Identifier: Apache-2.0
// Clients of the control socket in an sd-event loop.
//
// A client whose process has ended is dropped at once, before anybody is served,
// even if a child of it still holds the socket.
//
// One datagram per client and turn, so that a busy client delays the others
// by one request at most; and clients of a user whose requests have taken too long come
// after all others (user_time.hpp).  A client that does not fetch its answers is cut
// off: the daemon never waits for anybody.
#pragma once

#include <array>
#include <map>
#include <memory>

#include <spdlog/fwd.h>

#include "base/limits.hpp"
#include "daemon/control_service.hpp"
#include "daemon/control_socket.hpp"
#include "daemon/event_source.hpp"
#include "daemon/hand_over.hpp"
#include "daemon/user_time.hpp"

namespace headway {

class ControlServer {
public:
    /// All references must outlive the server.  `listening_fd` must listen.
    [[nodiscard]] static Result<std::unique_ptr<ControlServer>> start(sd_event* event,
                                                                      int listening_fd,
                                                                      ControlService& service,
                                                                      spdlog::logger& log);
    ControlServer(const ControlServer&) = delete;
    ControlServer& operator=(const ControlServer&) = delete;
    ~ControlServer();

    /// The end of the server is not to be the end of what clients are in.
    void keep_what_clients_hold() { keeps_sessions_ = true; }

    /// From now on `hand_over` (which must outlive the server) knows of all who have
    /// joined; these came from it.
    [[nodiscard]] Result<void> hand_over_to(HandOver& hand_over,
                                            std::vector<HandOver::Returned> returned);

private:
    struct Client {
        ControlServer* server;
        ControlService::SessionId session;
        Peer peer;
        FileDescriptor socket;
        FileDescriptor process;
        EventSource source;
        EventSource process_source;
    };

    ControlServer(sd_event* event, int listening_fd, ControlService& service, spdlog::logger& log)
        : event_(event), listening_fd_(listening_fd), service_(service), log_(log) {}

    void accept_one();
    void pause_accepting(const Error& why);
    Result<void> add(AcceptedClient accepted);
    void refuse(const AcceptedClient& accepted, const Error& why);
    Result<void> watch(Client& client);
    void serve(Client& client);
    void drop(const Client& client, std::string_view why);
    void hand_over(const std::optional<PhaseSeat>& served);
    void after_kernel_change();
    void hold_back(uid_t user, std::chrono::nanoseconds until);
    void serve_again();

    static int on_listening(sd_event_source*, int, std::uint32_t, void* server);
    static int on_client(sd_event_source*, int, std::uint32_t, void* client);
    static int on_process_end(sd_event_source*, int, std::uint32_t, void* client);
    static int on_accept_again(sd_event_source*, std::uint64_t, void* server);
    static int on_changed(sd_event_source*, void* server);
    static int on_hand_over_again(sd_event_source*, std::uint64_t, void* server);
    static int on_serve_again(sd_event_source*, std::uint64_t, void* server);
    static int on_retry(sd_event_source*, std::uint64_t, void* server);

    sd_event* event_;
    int listening_fd_;
    ControlService& service_;
    spdlog::logger& log_;
    EventSource listening_;
    EventSource accept_again_;
    EventSource retry_;
    EventSource serve_again_;
    EventSource changed_;
    EventSource hand_over_again_;
    std::map<ControlService::SessionId, std::unique_ptr<Client>> clients_;
    std::array<char, datagram_max_bytes> buffer_{};
    std::string last_kernel_error_;
    SteadyClock clock_;
    UserTime user_time_;
    std::map<uid_t, std::chrono::nanoseconds> held_back_;  ///< users, and until when
    bool keeps_sessions_ = false;
    HandOver* hand_over_ = nullptr;  ///< none: a restart is told to nobody
};

}  // namespace headway
