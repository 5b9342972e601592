// SPDX-License-Identifier: MIT
#include "by_hand.hpp"

#include <exception>

#include "helper.hpp"
#include "notice.hpp"
#include "own_algorithms.hpp"
#include "pattern_player.hpp"
#include "real.hpp"
#include "sending_rate.hpp"

namespace headway::glue::by_hand {
namespace {

/// A rank without the memory for it does not join the others, who go on without the library, too.
void with_helper(const auto& step) noexcept try {
    step(helper());
} catch (const std::exception&) {
    say("not pacing: no memory");
}

int around_init(const auto& init) {
    with_helper([](Helper& own) { own.before_init(); });
    const int status = init();
    with_helper([](Helper& own) { own.after_init(); });
    return status;
}

/// `end` is given the handle, which it may change.
int around_end(MPI_Comm* comm, const auto& end) {
    const MPI_Comm ended = comm != nullptr ? *comm : MPI_COMM_NULL;
    const int status = end(comm);
    if (status == MPI_SUCCESS) sending_rate().forget(ended);
    return status;
}

}  // namespace

int Init(int* argc, char*** argv) {
    return around_init([&] { return real::Init(argc, argv); });
}

int Init_thread(int* argc, char*** argv, int required, int* provided) {
    return around_init([&] { return real::Init_thread(argc, argv, required, provided); });
}

int Comm_create_errhandler(MPI_Comm_errhandler_function* function, MPI_Errhandler* handler) {
    OwnAlgorithms::expect_jumps();
    return real::Comm_create_errhandler(function, handler);
}

int Comm_set_info(MPI_Comm comm, MPI_Info info) {
    const int status = real::Comm_set_info(comm, info);
    if (status == MPI_SUCCESS) sending_rate().set(comm, info);
    return status;
}

int Comm_get_info(MPI_Comm comm, MPI_Info* info) {
    const int status = real::Comm_get_info(comm, info);
    if (status == MPI_SUCCESS) sending_rate().add_to(*info, comm);
    return status;
}

int Comm_free(MPI_Comm* comm) { return around_end(comm, real::Comm_free); }

int Comm_disconnect(MPI_Comm* comm) { return around_end(comm, real::Comm_disconnect); }

int Pcontrol(int level) {
    pattern_player().enter_phase(level);
    return real::Pcontrol(level);
}

}  // namespace headway::glue::by_hand
