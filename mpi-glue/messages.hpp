// SPDX-License-Identifier: MIT
// The messages of one call of an algorithm of ours: all of them are posted and
// waited for here.
//
// At most window_requests are under way at a time.  One more is posted when some
// of these are complete.  An exchange of all with all cannot deadlock by that, if
// the message from rank a to rank b has the same step at both and every rank posts
// in the order of steps, receives at most receives_ahead steps before its sends:
// let m be the lowest step of all messages that are not complete yet.  Whoever has
// to send or to receive it has nothing under way of an earlier step, so at most
// 1 + receives_ahead receives and no send, which is less than the window; so he is
// not held up before he has posted it.  It is posted at both ends, and completes.
//
// Errors: one of a single message, such as truncation, is remembered, and the
// rank goes on, for others wait for its messages.  A message that MPI refuses to
// post is replaced by an empty one, so that its other end does not wait for ever.
// After any other error (the communicator was revoked, a process is gone) nothing
// more is posted, and what is under way is ended within end_patience.  In no case
// is anything left posted when the call returns, and each call has tags of its own:
// nothing of a call that went wrong can match a later one.
#pragma once

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace headway::glue {

inline constexpr int window_requests = 128;
inline constexpr int receives_ahead = window_requests / 2 - 1;

/// One side of a message.
struct Block {
    const void* data = nullptr;
    int count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;

    [[nodiscard]] void* room() const { return const_cast<void*>(data); }
};

/// A call of one of our algorithms: our communicator, and how many calls were on it
/// before, which all its ranks count alike.
struct OwnCall {
    MPI_Comm communicator = MPI_COMM_NULL;
    std::uint32_t number = 0;
};

/// Several messages of a call between the same two ranks may be told apart.
enum class MessageKind { data, bytes };

/// The first error is what is told of several.
inline void keep_first_error(int& status, int next) {
    if (status == MPI_SUCCESS) status = next;
}

/// Calls `receive(step)` and `send(step)` of all steps, each in this order, and
/// receives some steps before sends: a message that finds its receive posted needs not
/// be kept by MPI.
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
    /// Ends what is under way, if an exception came in between.
    ~Messages();

    /// A request, to be waited for on its own.
    struct Ticket {
        int slot = 0;
        std::uint64_t serial = 0;  ///< 0: of none
    };

    Ticket receive(const Block& block, int from, MessageKind kind = MessageKind::data);
    Ticket send(const Block& block, int to, MessageKind kind = MessageKind::data);

    void wait_for(const Ticket& ticket);
    /// Lets MPI go on with what is under way until then.
    void progress_until(std::chrono::steady_clock::time_point moment);
    /// Waits for all that is under way; a status of MPI: the first error so far.
    int wait_for_all();

    [[nodiscard]] int status() const { return status_; }
    void note(int status) { keep_first_error(status_, status); }

private:
    enum class Direction { to_here, from_here };
    struct Slot {
        std::uint64_t serial = 0;
        bool receives = false;
    };
    static constexpr std::chrono::seconds end_patience{1};

    [[nodiscard]] Ticket post(const Block& block, int peer, MessageKind kind, Direction direction);
    [[nodiscard]] int start(const Block& block, int peer, int tag, Direction direction,
                            MPI_Request* request) const;
    [[nodiscard]] bool has_statuses(int result);
    void wait_for_some();
    void complete_some(const auto& some);
    void completed(int slot, int error);
    void give_up();

    MPI_Comm communicator_;
    int first_tag_;
    int status_ = MPI_SUCCESS;
    bool is_broken_ = false;
    std::uint64_t posted_ = 0;
    int under_way_ = 0;
    int used_ = 0;  ///< slots from here on were never used
    std::array<MPI_Request, window_requests> requests_;
    std::array<Slot, window_requests> slots_;
    std::array<int, window_requests> free_;  ///< slots below used_ that are free now
    int free_count_ = 0;
};

}  // namespace headway::glue
