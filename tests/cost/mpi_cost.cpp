// SPDX-License-Identifier: Apache-2.0
// What the MPI helper costs each call, from the program's call of MPI_X over the preload's
// trampoline and the wrapper to the store that enters a phase, and back.  MPI functions
// themselves do nothing (stub_mpi.c), and the daemon is a scripted one in another thread.
//
//   mpi_cost communicators COUNT...
//
// The process has called a collective on COUNT communicators before.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "counted.hpp"
#include "unit/mpi_glue/scripted_daemon.hpp"

namespace headway::cost {
namespace {

using glue::test::Json;
using glue::test::ScriptedDaemon;

constexpr int long_bytes = 1 << 20;

char from[1], to[1];  // nobody looks at what is in them

void alltoall(MPI_Comm communicator) {
    MPI_Alltoall(from, long_bytes, MPI_CHAR, to, long_bytes, MPI_CHAR, communicator);
}

void small_alltoall(MPI_Comm communicator) { MPI_Alltoall(from, 1, MPI_INT, to, 1, MPI_INT, communicator); }

void gather(MPI_Comm communicator) {
    MPI_Gather(from, long_bytes, MPI_CHAR, to, long_bytes, MPI_CHAR, 1, communicator);
}

/// Else it would count what is no part of pacing.
void expect_pacing(const ScriptedDaemon& daemon) {
    if (daemon.asked("phase") > 0) return;
    std::fprintf(stderr, "mpi_cost: nothing was paced\n");
    std::exit(1);
}

void run(const ScriptedDaemon& daemon, const std::string& others, int number) {
    std::vector<MPI_Comm> communicators(static_cast<std::size_t>(number));
    for (MPI_Comm& one : communicators) {
        MPI_Comm_dup(MPI_COMM_WORLD, &one);
        for (int call = 0; call < 5; ++call) alltoall(one);  // ranks agree at the fifth and the thirteenth, which are not counted
    }
    expect_pacing(daemon);
    const std::string prefix = others + "/" + std::to_string(number) + "/";
    const MPI_Comm known = communicators.front();
    MPI_Comm quiet = MPI_COMM_NULL;  // that has small calls alone, and with these the library's own
    MPI_Comm_dup(MPI_COMM_WORLD, &quiet);
    constexpr int one_each[2]{1, 1}, displs[2]{0, 1};
    for (int call = 0; call < 5; ++call) {
        small_alltoall(quiet);
        MPI_Bcast(to, 1, MPI_INT, 0, quiet);
        MPI_Gather(from, 1, MPI_INT, to, 1, MPI_INT, 1, quiet);
        MPI_Alltoallv(from, one_each, displs, MPI_INT, to, one_each, displs, MPI_INT, quiet);
    }
    int value = 1, sum = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    for (const bool counts : {false, true}) {
        const auto counted = [&](const char* name, auto work) {
            counts ? count(prefix + name, work) : work();
        };
        counted("alltoall", [&] { alltoall(known); });
        counted("gather", [&] { gather(known); });
        counted("allreduce", [&] { MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, known); });
        counted("isend", [&] { MPI_Isend(&value, 1, MPI_INT, 1, 0, known, &request); });
        counted("wait", [&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
        counted("request_free", [&] { MPI_Request_free(&request); });
        counted("small", [&] { small_alltoall(quiet); });
        counted("small_bcast", [&] { MPI_Bcast(to, 1, MPI_INT, 0, quiet); });
        counted("small_gather", [&] { MPI_Gather(from, 1, MPI_INT, to, 1, MPI_INT, 1, quiet); });
        counted("small_alltoallv", [&] {
            MPI_Alltoallv(from, one_each, displs, MPI_INT, to, one_each, displs, MPI_INT, quiet);
        });
        counted("small_ialltoall", [&] { MPI_Ialltoall(from, 1, MPI_INT, to, 1, MPI_INT, quiet, &request); });
        counted("self", [&] { alltoall(MPI_COMM_SELF); });
    }
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    count(prefix + "first", [&] { alltoall(made); });
}

}  // namespace
}  // namespace headway::cost

int main(int argc, char** argv) {
    headway::glue::test::ScriptedDaemon daemon;
    daemon.start();
    setenv("HEADWAY_SOCKET", daemon.path().c_str(), 1);
    setenv("HEADWAY_TIMEOUT_MS", "60000", 1);
    setenv("HEADWAY_ALL_RANKS", "on", 1);  // no launcher is there to tell
    MPI_Init(&argc, &argv);
    for (int i = 2; i < argc; ++i) headway::cost::run(daemon, argv[1], std::atoi(argv[i]));
    return 0;
}
