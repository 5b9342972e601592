// SPDX-License-Identifier: MIT
#include "clocked_call.hpp"

#include <algorithm>
#include <limits>
#include <thread>

namespace headway::glue {
namespace {

using Clock = SendClock::Clock;

constexpr auto never = Clock::time_point::max();

constexpr std::size_t lanes_max = told_clusters_max + 1;  ///< the last one: to ranks of this host

/// The next piece of a lane, or of all receives.
struct Cursor {
    std::uint64_t at = 0;  ///< round * steps + step
    bool is_over = false;
};

class ClockedCall {
public:
    ClockedCall(const ClockedPlace& place, const CallRates& rates, const OwnCall& call, const CallMessages& mine)
        : place_(place), call_(call), mine_(mine), messages_(call), piece_bytes_(rates.piece_bytes),
          steps_(static_cast<std::uint64_t>(place.order->steps())), lanes_(rates.bytes_per_s.size() + 1) {
        std::fill(place_.has_ended.begin(), place_.has_ended.end(), false);
        const auto begin = Clock::now();
        for (std::size_t lane = 0; lane + 1 < lanes_; ++lane) clocks_[lane] = SendClock(rates.bytes_per_s[lane], begin);
        count_rounds();
        for (std::size_t lane = 0; lane < lanes_; ++lane) settle_send(lane);
        settle_receive();
    }

    ClockedOutcome run() noexcept {
        send_all();
        while (!messages_.is_broken()) {
            post_receives();
            skip_what_does_not_come();
            const auto oldest = messages_.oldest(Messages::Direction::to_here);
            if (!oldest) break;
            messages_.wait_for(oldest);
        }
        const int status = messages_.wait_for_all();
        return {status, status != MPI_SUCCESS};
    }

private:
    void send_all() {
        const ExactPauses exactly;
        for (auto next = Clock::now(); next != never && !messages_.is_broken(); next = post_due_sends(Clock::now())) {
            post_receives();
            skip_what_does_not_come();
            messages_.progress();
            if (next - Clock::now() > shortest_pause) std::this_thread::sleep_until(next);
        }
    }

    [[nodiscard]] bool is_here(int rank) const { return place_.cluster_of_rank[rank] == same_host; }
    [[nodiscard]] std::size_t lane_of(int rank) const {
        return is_here(rank) ? lanes_ - 1 : static_cast<std::size_t>(place_.cluster_of_rank[rank]);
    }
    [[nodiscard]] std::uint64_t piece_bytes(int peer) const { return is_here(peer) ? here_piece_bytes : piece_bytes_; }
    [[nodiscard]] std::uint64_t pieces_of(const MessageBytes& message, int peer) const {
        return message.is_there ? message.count / piece_bytes(peer) + 1 : 0;
    }
    [[nodiscard]] Block piece_of(const MessageBytes& message, int peer, std::uint64_t number) const {
        const std::uint64_t first = number * piece_bytes(peer);
        return {message.data + first, static_cast<int>(std::min(piece_bytes(peer), message.count - first)), MPI_BYTE};
    }

    void count_rounds() {
        for (int rank = 0; rank < call_.ranks; ++rank) {
            send_rounds_ = std::max(send_rounds_, pieces_of(mine_.goes_to(rank), rank));
            receive_rounds_ = std::max(receive_rounds_, pieces_of(mine_.comes_from(rank), rank));
        }
    }

    [[nodiscard]] int step_of(const Cursor& cursor) const { return static_cast<int>(cursor.at % steps_); }
    [[nodiscard]] std::uint64_t round_of(const Cursor& cursor) const { return cursor.at / steps_; }

    /// From where it is to the next piece that there is.
    void settle_send(std::size_t lane) {
        Cursor& cursor = sends_[lane];
        for (;; ++cursor.at) {
            cursor.is_over = round_of(cursor) >= send_rounds_;
            if (cursor.is_over) return;
            const int to = place_.order->to(step_of(cursor));
            if (to != nobody && lane_of(to) == lane && round_of(cursor) < pieces_of(mine_.goes_to(to), to)) return;
        }
    }

    void settle_receive() {
        for (;; ++receive_.at) {
            receive_.is_over = round_of(receive_) >= receive_rounds_;
            if (receive_.is_over) return;
            const int from = place_.order->from(step_of(receive_));
            if (from == nobody || place_.has_ended[static_cast<std::size_t>(from)]) continue;
            if (round_of(receive_) < pieces_of(mine_.comes_from(from), from)) return;
        }
    }

    void post_receives() {
        while (!receive_.is_over && messages_.has_room(Messages::Direction::to_here)) {
            const int from = place_.order->from(step_of(receive_));
            const MessageBytes all = mine_.comes_from(from);
            const std::uint64_t number = round_of(receive_);
            const bool is_last = number + 1 == pieces_of(all, from);
            bool* const has_ended = is_last ? nullptr : &place_.has_ended[static_cast<std::size_t>(from)];
            const auto ticket = messages_.receive(piece_of(all, from, number), from, MessageKind::data, has_ended);
            senders_[ticket.serial % window_receives] = from;
            ++receive_.at;
            settle_receive();
        }
    }

    /// One of each lane; when to come again, or never.
    Clock::time_point post_due_sends(Clock::time_point now) {
        const std::uint64_t first = first_not_posted();
        Clock::time_point next = never;
        for (std::size_t lane = 0; lane < lanes_; ++lane) {
            Cursor& cursor = sends_[lane];
            if (cursor.is_over) continue;
            const bool has_to_wait = cursor.at >= first + window_sends - 1 || !messages_.has_room(Messages::Direction::from_here);
            if (has_to_wait) {
                next = std::min(next, now);
                continue;
            }
            if (clocks_[lane].due() <= now) post(lane, now);
            if (!cursor.is_over) next = std::min(next, clocks_[lane].due());
        }
        return next;
    }

    /// The next piece of a lane; that to ranks of this host has no limit.
    void post(std::size_t lane, Clock::time_point now) {
        Cursor& cursor = sends_[lane];
        const int to = place_.order->to(step_of(cursor));
        const Block piece = piece_of(mine_.goes_to(to), to, round_of(cursor));
        clocks_[lane].send(wire_bytes_of(static_cast<std::uint64_t>(piece.count)), now);
        messages_.send(piece, to);
        ++cursor.at;
        settle_send(lane);
    }

    [[nodiscard]] std::uint64_t first_not_posted() const {
        std::uint64_t first = std::numeric_limits<std::uint64_t>::max() - window_sends;
        for (std::size_t lane = 0; lane < lanes_; ++lane) {
            if (!sends_[lane].is_over) first = std::min(first, sends_[lane].at);
        }
        return first;
    }

    /// Of a rank whose last piece has come.
    void skip_what_does_not_come() {
        while (const auto oldest = messages_.oldest(Messages::Direction::to_here)) {
            const int from = senders_[oldest.serial % window_receives];
            if (!place_.has_ended[static_cast<std::size_t>(from)]) return;
            messages_.cancel(oldest);
        }
    }

    ClockedPlace place_;
    OwnCall call_;
    const CallMessages& mine_;
    Messages messages_;
    std::uint64_t piece_bytes_;
    std::uint64_t steps_;
    std::size_t lanes_;
    std::uint64_t send_rounds_ = 0, receive_rounds_ = 0;
    std::array<SendClock, lanes_max> clocks_{};
    std::array<Cursor, lanes_max> sends_{};
    Cursor receive_;
    std::array<int, window_receives> senders_{};  ///< by serial
};

}  // namespace

ClockedOutcome carry_out_by_clock(const ClockedPlace& place, const CallRates& rates, const OwnCall& call,
                                  const CallMessages& call_messages) noexcept {
    return ClockedCall(place, rates, call, call_messages).run();
}

}  // namespace headway::glue
