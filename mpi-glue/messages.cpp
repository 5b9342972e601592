// SPDX-License-Identifier: MIT
#include "messages.hpp"

#include <algorithm>

#include "real.hpp"

namespace headway::glue {
namespace {

constexpr std::uint32_t message_kinds = 2;
// MPI guarantees tags up to 32767.
constexpr std::uint32_t calls_with_tags = 32768 / message_kinds;

/// What concerns one message only.  Another error is one of the communicator.
bool is_of_one_message(int status) {
    int error_class = MPI_SUCCESS;
    PMPI_Error_class(status, &error_class);
    return error_class == MPI_ERR_TRUNCATE;
}

}  // namespace

Messages::Messages(const OwnCall& call)
    : communicator_(call.communicator),
      first_tag_(static_cast<int>(call.number % calls_with_tags * message_kinds)) {
    requests_.fill(MPI_REQUEST_NULL);
}

Messages::~Messages() {
    if (under_way_ > 0) give_up();
}

Messages::Ticket Messages::receive(const Block& block, int from, MessageKind kind) {
    return post(block, from, kind, Direction::to_here);
}

Messages::Ticket Messages::send(const Block& block, int to, MessageKind kind) {
    return post(block, to, kind, Direction::from_here);
}

Messages::Ticket Messages::post(const Block& block, int peer, MessageKind kind,
                                Direction direction) {
    while (under_way_ == window_requests) wait_for_some();
    if (is_broken_) return {};
    const int slot = free_count_ > 0 ? free_[static_cast<std::size_t>(--free_count_)] : used_++;
    const auto at = static_cast<std::size_t>(slot);
    const int tag = first_tag_ + static_cast<int>(kind);
    int posted = start(block, peer, tag, direction, &requests_[at]);
    note(posted);
    if (posted != MPI_SUCCESS)
        posted = start({nullptr, 0, MPI_BYTE}, peer, tag, direction, &requests_[at]);
    slots_[at] = {++posted_, direction == Direction::to_here};
    ++under_way_;
    if (posted == MPI_SUCCESS) return {slot, posted_};
    requests_[at] = MPI_REQUEST_NULL;
    completed(slot, posted);
    is_broken_ = true;
    give_up();
    return {};
}

int Messages::start(const Block& block, int peer, int tag, Direction direction,
                    MPI_Request* request) const {
    return direction == Direction::to_here
               ? PMPI_Irecv(block.room(), block.count, block.type, peer, tag, communicator_, request)
               : real::Isend(block.data, block.count, block.type, peer, tag, communicator_, request);
}

void Messages::completed(int slot, int error) {
    note(error);
    free_[static_cast<std::size_t>(free_count_++)] = slot;
    --under_way_;
    if (error != MPI_SUCCESS && !is_of_one_message(error)) is_broken_ = true;
}

/// Whether a wait of several requests, with this result, has filled in their statuses.
bool Messages::has_statuses(int result) {
    int result_class = MPI_SUCCESS;
    PMPI_Error_class(result, &result_class);
    if (result_class == MPI_SUCCESS || result_class == MPI_ERR_IN_STATUS) return true;
    note(result);
    is_broken_ = true;
    return false;
}

/// `some` is Waitsome or Testsome.
void Messages::complete_some(const auto& some) {
    std::array<int, window_requests> which;
    std::array<MPI_Status, window_requests> statuses;
    int count = 0;
    const int result = some(used_, requests_.data(), &count, which.data(), statuses.data());
    if (!has_statuses(result)) count = 0;
    for (std::size_t at = 0; count > 0 && at < static_cast<std::size_t>(count); ++at) {
        requests_[static_cast<std::size_t>(which[at])] = MPI_REQUEST_NULL;
        completed(which[at], result == MPI_SUCCESS ? MPI_SUCCESS : statuses[at].MPI_ERROR);
    }
    if (is_broken_) give_up();
}

void Messages::wait_for_some() { complete_some(real::Waitsome); }

void Messages::progress_until(std::chrono::steady_clock::time_point moment) {
    while (under_way_ > 0 && std::chrono::steady_clock::now() < moment) complete_some(real::Testsome);
}

void Messages::wait_for(const Ticket& ticket) {
    const auto at = static_cast<std::size_t>(ticket.slot);
    if (ticket.serial == 0 || slots_[at].serial != ticket.serial ||
        requests_[at] == MPI_REQUEST_NULL)
        return;
    const int result = real::Wait(&requests_[at], MPI_STATUS_IGNORE);
    requests_[at] = MPI_REQUEST_NULL;
    completed(ticket.slot, result);
    if (is_broken_) give_up();
}

/// In one call of MPI.  With one Waitsome after the other MPICH polls its sockets again
/// before each, and `make bench-mpi`'s all-to-all took 15.5 instead of 7.6 ms.
int Messages::wait_for_all() {
    while (under_way_ > 0) {
        std::array<bool, window_requests> under_way;
        for (std::size_t at = 0; at < static_cast<std::size_t>(used_); ++at)
            under_way[at] = requests_[at] != MPI_REQUEST_NULL;
        std::array<MPI_Status, window_requests> statuses;
        const int result = real::Waitall(used_, requests_.data(), statuses.data());
        const bool is_known = has_statuses(result);
        for (int slot = 0; is_known && slot < used_; ++slot) {
            const auto at = static_cast<std::size_t>(slot);
            const int status = result == MPI_SUCCESS ? MPI_SUCCESS : statuses[at].MPI_ERROR;
            if (!under_way[at] || status == MPI_ERR_PENDING) continue;
            requests_[at] = MPI_REQUEST_NULL;
            completed(slot, status);
        }
        if (is_broken_) give_up();
    }
    return status_;
}

/// A receive that nothing has matched ends at once when it is cancelled.  What is
/// being transferred may end by itself; if not, MPI is told to end it when it can.
void Messages::give_up() {
    is_broken_ = true;
    for (std::size_t at = 0; at < static_cast<std::size_t>(used_); ++at) {
        if (requests_[at] != MPI_REQUEST_NULL && slots_[at].receives) PMPI_Cancel(&requests_[at]);
    }
    const auto deadline = std::chrono::steady_clock::now() + end_patience;
    int all_done = 0;
    do {
        all_done = 1;
        for (std::size_t at = 0; at < static_cast<std::size_t>(used_); ++at) {
            if (requests_[at] == MPI_REQUEST_NULL) continue;
            int done = 0;
            // an error completes a request, too
            const int result = real::Test(&requests_[at], &done, MPI_STATUS_IGNORE);
            if (result != MPI_SUCCESS) requests_[at] = MPI_REQUEST_NULL;
            if (requests_[at] != MPI_REQUEST_NULL) all_done = 0;
        }
    } while (all_done == 0 && std::chrono::steady_clock::now() < deadline);
    for (std::size_t at = 0; at < static_cast<std::size_t>(used_); ++at) {
        if (requests_[at] != MPI_REQUEST_NULL) real::Request_free(&requests_[at]);
    }
    under_way_ = 0;
}

}  // namespace headway::glue
