// SPDX-License-Identifier: MIT
#include "session.hpp"

#include <algorithm>
#include <utility>

#include "notice.hpp"

namespace headway::glue {
namespace {

using Json = DaemonLink::Json;

LinkResult<Pattern> read_pattern(const Json& answer) {
    const LinkError nonsense{"headwayd's answer is not one of its protocol", true};
    Pattern pattern;
    const auto paced = answer.find("paced");
    if (paced == answer.end() || !paced->is_boolean()) return tl::unexpected(nonsense);
    pattern.paced = paced->get<bool>();
    if (const auto reason = answer.find("reason"); reason != answer.end() && reason->is_string())
        pattern.reason = reason->get<std::string>();
    if (!pattern.paced) return pattern;
    const auto id = whole_number_in(answer, "pattern");
    const auto least = whole_number_in(answer, "min_message_bytes");
    if (!id || !least) return tl::unexpected(nonsense);
    pattern.id = *id;
    pattern.min_message_bytes = *least;
    return pattern;
}

/// That the answer's rates are for.
Algorithm algorithm_of(const Json& answer) {
    const auto name = answer.find("algorithm");
    if (name == answer.end() || name->is_null()) return Algorithm::native;
    return name->is_string() ? algorithm_named(name->get_ref<const std::string&>())
                             : Algorithm::unknown;
}

/// 0 on nonsense, which paces nothing.
Phase phase_in(const Json& object) {
    return {static_cast<std::uint32_t>(whole_number_in(object, "phase").value_or(0)),
            whole_number_in(object, "bytes_per_s").value_or(no_limit)};
}

std::optional<PredictedTime> time_in(const Json& answer, const char* key) {
    const auto found = answer.find(key);
    if (found == answer.end() || !found->is_object()) return std::nullopt;
    const auto low = found->find("low_s");
    const auto high = found->find("high_s");
    if (low == found->end() || !low->is_number() || high == found->end() || !high->is_number())
        return std::nullopt;
    return PredictedTime{low->get<double>(), high->get<double>()};
}

/// A number that is 0 if there is none.
double number_or_0(const Json& object, const char* name) {
    if (!object.is_object()) return 0;
    const auto number = object.find(name);
    return number != object.end() && number->is_number() ? number->get<double>() : 0;
}

/// What "plan" answers; members that make no sense are as if they were missing.
PlannedExchange read_plan(const Json& answer) {
    PlannedExchange plan;
    if (const auto paced = answer.find("paced"); paced != answer.end() && paced->is_boolean())
        plan.paced = paced->get<bool>();
    plan.pair_bits_per_s = number_or_0(answer, "pair_bits_per_s");
    if (const auto link = answer.find("limiting_link"); link != answer.end())
        plan.limiting_bits_per_s = number_or_0(*link, "bits_per_s");
    if (const auto reason = answer.find("reason"); reason != answer.end() && reason->is_string())
        plan.reason = reason->get<std::string>();
    plan.if_paced = time_in(answer, "predicted_paced");
    plan.if_unpaced = time_in(answer, "predicted_unpaced");
    return plan;
}

/// What "phase" and "rate" answer.
KnownPhase read_phase(const Json& answer) {
    return {phase_in(answer),
            static_cast<std::uint32_t>(whole_number_in(answer, "generation").value_or(0))};
}

/// Rates for one algorithm slow another one down: towards a ring, say, only one
/// host sends through the trunk.  So a collective gets those of the algorithm by
/// which it is carried out, or none.
bool is_for(const PatternKey& key, const Json& answer) {
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

/// Where all is known and a slot is there, nothing is asked that would tell that
/// the daemon has gone.
constexpr std::chrono::seconds look_pause{1};

}  // namespace

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
    Json request = request_of("phase", key);
    request["algorithms"] = {name_of(able)};
    if (bytes) request["message_bytes"] = *bytes;
    const auto answer = noted(ask(std::move(request)));
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

/// Not of neighbours, as which the daemon takes all.
void Session::note_prediction(const PatternKey& key, std::uint64_t bytes, const Json& answer) {
    if (is_among_neighbours(key.operation) || !key.traffic.empty()) return;
    if (const auto time = time_in(answer, "predicted"))
        predictions_.insert_or_assign({key, size_class(bytes)}, *time);
}

LinkResult<std::optional<PlannedExchange>> Session::plan(
    Operation operation, const HostSet& hosts, std::optional<std::uint64_t> message_bytes) {
    const auto connected = noted(connect());
    if (!connected) return tl::unexpected(connected.error());
    if (!*connected) return std::nullopt;
    Json request{{"op", "plan"},
                 {"operation", name_of(operation)},
                 {"hosts", hosts_->names_of(hosts)},
                 {"ranks_per_host", hosts_->ranks_per_host()}};
    if (message_bytes) request["message_bytes"] = *message_bytes;
    const auto answer = noted(ask(std::move(request)));
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
    Json request = traffic_request(traffic, hosts_->names_of(hosts));
    request["one_call"] = true;
    const auto answer = noted(ask(std::move(request)));
    if (!answer) return tl::unexpected(answer.error());
    show("one call", *answer);
    const Phase phase = read_phase(*answer).phase;
    if (phase.number == 0) return EnteredCall{};
    contact_->slot.enter(++last_entry_, phase);
    const double end_s = number_or_0(*answer, "end_s") * bytes_of_unit(traffic);
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
        if (answer) show(held_->request.at("op").get<std::string>(), *answer);
        // A refusal is not asked for again until something has changed.
        held_->connection = connection_;
        held_->known = answer ? read_phase(*answer) : KnownPhase{{}, generation};
        if (!answer) return tl::unexpected(answer.error());
    }
    contact_->slot.set_base(held_ ? held_->known.phase : Phase{});
    return {};
}

// -------------------------------------------------------------------- requests

LinkResult<Json> Session::ask(Json request) {
    const auto begin = std::chrono::steady_clock::now();
    auto answer = contact_->link.ask(std::move(request));
    waited_ += std::chrono::steady_clock::now() - begin;
    return answer;
}

Json Session::request_of(const char* op, const PatternKey& key) const {
    Json request{{"op", op},
                 {"operation", name_of(key.operation)},
                 {"job_hosts", hosts_->names()},
                 {"comm_hosts", hosts_->names_of(key.hosts)},
                 {"ranks_per_host", key.is_between_hosts ? 1 : hosts_->ranks_per_host()},
                 {"siblings_disjoint", siblings_disjoint_}};
    if (key.root_host != no_root) request["root"] = hosts_->names_of({key.root_host}).front();
    if (key.algorithm != Algorithm::native) request["algorithm"] = name_of(key.algorithm);
    return request;
}

LinkResult<void> Session::ask_for_phase(const KnownPattern& pattern, std::uint64_t bytes,
                                        KnownPhase& known) {
    const PatternKey& key = pattern.first;
    Json request = key.traffic.empty() ? request_of("phase", key)
                                       : traffic_request(key.traffic, hosts_->names_of(key.hosts));
    if (key.traffic.empty()) request["message_bytes"] = bytes;
    const std::uint32_t generation = contact_->slot.generation();
    const auto answer = ask(std::move(request));
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
    const auto answer = ask(request_of("prepare", known.first));
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

void Session::show(const std::string& what, const Json& answer) const {
    if (!verbose_) return;
    say("rank " + std::to_string(rank_) + " on " + node_ + ", " + what + ": " +
        answer.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace headway::glue
