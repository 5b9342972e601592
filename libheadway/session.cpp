// SPDX-License-Identifier: MIT
#include "session.hpp"

#include <algorithm>
#include <utility>

#include "notice.hpp"

namespace headway::glue {
namespace {

LinkResult<Pattern> read_pattern(const JsonObject& answer) {
    const LinkError nonsense{"headwayd's answer is not one of its protocol", true};
    Pattern pattern;
    const auto paced = answer.flag("paced");
    if (!paced) return tl::unexpected(nonsense);
    pattern.paced = *paced;
    pattern.reason = answer.text("reason").value_or("");
    if (!pattern.paced) return pattern;
    const auto id = answer.whole_number("pattern");
    const auto least = answer.whole_number("min_message_bytes");
    if (!id || !least) return tl::unexpected(nonsense);
    pattern.id = *id;
    pattern.min_message_bytes = *least;
    return pattern;
}

/// 0 on nonsense, which paces nothing.
Phase phase_in(const JsonObject& answer) {
    return {static_cast<std::uint32_t>(answer.whole_number("phase").value_or(0)),
            answer.whole_number("bytes_per_s").value_or(no_limit)};
}

/// Reads the answer to "plan"; members that make no sense are as if they were missing.
PlannedExchange read_plan(const JsonObject& answer) {
    return {answer.flag("paced").value_or(false),
            answer.number("pair_bits_per_s").value_or(0),
            answer.number("limiting_link.bits_per_s").value_or(0),
            answer.text("reason").value_or(""),
            time_in(answer, "predicted_paced"),
            time_in(answer, "predicted_unpaced")};
}

/// Reads the answer to "phase" or to "rate".
KnownPhase read_phase(const JsonObject& answer) {
    return {phase_in(answer),
            static_cast<std::uint32_t>(answer.whole_number("generation").value_or(0))};
}

/// Rates for one algorithm slow another one down: towards a ring, say, only one
/// host sends through the trunk.  So a collective gets those of the algorithm by
/// which it is carried out, or none.
bool is_for(const PatternKey& key, const JsonObject& answer) {
    return algorithm_of(answer) == key.algorithm;
}

void refuse_other_algorithm(const PatternKey& key, Pattern& pattern) {
    pattern.paced = false;
    pattern.reason = std::string("the plan is not for the algorithm that runs, which is ") +
                     (key.algorithm == Algorithm::native ? "the MPI library's own choice"
                                                         : name_of(key.algorithm));
}

bool is_worthwhile(const Pattern& pattern, std::uint64_t bytes) {
    return pattern.paced && bytes > 0 && bytes >= pattern.min_message_bytes;
}

/// A session that knows everything and has a slot asks nothing that would tell that the daemon has
/// gone, so it looks after so long.
constexpr std::chrono::seconds look_pause{1};

}  // namespace

Algorithm algorithm_of(const JsonObject& answer) {
    if (!answer.has("algorithm")) return Algorithm::native;
    const auto name = answer.text("algorithm");
    return name ? algorithm_named(*name) : Algorithm::unknown;
}

std::optional<PredictedTime> time_in(const JsonObject& answer, const std::string& key) {
    const auto low = answer.number(key + ".low_s");
    const auto high = answer.number(key + ".high_s");
    if (!low || !high) return std::nullopt;
    return PredictedTime{*low, *high};
}

ObjectText request_of(const char* op, const PatternKey& key, const JobHosts& hosts, bool siblings_disjoint) {
    ObjectText request(op);
    request.text("operation", name_of(key.operation))
        .texts("job_hosts", hosts.names())
        .texts("comm_hosts", hosts.names_of(key.hosts))
        .number("ranks_per_host", key.is_between_hosts ? 1 : hosts.ranks_per_host())
        .flag("siblings_disjoint", siblings_disjoint);
    if (key.root_host != no_root) request.text("root", hosts.names_of({key.root_host}).front());
    if (key.algorithm != Algorithm::native) request.text("algorithm", name_of(key.algorithm));
    return request;
}

// ------------------------------------------------------------------ connection

Session::Session(ContactPlan plan, const SessionOptions& options, const JobHosts& hosts,
                 ContactSeeker::Now now)
    : hosts_(&hosts),
      siblings_disjoint_(options.siblings_disjoint),
      verbose_(options.verbose),
      rank_(plan.rank),
      node_(own_host_name()),
      now_(now),
      seeker_(std::move(plan), std::move(now)) {}

Session Session::open(const SessionOptions& options, const std::string& job, int rank,
                      const JobHosts& hosts, ContactSeeker::Now now) {
    ContactPlan plan{options.socket_path, options.timeout, job, options.job_start, rank};
    std::optional<Greeting> greeted;
    auto contact = make_contact(plan, greeted);
    Session session(std::move(plan), options, hosts, std::move(now));
    if (greeted) {
        if (!greeted->node.empty()) session.node_ = greeted->node;
        session.cluster_ = greeted->cluster;
        session.hear(*greeted);
    }
    if (contact) {
        session.take_over(std::move(*contact));
    } else {
        session.seeker_.lost(contact.error().what);
    }
    return session;
}

/// False: there is no daemon now.
LinkResult<bool> Session::connect() {
    if (contact_) {
        if (const auto there = look_for_daemon(); !there) return tl::unexpected(there.error());
        return true;
    }
    auto contact = seeker_.seek();
    if (!contact) return false;
    take_over(std::move(*contact));
    return true;
}

LinkResult<void> Session::look_for_daemon() {
    if (now_() < next_look_) return {};
    next_look_ = now_() + look_pause;
    if (contact_->link.is_hung_up())
        return tl::unexpected(LinkError{"headwayd closed the connection", true});
    return {};
}

void Session::take_over(Contact contact) {
    contact_ = std::move(contact);
    ++connection_;
    next_look_ = now_() + look_pause;
    hear(contact_->greeting);
}

void Session::hear(const Greeting& greeting) {
    was_greeted_ = true;
    min_message_bytes_ = greeting.min_message_bytes;
    port_buffer_bytes_ = greeting.port_buffer_bytes;
}

/// From the loss of the daemon on nothing is paced.  One that died has left a classifier that
/// still reads the slot, which therefore rests.
template <class Value>
LinkResult<Value> Session::noted(LinkResult<Value> result) {
    if (!result && result.error().lost && contact_) {
        contact_.reset();
        seeker_.lost(result.error().what);
    }
    return result;
}

// -------------------------------------------------------------------- patterns

LinkResult<KnownPattern*> Session::pattern(const PatternKey& key) {
    KnownPattern& known = place_of(key);
    const auto connected = noted(connect());
    if (!connected) return tl::unexpected(connected.error());
    if (!*connected) {
        known.second = Pattern{};
    } else if (known.second.prepared_at.connection != connection_) {
        if (const auto prepared = noted(prepare(known)); !prepared)
            return tl::unexpected(prepared.error());
    }
    return &known;
}

LinkResult<std::optional<Algorithm>> Session::planned_algorithm(
    const PatternKey& key, std::optional<std::uint64_t> bytes, AskedAt& asked) {
    const auto connected = noted(connect());
    if (!connected) return tl::unexpected(connected.error());
    if (!*connected) return std::nullopt;
    const AskedAt at = now();
    if (asked == at) return std::nullopt;
    const Algorithm able = own_algorithm_of(key.operation);
    ObjectText request = request_of("phase", key, *hosts_, siblings_disjoint_);
    request.texts("algorithms", {name_of(able)});
    if (bytes) request.number("message_bytes", *bytes);
    const auto answer = noted(ask(request));
    if (!answer) {
        if (answer.error().lost) return tl::unexpected(answer.error());
        asked = at;
        return Algorithm::native;  // what it has against the rest it will say then
    }
    show(name_of(key.operation), *answer);
    const bool is_named = algorithm_of(*answer) == able;
    if (is_named && bytes) {
        PatternKey named = key;
        named.algorithm = able;
        note_prediction(named, *bytes, *answer);
    }
    asked = at;
    return is_named ? able : Algorithm::native;
}

std::optional<PredictedTime> Session::predicted(const PatternKey& key, std::uint64_t bytes) const {
    const auto found = predictions_.find({key, size_class(bytes)});
    return found != predictions_.end() ? std::optional(found->second) : std::nullopt;
}

/// Keeps the prediction, unless it is of neighbours: the daemon takes all ranks for these.
void Session::note_prediction(const PatternKey& key, std::uint64_t bytes, const JsonObject& answer) {
    if (is_among_neighbours(key.operation) || !key.traffic.empty()) return;
    if (const auto time = time_in(answer, "predicted"))
        predictions_.insert_or_assign({key, size_class(bytes)}, *time);
}

LinkResult<std::optional<PlannedExchange>> Session::plan(
    Operation operation, const HostSet& hosts, std::optional<std::uint64_t> message_bytes) {
    const auto connected = noted(connect());
    if (!connected) return tl::unexpected(connected.error());
    if (!*connected) return std::nullopt;
    ObjectText request("plan");
    request.text("operation", name_of(operation))
        .texts("hosts", hosts_->names_of(hosts))
        .number("ranks_per_host", hosts_->ranks_per_host());
    if (message_bytes) request.number("message_bytes", *message_bytes);
    const auto answer = noted(ask(request));
    if (!answer) return tl::unexpected(answer.error());
    return read_plan(*answer);
}

LinkResult<EntryId> Session::enter(KnownPattern& known, std::uint64_t bytes) {
    const auto connected = noted(connect());
    if (!connected) return tl::unexpected(connected.error());
    if (!*connected) return not_entered;
    return noted(enter_phase(known, bytes));
}

LinkResult<EnteredCall> Session::enter_call(const HostSet& hosts, const HostTraffic& traffic) {
    const auto connected = noted(connect());
    if (!connected) return tl::unexpected(connected.error());
    if (!*connected || traffic.empty()) return EnteredCall{};
    if (!holds_what_was_answered()) {
        if (auto held = noted(hold_rates()); !held && held.error().lost)
            return tl::unexpected(held.error());
    }
    const auto answer = noted(ask(traffic_request(traffic, hosts_->names_of(hosts)).flag("one_call", true)));
    if (!answer) return tl::unexpected(answer.error());
    show("one call", *answer);
    const Phase phase = read_phase(*answer).phase;
    if (phase.number == 0) return EnteredCall{};
    contact_->slot.enter(++last_entry_, phase);
    const double end_s = answer->number("end_s").value_or(0) * bytes_of_unit(traffic);
    return EnteredCall{last_entry_, std::clamp(end_s, 0.0, longest_call_s)};
}

/// Prepared on this connection, and since the last change.
LinkResult<void> Session::update(KnownPattern& known) {
    if (!holds_what_was_answered()) {
        if (auto held = hold_rates(); !held && held.error().lost) return held;
    }
    return known.second.prepared_at == now() ? LinkResult<void>() : prepare(known);
}

LinkResult<EntryId> Session::enter_phase(KnownPattern& known, std::uint64_t bytes) {
    if (const auto updated = update(known); !updated) return tl::unexpected(updated.error());
    Pattern& pattern = known.second;
    if (!is_worthwhile(pattern, bytes)) return not_entered;
    KnownPhase& phase = pattern.phases[size_class(bytes)];
    if (phase.generation != contact_->slot.generation()) {
        if (const auto asked = ask_for_phase(known, bytes, phase); !asked)
            return tl::unexpected(asked.error());
    }
    if (phase.phase.number == 0) return not_entered;
    contact_->slot.enter(++last_entry_, phase.phase);
    return last_entry_;
}

void Session::leave(EntryId entry) {
    if (contact_) contact_->slot.leave(entry);
}

// ----------------------------------------------------------------------- rates

LinkResult<bool> Session::hold(std::shared_ptr<HeldRates> rates) {
    held_ = std::move(rates);
    const auto connected = noted(connect());
    if (!connected) return tl::unexpected(connected.error());
    if (!*connected) return false;
    if (const auto held = noted(hold_rates()); !held) return tl::unexpected(held.error());
    return true;
}

/// On this connection, and since the last change: processes of a job on a node
/// share a rate, and numbers of phases go out of date.
bool Session::holds_what_was_answered() const {
    return !held_ || (held_->connection == connection_ &&
                      held_->known.generation == contact_->slot.generation());
}

LinkResult<void> Session::hold_rates() {
    if (!holds_what_was_answered()) {
        contact_->slot.set_base({});
        const std::uint32_t generation = contact_->slot.generation();
        const auto answer = ask(held_->request);
        if (answer) show(held_->request.op(), *answer);
        // A refusal is not asked for again until something has changed.
        held_->connection = connection_;
        held_->known = answer ? read_phase(*answer) : KnownPhase{{}, generation};
        if (!answer) return tl::unexpected(answer.error());
    }
    contact_->slot.set_base(held_ ? held_->known.phase : Phase{});
    return {};
}

// -------------------------------------------------------------------- requests

LinkResult<JsonObject> Session::ask(const ObjectText& request) {
    const auto begin = std::chrono::steady_clock::now();
    auto answer = contact_->link.ask(request);
    waited_ += std::chrono::steady_clock::now() - begin;
    return answer;
}

LinkResult<void> Session::ask_for_phase(const KnownPattern& pattern, std::uint64_t bytes,
                                        KnownPhase& known) {
    const PatternKey& key = pattern.first;
    ObjectText request = key.traffic.empty() ? request_of("phase", key, *hosts_, siblings_disjoint_)
                                       : traffic_request(key.traffic, hosts_->names_of(key.hosts));
    if (key.traffic.empty()) request.number("message_bytes", bytes);
    const std::uint32_t generation = contact_->slot.generation();
    const auto answer = ask(request);
    const bool is_ours = answer && (!key.traffic.empty() || is_for(key, *answer));
    if (answer) show(name_of(key.operation), *answer);
    if (is_ours) note_prediction(key, bytes, *answer);
    // A refusal is not asked for again until something has changed.
    known = is_ours ? read_phase(*answer) : KnownPhase{{}, generation};
    return answer ? LinkResult<void>() : tl::unexpected(answer.error());
}

LinkResult<void> Session::prepare(KnownPattern& known) {
    const AskedAt asked = now();
    known.second = Pattern{};
    if (!known.first.traffic.empty()) {  // what there is to say comes with the phase
        known.second.paced = true;
        known.second.min_message_bytes = min_message_bytes_;
        known.second.prepared_at = asked;
        return {};
    }
    const auto answer = ask(request_of("prepare", known.first, *hosts_, siblings_disjoint_));
    if (!answer) {
        known.second.prepared_at = asked;
        return tl::unexpected(answer.error());
    }
    show(name_of(known.first.operation), *answer);
    auto pattern = read_pattern(*answer);
    if (!pattern) return tl::unexpected(pattern.error());
    if (pattern->paced && !is_for(known.first, *answer))
        refuse_other_algorithm(known.first, *pattern);
    pattern->prepared_at = asked;
    known.second = std::move(*pattern);
    return {};
}

void Session::show(const std::string& what, const JsonObject& answer) const {
    if (!verbose_) return;
    say("rank " + std::to_string(rank_) + " on " + node_ + ", " + what + ": " + answer.received());
}

}  // namespace headway::glue
