// SPDX-License-Identifier: Apache-2.0
#include "jobs/sessions.hpp"

#include <algorithm>

namespace headway {
namespace {

/// Within JSON a piece is a string and at most twice as long.  Only control characters would be
/// longer, and the answer, which is JSON, has none.
constexpr std::size_t piece_max_bytes = datagram_max_bytes / 2 - 256;

/// The length of a piece of the text that begins there and does not end within a character.
std::size_t piece_length(const std::string& text, std::size_t begin) {
    std::size_t length = std::min(piece_max_bytes, text.size() - begin);
    while (begin + length < text.size() &&
           (static_cast<unsigned char>(text[begin + length]) & 0xc0U) == 0x80) {
        --length;
    }
    return length;
}

}  // namespace

// -------------------------------------------------------------- who is connected

Sessions::Id Sessions::add(const Peer& peer, uid_t account) {
    ControlSession session;
    session.peer = peer;
    session.account = account;
    sessions_.emplace(next_, std::move(session));
    return next_++;
}

Result<Sessions::Id> Sessions::open(const Peer& peer, uid_t account) {
    if (auto taken = clients_.take(account); !taken) return tl::unexpected(taken.error());
    return add(peer, account);
}

Result<Sessions::Id> Sessions::open_again(const Peer& peer, uid_t account) {
    if (!clients_.take_again(account, 1)) return failure("there are too many clients");
    return add(peer, account);
}

std::optional<ControlSession> Sessions::close(Id id) {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return std::nullopt;
    forget_long_answer(found->second);
    ControlSession ended = std::move(found->second);
    sessions_.erase(found);
    clients_.give_back(ended.account);
    patterns_.give_back(ended.account, ended.patterns.size());
    if (ended.seat) ++handed_changes_;
    return ended;
}

ControlSession* Sessions::find(Id id) {
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : &found->second;
}

const ControlSession* Sessions::find(Id id) const {
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : &found->second;
}

void Sessions::note_change(ControlSession& session) {
    if (!session.seat) return;
    ++session.handed_changes;
    ++handed_changes_;
}

// ----------------------------------------------------------------- prepared patterns

Result<std::uint64_t> Sessions::remember(ControlSession& session, PreparedPattern prepared) {
    auto& patterns = session.patterns;
    const auto known = std::ranges::find_if(
        patterns, [&](const auto& other) { return other.second.pattern == prepared.pattern; });
    const std::uint64_t id = known != patterns.end() ? known->first : session.last_pattern + 1;
    if (known == patterns.end()) {
        if (patterns.size() >= patterns_per_client_max) {
            patterns.erase(std::ranges::min_element(patterns, {}, [](const auto& one) { return one.second.used; }));
        } else if (auto taken = patterns_.take(session.account); !taken) {
            return tl::unexpected(taken.error());
        }
        session.last_pattern = id;
    }
    prepared.used = ++session.uses;
    patterns.insert_or_assign(id, std::move(prepared));
    return id;
}

// ---------------------------------------------------------------------- long answers

void Sessions::forget_long_answer(ControlSession& session) {
    unfetched_bytes_.give_back(session.account, session.long_answer.size());
    session.long_answer = {};
    session.fetched_bytes = 0;
}

Result<void> Sessions::begin_long_answer(ControlSession& session, std::string text) {
    forget_long_answer(session);
    if (auto taken = unfetched_bytes_.take(session.account, text.size()); !taken) return taken;
    session.long_answer = std::move(text);
    return {};
}

std::optional<std::string> Sessions::next_piece(ControlSession& session) {
    if (session.long_answer.empty()) return std::nullopt;
    const std::size_t length = piece_length(session.long_answer, session.fetched_bytes);
    std::string piece = session.long_answer.substr(session.fetched_bytes, length);
    session.fetched_bytes += length;
    if (session.fetched_bytes == session.long_answer.size()) forget_long_answer(session);
    return piece;
}

}  // namespace headway
