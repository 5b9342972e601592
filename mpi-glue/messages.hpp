// SPDX-License-Identifier: MIT
// The messages of one call of an algorithm of ours: all of them are posted and waited for here.
//
// Who sends a message to whom in a call depends on the communicator and on what its ranks have agreed
// on, and on nothing else: no rank's arguments, memory or errors change that, only what is in the
// messages.  So a rank that cannot use its own arguments takes part with empty blocks, and nobody
// waits for a message that does not come.
//
// At most window_receives and window_sends are under way at a time.  One more is posted when the oldest
// of its kind is complete.  An exchange of all with all cannot deadlock by that, if the message from
// rank a to rank b has the same step at both and every rank posts in the order of steps, receives at
// most receives_ahead steps before its sends: let m be the lowest step of all messages that are not
// complete yet.  Whoever has to send or to receive it has nothing under way of an earlier step, so at
// most 1 + receives_ahead receives and no send, which is less than the windows; so this rank is not
// held up before it has posted it.  It is posted at both ends, and completes.
//
// Nor does it take a latency for each step: a rank posts the send of a step when the receive of
// window_receives - receives_ahead steps before is complete, and so is that many steps ahead of what
// has come to it.
//
// Errors: one of a single message, such as truncation, is remembered, and the rank goes on, for
// others wait for its messages.  A message that MPI refuses to post is replaced by an empty one.
// After any other error (a process is gone) nothing more is posted, and what is under way is ended
// within end_patience.  In no case is anything left posted when the call returns, and each call has
// tags of its own (channel.hpp): nothing of a call that went wrong can match a later one.
//
// Each request is waited for on its own, the oldest of its kind first: of an error in a wait for several MPICH tells the handler of
// MPI_COMM_WORLD, which ends the job, and not that of the carrier.
//
// Nothing here allocates, but for what let_come() leaves behind.
#pragma once

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "block.hpp"

namespace headway::glue {

inline constexpr int window_receives = 192;
inline constexpr int window_sends = 64;
inline constexpr int receives_ahead = 63;

/// Several messages of a call between the same two ranks may be told apart.
enum class MessageKind { data, copy, header, control };
inline constexpr int message_kinds = 4;

/// Receives that calls have left behind because no rank may ever send what they are for; the process's.
class StandingReceives {
public:
    void keep(MPI_Request request) noexcept;
    /// Before MPI is finalised.
    void cancel_all() noexcept;

private:
    std::mutex mutex_;  ///< guards what follows
    std::vector<MPI_Request> requests_;
};

/// A call of one of our algorithms: who its messages go to, and by which tags.
struct OwnCall {
    MPI_Comm carrier = MPI_COMM_NULL;   ///< channel.hpp
    const int* carrier_ranks = nullptr; ///< of each rank of the communicator its rank on the carrier
    int rank = 0;
    int ranks = 0;
    int first_tag = 0;
    StandingReceives* standing = nullptr;

    [[nodiscard]] bool has_rank(int number) const { return number >= 0 && number < ranks; }
    [[nodiscard]] int tag_of(MessageKind kind) const { return first_tag + static_cast<int>(kind); }
};

/// The first error is what is told of several.
inline void keep_first_error(int& status, int next) {
    if (status == MPI_SUCCESS) status = next;
}

/// Calls `receive(step)` and `send(step)` of all steps, each in this order, and receives some steps
/// before sends: a message that finds its receive posted needs not be kept by MPI.
void in_steps(int steps, const auto& receive, const auto& send) {
    int receiving = 0;
    for (int step = 0; step < steps; ++step) {
        while (receiving < steps && receiving <= step + receives_ahead) receive(receiving++);
        send(step);
    }
}

class Messages {
public:
    explicit Messages(const OwnCall& call);
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;
    /// Ends what is under way.
    ~Messages();

    enum class Direction { to_here, from_here };
    /// A request, to be waited for on its own.
    struct Ticket {
        Direction direction = Direction::to_here;
        std::uint64_t serial = 0;  ///< of the direction; 0: of none

        explicit operator bool() const { return serial != 0; }
    };

    /// `is_short`, if it is not null, becomes true if fewer bytes come than there is room for.
    Ticket receive(const Block& block, int from, MessageKind kind = MessageKind::data, bool* is_short = nullptr);
    Ticket send(const Block& block, int to, MessageKind kind = MessageKind::data);
    /// By messages of this rank to itself: so any types and any memory will do that MPI can send from.
    /// Blocks of no bytes are left alone.
    void copy(const Block& from, const Block& to);

    /// Accepts a message of that kind from any rank: its data are lost, and nobody waits for it.
    void let_come(MessageKind kind);

    /// Says whether one more may be posted that need not wait for the oldest.
    [[nodiscard]] bool has_room(Direction direction) { return !lane_of(direction).is_full(); }
    /// Returns the oldest that is not known to be complete.
    [[nodiscard]] Ticket oldest(Direction direction) {
        const Lane& lane = lane_of(direction);
        return {direction, lane.has_some() ? lane.completed + 1 : 0};
    }
    /// A receive for which nobody sends a message.
    void cancel(const Ticket& ticket);
    /// Lets MPI go on with what is under way, once.
    void progress() {
        test_oldest(receives_);
        test_oldest(sends_);
        if (is_broken_) give_up();
    }
    [[nodiscard]] bool is_broken() const { return is_broken_; }

    void wait_for(const Ticket& ticket);
    /// Lets MPI go on with what is under way until then.
    void progress_until(std::chrono::steady_clock::time_point moment);
    /// Waits for all that is under way; a status of MPI: the first error so far.
    int wait_for_all();

    [[nodiscard]] int status() const { return status_; }
    void note(int status) { keep_first_error(status_, status); }

private:
    struct Slot {
        MPI_Request request = MPI_REQUEST_NULL;  ///< null: it is complete
        std::uint64_t room_bytes = 0;  ///< where somebody wants to know
        bool* is_short = nullptr;
    };
    static constexpr std::chrono::seconds end_patience{1};

    /// The messages under way in one direction, by serial numbers.
    struct Lane {
        std::span<Slot> slots;
        std::uint64_t posted = 0;     ///< the serial of the last one
        std::uint64_t completed = 0;  ///< all up to this one are complete

        [[nodiscard]] Slot& slot_of(std::uint64_t serial) const { return slots[serial % slots.size()]; }
        [[nodiscard]] bool has_some() const { return completed < posted; }
        [[nodiscard]] bool is_full() const { return posted - completed == slots.size(); }
        [[nodiscard]] Slot& oldest() const { return slot_of(completed + 1); }
        void forget_completed() {
            while (has_some() && oldest().request == MPI_REQUEST_NULL) ++completed;
        }
    };

    [[nodiscard]] Lane& lane_of(Direction direction) { return direction == Direction::to_here ? receives_ : sends_; }
    [[nodiscard]] bool has_some() const { return receives_.has_some() || sends_.has_some(); }
    [[nodiscard]] Ticket post(const Block& block, int peer, MessageKind kind, Direction direction);
    [[nodiscard]] int start(const Block& block, int peer, int tag, Direction direction, MPI_Request* request) const;
    void complete(Slot& slot);
    [[nodiscard]] bool is_done(Slot& slot);
    void completed(Slot& slot, int error, const MPI_Status& status);
    void test_oldest(Lane& lane);
    void give_up();

    OwnCall call_;
    int status_ = MPI_SUCCESS;
    bool is_broken_ = false;
    std::array<Slot, window_receives> receiving_{};
    std::array<Slot, window_sends> sending_{};
    Lane receives_{receiving_};
    Lane sends_{sending_};
};

}  // namespace headway::glue
