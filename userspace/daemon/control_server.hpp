// SPDX-License-Identifier: Apache-2.0
// Clients of the control socket in an sd-event loop.
//
// A client whose process has ended is not served any more, even if a child of it still holds
// the socket.  What clients leave behind is undone some at a time, so that others wait for a few
// of them at most, however many end at once.
//
// One datagram per client and turn, so that a busy client delays the others
// by one request at most; and clients of a user whose requests have taken too long come
// after all others (UserTime).  A client that does not fetch its answers is cut
// off: the daemon never waits for anybody.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spdlog/fwd.h>

#include "base/limits.hpp"
#include "daemon/control_service.hpp"
#include "daemon/control_socket.hpp"
#include "daemon/event_loop.hpp"
#include "daemon/hand_over.hpp"

namespace headway {

/// How much of the daemon's time a user's requests and ends have taken: who takes too much is served
/// after all others, so that they do not wait for him.
class UserTime {
public:
    using Time = std::chrono::nanoseconds;
    /// A user may take so much time at once, and then a quarter of all time.
    static constexpr Time at_once = std::chrono::milliseconds(100);
    static constexpr int share = 4;

    /// A request of the user has taken so long.  True if his next ones come after those of
    /// others.  Root's never do.
    bool charge(uid_t user, Time took, Time now) {
        if (user == 0 || took == Time::zero()) return false;
        Time& paid = paid_until_[user];
        paid = std::max(paid, now) + took * share;
        std::erase_if(paid_until_, [now](const auto& one) { return one.second < now; });
        return waits_until(user, now).has_value();
    }
    /// Returns until when the user's requests wait; none: they are served in turn.
    [[nodiscard]] std::optional<Time> waits_until(uid_t user, Time now) const {
        const auto paid = paid_until_.find(user);
        if (paid == paid_until_.end() || paid->second - at_once * share <= now) return std::nullopt;
        return paid->second - at_once * share;
    }

private:
    std::map<uid_t, Time> paid_until_;
};

/// A refused client is told in the log once a minute for each user, so that no user fills it.
class RefusalLog {
public:
    using Time = std::chrono::nanoseconds;

    /// Returns none if this refusal is not told, else how many of the user's were not since the
    /// last one that was.
    std::optional<std::size_t> tell(uid_t user, Time now) {
        std::erase_if(told_, [&](const auto& one) {
            return one.first != user && one.second.at + pause <= now;
        });
        const auto [known, is_new] = told_.try_emplace(user, Told{now, 0});
        if (!is_new && known->second.at + pause > now) {
            ++known->second.untold;
            return std::nullopt;
        }
        return std::exchange(known->second, Told{now, 0}).untold;
    }

private:
    static constexpr Time pause = std::chrono::minutes(1);
    struct Told {
        Time at{};
        std::size_t untold = 0;
    };
    std::map<uid_t, Told> told_;
};

/// Counts the descriptors that so many clients need: a socket and a process each, beside the jobs'
/// arrays, those of the last run as well, and the daemon's own.
[[nodiscard]] constexpr std::size_t descriptors_for(std::size_t clients) {
    return 2 * clients + 2 * HEADWAY_PHASE_JOBS + 64;
}

class ControlServer {
public:
    /// All references must outlive the server.  `listening_fd` must listen.  Whether it can be
    /// watched, `loop` tells.  `hand_over` knows of all who have joined.  By `clock` is charged what clients
    /// cost, and is decided how many that have ended are undone at once.
    ControlServer(EventLoop& loop, int listening_fd, ControlService& service, HandOver& hand_over,
                  spdlog::logger& log, const Clock& clock = steady_clock);
    ~ControlServer();

    /// The end of the server is not to be the end of what clients are in.
    void keep_what_clients_hold() { keeps_sessions_ = true; }

    /// They came from an earlier run, and go on.  Before any other.
    [[nodiscard]] Result<void> take_back(std::vector<HandOver::Client> returned);

private:
    struct Client : HandOver::Client {
        EventSource requests;
        EventSource end;  ///< of its process
        std::string why_gone{};
    };

    void accept_one();
    Result<void> add(Connection connection);
    Result<void> watch(HandOver::Client client);
    void serve(Client& client);
    void drop(Client& client, std::string_view why);
    void drop_ended(Client& client);
    void undo_some();
    void undo(const Client& client);
    void keep_state(const std::optional<PhaseSeat>& served);
    void after_turn();
    void after_kernel_change();
    void charge(uid_t account, std::chrono::nanoseconds took);
    void serve_in_turn();

    EventLoop& loop_;
    int listening_fd_;
    ControlService& service_;
    HandOver& hand_over_;
    spdlog::logger& log_;
    EventSource listening_;
    EventSource accept_again_;
    EventSource retry_;
    EventSource turn_;
    EventSource undo_;
    EventSource changed_;
    EventSource keep_again_;
    std::map<ControlService::SessionId, Client> clients_;
    std::deque<ControlService::SessionId> gone_;  ///< clients that are to be undone
    int served_meanwhile_ = 0;                    ///< requests since some were
    std::array<char, datagram_max_bytes> buffer_{};
    std::string last_kernel_error_;
    const Clock& clock_;
    UserTime user_time_;
    RefusalLog refusals_;
    bool keeps_sessions_ = false;
};

}  // namespace headway
