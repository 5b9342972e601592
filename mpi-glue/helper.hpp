// SPDX-License-Identifier: MIT
// The library's one object per process: it joins MPI's calls and headwayd.
//
//   before_init   the MPI library's settings (library_environment.hpp)
//   after_init    the ranks find out whether all of them have this library; if so,
//                 they connect to their nodes' daemons, agree on whether anybody has
//                 one, learn each other's hosts, and rank 0 says in one line what
//                 came out
//   enter, leave  around each collective that is worth it
//   finalize      through a delete callback on MPI_COMM_SELF
//
// It never changes a job's outcome: any trouble ends in one line and in doing
// nothing until the daemon is back.  A child that the process forks does nothing
// at all, for the connection and the slot are its parent's.
//
// Threads: before_init and after_init run in the thread that initialises MPI;
// everything else may be called by any thread.
//
// Lock order.  PendingRequests, PatternPlayer, SendingRate and Reporter call the helper
// while they hold their own lock, and never each other; the helper's lock comes after
// theirs.  Under it only the session is called, and nothing of MPI.  The lock of channel.hpp guards numbers of its
// own: nobody takes another lock of ours under it, and MPI may call OwnAlgorithms back when a communicator is freed,
// under whatever lock MPI has.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "able_algorithm.hpp"
#include "host_table.hpp"
#include "job_planning.hpp"
#include "library_environment.hpp"
#include "notice.hpp"
#include "operation.hpp"
#include "session.hpp"
#include "settings.hpp"

namespace headway::glue {

/// The size that the helper asks the daemon for, when a call's messages have another one.
struct PlannedSize {
    std::uint64_t bytes = 0;
    bool is_between_hosts = false;  ///< see PatternKey
};

class Helper {
public:
    Helper();

    void before_init() noexcept;
    void after_init() noexcept;

    /// False for most collectives with messages so small that they are not paced: their
    /// pacing needs no lock and no look at the communicator.  Of small ones every 64th is
    /// true, so that what follows from entering (the daemon is gone, its answers do not
    /// hold any more) comes out in a job that has no others.
    [[nodiscard]] bool may_pace(std::uint64_t bytes) noexcept {
        if (bytes >= least_paced_bytes_.load(std::memory_order_relaxed)) return true;
        note_small_calls(1);
        if (small_calls_.load(std::memory_order_relaxed) < 64) return false;
        small_calls_.store(0, std::memory_order_relaxed);
        return true;
    }
    /// Counts calls that passed without may_pace(): so many at most.
    void note_small_calls(unsigned calls) noexcept {  // a lost one is no loss
        small_calls_.store(small_calls_.load(std::memory_order_relaxed) + calls, std::memory_order_relaxed);
    }
    /// The daemon's last word; 0: it has not said anything.  The largest number, if nothing is
    /// paced.
    [[nodiscard]] std::uint64_t paced_from_bytes() const {
        return active_ ? least_paced_bytes_.load(std::memory_order_relaxed) : std::numeric_limits<std::uint64_t>::max();
    }

    [[nodiscard]] PlannedSize planned_size(Operation operation, std::uint64_t bytes) const {
        const auto ranks = hosts_.job_hosts().ranks_per_host();
        if (!are_many_small_blocks(operation, bytes, ranks)) return {bytes, false};
        return {bytes_between_hosts(bytes, ranks), true};
    }

    /// There is a daemon, or may be one again.
    [[nodiscard]] bool is_active() const { return active_; }
    /// Cheap: may a collective on this communicator be paced at all?
    [[nodiscard]] bool applies_to(MPI_Comm communicator) const noexcept;

    /// Has the daemon set the rates for a collective that is carried out by
    /// `algorithm`.  Unless not_entered, leave() of it must follow.
    [[nodiscard]] EntryId enter(const Collective& collective, MPI_Comm communicator,
                             std::uint64_t bytes, Algorithm algorithm) noexcept;
    /// Enters this very call by who sends how much to whom, places in the communicator's hosts.
    [[nodiscard]] EnteredCall enter_call(const Collective& collective, MPI_Comm communicator,
                                         const HostTraffic& traffic) noexcept;
    void leave(EntryId entry) noexcept;


    /// Session::planned_algorithm(); nothing, too, without a session.
    [[nodiscard]] std::optional<Algorithm> planned_algorithm(
        const PatternKey& key, std::optional<std::uint64_t> bytes, AskedAt& asked) noexcept;

    /// No node has a daemon, and each rank paces itself by what the job's own planner says; the same at all ranks.
    [[nodiscard]] bool ranks_pace() const { return ranks_pace_; }
    /// At rank 0, with ranks_pace(): of calls on this communicator; null: the planner has no answer, or nothing is paced.
    struct PlanOfJob {
        const PlannedCall* call = nullptr;
        const NodeRates* rates = nullptr;  ///< of calls of all sizes
    };
    [[nodiscard]] PlanOfJob plan_of_job(const PatternKey& key, std::optional<std::uint64_t> bytes,
                                        MPI_Comm communicator) noexcept;

    /// The place of the root's host; no_root of an operation without; none: the root
    /// is no member, which is for MPI to say.
    [[nodiscard]] std::optional<int> root_host_of(const Collective& collective,
                                                  MPI_Comm communicator) const;

    /// Its traffic is all that the job has meanwhile: it has all ranks, or the user has
    /// promised that.
    [[nodiscard]] bool has_its_links_alone(MPI_Comm communicator) const;

    /// Session::hold(); without a session the error is what became of the job.
    [[nodiscard]] LinkResult<bool> hold(std::shared_ptr<HeldRates> rates) noexcept;
    [[nodiscard]] std::uint64_t port_buffer_bytes() noexcept;

    /// One sentence, of a call that has been made; for people.
    [[nodiscard]] std::string why_not_paced(const Collective& collective, MPI_Comm communicator,
                                            std::uint64_t bytes, Algorithm algorithm) noexcept;

    /// Session::predicted(); of a ring the size of its steps.
    [[nodiscard]] std::optional<PredictedTime> predicted(const Collective& collective,
                                                         MPI_Comm communicator, std::uint64_t bytes,
                                                         Algorithm algorithm) noexcept;

    /// Session::plan(); nothing, too, where the daemon refuses.
    [[nodiscard]] std::optional<PlannedExchange> plan(Operation operation, const HostSet& hosts,
                                                      std::optional<std::uint64_t> message_bytes) noexcept;
    [[nodiscard]] std::chrono::nanoseconds waited_for_daemon() noexcept;

    void finalize() noexcept;

    [[nodiscard]] const Settings& settings() const { return settings_; }
    [[nodiscard]] const HostTable& hosts() const { return hosts_; }
    [[nodiscard]] const std::string& job() const { return job_; }
    [[nodiscard]] const std::string& node() const { return node_; }

    /// One line, of the first process on this node that has any; without a session, where
    /// all have the same to say, of rank 0.
    void complain(const std::string& text) noexcept;

private:
    /// Kept as an attribute of each communicator that was seen.
    struct CommunicatorPatterns {
        std::optional<HostSet> hosts;  ///< none: never paced
        /// By the root's host, what they are carried out by, and whether they are planned between hosts.
        std::array<std::map<std::tuple<int, Algorithm, bool>, KnownPattern*>, operation_count> by_operation{};
    };

    void join_job();
    [[nodiscard]] bool all_ranks_take_part();
    void join_by_planner();
    [[nodiscard]] int shorten_waits_of_all() noexcept;
    [[nodiscard]] std::string look_at_network(PlannedNetwork& network);
    [[nodiscard]] bool all_have_memory(bool is_able);
    [[nodiscard]] std::string join_node(std::uint64_t job_start);
    [[nodiscard]] bool has_daemon() const { return session_ && session_->has_daemon(); }
    [[nodiscard]] std::string prepare_job(std::string& state);
    void announce_agreed(const std::string& state, const std::string& trouble);
    void announce(const std::string& state);
    void watch_finalize();

    [[nodiscard]] CommunicatorPatterns* patterns_of(MPI_Comm communicator);
    [[nodiscard]] PatternKey key_of(Operation operation, MPI_Comm communicator,
                                    const HostSet& hosts, int root_host, Algorithm algorithm) const;
    [[nodiscard]] std::string reason_of(const Pattern* pattern, std::uint64_t bytes) const;
    [[nodiscard]] std::string reason_without_daemon(const PlannedCall* planned, Operation operation, std::uint64_t bytes) const;
    [[nodiscard]] const PlannedCall* planned_of(const Collective& collective, MPI_Comm communicator, std::uint64_t bytes);
    [[nodiscard]] LinkResult<EntryId> enter_locked(KnownPattern*& known, const std::optional<PatternKey>& key,
                                                   std::uint64_t bytes);
    [[nodiscard]] EntryId entered_or_told(Operation operation, const LinkResult<EntryId>& entered);
    void tell(const LinkError& error, const std::string& refused);
    void watch_fork();

    static int forget_communicator(MPI_Comm, int, void* value, void*);
    static int end_of_mpi(MPI_Comm, int, void*, void* helper);

    const Settings settings_;
    std::string job_;
    LibraryEnvironment environment_;
    bool begun_ = false;   ///< before_init has run
    bool joined_ = false;  ///< after_init has run
    bool ranks_pace_ = false;
    std::set<int> sockets_of_program_;  ///< that were there before MPI_Init
    int rank_ = 0;
    int ranks_ = 0;
    int patterns_key_ = MPI_KEYVAL_INVALID;
    int finalize_key_ = MPI_KEYVAL_INVALID;
    std::string node_;
    std::string announced_ = "the job has one rank";  ///< what came out of joining
    HostTable hosts_;
    OncePerNode notice_;

    std::atomic<bool> active_{false};  ///< there is a session, and it is this process's
    std::atomic<bool> forked_{false};  ///< this is a child of the session's process
    std::atomic<std::uint64_t> least_paced_bytes_{0};  ///< as the daemon said last
    std::atomic<unsigned> small_calls_{0};
    std::mutex mutex_;                 ///< guards what follows
    std::optional<Session> session_;
    std::optional<JobPlanning> planning_;  ///< at rank 0, if the ranks pace
    bool complained_ = false;  ///< without a session
};

/// See the_only(), short_memory.hpp.
[[nodiscard]] Helper& helper();

}  // namespace headway::glue
