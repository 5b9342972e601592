// SPDX-License-Identifier: MIT
// Who sent how much to whom, for `headway record`: counted from the arguments of
// sends and collectives while HEADWAY_RECORD names a file, which rank 0 writes
// when MPI is finalised.  It is a library of its own, which the preload opens instead
// of the one that paces: nothing is paced meanwhile, and pacing wraps no sends.
//
// Counted apart are the phases that the program marks with MPI_Pcontrol(level),
// 0 before the first; and in each phase its point-to-point messages and each of
// its collective operations.  Of a collective it is the messages that it means
// (call_messages.hpp).  Not counted: one-sided transfers.  Left out, but the file
// says how many: sends and collectives over intercommunicators, messages to ranks
// of other jobs.  What the file looks like: headway-formats(5).
#pragma once

#include <mpi.h>

#include <atomic>
#include <exception>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "record/call_messages.hpp"
#include "message_size.hpp"
#include "operation.hpp"

namespace headway::glue {

class Recorder {
public:
    /// MPI has been initialised.  Collective over MPI_COMM_WORLD if on.
    void begin() noexcept;

    void sent(MPI_Comm communicator, int to, int count, MPI_Datatype type) noexcept {
        if (on_) add(point_to_point, communicator, to, message_bytes(count, type));
    }

    void collective(Operation operation, MPI_Comm communicator, const auto& messages) noexcept try {
        if (!on_ || leaves_out(communicator)) return;
        messages([&](int to, std::uint64_t bytes) {
            add(static_cast<int>(operation), communicator, to, bytes);
        });
    } catch (const std::exception&) {
        ++left_out_;
    }

    /// Persistent requests: counted at each start.
    void prepared(MPI_Request request, MPI_Comm communicator, int to, int count,
                  MPI_Datatype type) noexcept {
        if (on_) keep(request, communicator, to, message_bytes(count, type));
    }
    void started(MPI_Request request) noexcept;
    void forget(MPI_Request request) noexcept;

    void enter_phase(int level) noexcept;
    /// Counts a call of which nothing else is recorded.
    void leave_out() noexcept { ++left_out_; }

private:
    static constexpr int point_to_point = -1;  ///< beside the values of Operation

    struct Flow {
        std::uint64_t bytes = 0;
        std::uint64_t messages = 0;
    };
    using Key = std::tuple<int, int, int>;  ///< phase, operation, destination in the world
    struct Kept {
        int to;
        std::uint64_t bytes;
    };

    [[nodiscard]] bool leaves_out(MPI_Comm communicator) noexcept;
    [[nodiscard]] std::optional<int> world_rank(MPI_Comm communicator, int rank);
    [[nodiscard]] const std::vector<int>* world_ranks_of(MPI_Comm communicator);
    void add(int operation, MPI_Comm communicator, int to, std::uint64_t bytes) noexcept;
    void count(int operation, int to, std::uint64_t bytes);
    void keep(MPI_Request request, MPI_Comm communicator, int to, std::uint64_t bytes) noexcept;

    void finish() noexcept;
    [[nodiscard]] std::string own_flows() const;
    void write(const std::vector<std::string>& flows_of_rank, std::int64_t left_out) const;
    static int end_of_mpi(MPI_Comm, int, void*, void* recorder);
    static int forget_communicator(MPI_Comm, int, void* value, void*);

    bool on_ = false;
    std::atomic<std::int64_t> left_out_{0};
    std::string file_;
    std::vector<std::string> hosts_;  ///< of each rank
    int ranks_key_ = MPI_KEYVAL_INVALID;
    int finalize_key_ = MPI_KEYVAL_INVALID;
    MPI_Group world_ = MPI_GROUP_NULL;

    std::mutex mutex_;  ///< guards what follows
    int phase_ = 0;
    std::map<Key, Flow> flows_;
    std::unordered_map<MPI_Request, Kept> kept_;
};

/// See the_only(), short_memory.hpp.
[[nodiscard]] Recorder& recorder();

}  // namespace headway::glue
