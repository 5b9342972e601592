// SPDX-License-Identifier: MIT
#include "messages.hpp"

#include <algorithm>
#include <exception>

#include "mpi_library.hpp"
#include "real.hpp"

namespace headway::glue {
namespace {

/// Says whether an error concerns one message only; any other one is the communicator's.
bool is_of_one_message(int status) {
    int error_class = MPI_SUCCESS;
    PMPI_Error_class(status, &error_class);
    return error_class == MPI_ERR_TRUNCATE;
}

/// MPICH tells an error in a wait for a receive to the handler of MPI_COMM_WORLD, which ends the
/// job, because it does not know the communicator any more; for a persistent receive it does.
int start_receive(const Block& block, int from, int tag, MPI_Comm carrier, MPI_Request* request) {
    if (is_open_mpi()) return PMPI_Irecv(block.room(), block.count, block.type, from, tag, carrier, request);
    const int made = PMPI_Recv_init(block.room(), block.count, block.type, from, tag, carrier, request);
    if (made != MPI_SUCCESS) return made;
    const int started = real::Start(request);
    if (started != MPI_SUCCESS) real::Request_free(request);
    return started;
}

/// Forgets a completed request, of which MPI still has a persistent one.
void forget(MPI_Request& request) {
    if (!is_open_mpi() && request != MPI_REQUEST_NULL) real::Request_free(&request);
    request = MPI_REQUEST_NULL;
}

}  // namespace

Messages::Messages(const OwnCall& call) : call_(call) {}

Messages::~Messages() {
    if (has_some()) give_up();
}

Messages::Ticket Messages::receive(const Block& block, int from, MessageKind kind, bool* is_short) {
    const Ticket ticket = post(block, from, kind, Direction::to_here);
    if (is_short == nullptr || ticket.serial == 0) return ticket;
    Slot& slot = receives_.slot_of(ticket.serial);
    slot.room_bytes = bytes_of(block);
    slot.is_short = is_short;
    return ticket;
}

Messages::Ticket Messages::send(const Block& block, int to, MessageKind kind) {
    return post(block, to, kind, Direction::from_here);
}

void Messages::copy(const Block& from, const Block& to) {
    if (is_empty(from)) return;
    (void)receive(to, call_.rank, MessageKind::copy);
    (void)send(from, call_.rank, MessageKind::copy);
}

/// Accepts one message.  If none comes the receive stays, by a tag that nobody uses again, for the
/// ranks agree on another channel.
void Messages::let_come(MessageKind kind) {
    MPI_Request request = MPI_REQUEST_NULL;
    note(start({}, MPI_ANY_SOURCE, call_.tag_of(kind), Direction::to_here, &request));
    if (request != MPI_REQUEST_NULL) call_.standing->keep(request);
}

/// Without memory for the request, it is freed: MPI does that when such a message has come.
void StandingReceives::keep(MPI_Request request) noexcept try {
    const std::lock_guard lock(mutex_);
    std::erase_if(requests_, [](MPI_Request& earlier) {
        int is_done = 0;
        if (real::Test(&earlier, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done == 0) return false;
        forget(earlier);
        return true;
    });
    requests_.push_back(request);
} catch (const std::exception&) {
    real::Request_free(&request);
}

void StandingReceives::cancel_all() noexcept {
    const std::lock_guard lock(mutex_);
    for (MPI_Request& request : requests_) {
        PMPI_Cancel(&request);
        real::Wait(&request, MPI_STATUS_IGNORE);
        forget(request);
    }
    requests_.clear();
}

Messages::Ticket Messages::post(const Block& block, int peer, MessageKind kind, Direction direction) {
    Lane& lane = lane_of(direction);
    while (lane.is_full() && !is_broken_) complete(lane.oldest());
    if (is_broken_) return {};
    Slot& slot = lane.slot_of(++lane.posted);
    slot = {};
    int posted = start(block, peer, call_.tag_of(kind), direction, &slot.request);
    note(posted);
    if (posted != MPI_SUCCESS) posted = start({}, peer, call_.tag_of(kind), direction, &slot.request);
    if (posted == MPI_SUCCESS) return {direction, lane.posted};
    slot.request = MPI_REQUEST_NULL;
    note(posted);
    give_up();
    return {};
}

int Messages::start(const Block& block, int peer, int tag, Direction direction, MPI_Request* request) const {
    const int there = peer == MPI_ANY_SOURCE ? peer : call_.carrier_ranks[peer];
    return direction == Direction::to_here
               ? start_receive(block, there, tag, call_.carrier, request)
               : real::Isend(block.data, block.count, block.type, there, tag, call_.carrier, request);
}

void Messages::completed(Slot& slot, int error, const MPI_Status& status) {
    forget(slot.request);
    note(error);
    if (slot.is_short != nullptr && error == MPI_SUCCESS) {
        MPI_Count bytes = 0;
        PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
        *slot.is_short = static_cast<std::uint64_t>(bytes) < slot.room_bytes;
    }
    if (error != MPI_SUCCESS && !is_of_one_message(error)) is_broken_ = true;
    receives_.forget_completed();
    sends_.forget_completed();
}

/// MPI goes on with all others meanwhile.
void Messages::complete(Slot& slot) {
    MPI_Status status;
    const int result = real::Wait(&slot.request, &status);
    completed(slot, result, status);
    if (is_broken_) give_up();
}

bool Messages::is_done(Slot& slot) {
    MPI_Status status;
    int done = 0;
    const int result = real::Test(&slot.request, &done, &status);
    if (result == MPI_SUCCESS && done == 0) return false;
    completed(slot, result, status);  // an error completes a request, too
    return true;
}

void Messages::test_oldest(Lane& lane) {
    if (lane.has_some() && !is_broken_) (void)is_done(lane.oldest());
}

void Messages::progress_until(std::chrono::steady_clock::time_point moment) {
    while (has_some() && !is_broken_ && std::chrono::steady_clock::now() < moment) progress();
    if (is_broken_) give_up();
}

/// It ends at once, for nothing has matched it.  How many bytes have come of it is not defined.
void Messages::cancel(const Ticket& ticket) {
    Slot& slot = lane_of(ticket.direction).slot_of(ticket.serial);
    if (slot.request == MPI_REQUEST_NULL) return;
    slot.is_short = nullptr;
    PMPI_Cancel(&slot.request);
    complete(slot);
}

void Messages::wait_for(const Ticket& ticket) {
    const Lane& lane = lane_of(ticket.direction);
    if (ticket.serial <= lane.completed) return;
    Slot& slot = lane.slot_of(ticket.serial);
    if (slot.request != MPI_REQUEST_NULL) complete(slot);
}

int Messages::wait_for_all() {
    for (Lane* lane : {&receives_, &sends_}) {
        while (lane->has_some()) complete(lane->oldest());
    }
    return status_;
}

/// A receive that nothing has matched ends at once when it is cancelled.  What is
/// being transferred may end by itself; if not, MPI is told to end it when it can.
void Messages::give_up() {
    is_broken_ = true;
    for (Slot& slot : receiving_) {
        if (slot.request != MPI_REQUEST_NULL) PMPI_Cancel(&slot.request);
    }
    const auto deadline = std::chrono::steady_clock::now() + end_patience;
    const auto end = [&](auto& slots, const auto& how) {
        for (Slot& slot : slots) {
            if (slot.request != MPI_REQUEST_NULL) how(slot);
        }
    };
    while (has_some() && std::chrono::steady_clock::now() < deadline) {
        end(receiving_, [&](Slot& slot) { (void)is_done(slot); });
        end(sending_, [&](Slot& slot) { (void)is_done(slot); });
    }
    end(receiving_, [](Slot& slot) { real::Request_free(&slot.request); });
    end(sending_, [](Slot& slot) { real::Request_free(&slot.request); });
    receives_.completed = receives_.posted;
    sends_.completed = sends_.posted;
}

}  // namespace headway::glue
