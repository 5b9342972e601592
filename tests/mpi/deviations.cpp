// SPDX-License-Identifier: Apache-2.0
// The rule that a rank's arguments change what it returns, never whether it takes part, as a model: every operation that
// the helper may carry out, every way in which one rank may deviate from the others, every such rank, at the first call on
// a communicator and at a later one.
//
//   deviations [--alone | --memory] OPERATION...
//
// prints for each  OPERATION, DEVIATION, rank R, first|later: CLASS CLASS ... next right
// with the class of error that each rank's call returned, and whether the next call of all ranks is right.  Where the MPI
// library refuses the deviating rank's arguments at once, --alone has that rank call alone and prints its class for all
// to compare: "-" at the other ranks, for which nothing is said.  --memory: the deviation is that an allocation of the
// helper fails, each that it makes in the call (pending_spy.c is preloaded).  A case that hangs is named on standard error.
#include <dlfcn.h>
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int count = 4096;  // ints of a rank for another one, half of which are large, too
constexpr unsigned hangs_after_s = 150;
int own, ranks;
bool alone;
MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
std::string running;

using Ints = std::vector<int>;

int value(int from, int to, int at) { return from * 1000003 + to * 10007 + at; }

/// The arguments of every operation; a deviation changes some.
struct Arguments {
    int send_count = count, receive_count = count, root = 0;
    Ints send_counts, receive_counts, displs, byte_displs;
    std::vector<MPI_Datatype> send_types, receive_types;
    MPI_Datatype send_type = MPI_INT, receive_type = MPI_INT;
    Ints sent, received;
    const void* send = nullptr;
    void* receive = nullptr;
    MPI_Comm comm = MPI_COMM_NULL;

    explicit Arguments(MPI_Comm its_comm) : comm(its_comm) {
        for (int peer = 0; peer < ranks; ++peer) {
            displs.push_back(peer * 2 * count);
            byte_displs.push_back(displs.back() * static_cast<int>(sizeof(int)));
        }
        set_counts(count, count);
        set_types(MPI_INT, MPI_INT);
        sent.resize(static_cast<std::size_t>(2 * count * ranks));
        received.resize(sent.size());
        send = sent.data();
        receive = received.data();
    }
    void set_counts(int sends, int receives) {
        send_count = sends;
        receive_count = receives;
        send_counts.assign(static_cast<std::size_t>(ranks), sends);
        receive_counts.assign(static_cast<std::size_t>(ranks), receives);
    }
    void set_types(MPI_Datatype sends, MPI_Datatype receives) {
        send_type = sends;
        receive_type = receives;
        send_types.assign(static_cast<std::size_t>(ranks), sends);
        receive_types.assign(static_cast<std::size_t>(ranks), receives);
    }
};

// ---- operations ----------------------------------------------------------------------

/// How far apart the blocks of a buffer are, in ints: operations without displacements have them side by side.
enum class Place { side_by_side, listed };
enum class Result { exchanged, at_root, from_root, gathered, broadcast };

struct Operation {
    const char* name;
    int (*call)(Arguments& a);
    Place place;
    Result result;
    bool has_root;
};

const Operation operations[] = {
    {"alltoall", [](Arguments& a) {
         return MPI_Alltoall(a.send, a.send_count, a.send_type, a.receive, a.receive_count, a.receive_type, a.comm);
     }, Place::side_by_side, Result::exchanged, false},
    {"alltoallv", [](Arguments& a) {
         return MPI_Alltoallv(a.send, a.send_counts.data(), a.displs.data(), a.send_type, a.receive, a.receive_counts.data(),
                              a.displs.data(), a.receive_type, a.comm);
     }, Place::listed, Result::exchanged, false},
    {"alltoallw", [](Arguments& a) {
         return MPI_Alltoallw(a.send, a.send_counts.data(), a.byte_displs.data(), a.send_types.data(), a.receive,
                              a.receive_counts.data(), a.byte_displs.data(), a.receive_types.data(), a.comm);
     }, Place::listed, Result::exchanged, false},
    {"gather", [](Arguments& a) {
         return MPI_Gather(a.send, a.send_count, a.send_type, a.receive, a.receive_count, a.receive_type, a.root, a.comm);
     }, Place::side_by_side, Result::at_root, true},
    {"gatherv", [](Arguments& a) {
         return MPI_Gatherv(a.send, a.send_count, a.send_type, a.receive, a.receive_counts.data(), a.displs.data(),
                            a.receive_type, a.root, a.comm);
     }, Place::listed, Result::at_root, true},
    {"scatter", [](Arguments& a) {
         return MPI_Scatter(a.send, a.send_count, a.send_type, a.receive, a.receive_count, a.receive_type, a.root, a.comm);
     }, Place::side_by_side, Result::from_root, true},
    {"scatterv", [](Arguments& a) {
         return MPI_Scatterv(a.send, a.send_counts.data(), a.displs.data(), a.send_type, a.receive, a.receive_count,
                             a.receive_type, a.root, a.comm);
     }, Place::listed, Result::from_root, true},
    {"allgather", [](Arguments& a) {
         return MPI_Allgather(a.send, a.send_count, a.send_type, a.receive, a.receive_count, a.receive_type, a.comm);
     }, Place::side_by_side, Result::gathered, false},
    {"allgatherv", [](Arguments& a) {
         return MPI_Allgatherv(a.send, a.send_count, a.send_type, a.receive, a.receive_counts.data(), a.displs.data(),
                               a.receive_type, a.comm);
     }, Place::listed, Result::gathered, false},
    {"bcast", [](Arguments& a) { return MPI_Bcast(a.receive, a.receive_count, a.receive_type, a.root, a.comm); },
     Place::side_by_side, Result::broadcast, true},
};

/// Between the beginnings of two blocks.
int stride(const Operation& operation) { return operation.place == Place::listed ? 2 * count : count; }

void fill(const Operation& operation, Arguments& a) {
    for (int to = 0; to < ranks; ++to) {
        for (int at = 0; at < count; ++at)
            a.sent[static_cast<std::size_t>(to * stride(operation) + at)] = value(own, to, at);
    }
    if (operation.result != Result::broadcast) return;
    for (int at = 0; at < count && own == a.root; ++at) a.received[static_cast<std::size_t>(at)] = value(own, 0, at);
}

bool is_block(const Operation& operation, const Arguments& a, int block, int from, int to) {
    for (int at = 0; at < count; ++at) {
        if (a.received[static_cast<std::size_t>(block * stride(operation) + at)] != value(from, to, at)) return false;
    }
    return true;
}

bool is_right(const Operation& operation, const Arguments& a) {
    const bool has_all = operation.result == Result::exchanged || operation.result == Result::gathered ||
                         (operation.result == Result::at_root && own == a.root);
    for (int from = 0; has_all && from < ranks; ++from) {
        const int to = operation.result == Result::exchanged ? own : 0;
        if (!is_block(operation, a, from, from, to)) return false;
    }
    if (operation.result == Result::from_root) return is_block(operation, a, 0, a.root, own);
    return operation.result != Result::broadcast || is_block(operation, a, 0, a.root, 0);
}

bool call_right(const Operation& operation, MPI_Comm comm) {
    Arguments a(comm);
    fill(operation, a);
    return operation.call(a) == MPI_SUCCESS && is_right(operation, a);
}

// ---- deviations ----------------------------------------------------------------------

struct Deviation {
    const char* name;
    void (*change)(Arguments& a);
    bool is_refused;  ///< by the MPI library, at once
    bool needs_root;
    bool is_small;  ///< so that no plan is asked for
};

const Deviation deviations[] = {
    {"negative count", [](Arguments& a) { a.set_counts(-1, -1); }, true, false, true},
    {"no type", [](Arguments& a) { a.set_types(MPI_DATATYPE_NULL, MPI_DATATYPE_NULL); }, true, false, true},
    {"uncommitted type", [](Arguments& a) { a.set_types(uncommitted, uncommitted); }, true, false, false},
    {"root beyond", [](Arguments& a) { a.root = ranks; }, true, true, true},
    {"root below", [](Arguments& a) { a.root = -7; }, true, true, true},
    {"half of it", [](Arguments& a) { a.set_counts(count / 2, count / 2); }, false, false, false},
    {"another class of size", [](Arguments& a) { a.set_counts(4, 4); }, false, false, true},
    {"nothing", [](Arguments& a) { a.set_counts(0, 0); }, false, false, true},
    {"twice as much", [](Arguments& a) { a.set_counts(2 * count, 2 * count); }, false, false, false},
    {"bytes", [](Arguments& a) { a.set_counts(count * 4, count * 4), a.set_types(MPI_BYTE, MPI_BYTE); }, false, false, false},
    {"late", [](Arguments&) { usleep(20'000); }, false, false, false},
};

/// Leaves out deviations by which the libraries themselves crash.
bool is_possible(const Operation& operation, const Deviation& deviation) {
    if (deviation.needs_root && !operation.has_root) return false;
    const bool is_uncommitted = std::strcmp(deviation.name, "uncommitted type") == 0;
    return !(is_uncommitted && operation.result == Result::from_root);
}

/// Rank 0 asks for the plan when ranks agree, by its own arguments: of such a first call the MPI library's algorithm
/// comes, in which the other ranks would wait.
bool is_the_library_s(const Operation& operation, const Deviation& deviation, int deviating, bool is_first) {
    const bool sizes_agree = operation.place == Place::side_by_side || operation.result == Result::gathered;
    return is_first && deviating == 0 && deviation.is_small && (sizes_agree || deviation.needs_root);
}

int class_of(int status) {
    int error_class = MPI_SUCCESS;
    if (status != MPI_SUCCESS) MPI_Error_class(status, &error_class);
    return error_class;
}

void print(const std::string& name, int error_class, bool is_next_right) {
    int mine[2] = {error_class, is_next_right ? 1 : 0};
    Ints all(static_cast<std::size_t>(2 * ranks));
    MPI_Gather(mine, 2, MPI_INT, all.data(), 2, MPI_INT, 0, MPI_COMM_WORLD);
    if (own != 0) return;
    std::printf("%s:", name.c_str());
    bool all_right = true;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
        if (all[2 * rank] < 0) std::printf(" -");
        else std::printf(" %d", all[2 * rank]);
        all_right = all_right && all[2 * rank + 1] != 0;
    }
    std::printf(" next %s\n", all_right ? "right" : "wrong");
    std::fflush(stdout);
}

/// A new communicator; `right`: the calls on it so far.
MPI_Comm begin_case(const Operation& operation, const std::string& deviation, int deviating, bool is_first, bool& right) {
    running = std::string(operation.name) + ", " + deviation + ", rank " + std::to_string(deviating) +
              (is_first ? ", first" : ", later");
    alarm(hangs_after_s);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    right = true;
    for (int turn = 0; !is_first && turn < 3; ++turn) right = call_right(operation, comm) && right;
    return comm;
}

void end_case(const Operation& operation, MPI_Comm comm, int error_class, bool right) {
    right = call_right(operation, comm) && right;
    print(running, error_class, right);
    MPI_Comm_free(&comm);
    alarm(0);
}

void try_one(const Operation& operation, const Deviation& deviation, int deviating, bool is_first) {
    bool right = true;
    MPI_Comm comm = begin_case(operation, deviation.name, deviating, is_first, right);
    Arguments a(comm);
    fill(operation, a);
    int error_class = -1;
    if (own == deviating) deviation.change(a);
    if (own == deviating || !alone) error_class = class_of(operation.call(a));
    if (deviation.is_refused && own != deviating) error_class = -1;
    end_case(operation, comm, error_class, right);
}

/// The functions of pending_spy.c.
struct Spy {
    void (*at)(long) = reinterpret_cast<void (*)(long)>(dlsym(RTLD_DEFAULT, "spy_at"));
    long (*counted)() = reinterpret_cast<long (*)()>(dlsym(RTLD_DEFAULT, "spy_counted"));
};

/// Whether the call made so many allocations.
bool try_allocation(const Spy& spy, const Operation& operation, long which, int deviating, bool is_first) {
    bool right = true;
    MPI_Comm comm = begin_case(operation, "allocation " + std::to_string(which), deviating, is_first, right);
    Arguments a(comm);
    fill(operation, a);
    spy.at(own == deviating ? which : 0);
    const int error_class = class_of(operation.call(a));
    long made = spy.counted();
    spy.at(0);
    MPI_Bcast(&made, 1, MPI_LONG, deviating, MPI_COMM_WORLD);
    end_case(operation, comm, error_class, right && (error_class != MPI_SUCCESS || is_right(operation, a)));
    return made >= which;
}

void try_operation(const Operation& operation, bool by_memory) {
    for (int deviating = 0; deviating < ranks; ++deviating) {
        for (const bool is_first : {true, false}) {
            for (const Deviation& deviation : deviations) {
                if (by_memory || !is_possible(operation, deviation) || (alone && !deviation.is_refused)) continue;
                if (!is_the_library_s(operation, deviation, deviating, is_first))
                    try_one(operation, deviation, deviating, is_first);
            }
            const Spy spy;
            long which = 1;
            while (by_memory && try_allocation(spy, operation, which, deviating, is_first)) ++which;
        }
    }
}

void hung(int) {
    const std::string line = "rank " + std::to_string(own) + " hangs in: " + running + "\n";
    if (write(STDERR_FILENO, line.data(), line.size()) < 0) _exit(4);
    _exit(3);
}

bool is_wanted(int argc, char** argv, const char* name) {
    for (int at = 1; at < argc; ++at) {
        if (std::strcmp(argv[at], name) == 0) return true;
    }
    return false;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_vector(count, 1, 2, MPI_INT, &uncommitted);
    std::signal(SIGALRM, hung);
    alone = is_wanted(argc, argv, "--alone");
    for (const Operation& operation : operations) {
        if (is_wanted(argc, argv, operation.name)) try_operation(operation, is_wanted(argc, argv, "--memory"));
    }
    MPI_Type_free(&uncommitted);
    MPI_Finalize();
    return 0;
}
