// SPDX-License-Identifier: MIT
#include "argument_check.hpp"

#include "mpi_library.hpp"
#include "real.hpp"

namespace headway::glue {
namespace {

constexpr int any_tag_will_do = 0;

/// MPICH does not look at what belongs to a count of zero, Open MPI does.
bool is_looked_at(int count) { return is_open_mpi() || count != 0; }

}  // namespace

bool ArgumentCheck::can_send(const Block& block) const {
    if (!is_looked_at(block.count)) return true;
    return real::Send(block.data, block.count, block.type, MPI_PROC_NULL, any_tag_will_do,
                      asked_on_) == MPI_SUCCESS;
}

bool ArgumentCheck::can_receive(const Block& block) const {
    if (block.data == MPI_IN_PLACE) return false;
    if (!is_looked_at(block.count)) return true;
    return PMPI_Recv(block.room(), block.count, block.type, MPI_PROC_NULL, any_tag_will_do,
                     asked_on_, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

/// All blocks have the same type, so one with data stands for all that are not empty.
bool ArgumentCheck::can_transfer(const void* start, const int* counts, const int* displs,
                                 MPI_Datatype type, const auto& can) const {
    if (counts == nullptr || displs == nullptr) return false;
    int one_of_them = 0;
    for (int rank = 0; rank < place_.ranks; ++rank) {
        if (counts[rank] < 0) return false;
        if (counts[rank] > 0) one_of_them = counts[rank];
    }
    return can(Block{start, one_of_them, type});
}

bool ArgumentCheck::can_transfer(const void* start, const int* counts, const int* displs,
                                 const MPI_Datatype* types, const auto& can) const {
    if (counts == nullptr || displs == nullptr || types == nullptr) return false;
    for (int rank = 0; rank < place_.ranks; ++rank) {
        if (counts[rank] < 0 || !can(Block{start, counts[rank], types[rank]})) return false;
    }
    return true;
}

bool ArgumentCheck::can_send(const void* start, const int* counts, const int* displs,
                             MPI_Datatype type) const {
    return can_transfer(start, counts, displs, type,
                        [&](const Block& block) { return can_send(block); });
}

bool ArgumentCheck::can_receive(void* start, const int* counts, const int* displs,
                                MPI_Datatype type) const {
    return can_transfer(start, counts, displs, type,
                        [&](const Block& block) { return can_receive(block); });
}

bool ArgumentCheck::can_send(const void* start, const int* counts, const int* displs,
                             const MPI_Datatype* types) const {
    return can_transfer(start, counts, displs, types,
                        [&](const Block& block) { return can_send(block); });
}

bool ArgumentCheck::can_receive(void* start, const int* counts, const int* displs,
                                const MPI_Datatype* types) const {
    return can_transfer(start, counts, displs, types,
                        [&](const Block& block) { return can_receive(block); });
}

bool ArgumentCheck::fit_together(const Block& sent, const Block& received) {
    return !is_open_mpi() || message_bytes(sent.count, sent.type) ==
                               message_bytes(received.count, received.type);
}

}  // namespace headway::glue
