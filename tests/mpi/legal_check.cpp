// SPDX-License-Identifier: Apache-2.0
// Calls that MPI allows, or that MPI libraries forgive, and few programs make; checks all data.
//
//   legal_check bottom       a broadcast of MPI_BOTTOM and a type of absolute addresses at the root, at the
//                            other ranks, and at every second rank
//   legal_check idup         an all-to-all while a copy of the communicator is being made
//   legal_check one-buffer   an alltoallv and a gatherv that send from and receive to parts of one array, at one rank
//   legal_check room         a broadcast for which rank 1 has more room than the root sends; a gather whose root
//                            gives itself less than its place holds
//   legal_check one-block    an allgatherv for which only rank 0 has anything
//   legal_check more-room    the class of the error, if any, at a rank with more room than a broadcast's root sends
//   legal_check refused, refused-jump, refused-throw, refused-count   rank 0's small alltoalls are refused at times, which
//                            returns an error, or its error handler jumps, throws or counts; then it makes the right call
//   legal_check refused-half   small and large alltoalls, of which one is refused at the last rank
//   legal_check jump         rank 0's error handler leaves a truncated alltoallv by longjmp(); then 40 right ones
//   legal_check throw        the same by an exception
//   legal_check handler      how often the program's handler hears of a broadcast on a freed communicator
//   legal_check unfreed      six communicators that are not freed before MPI_Finalize
//   legal_check revoked      an alltoall on a communicator that rank 0 revokes instead (ULFM, Open MPI 5)
//   legal_check memory BYTES in place, an alltoall of so many bytes a rank in all; prints the most memory used beside
#include <dlfcn.h>
#include <mpi.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using Ints = std::vector<int>;

constexpr int count = 8192;  // of a rank for another one
int own, ranks;

int value(int from, int to, int at) { return from * 1000003 + to * 10007 + at; }

void require(bool is_right, const char* what) {
    if (is_right) return;
    std::printf("rank %d: wrong: %s\n", own, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

Ints filled(int from, int to) {
    Ints block(count);
    for (int at = 0; at < count; ++at) block[static_cast<std::size_t>(at)] = value(from, to, at);
    return block;
}

bool is_block(const int* block, int from, int to) {
    for (int at = 0; at < count; ++at) {
        if (block[at] != value(from, to, at)) return false;
    }
    return true;
}

MPI_Datatype absolute(const Ints& data) {
    MPI_Aint address = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int length = count;
    MPI_Get_address(data.data(), &address);
    MPI_Type_create_hindexed(1, &length, &address, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

void bottom(const char*) {
    constexpr int root = 1;
    const std::function<bool()> ways[] = {[] { return own == root; }, [] { return own != root; },
                                          [] { return own % 2 == 0; }, [] { return true; }};
    for (const auto& is_absolute : ways) {
        Ints data = own == root ? filled(root, 0) : Ints(count);
        MPI_Datatype type = absolute(data);
        const int status = is_absolute() ? MPI_Bcast(MPI_BOTTOM, 1, type, root, MPI_COMM_WORLD)
                                         : MPI_Bcast(data.data(), count, MPI_INT, root, MPI_COMM_WORLD);
        require(status == MPI_SUCCESS && is_block(data.data(), root, 0), "broadcast");
        MPI_Type_free(&type);
    }
}

Ints all_blocks() {
    Ints blocks;
    for (int to = 0; to < ranks; ++to) {
        const Ints block = filled(own, to);
        blocks.insert(blocks.end(), block.begin(), block.end());
    }
    return blocks;
}

void require_blocks(const int* received, const char* what) {
    for (int from = 0; from < ranks; ++from) require(is_block(received + from * count, from, own), what);
}

void idup(const char*) {
    const Ints sent = all_blocks();
    for (int turn = 0; turn < 30; ++turn) {
        Ints received(sent.size());
        MPI_Comm work = MPI_COMM_NULL, copy = MPI_COMM_NULL;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &work);
        MPI_Comm_idup(work, &copy, &request);
        MPI_Alltoall(sent.data(), count, MPI_INT, received.data(), count, MPI_INT, work);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        require_blocks(received.data(), "all-to-all");
        MPI_Comm_free(&copy);
        MPI_Comm_free(&work);
    }
}

void one_buffer(const char*) {
    Ints counts(static_cast<std::size_t>(ranks), count), other_counts = counts, displs, behind;
    for (int rank = 0; rank < ranks; ++rank) displs.push_back(rank * count);
    const bool has_one = own == 0;
    for (const int displ : displs) behind.push_back(displ + (has_one ? ranks * count : 0));
    for (int turn = 0; turn < 3; ++turn) {
        Ints array = all_blocks(), other(array.size());
        array.resize(2 * array.size());
        int* const to = has_one ? array.data() : other.data();
        MPI_Alltoallv(array.data(), counts.data(), displs.data(), MPI_INT, to, other_counts.data(), behind.data(), MPI_INT,
                      MPI_COMM_WORLD);
        require_blocks(to + behind[0], "alltoallv");

        Ints gathered = filled(own, 0);
        Ints places;
        for (int rank = 0; rank < ranks; ++rank) places.push_back((rank + 1) * count);
        gathered.resize(static_cast<std::size_t>((ranks + 1) * count));
        MPI_Gatherv(gathered.data(), count, MPI_INT, gathered.data(), counts.data(), places.data(), MPI_INT, 0,
                    MPI_COMM_WORLD);
        for (int from = 0; own == 0 && from < ranks; ++from)
            require(is_block(gathered.data() + places[static_cast<std::size_t>(from)], from, 0), "gatherv");
    }
}

void room(const char*) {
    for (int turn = 0; turn < 40; ++turn) {
        Ints data = own == 0 ? filled(0, 0) : Ints(2 * count);
        MPI_Bcast(data.data(), own == 1 ? 2 * count : count, MPI_INT, 0, MPI_COMM_WORLD);
        require(is_block(data.data(), 0, 0), "broadcast");
#ifdef OPEN_MPI  // MPICH refuses that at the root, and the others wait for ever
        const Ints sent = filled(own, 0);
        Ints gathered(static_cast<std::size_t>(ranks * count));
        MPI_Gather(sent.data(), own == 0 ? count / 2 : count, MPI_INT, gathered.data(), count, MPI_INT, 0, MPI_COMM_WORLD);
        for (int from = 1; own == 0 && from < ranks; ++from)
            require(is_block(gathered.data() + from * count, from, 0), "gather");
#endif
    }
}

/// Prints the class of the error, if any, at a rank that has room for more than the root sends.
void more_room(const char*) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    std::map<int, int> classes;
    for (int turn = 0; turn < 40; ++turn) {
        Ints data = own == 0 ? filled(0, 0) : Ints(2 * count);
        const int status = MPI_Bcast(data.data(), own == 1 ? 2 * count : count, MPI_INT, 0, MPI_COMM_WORLD);
        require(is_block(data.data(), 0, 0), "broadcast");
        int error_class = 0;
        MPI_Error_class(status, &error_class);
        ++classes[error_class];
    }
    require(own == 1 || (classes.size() == 1 && classes.count(MPI_SUCCESS) == 1), "an error where there is none");
    std::array<int, 2> found{static_cast<int>(classes.size()), classes.begin()->first};
    if (own == 1) MPI_Send(found.data(), 2, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (own == 0) MPI_Recv(found.data(), 2, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (own == 0) std::printf("%d classes, of which one is %d\n", found[0], found[1]);
}

/// Gives only the first rank a block.
void one_block(const char*) {
    constexpr int large = 16384;
    Ints counts(static_cast<std::size_t>(ranks), 0), displs(counts);
    counts[0] = large;
    for (int turn = 0; turn < 3; ++turn) {
        const Ints sent(large, turn);
        Ints received(large, -1);
        MPI_Allgatherv(sent.data(), counts[static_cast<std::size_t>(own)], MPI_INT, received.data(), counts.data(), displs.data(),
                       MPI_INT, MPI_COMM_WORLD);
        require(received == sent, "allgatherv");
    }
}

// ---- handlers ------------------------------------------------------------------------

std::jmp_buf before_call;
int heard;

void jumps(MPI_Comm*, int*, ...) { std::longjmp(before_call, 1); }
void throws(MPI_Comm*, int*, ...) { throw 1; }
void counts(MPI_Comm*, int*, ...) { ++heard; }

MPI_Comm handled(MPI_Comm_errhandler_function* function) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_create_errhandler(function, &handler);
    MPI_Comm_set_errhandler(copy, handler);
    MPI_Errhandler_free(&handler);
    return copy;
}

void exchange(MPI_Comm comm, bool is_truncated, Ints& received) {
    const Ints sent = all_blocks();
    Ints counts(static_cast<std::size_t>(ranks), count), other_counts = counts, displs;
    for (int rank = 0; rank < ranks; ++rank) displs.push_back(rank * count);
    if (is_truncated && own == 0) other_counts[1] = count / 2;
    MPI_Alltoallv(sent.data(), counts.data(), displs.data(), MPI_INT, received.data(), other_counts.data(), displs.data(),
                  MPI_INT, comm);
}

void right_ones(MPI_Comm comm) {
    for (int turn = 0; turn < 40; ++turn) {
        Ints received(static_cast<std::size_t>(ranks * count));
        exchange(comm, false, received);
        require_blocks(received.data(), "alltoallv");
    }
}

void jump(const char*) {
    const MPI_Comm comm = handled(jumps);
    static Ints received;  // what is left by a jump must have no destructor
    received.resize(static_cast<std::size_t>(ranks * count));
    if (setjmp(before_call) == 0) {
        exchange(comm, true, received);
        require(own != 0, "nothing was heard of a truncation");
    }
    right_ones(comm);
}

/// Rank 0's counts are refused at times; then it makes the call that the others wait for.
void refused_on(MPI_Comm comm) {
    static int turn, refusals;  // what is left by a jump is static
    static Ints sent, received;
    for (; turn < 200; ++turn) {
        sent.assign(static_cast<std::size_t>(ranks), 1000 * turn + own);
        received.assign(static_cast<std::size_t>(ranks), -1);
        if (own == 0 && turn % 3 == 0 && setjmp(before_call) == 0) {
            try {
                const int status = MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), -1, MPI_INT, comm);
                require(status != MPI_SUCCESS, "nothing was heard of a count below 0");
            } catch (int) {
            }
        }
        refusals += own == 0 && turn % 3 == 0 ? 1 : 0;
        MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, comm);
        for (int from = 0; from < ranks; ++from)
            require(received[static_cast<std::size_t>(from)] == 1000 * turn + from, "a small alltoall");
    }
    require(refusals == (own == 0 ? 67 : 0), "the refusals");
}

void refused_jump(const char*) { refused_on(handled(jumps)); }
void refused_throw(const char*) { refused_on(handled(throws)); }
void refused_count(const char*) { refused_on(handled(counts)); }
void refused(const char*) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    refused_on(MPI_COMM_WORLD);
}

/// Just half of the calls between two agreements are large, and the last rank has one more, which
/// is refused.
void refused_half(const char*) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    constexpr int large = 4096;
    Ints sent(static_cast<std::size_t>(ranks * large)), received(sent.size());
    for (int turn = 0; turn < 40; ++turn) {
        const int each = turn < 3 ? 1 : large;  // ranks agree at the first and the fifth
        std::fill(sent.begin(), sent.end(), 1000 * turn + own);
        if (turn == 1 && own == ranks - 1)
            require(MPI_Alltoall(sent.data(), 1, MPI_INT, received.data(), -1, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS,
                    "nothing was heard of a count below 0");
        MPI_Alltoall(sent.data(), each, MPI_INT, received.data(), each, MPI_INT, MPI_COMM_WORLD);
        for (int from = 0; from < ranks; ++from)
            require(received[static_cast<std::size_t>(from * each)] == 1000 * turn + from, "an alltoall");
    }
}

void throw_one(const char*) {
    const MPI_Comm comm = handled(throws);
    Ints received(static_cast<std::size_t>(ranks * count));
    bool is_caught = false;
    try {
        exchange(comm, true, received);
    } catch (int) {
        is_caught = true;
    }
    require(is_caught == (own == 0), "an exception");
    right_ones(comm);
}

void handler(const char*) {
    MPI_Errhandler counting = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(counts, &counting);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
    MPI_Comm freed = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    MPI_Comm copy = freed;
    Ints data = filled(0, 0);
    MPI_Bcast(data.data(), count, MPI_INT, 0, freed);
    MPI_Comm_free(&copy);
    MPI_Bcast(data.data(), count, MPI_INT, 0, freed);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    std::printf("rank %d heard %d\n", own, heard);
}

// ---- others --------------------------------------------------------------------------

void unfreed(const char*) {
    const Ints sent = all_blocks();
    Ints received(sent.size());
    for (int turn = 0; turn < 6; ++turn) {
        MPI_Comm copy = MPI_COMM_NULL;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Alltoall(sent.data(), count, MPI_INT, received.data(), count, MPI_INT, copy);
        require_blocks(received.data(), "alltoall");
    }
}

void revoked(const char*) {
    const auto revoke = reinterpret_cast<int (*)(MPI_Comm)>(dlsym(RTLD_DEFAULT, "MPIX_Comm_revoke"));
    const Ints sent = all_blocks();
    Ints received(sent.size());
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    for (int turn = 0; turn < 3; ++turn)
        MPI_Alltoall(sent.data(), count, MPI_INT, received.data(), count, MPI_INT, copy);
    require(revoke != nullptr, "this MPI library has no MPIX_Comm_revoke");
    const int status = own == 0 ? revoke(copy)
                                : MPI_Alltoall(sent.data(), count, MPI_INT, received.data(), count, MPI_INT, copy);
    require((status == MPI_SUCCESS) == (own == 0), "the status of a revoked communicator's call");
    MPI_Comm_free(&copy);
}

long most_kib() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
}

void memory(const char* bytes) {
    const auto block = static_cast<std::size_t>(std::atoll(bytes)) / static_cast<std::size_t>(ranks);
    std::vector<char> buffer(block * static_cast<std::size_t>(ranks));
    for (int to = 0; to < ranks; ++to) std::memset(buffer.data() + static_cast<std::size_t>(to) * block, 16 * own + to, block);
    const long before = most_kib();
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_BYTE, buffer.data(), static_cast<int>(block), MPI_BYTE, MPI_COMM_WORLD);
    long more = most_kib() - before, most = 0;
    for (int from = 0; from < ranks; ++from) {
        const char* const place = buffer.data() + static_cast<std::size_t>(from) * block;
        require(place[0] == 16 * from + own && std::memcmp(place, place + 1, block - 1) == 0, "alltoall in place");
    }
    MPI_Reduce(&more, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (own == 0) std::printf("%ld KiB more\n", most);
}

}  // namespace

int main(int argc, char** argv) {
    const std::map<std::string, void (*)(const char*)> all{
        {"bottom", bottom}, {"idup", idup},     {"one-buffer", one_buffer}, {"room", room}, {"more-room", more_room}, {"one-block", one_block},      {"jump", jump},
        {"refused", refused}, {"refused-jump", refused_jump}, {"refused-throw", refused_throw},
        {"refused-count", refused_count}, {"refused-half", refused_half},
        {"throw", throw_one}, {"handler", handler}, {"unfreed", unfreed},     {"memory", memory},
        {"revoked", revoked}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const auto found = all.find(argc > 1 ? argv[1] : "");
    if (found == all.end()) MPI_Abort(MPI_COMM_WORLD, 2);
    found->second(argc > 2 ? argv[2] : "");
    if (own == 0) std::puts("all data right");
    MPI_Finalize();
    return 0;
}
