// SPDX-License-Identifier: Apache-2.0
// Who is connected, and what they have had the daemon keep for them: prepared patterns and
// long answers.  Quotas limit each user's part of all three (base/quota.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/limits.hpp"
#include "base/quota.hpp"
#include "jobs/control_session.hpp"

namespace headway {

class Sessions {
public:
    using Id = std::uint64_t;

    /// Limits all clients together.  `most` is at most clients_max.
    void limit_clients(std::size_t most) { clients_ = Quota(clients_what, {most, administrators_clients}); }

    /// `account`: ControlSession::account.  Fails if there are too many clients, in all or of that account.
    [[nodiscard]] Result<Id> open(const Peer& peer, uid_t account);
    /// Opens sessions for clients of an earlier run, without asking whether their users have too
    /// many.
    [[nodiscard]] Result<Id> open_again(const Peer& peer, uid_t account);
    /// Closes the session and returns what it was; none: no session has that number.
    std::optional<ControlSession> close(Id id);

    /// Null: there is none of that number.
    [[nodiscard]] ControlSession* find(Id id);
    [[nodiscard]] const ControlSession* find(Id id) const;
    [[nodiscard]] std::map<Id, ControlSession>& all() { return sessions_; }
    [[nodiscard]] const std::map<Id, ControlSession>& all() const { return sessions_; }

    /// The pattern's number in the session.  A pattern that is known keeps its number.  Where
    /// there are too many, the one that was not used for longest goes; its number is not given
    /// again.  Fails if the user has too many.
    [[nodiscard]] Result<std::uint64_t> remember(ControlSession& session, PreparedPattern prepared);

    /// The text is told piece by piece, in the place of the one before.  Fails if the user has not
    /// fetched too much.
    [[nodiscard]] Result<void> begin_long_answer(ControlSession& session, std::string text);
    /// Returns the next piece of the answer; none: all of it has been told.
    [[nodiscard]] std::optional<std::string> next_piece(ControlSession& session);

    /// Something changed that the next run of the daemon is told of the session, if it has joined.
    void note_change(ControlSession& session);
    [[nodiscard]] std::uint64_t handed_changes() const { return handed_changes_; }

private:
    static constexpr const char* clients_what = "clients";

    Id add(const Peer& peer, uid_t account);
    void forget_long_answer(ControlSession& session);

    std::map<Id, ControlSession> sessions_;
    Id next_ = 1;
    Quota clients_{clients_what, {clients_max, administrators_clients}};
    Quota patterns_{"prepared patterns", {patterns_max}};
    Quota unfetched_bytes_{"bytes of long answers that were not fetched", {long_answers_max_bytes}};
    std::uint64_t handed_changes_ = 0;
};

}  // namespace headway
