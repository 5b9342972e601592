// SPDX-License-Identifier: MIT
// The C interface of a Session.  No exception leaves it: short memory counts as
// "nothing is paced".
#include "headway.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fork_mark.hpp"
#include "job_name.hpp"
#include "job_start.hpp"
#include "own_pacing.hpp"
#include "session.hpp"

using namespace headway::glue;

struct headway_exchange {
    KnownPattern* pattern;
};

struct headway_session {
    ForkMark mark;
    std::uint64_t number = 0;  ///< of the process's sessions
    std::mutex mutex;          ///< guards what follows
    std::string reason;        ///< of the call that has the lock
    JobHosts hosts;
    std::optional<Session> session;  ///< none: HEADWAY=off, or the options make no sense
    std::map<PatternKey, headway_exchange> exchanges;
    bool siblings_disjoint = false;
    std::optional<PlannerPlan> planner;  ///< none: the process does not pace itself
    std::optional<OwnPacing> own;
    std::string why_no_own;       ///< once it was tried
    std::uint64_t own_entry = 0;  ///< the last one; 0: none yet
};

namespace {

constexpr const char* no_memory = "memory is short";
constexpr const char* no_exchange = "there is no such exchange";
constexpr const char* ring_name = "ring";
constexpr int most_processes = 1 << 24;

/// Of the numbers of entries that this process paces itself; a session's own are smaller.
constexpr std::uint64_t own_entries_from = std::uint64_t{1} << 63;

/// What a thread hears of its last call.  It needs no memory of its own, and none to end.
struct LastReason {
    std::uint64_t session = 0;  ///< its number; 0: none
    std::array<char, 1024> text{};
};
constinit thread_local LastReason last_reason;

/// A longer one is cut.
void tell_thread(const headway_session& session, std::string_view reason) noexcept {
    last_reason.session = session.number;
    last_reason.text[reason.copy(last_reason.text.data(), last_reason.text.size() - 1)] = '\0';
}

struct Identity {
    std::string job;
    int rank = 0;
};

/// As torchrun tells its processes; 0: it does not, or what it tells is no such number.
int number_in_environment(const char* name, int most) {
    int number = 0;
    Complaints ignored;
    read_number(name, 0, most, number, ignored);
    return number;
}

std::string default_job() {
    const auto given = environment_value("HEADWAY_JOB");
    return given ? std::string(*given) : job_name(own_host_name());
}

/// What the environment says holds where the program says nothing.
Identity take_options(const headway_options& given, SessionOptions& options,
                      Complaints& complaints) {
    read_session_options(options, complaints);
    if (given.socket_path != nullptr) options.socket_path = given.socket_path;
    if (given.timeout_ms > 0) options.timeout = std::chrono::milliseconds(given.timeout_ms);
    if (given.job_start > job_start_max) {
        complaints.push_back("a job_start above 2^53 - 1 is not taken");
    } else if (given.job_start != 0) {
        options.job_start = given.job_start;
    }
    return {given.job != nullptr ? given.job : default_job(),
            given.rank != 0 ? given.rank : number_in_environment("RANK", most_processes)};
}

/// Of the first version, which all have.  More than structure_most_bytes no version has: it is a number
/// that was never set, and nothing is read or written by it.
constexpr std::size_t structure_most_bytes = 4096;
constexpr std::size_t options_least_bytes = offsetof(headway_options, job_start) + sizeof(headway_options::job_start);
constexpr std::size_t plan_least_bytes = offsetof(headway_plan, unpaced_high_s) + sizeof(headway_plan::unpaced_high_s);

/// The members that this library knows.  None: `reason` says what makes no sense.
std::optional<headway_options> known_members(const headway_options& given, std::string& reason) {
    if (given.size < options_least_bytes || given.size > structure_most_bytes) {
        reason = "headway_options.size is not sizeof(struct headway_options)";
        return std::nullopt;
    }
    headway_options known{};
    const auto* const bytes = reinterpret_cast<const char*>(&given);
    std::memcpy(&known, bytes, std::min(given.size, sizeof(known)));
    const auto is_given = [](char byte) { return byte != 0; };
    if (given.size > sizeof(known) && std::any_of(bytes + sizeof(known), bytes + given.size, is_given))
        reason = "this library knows less of headway_options than the program";
    return known;
}

/// `plan` has the caller's size.
void fill_in(headway_plan* plan, headway_plan filled) {
    filled.size = plan->size;
    std::memset(plan, 0, filled.size);
    std::memcpy(plan, &filled, std::min(filled.size, sizeof(filled)));
}

void add_reason(std::string& reasons, const std::string& another) {
    if (!reasons.empty() && !another.empty()) reasons += "; ";
    reasons += another;
}

void open_session(headway_session& session, const headway_options& all) {
    const auto known = known_members(all, session.reason);
    if (!known) return;
    const headway_options& given = *known;
    SessionOptions options;
    Complaints complaints;
    const Identity own = take_options(given, options, complaints);
    for (const std::string& complaint : complaints) add_reason(session.reason, complaint);
    if (!options.enabled) return add_reason(session.reason, "HEADWAY=off");
    const auto program = environment_value("HEADWAY_PLANNER"),
               network = environment_value("HEADWAY_NETWORK");
    if (given.paces_itself != 0 && program && network)
        session.planner =
            PlannerPlan{std::string(*program), std::string(*network), options.timeout};
    session.siblings_disjoint = options.siblings_disjoint;
    session.session = Session::open(options, own.job, own.rank, session.hosts);
    add_reason(session.reason, session.session->why_no_daemon());
}

/// The value of `work(session)`, or `otherwise` if there is no session, it is another process's or
/// memory is short.
auto with(headway_session* handle, auto otherwise, const auto& work) noexcept -> decltype(otherwise) {
    if (handle == nullptr || !handle->session) return otherwise;
    if (handle->mark.is_child()) {  // another thread may have had the lock when the parent forked
        tell_thread(*handle, "the session is this process's parent's");
        return otherwise;
    }
    const std::lock_guard lock(handle->mutex);
    handle->reason.clear();
    try {
        auto result = work(*handle->session);
        tell_thread(*handle, handle->reason);
        return result;
    } catch (const std::exception&) {
        tell_thread(*handle, no_memory);
        return otherwise;
    }
}

constexpr bool has_root(Operation operation) {
    return operation == Operation::gather || operation == Operation::gatherv ||
           operation == Operation::scatter || operation == Operation::scatterv;
}

HostSet all_hosts(const JobHosts& hosts) {
    HostSet all(hosts.names().size());
    std::iota(all.begin(), all.end(), 0);
    return all;
}

/// The places of hosts of the job, as they are given.  None: one is not of the job, or is there twice.
std::optional<HostSet> places_of(const JobHosts& hosts, const char* const* given, std::size_t count) {
    const auto& names = hosts.names();
    HostSet places;
    for (std::size_t at = 0; at < count; ++at) {
        const auto found = std::find(names.begin(), names.end(), given[at] != nullptr ? given[at] : "");
        const auto place = static_cast<int>(found - names.begin());
        if (found == names.end() || std::find(places.begin(), places.end(), place) != places.end())
            return std::nullopt;
        places.push_back(place);
    }
    return places;
}

/// By places in `sorted`; each host of `ring` sends to the next one.
HostTraffic traffic_around(const HostSet& ring, const HostSet& sorted) {
    HostTraffic traffic;
    const auto place_of = [&](std::size_t at) {
        return static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), ring[at % ring.size()]) - sorted.begin());
    };
    for (std::size_t at = 0; ring.size() > 1 && at < ring.size(); ++at) traffic[{place_of(at), place_of(at + 1)}] = 1;
    return traffic;
}

/// `among`: places of hosts of the job, ascending but for a ring.  None: `reason` says which argument makes no sense.
std::optional<PatternKey> key_of(const JobHosts& hosts, std::string_view operation, const char* root,
                                 HostSet among, std::string& reason) {
    const bool is_ring = operation == ring_name;
    const auto known = is_ring ? Operation::allgather : operation_named(operation);
    // programs of this interface have all their messages under way at once
    if (!is_ring && (!known || own_algorithm_of(*known) != Algorithm::linear)) {
        reason = std::string(operation) + " is no operation that can be paced here";
        return std::nullopt;
    }
    PatternKey key{*known, std::move(among), no_root, Algorithm::linear};
    if (is_ring) {
        const HostSet ring = key.hosts;
        key.algorithm = Algorithm::ring;
        std::sort(key.hosts.begin(), key.hosts.end());
        key.traffic = traffic_around(ring, key.hosts);
    }
    if (!has_root(*known)) return key;
    const auto place = places_of(hosts, &root, 1);
    if (!place || !std::binary_search(key.hosts.begin(), key.hosts.end(), place->front())) {
        reason = std::string(operation) + " needs a root, which is one of the job's hosts";
        return std::nullopt;
    }
    key.root_host = place->front();
    return key;
}

/// Where the network has another name for this node than the kernel, HEADWAY_NODE says it.
std::string own_name() {
    const auto given = environment_value("HEADWAY_NODE");
    return given ? std::string(*given) : own_host_name();
}

/// Once, for all exchanges.
void begin_own(headway_session& session) {
    if (!session.planner || session.own || !session.why_no_own.empty()) return;
    auto begun =
        OwnPacing::begin(*session.planner, session.hosts, own_name(), session.siblings_disjoint);
    if (begun)
        session.own.emplace(std::move(*begun));
    else
        session.why_no_own = begun.error().what;
}

/// 0: not by this process itself, and the reason has been added.
std::uint64_t enter_own(headway_session& session, const PatternKey& key, std::uint64_t bytes) {
    if (!key.traffic.empty()) {
        add_reason(session.reason, "a process cannot pace a ring by itself");
        return 0;
    }
    begin_own(session);
    const std::string why_not =
        session.own ? session.own->enter(key, bytes, SendClock::Clock::now()) : session.why_no_own;
    if (why_not.empty())
        return session.own_entry = std::max(session.own_entry, own_entries_from) + 1;
    add_reason(session.reason, why_not);
    return 0;
}

/// Null: an argument makes no sense.
headway_exchange* exchange_among(headway_session& session, Session& open, const char* operation,
                                 const char* root, HostSet among) {
    if (session.hosts.names().empty()) {
        session.reason = "headway_set_hosts() has not been called";
        return nullptr;
    }
    const auto key = key_of(session.hosts, operation != nullptr ? operation : "nothing", root, std::move(among),
                            session.reason);
    if (!key) return nullptr;
    if (!open.has_daemon()) begin_own(session);  // so that the first call need not wait for it
    return &session.exchanges.try_emplace(*key, headway_exchange{&open.place_of(*key)}).first->second;
}

unsigned int most_on_a_host(int processes, std::size_t hosts) {
    return static_cast<unsigned int>((static_cast<std::size_t>(processes) + hosts - 1) / hosts);
}

HostTraffic traffic_of(const std::uint64_t* bytes, std::size_t hosts) {
    HostTraffic traffic;
    for (std::size_t at = 0; at < hosts * hosts; ++at) {
        const auto from = static_cast<int>(at / hosts);
        const auto to = static_cast<int>(at % hosts);
        if (from != to && bytes[at] > 0) traffic[{from, to}] = static_cast<double>(bytes[at]);
    }
    return traffic;
}

}  // namespace

headway_session* headway_open(const headway_options* options) noexcept try {
    static constinit std::atomic<std::uint64_t> sessions{0};
    auto session = std::make_unique<headway_session>();
    session->number = ++sessions;
    const headway_options defaults{sizeof(headway_options), nullptr, 0, nullptr, 0, 0, 0};
    open_session(*session, options != nullptr ? *options : defaults);
    tell_thread(*session, session->reason);
    return session.release();
} catch (const std::exception&) {
    return nullptr;
}

void headway_close(headway_session* session) noexcept {
    if (session != nullptr && session->session && session->mark.is_child()) session->session->disown();
    delete session;
}

int headway_connected(const headway_session* session) noexcept {
    if (session == nullptr || !session->session) return 0;
    const std::lock_guard lock(const_cast<headway_session*>(session)->mutex);
    return session->session->has_daemon() ? 1 : 0;
}

const char* headway_node(const headway_session* session) noexcept {
    return session != nullptr && session->session ? session->session->node().c_str() : "";
}

const char* headway_cluster(const headway_session* session) noexcept {
    return session != nullptr && session->session ? session->session->cluster().c_str() : "";
}

const char* headway_reason(const headway_session* session) noexcept {
    if (session == nullptr) return no_memory;
    return last_reason.session == session->number ? last_reason.text.data() : "";
}

int headway_set_hosts(headway_session* session, const char* const* hosts, size_t host_count,
                      unsigned int processes_per_host) noexcept {
    return with(session, -1, [&](Session&) {
        if (hosts == nullptr) host_count = 0;
        std::vector<std::string> names(hosts, hosts + host_count);
        std::vector<std::string> sorted = names;
        std::sort(sorted.begin(), sorted.end());
        const bool is_each_once = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
        if (processes_per_host == 0 && host_count > 0)
            processes_per_host = most_on_a_host(number_in_environment("WORLD_SIZE", most_processes), host_count);
        if (!session->exchanges.empty()) {
            session->reason = "the hosts cannot change once there are exchanges";
        } else if (names.empty() || !is_each_once || processes_per_host == 0) {
            session->reason = "there must be hosts, each once, with a process at least";
        } else {
            session->hosts = JobHosts(std::move(names), processes_per_host);
            return 0;
        }
        return -1;
    });
}

headway_exchange* headway_exchange_of(headway_session* session, const char* operation,
                                      const char* root) noexcept {
    return with(session, static_cast<headway_exchange*>(nullptr), [&](Session& open) {
        return exchange_among(*session, open, operation, root, all_hosts(session->hosts));
    });
}

headway_exchange* headway_exchange_among(headway_session* session, const char* operation, const char* root,
                                         const char* const* hosts, size_t host_count) noexcept {
    return with(session, static_cast<headway_exchange*>(nullptr), [&](Session& open) {
        auto among = places_of(session->hosts, hosts, hosts != nullptr ? host_count : 0);
        if (among && (operation == nullptr || ring_name != std::string_view(operation)))
            std::sort(among->begin(), among->end());
        if (among && (!among->empty() || session->hosts.names().empty()))
            return exchange_among(*session, open, operation, root, std::move(*among));
        session->reason = "an exchange needs hosts of headway_set_hosts(), each once";
        return static_cast<headway_exchange*>(nullptr);
    });
}

int headway_plan_of(headway_session* session, const headway_exchange* exchange, uint64_t message_bytes,
                    headway_plan* plan) noexcept {
    return with(session, -1, [&](Session& open) {
        if (exchange == nullptr || plan == nullptr) {
            session->reason = no_exchange;
            return -1;
        }
        if (plan->size < plan_least_bytes || plan->size > structure_most_bytes) {
            session->reason = "headway_plan.size is not sizeof(struct headway_plan)";
            return -1;
        }
        const PatternKey& key = exchange->pattern->first;
        if (!key.traffic.empty()) {
            session->reason = "headwayd tells no plan of a ring";
            return -1;
        }
        const auto planned = open.plan(key.operation, key.hosts, message_bytes);
        if (!planned || !*planned) {
            session->reason = planned ? open.why_no_daemon() : planned.error().what;
            return -1;
        }
        session->reason = (*planned)->reason;
        const PredictedTime unknown;
        const PredictedTime unpaced = (*planned)->if_unpaced.value_or(unknown);
        fill_in(plan, {0, (*planned)->paced ? 1 : 0, (*planned)->pair_bits_per_s,
                       (*planned)->if_paced.value_or(unknown).high_s, unpaced.low_s, unpaced.high_s});
        return 0;
    });
}

uint64_t headway_enter(headway_session* session, headway_exchange* exchange,
                       uint64_t message_bytes) noexcept {
    return with(session, std::uint64_t{0}, [&](Session& open) -> std::uint64_t {
        if (exchange == nullptr) {
            session->reason = no_exchange;
            return 0;
        }
        const auto entered = open.enter(*exchange->pattern, message_bytes);
        if (entered && *entered != not_entered) return *entered;
        session->reason = !entered          ? entered.error().what
                          : open.has_daemon() ? exchange->pattern->second.reason
                                              : open.why_no_daemon();
        if (open.has_daemon() || !session->planner) return 0;
        return enter_own(*session, exchange->pattern->first, message_bytes);
    });
}

size_t headway_may_send(headway_session* session, size_t host, size_t bytes,
                        uint64_t* wait_ns) noexcept {
    if (session == nullptr || !session->planner || session->mark.is_child()) return bytes;
    const std::lock_guard lock(session->mutex);
    if (!session->own) return bytes;
    const MaySend now = session->own->may_send(host, bytes, SendClock::Clock::now());
    if (wait_ns != nullptr && now.bytes == 0)
        *wait_ns = static_cast<std::uint64_t>(now.wait.count());
    return now.bytes;
}

void headway_leave(headway_session* session, uint64_t entry) noexcept {
    if (entry == 0) return;
    with(session, 0, [&](Session& open) {
        if (entry < own_entries_from)
            open.leave(entry);
        else if (session->own && entry == session->own_entry)
            session->own->leave();
        return 0;
    });
}

int headway_traffic(headway_session* session, const uint64_t* bytes) noexcept {
    return with(session, -1, [&](Session& open) {
        const auto& names = session->hosts.names();
        std::shared_ptr<HeldRates> rates;
        if (bytes != nullptr)
            rates = std::make_shared<HeldRates>(
                traffic_request(traffic_of(bytes, names.size()), names));
        const auto held = open.hold(std::move(rates));
        if (held && *held) return 0;
        session->reason = held ? open.why_no_daemon() : held.error().what;
        return -1;
    });
}
