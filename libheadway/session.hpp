// SPDX-License-Identifier: MIT
// This process's dealings with headwayd: one connection at a time, the patterns
// prepared on it, enter and leave.  Knows nothing of MPI calls.
//
// The daemon is asked once for each pattern and size; enter and leave are a store into
// memory that the kernel reads.  One that has no such memory for this process (it has no
// phases, say) counts as none.
//
// Errors are of two kinds (LinkError::lost): the connection is gone, or the
// daemon refused this one thing.  The session goes on either way: without a
// connection nothing is paced, and at each use it sees whether the daemon is
// back, without waiting (daemon_contact.hpp).  What an earlier connection said
// means nothing to a later one: numbers of patterns and phases, the slot.
//
// Not thread safe: the caller serialises.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon_contact.hpp"
#include "job_hosts.hpp"
#include "operation.hpp"
#include "phase_slot.hpp"
#include "session_options.hpp"
#include "traffic_request.hpp"

namespace headway::glue {

/// Two questions get the same answer if these agree.
struct AskedAt {
    std::uint64_t connection = 0;  ///< none yet
    std::uint32_t generation = 0;  ///< of the slot's memory

    friend bool operator==(const AskedAt&, const AskedAt&) = default;
};

/// The daemon's answer to "phase", while it holds.
struct KnownPhase {
    Phase phase;                   ///< number 0: messages of that size are not paced
    std::uint32_t generation = 0;  ///< 0: not asked yet
};

/// Sizes up to the same power of two have the same phase and algorithm.
inline constexpr std::size_t size_classes = 65;
[[nodiscard]] constexpr std::size_t size_class(std::uint64_t bytes) {
    return bytes == 0 ? 0 : static_cast<std::size_t>(std::bit_width(bytes - 1));
}

/// A collective as the daemon knows it.
struct PatternKey {
    Operation operation = Operation::alltoall;
    HostSet hosts;
    int root_host = no_root;  ///< a place in the host table
    /// By which it will be carried out.
    Algorithm algorithm = Algorithm::native;
    /// One process is taken to send for all of its host.
    bool is_between_hosts = false;
    /// Between places in `hosts`, where it is known who sends to whom: then this is
    /// what is planned, whatever the operation.
    HostTraffic traffic{};

    friend auto operator<=>(const PatternKey&, const PatternKey&) = default;
};

/// The daemon's answer to "prepare"; a pattern is not paced unless the daemon said so.
struct Pattern {
    bool paced = false;
    std::uint64_t id = 0;
    std::uint64_t min_message_bytes = 0;
    std::string reason;  ///< why, or why not, for people
    AskedAt prepared_at;
    std::array<KnownPhase, size_classes> phases{};
};

/// Rates beside whatever is entered: a request, "rate" or "traffic", and what was
/// answered to it.  Only the session touches what it holds.
struct HeldRates {
    explicit HeldRates(ObjectText asked) : request(std::move(asked)) {}

    const ObjectText request;
    KnownPhase known{};
    std::uint64_t connection = 0;  ///< on which it was asked; 0: on none
};

/// No call is drawn out for longer, whatever the daemon says.
inline constexpr double longest_call_s = 3600;

/// Durations that the daemon predicts: the higher one with time-outs of TCP.
struct PredictedTime {
    double low_s = 0;
    double high_s = 0;
};

/// A call that is paced by its own traffic.
struct EnteredCall {
    EntryId entry = not_entered;
    double end_s = 0;  ///< all its messages are planned to end after that time
};

/// The daemon's answer to "plan".
struct PlannedExchange {
    bool paced = false;
    double pair_bits_per_s = 0;  ///< 0: nothing limits it
    double limiting_bits_per_s = 0;  ///< of the link that does; 0: none
    std::string reason;
    std::optional<PredictedTime> if_paced;
    std::optional<PredictedTime> if_unpaced;
};

/// About a pattern of the job with these hosts; `siblings_disjoint`: as in SessionOptions.
[[nodiscard]] ObjectText request_of(const char* op, const PatternKey& key, const JobHosts& hosts, bool siblings_disjoint);
/// Returns the algorithm that the rates in a plan's answer are for.
[[nodiscard]] Algorithm algorithm_of(const JsonObject& answer);
/// "predicted", or another one; none: it is not there.
[[nodiscard]] std::optional<PredictedTime> time_in(const JsonObject& answer, const std::string& key);

/// Asked for once, however many communicators have that set of hosts.
using Patterns = std::map<PatternKey, Pattern>;
using KnownPattern = Patterns::value_type;

class Session {
public:
    /// Connects and says who is there.  `hosts` must outlive the session; they
    /// may be told later, but before the first pattern.
    /// If that fails, has_daemon() is false, and a daemon is sought as after the loss of one.
    [[nodiscard]] static Session open(
        const SessionOptions& options, const std::string& job, int rank, const JobHosts& hosts,
        ContactSeeker::Now now = std::chrono::steady_clock::now);

    [[nodiscard]] bool has_daemon() const { return contact_.has_value(); }
    /// A sentence; of no meaning while there is one.
    [[nodiscard]] const std::string& why_no_daemon() const { return seeker_.why(); }
    /// One has told about this node, even if it is none to be paced by.
    [[nodiscard]] bool was_greeted() const { return was_greeted_; }

    /// The name under which headway.toml knows this node.
    [[nodiscard]] const std::string& node() const { return node_; }
    /// The node's cluster, or "" if the daemon did not tell.
    [[nodiscard]] const std::string& cluster() const { return cluster_; }

    /// A pattern's place, as long as the session lasts; enter() has it prepared.
    [[nodiscard]] KnownPattern& place_of(const PatternKey& key) {
        return *patterns_.try_emplace(key).first;
    }
    /// Prepared at its first use.
    /// After a refusal it counts as not paced and is not asked for again.
    [[nodiscard]] LinkResult<KnownPattern*> pattern(const PatternKey& key);

    /// Whether the plan names our algorithm of the operation for that size (none: for
    /// any), else native; a daemon that refuses names none.  Nothing: the daemon's answer at
    /// `asked`, which becomes now, still holds, or there is no daemon now.
    [[nodiscard]] LinkResult<std::optional<Algorithm>> planned_algorithm(
        const PatternKey& key, std::optional<std::uint64_t> bytes, AskedAt& asked);

    /// Asks the daemon for its plan of an all-to-all of those hosts, with messages of any size if
    /// none is given; nothing: there is no daemon now.
    [[nodiscard]] LinkResult<std::optional<PlannedExchange>> plan(
        Operation operation, const HostSet& hosts, std::optional<std::uint64_t> message_bytes);

    /// Returns what the daemon predicted when it was asked for rates or for an algorithm: the time
    /// of a collective by `key`'s algorithm, whose traffic does not count, with messages of that
    /// size; none: it was not asked, or predicts none.
    [[nodiscard]] std::optional<PredictedTime> predicted(const PatternKey& key,
                                                         std::uint64_t bytes) const;

    /// Unless not_entered, the rates hold, and leave() of it must follow.
    [[nodiscard]] LinkResult<EntryId> enter(KnownPattern& known, std::uint64_t bytes);
    /// Enters a single call in which hosts send so many bytes to each other, places in `hosts`; the
    /// session asks the daemon each time.
    [[nodiscard]] LinkResult<EnteredCall> enter_call(const HostSet& hosts, const HostTraffic& traffic);
    /// Leaves what was entered; whatever was entered on an earlier connection ended with that.
    void leave(EntryId entry);
    /// The slot is another process's, whose child this one is: nothing is stored in it any more.
    void disown() noexcept {
        if (contact_) contact_->slot.disown();
    }

    /// Holds rates until the next call, and on later connections, too; none: no limit.  Asks the
    /// daemon only for what it has not answered yet.  False: there is no daemon now.
    [[nodiscard]] LinkResult<bool> hold(std::shared_ptr<HeldRates> rates);

    /// Smaller messages are not paced.
    [[nodiscard]] std::uint64_t min_message_bytes() const { return min_message_bytes_; }
    /// The smallest in front of a host; 0: none is known.
    [[nodiscard]] std::uint64_t port_buffer_bytes() const { return port_buffer_bytes_; }

    /// Returns how long this process has waited for the daemon's answers.
    [[nodiscard]] std::chrono::nanoseconds waited() const { return waited_; }

private:
    Session(ContactPlan plan, const SessionOptions& options, const JobHosts& hosts,
            ContactSeeker::Now now);

    [[nodiscard]] LinkResult<bool> connect();
    [[nodiscard]] LinkResult<void> look_for_daemon();
    void take_over(Contact contact);
    void hear(const Greeting& greeting);
    [[nodiscard]] AskedAt now() const { return {connection_, contact_->slot.generation()}; }
    template <class Value>
    [[nodiscard]] LinkResult<Value> noted(LinkResult<Value> result);

    [[nodiscard]] LinkResult<JsonObject> ask(const ObjectText& request);
    [[nodiscard]] LinkResult<void> update(KnownPattern& known);
    [[nodiscard]] LinkResult<void> prepare(KnownPattern& known);
    [[nodiscard]] LinkResult<EntryId> enter_phase(KnownPattern& known, std::uint64_t bytes);
    [[nodiscard]] LinkResult<void> ask_for_phase(const KnownPattern& pattern, std::uint64_t bytes,
                                                 KnownPhase& known);
    [[nodiscard]] bool holds_what_was_answered() const;
    [[nodiscard]] LinkResult<void> hold_rates();
    void note_prediction(const PatternKey& key, std::uint64_t bytes, const JsonObject& answer);
    void show(const std::string& what, const JsonObject& answer) const;

    const JobHosts* hosts_;
    bool siblings_disjoint_;
    bool verbose_;
    int rank_;
    std::string node_;
    std::string cluster_;
    bool was_greeted_ = false;
    std::uint64_t min_message_bytes_ = 0;
    std::uint64_t port_buffer_bytes_ = 0;
    Patterns patterns_;
    std::map<std::pair<PatternKey, std::size_t>, PredictedTime> predictions_;  ///< by size class

    ContactSeeker::Now now_;
    ContactSeeker seeker_;
    std::chrono::steady_clock::time_point next_look_;  ///< whether the daemon is still there
    std::optional<Contact> contact_;                   ///< none: there is no daemon now
    std::uint64_t connection_ = 0;                     ///< the number of contact_
    EntryId last_entry_ = not_entered;
    std::chrono::nanoseconds waited_{};

    std::shared_ptr<HeldRates> held_;  ///< none: no rates beside those of collectives
};

}  // namespace headway::glue
