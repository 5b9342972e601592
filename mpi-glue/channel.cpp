// SPDX-License-Identifier: MIT
#include "channel.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <bit>

#include "errors_returned.hpp"
#include "exchange_order.hpp"
#include "message_size.hpp"
#include "mpi_library.hpp"
#include "real.hpp"

namespace headway::glue {
namespace {

/// Threads of some ranks may hold the numbers for each other in turns; so often is not bad luck any more.
constexpr int attempts_max = 1000;
constexpr int agreed_words_max = 8;

/// More have no connection to each other: that would be many on each node.
constexpr int connected_ranks_max = 128;
constexpr int connected_at_once = 16;
constexpr int connecting_tag = 0;  // nothing of it is left when algorithms begin

[[nodiscard]] int highest_tag() {
    int* highest = nullptr;
    int is_set = 0;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &is_set);
    return is_set != 0 ? *highest : 0;
}

/// A communicator of this process alone, made without MPI_COMM_SELF: see MpichNames.  MPI_COMM_NULL: there is no room
/// for another one.
MPI_Comm make_lonely_communicator() {
    const int rank = place_in(MPI_COMM_WORLD).rank;
    MPI_Group all = MPI_GROUP_NULL, own = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    if (PMPI_Comm_group(MPI_COMM_WORLD, &all) != MPI_SUCCESS) return made;
    if (PMPI_Group_incl(all, 1, &rank, &own) == MPI_SUCCESS) {
        if (PMPI_Comm_create_group(MPI_COMM_WORLD, own, 0, &made) != MPI_SUCCESS) made = MPI_COMM_NULL;
        PMPI_Group_free(&own);
    }
    PMPI_Group_free(&all);
    return made;
}

/// Makes a communicator of all ranks that has none of the attributes that the program may have set.
MPI_Comm make_carrier() {
    MPI_Comm made = MPI_COMM_NULL;
    const int rank = place_in(MPI_COMM_WORLD).rank;
    return PMPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made) == MPI_SUCCESS ? made : MPI_COMM_NULL;
}

/// Whether the program may revoke a communicator and go on (ULFM of Open MPI 5), which would end no wait on the carrier.
/// MPICH up to 5.0 offers that in its name only.
[[nodiscard]] bool may_be_revoked() {
    const void* const is_enabled = is_open_mpi() ? ::dlsym(RTLD_DEFAULT, "ompi_ftmpi_enabled") : nullptr;
    return is_enabled != nullptr && *static_cast<const bool*>(is_enabled);
}

void return_errors(MPI_Comm communicator) {
    if (communicator != MPI_COMM_NULL) PMPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
}

/// Receives what ranks that knew no root have sent to everybody; MPI libraries warn of messages
/// that nobody receives.
void receive_what_is_left(MPI_Comm carrier) {
    MPI_Status status;
    int is_there = 0;
    while (PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, carrier, &is_there, &status) == MPI_SUCCESS && is_there != 0)
        PMPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, carrier, MPI_STATUS_IGNORE);
}

void free_if_there(MPI_Comm& communicator) {
    if (communicator != MPI_COMM_NULL) real::Comm_free(&communicator);
    communicator = MPI_COMM_NULL;
}

}  // namespace

bool Carrier::open() noexcept {
    const ErrorsReturned quietly(MPI_COMM_WORLD);
    lonely_ = make_lonely_communicator();
    carrier_ = make_carrier();
    return_errors(lonely_);
    return_errors(carrier_);
    const bool has_both = lonely_ != MPI_COMM_NULL && carrier_ != MPI_COMM_NULL;
    int able = has_both && highest_tag() >= tag_max_needed && !may_be_revoked() ? 1 : 0;
    int all_able = 0;
    if (real::Allreduce(&able, &all_able, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS && all_able == 1)
        return true;
    close();
    return false;
}

bool Carrier::connect_all() noexcept {
    const Place place = place_in(carrier_);
    if (place.ranks > connected_ranks_max) return false;
    std::array<MPI_Request, 2 * connected_at_once> requests{};
    for (int first = 1; first < place.ranks; first += connected_at_once) {
        std::fill(requests.begin(), requests.end(), MPI_REQUEST_NULL);
        const int most = std::min(connected_at_once, place.ranks - first);
        for (int at = 0; at < most; ++at) {
            const int from = wrapped(place.rank - first - at, place.ranks), to = wrapped(place.rank + first + at, place.ranks);
            PMPI_Irecv(nullptr, 0, MPI_BYTE, from, connecting_tag, carrier_, &requests[static_cast<std::size_t>(2 * at)]);
            real::Isend(nullptr, 0, MPI_BYTE, to, connecting_tag, carrier_, &requests[static_cast<std::size_t>(2 * at + 1)]);
        }
        for (MPI_Request& request : requests) real::Wait(&request, MPI_STATUS_IGNORE);
    }
    return true;
}

void Carrier::close() noexcept {
    standing_.cancel_all();
    if (carrier_ != MPI_COMM_NULL) receive_what_is_left(carrier_);
    free_if_there(lonely_);
    free_if_there(carrier_);
}

Carrier::Offer Carrier::offer(bool is_able) noexcept {
    const std::lock_guard lock(mutex_);
    Offer own;
    own.is_able = is_able ? ~std::uint64_t{0} : 0;
    if (is_held_) return own;
    is_held_ = true;
    own.is_held = ~std::uint64_t{0};
    std::transform(used_.begin(), used_.end(), own.free.begin(), [](std::uint64_t used) { return ~used; });
    return own;
}

std::optional<int> Carrier::taken(const Offer& own, const Offer& all) noexcept {
    const std::lock_guard lock(mutex_);
    if (own.is_held != 0) is_held_ = false;
    if (all.is_able == 0 || all.is_held == 0) return std::nullopt;
    const auto found = std::find_if(all.free.begin(), all.free.end(), [](std::uint64_t word) { return word != 0; });
    if (found == all.free.end()) return std::nullopt;
    const int bit = std::countr_zero(*found);
    used_[static_cast<std::size_t>(found - all.free.begin())] |= std::uint64_t{1} << static_cast<unsigned>(bit);
    return static_cast<int>(found - all.free.begin()) * 64 + bit;
}

std::optional<int> Carrier::agree_on_channel(MPI_Comm communicator, bool is_able) noexcept {
    const ErrorsReturned quietly(communicator);
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        const Offer own = offer(is_able);
        Offer all;
        if (real::Allreduce(&own, &all, sizeof(Offer) / sizeof(std::uint64_t), MPI_UINT64_T, MPI_BAND,
                            communicator) != MPI_SUCCESS)
            all = {};
        const auto channel = taken(own, all);
        // all ranks see the same offer of all, and so go on or end alike
        if (channel || all.is_able == 0 || all.is_held != 0) return channel;
    }
    return std::nullopt;
}

void Carrier::give_back(int channel) noexcept {
    const std::lock_guard lock(mutex_);
    used_[static_cast<std::size_t>(channel) / 64] &= ~(std::uint64_t{1} << (static_cast<unsigned>(channel) % 64));
}

/// Along a binomial tree: each rank from the one whose number lacks its lowest bit, and on to those that have one more
/// of the lower ones.
int tell_all(std::uint64_t* words, int count, const OwnCall& call) noexcept {
    const int tag = call.tag_of(MessageKind::control);
    int status = MPI_SUCCESS;
    int lowest = 1;
    while (lowest < call.ranks && (call.rank & lowest) == 0) lowest *= 2;
    if (call.rank != 0) {
        status = PMPI_Recv(words, count, MPI_UINT64_T, call.carrier_ranks[call.rank - lowest], tag, call.carrier,
                           MPI_STATUS_IGNORE);
    }
    for (int bit = lowest / 2; bit > 0; bit /= 2) {
        if (call.rank + bit >= call.ranks) continue;
        keep_first_error(status, real::Send(words, count, MPI_UINT64_T, call.carrier_ranks[call.rank + bit], tag, call.carrier));
    }
    return status;
}

/// Recursive doubling: with the rank whose number differs in one bit, bit by bit, so that a distance between two halves of
/// the ranks is crossed once.  The ranks beyond a power of two ask one below it before, which tells them after.
int agree_on_largest(std::uint64_t* words, int count, const OwnCall& call) noexcept {
    const int tag = call.tag_of(MessageKind::control);
    const int doubled = static_cast<int>(std::bit_floor(static_cast<unsigned>(call.ranks)));
    int status = MPI_SUCCESS;
    std::array<std::uint64_t, agreed_words_max> others{};
    const auto send_to = [&](int rank) {
        keep_first_error(status, real::Send(words, count, MPI_UINT64_T, call.carrier_ranks[rank], tag, call.carrier));
    };
    const auto receive_from = [&](int rank, std::uint64_t* to) {
        keep_first_error(status, PMPI_Recv(to, count, MPI_UINT64_T, call.carrier_ranks[rank], tag, call.carrier,
                                           MPI_STATUS_IGNORE));
    };
    const auto take_larger = [&] {
        std::transform(words, words + count, others.begin(), words,
                       [](std::uint64_t one, std::uint64_t other) { return std::max(one, other); });
    };
    if (call.rank >= doubled) {
        send_to(call.rank - doubled);
        receive_from(call.rank - doubled, words);
        return status;
    }
    const bool is_asked = call.rank + doubled < call.ranks;
    if (is_asked) {
        receive_from(call.rank + doubled, others.data());
        take_larger();
    }
    for (int bit = 1; bit < doubled; bit *= 2) {
        const int peer = call.carrier_ranks[call.rank ^ bit];
        keep_first_error(status, real::Sendrecv(words, count, MPI_UINT64_T, peer, tag, others.data(), count, MPI_UINT64_T,
                                                peer, tag, call.carrier, MPI_STATUS_IGNORE));
        take_larger();
    }
    if (is_asked) send_to(call.rank + doubled);
    return status;
}

}  // namespace headway::glue
