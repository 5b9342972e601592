// SPDX-License-Identifier: MIT
#include "helper.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <string_view>

#include "all_ranks.hpp"
#include "job_name.hpp"
#include "job_start.hpp"
#include "job_texts.hpp"
#include "known_traffic.hpp"
#include "message_size.hpp"
#include "own_algorithms.hpp"
#include "own_connections.hpp"
#include "pattern_player.hpp"
#include "real.hpp"
#include "report.hpp"
#include "short_memory.hpp"

namespace headway::glue {
namespace {

constexpr std::size_t reason_bytes = 512;
constexpr const char* off_switch = "HEADWAY=off switches Headway off";
constexpr const char* no_network =
    "; ranks pace themselves if headway run --measure may find out what the network is, or --network says it";

int reduce_over_job(int value, MPI_Op operation) {
    int result = 0;
    real::Allreduce(&value, &result, 1, MPI_INT, operation, MPI_COMM_WORLD);
    return result;
}

using Told = std::array<char, reason_bytes>;

/// What `rank` has to say, to every rank; needs no memory.
Told broadcast_from(int rank, std::string_view text) {
    Told buffer{};
    text.copy(buffer.data(), buffer.size() - 1);
    real::Bcast(buffer.data(), static_cast<int>(buffer.size()), MPI_CHAR, rank, MPI_COMM_WORLD);
    return buffer;
}

/// Rank 0's number for the job, which it draws if whoever started the job has not.
std::uint64_t agreed_job_start(const Settings& settings) {
    std::uint64_t start = settings.job_start != 0 ? settings.job_start : draw_job_start();
    real::Bcast(&start, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    return start;
}

}  // namespace

Helper& helper() { return the_only<Helper>(); }

Helper::Helper()
    : settings_(read_settings()),
      job_(job_name(own_host_name())),
      node_(own_host_name()),
      notice_(job_) {}

void Helper::before_init() noexcept try {
    if (begun_) return;
    begun_ = true;
    if (!settings_.planner.empty()) sockets_of_program_ = own_tcp_sockets();
    environment_.apply(settings_);
} catch (const std::exception&) {
    // Without the settings a paced exchange is slow, but right.
}

void Helper::after_init() noexcept try {
    environment_.restore();
    int initialized = 0;
    PMPI_Initialized(&initialized);
    if (!begun_ || joined_ || initialized == 0) return;
    joined_ = true;
    join_job();
} catch (const std::exception&) {
    active_ = false;
    session_.reset();
    say(std::string_view("not pacing: no memory"));
}

/// Before the first collective; says it if not all take part.
bool Helper::all_ranks_take_part() {
    auto [outcome, job] = meet_all_ranks(settings_, rank_, ranks_);
    if (!job.empty()) notice_.set_job(std::move(job));
    if (outcome.all_take_part) return true;
    if (outcome.told_by_rank0 && !outcome.reason.empty()) announce("not pacing: " + outcome.reason);
    if (!outcome.told_by_rank0 && !outcome.reason.empty())
        notice_.say("not pacing on " + node_ + ": " + outcome.reason + "; " + off_switch);
    notice_.silence();
    return false;
}

// Collective over MPI_COMM_WORLD.  Each step is taken by all ranks or by none, and the last one's end is where an
// exception may leave.
void Helper::join_job() {
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    if (ranks_ < 2 || !all_ranks_take_part()) return;

    const Told job = broadcast_from(0, job_), report = broadcast_from(0, settings_.report);
    const std::uint64_t start = agreed_job_start(settings_);
    const bool is_ready = has_memory_for([&] {
        job_ = job.data();
        notice_.set_job(job_);
        (void)own_algorithms();
        (void)pattern_player();
        reporter().begin(report.data());
    });
    if (!all_have_memory(is_ready && reporter().is_on() == (report.front() != '\0'))) return;
    std::string trouble = "no memory";  // which needs none
    (void)has_memory_for([&] { trouble = join_node(start); });
    if (reduce_over_job(session_ && session_->was_greeted() ? 1 : 0, MPI_SUM) == 0) {
        // one reason for all, which a report would else tell apart
        const Told reason = broadcast_from(0, trouble);
        session_.reset();
        const bool may_plan = settings_.algorithm && !settings_.planner.empty();
        const Told network = broadcast_from(0, may_plan ? settings_.network : "");
        if (network.front() != '\0') return join_by_planner();
        notice_.silence();
        announce(std::string("not pacing: ") + reason.data() + (may_plan ? no_network : ""));
        return;
    }
    const std::string none;
    const std::string& cluster = session_ ? session_->cluster() : none;
    if (!all_have_memory(has_memory_for([&] {
            hosts_.gather(node_, cluster, session_ ? session_->min_message_bytes() : 0);
        })))
        return;
    watch_finalize();
    watch_fork();
    if (hosts_.job_hosts().names().size() < 2) {
        session_.reset();
        announce("nothing to pace: the job is on one host");
        return;
    }
    std::string state;
    if (has_daemon() && !has_memory_for([&] { trouble = prepare_job(state); })) {
        session_.reset();
        trouble = "no memory";
    }
    if (!settings_.pattern_file.empty()) {
        (void)has_memory_for([&] {
            const std::string wrong = pattern_player().begin(settings_.pattern_file);
            state += wrong.empty() ? ", point-to-point by " + settings_.pattern_file
                                   : "; " + settings_.pattern_file + " is not used: " + wrong;
        });
    }
    const bool is_announced = has_memory_for([&] { announce_agreed(state, trouble); });
    active_ = session_.has_value();
    if (settings_.algorithm) own_algorithms().allow();
    if (!is_announced) say(std::string_view("this is not all that there is to say: no memory"));
}

/// Collective over MPI_COMM_WORLD, as join_job(), of which it is the rest.
void Helper::join_by_planner() {
    if (!all_have_memory(has_memory_for([&] { hosts_.gather(settings_.node.empty() ? node_ : settings_.node, "", 0); })))
        return;
    watch_finalize();
    watch_fork();
    const std::size_t hosts = hosts_.job_hosts().names().size();
    if (hosts < 2) return announce("nothing to pace: the job is on one host");
    PlannedNetwork network;
    std::string trouble = "no memory";
    if (rank_ == 0) (void)has_memory_for([&] { trouble = look_at_network(network); });
    const Told reason = broadcast_from(0, trouble);
    if (reason.front() != '\0') return announce(std::string("not pacing: ") + reason.data());
    const auto text = text_of_rank_0(own_text([&] { return network.text; }));
    if (!all_have_memory(text && has_memory_for([&] { hosts_.place(PlannedNetwork::read(*text, hosts).value()); })))
        return;
    ranks_pace_ = true;
    least_paced_bytes_ = hosts_.min_message_bytes();
    active_ = true;
    own_algorithms().allow();
    // connections that are made later keep the kernel's waits
    const int wait_us = own_algorithms().connect_all() ? shorten_waits_of_all() : 0;
    (void)has_memory_for([&] {
        announce("no headwayd: each rank paces its own all-to-alls, gathers and scatters over " + std::to_string(hosts) +
                 " hosts, by " + network.name +
                 (wait_us > 0 ? "; a lost tail is sent again after " + std::to_string(wait_us / 1000) + " ms" : ""));
    });
}

/// Collective over MPI_COMM_WORLD.  What is lost in spite of all, and what is not paced, waits for a shorter
/// time-out, if the kernels of all ranks allow that.  In microseconds; 0: the kernels' own holds for all connections.
int Helper::shorten_waits_of_all() noexcept {
    constexpr int none = std::numeric_limits<int>::max();
    int own_us = none;
    if (settings_.transport) (void)has_memory_for([&] { own_us = shortest_wait_us().value_or(none); });
    const int all_us = reduce_over_job(own_us, MPI_MAX);
    if (all_us == none) return 0;
    const auto addresses = addresses_of_all();
    int shortened = 0;
    if (addresses) (void)has_memory_for([&] { shortened = shorten_waits(*addresses, sockets_of_program_, all_us); });
    return reduce_over_job(shortened, MPI_MAX) > 0 ? all_us : 0;
}

/// At rank 0; the reason if no plan can be had.
std::string Helper::look_at_network(PlannedNetwork& network) {
    auto planning = JobPlanning::start({settings_.planner, settings_.network, settings_.timeout}, hosts_.job_hosts(),
                                       settings_.siblings_disjoint);
    if (!planning) return "the job's own planner cannot be started: " + planning.error().what;
    auto seen = planning->look_at();
    if (!seen) return "the job's own planner: " + seen.error().what;
    const auto unknown = std::find(seen->clusters.begin(), seen->clusters.end(), "");
    if (unknown != seen->clusters.end()) {
        const auto at = static_cast<std::size_t>(unknown - seen->clusters.begin());
        return "host " + hosts_.job_hosts().names()[at] + " is in no cluster of " + seen->name;
    }
    network = std::move(*seen);
    planning_ = std::move(*planning);
    return "";
}

/// Else no rank is paced.
bool Helper::all_have_memory(bool is_able) {
    if (all_agree(is_able)) return true;
    reporter().cancel();
    notice_.silence();
    session_.reset();
    announce("not pacing: no memory");
    return false;
}

/// Connects to this node's daemon; the reason if that fails, for the time being.
std::string Helper::join_node(std::uint64_t job_start) {
    SessionOptions options = settings_;
    options.job_start = job_start;
    session_ = Session::open(options, job_, rank_, hosts_.job_hosts());
    node_ = session_->node();
    return session_->why_no_daemon();
}

/// Has the daemon plan for the job's commonest communicator, so that whatever
/// it has against the job comes out now, while the ranks can still agree on one
/// line.  The reason if it refuses; else `state` tells what it decided.
std::string Helper::prepare_job(std::string& state) {
    const auto known = session_->pattern({Operation::alltoall, *hosts_.hosts_of(MPI_COMM_WORLD)});
    if (!known) {
        session_.reset();
        return known.error().what;
    }
    const Pattern& pattern = (*known)->second;
    const std::size_t hosts = hosts_.job_hosts().names().size();
    state = pattern.paced ? "pacing all-to-all over " + std::to_string(hosts) + " hosts from " +
                                std::to_string(pattern.min_message_bytes) + " bytes a pair"
                          : "nothing to pace: " + pattern.reason;
    return "";
}

/// One line, whatever happened to whichever rank.
void Helper::announce_agreed(const std::string& state, const std::string& trouble) {
    const int able = reduce_over_job(has_daemon() ? 1 : 0, MPI_SUM);
    if (able == ranks_) {
        announce(state);
        return;
    }
    const int first_failed = reduce_over_job(has_daemon() ? ranks_ : rank_, MPI_MIN);
    std::string own = "no memory";
    (void)has_memory_for([&] { own = "rank " + std::to_string(first_failed) + " on " + node_ + ": " + trouble; });
    const Told told = broadcast_from(first_failed, own);
    if (!session_) notice_.silence();
    const std::string reason = told.data();
    announce(able == 0 ? "not pacing: " + reason
                       : "pacing only " + std::to_string(able) + " of " + std::to_string(ranks_) +
                             " ranks: " + reason);
}

void Helper::announce(const std::string& state) {
    announced_ = state;
    if (rank_ != 0) return;
    std::string line = state + "; ";
    line += (is_open_mpi() ? "Open MPI: " : "MPICH: ") + environment_.summary() + "; ";
    for (const std::string& complaint : settings_.complaints) line += complaint + "; ";
    say(line + off_switch);
}

void Helper::watch_finalize() {
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_communicator, &patterns_key_, nullptr);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_of_mpi, &finalize_key_, this);
    PMPI_Comm_set_attr(MPI_COMM_SELF, finalize_key_, this);
}

/// A handler may do next to nothing: another thread may hold the mutex for ever.
void Helper::watch_fork() {
    ::pthread_atfork(nullptr, nullptr, [] {
        helper().forked_ = true;
        helper().active_ = false;
    });
}

bool Helper::applies_to(MPI_Comm communicator) const noexcept {
    return active_ && own_algorithms().knows(communicator);
}

/// MPI is asked before the lock is taken: a thread that holds a lock of MPI's may wait for it.
EntryId Helper::enter(const Collective& collective, MPI_Comm communicator,
                      std::uint64_t bytes, Algorithm algorithm) noexcept try {
    CommunicatorPatterns* patterns = patterns_of(communicator);
    if (patterns == nullptr || !patterns->hosts || patterns->hosts->size() < 2) return not_entered;
    if (algorithm == Algorithm::ring && patterns->hosts->size() > HostTable::told_max)
        return not_entered;
    const std::optional<int> root_host = algorithm == Algorithm::ring
                                             ? no_root  // all links of the ring are used alike
                                             : root_host_of(collective, communicator);
    if (!root_host) return not_entered;
    auto& of_operation = patterns->by_operation[static_cast<std::size_t>(collective.operation)];
    // what the library carries out is planned as it is
    const PlannedSize size = algorithm == Algorithm::linear ? planned_size(collective.operation, bytes)
                                                            : PlannedSize{bytes, false};
    KnownPattern*& known = of_operation[{*root_host, algorithm, size.is_between_hosts}];
    std::optional<PatternKey> key;
    if (known == nullptr) {
        key = key_of(collective.operation, communicator, *patterns->hosts, *root_host, algorithm);
        key->is_between_hosts = size.is_between_hosts;
    }
    const std::lock_guard lock(mutex_);
    if (!session_) return not_entered;
    try {
        return entered_or_told(collective.operation, enter_locked(known, key, size.bytes));
    } catch (const std::exception&) {
        return not_entered;  // memory is short
    }
} catch (const std::exception&) {
    return not_entered;  // without the memory for it, this call is not paced
}

EnteredCall Helper::enter_call(const Collective& collective, MPI_Comm communicator,
                               const HostTraffic& traffic) noexcept {
    try {
        const CommunicatorPatterns* patterns = patterns_of(communicator);
        const std::lock_guard lock(mutex_);
        if (!session_ || patterns == nullptr || !patterns->hosts) return {};
        const auto entered = session_->enter_call(*patterns->hosts, traffic);
        if (entered) return *entered;
        tell(entered.error(), std::string("not pacing ") + name_of(collective.operation));
    } catch (const std::exception&) {
        // memory is short
    }
    return {};
}

EntryId Helper::entered_or_told(Operation operation, const LinkResult<EntryId>& entered) {
    if (!entered) tell(entered.error(), std::string("not pacing ") + name_of(operation));
    return entered.value_or(not_entered);
}

std::optional<int> Helper::root_host_of(const Collective& collective,
                                        MPI_Comm communicator) const {
    if (collective.root == no_root) return no_root;
    return hosts_.host_of(communicator, collective.root);
}

/// `key`: of one that is not known yet.
LinkResult<EntryId> Helper::enter_locked(KnownPattern*& known, const std::optional<PatternKey>& key,
                                         std::uint64_t bytes) {
    if (known == nullptr) {
        const auto pattern = session_->pattern(*key);
        if (!pattern) return tl::unexpected(pattern.error());
        known = *pattern;
    }
    const auto entered = session_->enter(*known, bytes);
    least_paced_bytes_.store(known->second.min_message_bytes, std::memory_order_relaxed);
    return entered;
}

PatternKey Helper::key_of(Operation operation, MPI_Comm communicator, const HostSet& hosts,
                          int root_host, Algorithm algorithm) const {
    PatternKey key{operation, hosts, root_host, algorithm};
    if (!has_its_links_alone(communicator)) return key;
    if (is_among_neighbours(operation))
        key.traffic = neighbour_traffic(hosts_, communicator, hosts);
    if (algorithm == Algorithm::linear && is_total_exchange(operation))
        key.traffic = uneven_traffic(hosts_, communicator, hosts);
    if (algorithm == Algorithm::ring) key.traffic = ring_traffic(hosts_, communicator, hosts);
    return key;
}

bool Helper::has_its_links_alone(MPI_Comm communicator) const {
    return place_in(communicator).ranks == ranks_ || settings_.siblings_disjoint;
}

std::optional<Algorithm> Helper::planned_algorithm(const PatternKey& key,
                                                   std::optional<std::uint64_t> bytes,
                                                   AskedAt& asked) noexcept {
    if (!active_) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (!session_) return std::nullopt;
    try {
        const auto planned = session_->planned_algorithm(key, bytes, asked);
        if (planned) return *planned;
        tell(planned.error(), "");
    } catch (const std::exception&) {
        // memory is short
    }
    return std::nullopt;
}

Helper::PlanOfJob Helper::plan_of_job(const PatternKey& key, std::optional<std::uint64_t> bytes,
                                      MPI_Comm communicator) noexcept try {
    PlannedPattern pattern{key, hosts_.cluster_names_of(communicator)};
    if (key.root_host != no_root) pattern.key.root_host = key.hosts.front();  // the plan is for any root
    const std::lock_guard lock(mutex_);
    if (!active_ || !planning_) return {};
    return {planning_->plan(pattern, bytes), planning_->rates(pattern)};
} catch (const std::exception&) {
    return {};
}

void Helper::leave(EntryId entry) noexcept {
    if (forked_) return;
    const std::lock_guard lock(mutex_);
    if (!session_) return;
    session_->leave(entry);
}

LinkResult<bool> Helper::hold(std::shared_ptr<HeldRates> rates) noexcept try {
    if (forked_) return true;  // the rates are the parent's
    const std::lock_guard lock(mutex_);
    if (!session_) return tl::unexpected(LinkError{announced_, false});
    return session_->hold(std::move(rates));
} catch (const std::exception&) {
    return false;
}

std::uint64_t Helper::port_buffer_bytes() noexcept {
    const std::lock_guard lock(mutex_);
    return session_ ? session_->port_buffer_bytes() : 0;
}

std::string Helper::why_not_paced(const Collective& collective, MPI_Comm communicator,
                                  std::uint64_t bytes, Algorithm algorithm) noexcept try {
    if (!is_of_one_group(communicator)) return "it is between two groups";
    if (!active_) return announced_;
    if (ranks_pace_) return reason_without_daemon(planned_of(collective, communicator, bytes), collective.operation, bytes);
    const auto root_host = root_host_of(collective, communicator);
    const CommunicatorPatterns* const patterns = patterns_of(communicator);
    const std::lock_guard lock(mutex_);
    if (!session_) return announced_;
    if (patterns == nullptr || !patterns->hosts) return "it has ranks of other jobs";
    if (patterns->hosts->size() < 2) return "its ranks are on one host";
    const auto& of_operation =
        patterns->by_operation[static_cast<std::size_t>(collective.operation)];
    const bool is_between_hosts =
        algorithm == Algorithm::linear && planned_size(collective.operation, bytes).is_between_hosts;
    const auto known = of_operation.find({root_host.value_or(no_root), algorithm, is_between_hosts});
    const Pattern* pattern = known != of_operation.end() && known->second != nullptr
                                 ? &known->second->second
                                 : nullptr;
    return reason_of(pattern, bytes);
} catch (const std::exception&) {
    return "";
}

/// At rank 0, of a size that was asked for; else null.
const PlannedCall* Helper::planned_of(const Collective& collective, MPI_Comm communicator, std::uint64_t bytes) {
    const auto hosts = hosts_.hosts_of(communicator);
    const std::lock_guard lock(mutex_);
    if (!planning_ || !hosts) return nullptr;
    const PatternKey key{collective.operation, *hosts, collective.root == no_root ? no_root : hosts->front()};
    return planning_->planned(key, sizes_agree(collective.operation) ? bytes : 0);
}

std::string Helper::reason_without_daemon(const PlannedCall* planned, Operation operation, std::uint64_t bytes) const {
    if (bytes < least_paced_bytes_) return "messages under " + std::to_string(least_paced_bytes_) + " bytes are not paced";
    if (!is_total_exchange(operation) && !is_rooted_exchange(operation))
        return "without headwayd only all-to-alls, gathers and scatters are paced";
    if (planned != nullptr && !planned->is_paced) return planned->reason;
    return "ranks pace blocking calls whose data lie one behind the other";
}

/// `pattern`: null if the daemon was not asked for it.
std::string Helper::reason_of(const Pattern* pattern, std::uint64_t bytes) const {
    if ((pattern == nullptr || pattern->paced) && bytes < least_paced_bytes_)
        return "messages under " + std::to_string(least_paced_bytes_) + " bytes are not paced";
    if (!session_->has_daemon()) return session_->why_no_daemon();
    return pattern != nullptr ? pattern->reason : "headwayd did not answer";
}

std::optional<PredictedTime> Helper::predicted(const Collective& collective, MPI_Comm communicator,
                                               std::uint64_t bytes,
                                               Algorithm algorithm) noexcept try {
    if (!applies_to(communicator)) return std::nullopt;
    if (ranks_pace_) {
        const PlannedCall* const planned = planned_of(collective, communicator, bytes);
        return planned != nullptr && planned->algorithm == algorithm ? planned->predicted : std::nullopt;
    }
    const CommunicatorPatterns* patterns = patterns_of(communicator);
    const std::optional<int> root_host = root_host_of(collective, communicator);
    const std::lock_guard lock(mutex_);
    if (patterns == nullptr || !patterns->hosts || !root_host || !session_) return std::nullopt;
    PatternKey key{collective.operation, *patterns->hosts, *root_host, algorithm};
    const PlannedSize size = algorithm == Algorithm::linear ? planned_size(collective.operation, bytes)
                                                            : PlannedSize{bytes, false};
    key.is_between_hosts = size.is_between_hosts;
    return session_->predicted(key, size.bytes);
} catch (const std::exception&) {
    return std::nullopt;
}

std::optional<PlannedExchange> Helper::plan(Operation operation, const HostSet& hosts,
                                            std::optional<std::uint64_t> message_bytes) noexcept try {
    const std::lock_guard lock(mutex_);
    if (!session_) return std::nullopt;
    return session_->plan(operation, hosts, message_bytes).value_or(std::nullopt);
} catch (const std::exception&) {
    return std::nullopt;
}

std::chrono::nanoseconds Helper::waited_for_daemon() noexcept {
    const std::lock_guard lock(mutex_);
    return session_ ? session_->waited() : std::chrono::nanoseconds{};
}

void Helper::finalize() noexcept {
    active_ = false;
    if (forked_) return;
    reporter().finish();  // it asks the daemon for predictions
    own_algorithms().release();
    const std::lock_guard lock(mutex_);
    session_.reset();
    planning_.reset();
    hosts_.release();
}

void Helper::complain(const std::string& text) noexcept try {
    if (forked_) return;
    const std::lock_guard lock(mutex_);
    if (session_) return notice_.say(text + " on " + node_);
    if (rank_ == 0 && !std::exchange(complained_, true)) say(text);
} catch (const std::exception&) {
    // then not even that
}

Helper::CommunicatorPatterns* Helper::patterns_of(MPI_Comm communicator) {
    void* value = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(communicator, patterns_key_, &value, &found);
    if (found != 0) return static_cast<CommunicatorPatterns*>(value);
    auto patterns = std::make_unique<CommunicatorPatterns>();
    patterns->hosts = hosts_.hosts_of(communicator);
    if (PMPI_Comm_set_attr(communicator, patterns_key_, patterns.get()) != MPI_SUCCESS)
        return nullptr;
    return patterns.release();  // the communicator's, until forget_communicator
}

/// A refusal concerns one thing; a lost connection all, until there is another.
void Helper::tell(const LinkError& error, const std::string& refused) {
    if (!error.lost) return notice_.say(refused + " on " + node_ + ": " + error.what);
    notice_.say("pacing paused on " + node_ + ": " + error.what +
                "; it goes on when headwayd is back");
}

int Helper::forget_communicator(MPI_Comm, int, void* value, void*) {
    delete static_cast<CommunicatorPatterns*>(value);
    return MPI_SUCCESS;
}

int Helper::end_of_mpi(MPI_Comm, int, void*, void* helper) {
    static_cast<Helper*>(helper)->finalize();
    return MPI_SUCCESS;
}

}  // namespace headway::glue
