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

LinkResult<Session> Session::open(const SessionOptions& options, const std::string& job, int rank,
                                  const JobHosts& hosts, ContactSeeker::Now now) {
    ContactPlan plan{options.socket_path, options.timeout, job, options.job_start, rank};
    auto contact = make_contact(plan);
    if (!contact) return tl::unexpected(contact.error());
    Session session(std::move(plan), options, hosts, std::move(now));
    if (!contact->node.empty()) session.node_ = contact->node;
    session.cluster_ = contact->cluster;
    session.take_over(std::move(*contact));
    return session;
}

Session Session::without_daemon(const SessionOptions& options, const std::string& job, int rank,
                                const JobHosts& hosts, ContactSeeker::Now now) {
    Session session({options.socket_path, options.timeout, job, options.job_start, rank}, options,
                    hosts, std::move(now));
    session.seeker_.lost();
    return session;
}

/// False: there is no daemon now.
LinkResult<bool> Session::connect() {
    if (link_) {
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
    if (link_->is_hung_up())
        return tl::unexpected(LinkError{"headwayd closed the connection", true});
    return {};
}

void Session::take_over(Contact contact) {
    link_ = std::move(contact.link);
    slot_ = std::move(contact.slot);
    ++connection_;
    next_look_ = now_() + look_pause;
    min_message_bytes_ = contact.min_message_bytes;
    port_buffer_bytes_ = contact.port_buffer_bytes;
}

/// From now on nothing is paced.  A daemon that died has left a classifier that
/// still reads the slot, which therefore rests.
void Session::disconnect() {
    slot_.reset();
    link_.reset();
    requested_.clear();
    seeker_.lost();
}

template <class Value>
LinkResult<Value> Session::noted(LinkResult<Value> result) {
    if (!result && result.error().lost && link_) disconnect();
    return result;
}

// -------------------------------------------------------------------- patterns

LinkResult<KnownPattern*> Session::pattern(const PatternKey& key) {
    KnownPattern& known = place_of(key);
    const auto connected = noted(connect());
    if (!connected) return tl::unexpected(connected.error());
    if (!*connected) {
        known.second = Pattern{};
    } else if (known.second.connection != connection_) {
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
    const AskedAt now{connection_, slot_ ? slot_->generation() : 0};
    if (now == std::exchange(asked, now)) return std::nullopt;
    const Algorithm able = own_algorithm_of(key.operation);
    Json request = request_of(slot_ ? "phase" : "prepare", key);
    request["algorithms"] = {name_of(able)};
    if (bytes) request["message_bytes"] = *bytes;
    const auto answer = noted(ask(std::move(request)));
    if (!answer) {
        if (answer.error().lost) return tl::unexpected(answer.error());
        return Algorithm::native;  // what it has against the rest it will say then
    }
    show(name_of(key.operation), *answer);
    const bool is_named = algorithm_of(*answer) == able;
    if (is_named && bytes) {
        PatternKey named = key;
        named.algorithm = key.is_between_hosts ? Algorithm::linear : able;
        note_prediction(named, *bytes, *answer);
    }
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
    return noted(enter_connected(known, bytes));
}

LinkResult<EnteredCall> Session::enter_call(const HostSet& hosts, const HostTraffic& traffic) {
    const auto connected = noted(connect());
    if (!connected) return tl::unexpected(connected.error());
    if (!*connected || !slot_ || traffic.empty()) return EnteredCall{};
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
    slot_->enter(++last_entry_, phase);
    const double end_s = number_or_0(*answer, "end_s") * bytes_of_unit(traffic);
    return EnteredCall{last_entry_, std::clamp(end_s, 0.0, longest_call_s)};
}

LinkResult<EntryId> Session::enter_connected(KnownPattern& known, std::uint64_t bytes) {
    if (const auto updated = update(known); !updated) return tl::unexpected(updated.error());
    return slot_ ? enter_phase(known, bytes) : enter_by_request(known, bytes);
}

/// Prepared on this connection, and with phases since the last change.
LinkResult<void> Session::update(KnownPattern& known) {
    const Pattern& pattern = known.second;
    const std::uint32_t generation = slot_ ? slot_->generation() : 0;
    if (slot_ && !holds_what_was_answered()) {
        if (auto held = hold_rates(); !held && held.error().lost) return held;
    }
    if (pattern.connection == connection_ && pattern.generation == generation) return {};
    return prepare(known);
}

LinkResult<EntryId> Session::enter_phase(KnownPattern& known, std::uint64_t bytes) {
    Pattern& pattern = known.second;
    if (!is_worthwhile(pattern, bytes)) return not_entered;
    KnownPhase& phase = pattern.phases[size_class(bytes)];
    if (phase.generation != slot_->generation()) {
        if (const auto asked = ask_for_phase(known, bytes, phase); !asked)
            return tl::unexpected(asked.error());
    }
    if (phase.phase.number == 0) return not_entered;
    slot_->enter(++last_entry_, phase.phase);
    return last_entry_;
}

LinkResult<EntryId> Session::enter_by_request(KnownPattern& known, std::uint64_t bytes) {
    if (!is_worthwhile(known.second, bytes)) return not_entered;
    auto entered = ask_to_enter(known, bytes);
    if (!entered && !entered.error().lost) {
        // A pattern goes out of date when the daemon reads another topology.
        if (const auto prepared = prepare(known); !prepared) {
            entered = tl::unexpected(prepared.error());
        } else {
            if (!is_worthwhile(known.second, bytes)) return not_entered;
            entered = ask_to_enter(known, bytes);
        }
    }
    if (entered) return entered;
    known.second = Pattern{};
    known.second.connection = connection_;
    return tl::unexpected(entered.error());
}

LinkResult<void> Session::leave(EntryId entry) {
    if (slot_) slot_->leave(entry);
    const auto left = requested_.extract(entry);
    if (left.empty()) return {};
    Json request{{"op", "leave"}};
    if (left.mapped()) request["entered"] = *left.mapped();
    return noted(link_->tell(std::move(request)));
}

// ----------------------------------------------------------------------- rates

LinkResult<bool> Session::hold(std::shared_ptr<HeldRates> rates) {
    held_ = std::move(rates);
    const auto connected = noted(connect());
    if (!connected) return tl::unexpected(connected.error());
    if (!slot_) return false;
    if (const auto held = noted(hold_rates()); !held) return tl::unexpected(held.error());
    return true;
}

/// On this connection, and since the last change: processes of a job on a node
/// share a rate, and numbers of phases go out of date.
bool Session::holds_what_was_answered() const {
    return !held_ || (held_->connection == connection_ &&
                      held_->known.generation == slot_->generation());
}

LinkResult<void> Session::hold_rates() {
    if (!holds_what_was_answered()) {
        slot_->set_base({});
        // A refusal is not asked for again until something has changed.
        held_->connection = connection_;
        held_->known = {{}, slot_->generation()};
        const auto answer = ask(held_->request);
        if (!answer) return tl::unexpected(answer.error());
        show(held_->request.at("op").get<std::string>(), *answer);
        held_->known = read_phase(*answer);
    }
    slot_->set_base(held_ ? held_->known.phase : Phase{});
    return {};
}

// -------------------------------------------------------------------- requests

LinkResult<Json> Session::ask(Json request) {
    const auto begin = std::chrono::steady_clock::now();
    auto answer = link_->ask(std::move(request));
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
    // A refusal is not asked for again until something has changed.
    known.phase = {};
    known.generation = slot_->generation();
    const auto answer = ask(std::move(request));
    if (!answer) return tl::unexpected(answer.error());
    show(name_of(key.operation), *answer);
    const std::uint32_t generation = known.generation;
    known = read_phase(*answer);
    if (key.traffic.empty() && !is_for(key, *answer)) {
        known = {{}, generation};
    } else {
        note_prediction(key, bytes, *answer);
    }
    return {};
}

LinkResult<void> Session::prepare(KnownPattern& known) {
    known.second = Pattern{};
    known.second.connection = connection_;
    if (slot_) known.second.generation = slot_->generation();
    if (!known.first.traffic.empty()) {
        prepare_traffic(known.second);
        return {};
    }
    const auto answer = ask(request_of("prepare", known.first));
    if (!answer) return tl::unexpected(answer.error());
    show(name_of(known.first.operation), *answer);
    auto pattern = read_pattern(*answer);
    if (!pattern) return tl::unexpected(pattern.error());
    if (pattern->paced && !is_for(known.first, *answer))
        refuse_other_algorithm(known.first, *pattern);
    pattern->connection = known.second.connection;
    pattern->generation = known.second.generation;
    known.second = std::move(*pattern);
    return {};
}

/// What there is to say comes with the phase.
void Session::prepare_traffic(Pattern& pattern) const {
    pattern.paced = slot_.has_value();
    pattern.min_message_bytes = min_message_bytes_;
    if (!slot_) pattern.reason = "headwayd has no phases on this node";
}

LinkResult<EntryId> Session::ask_to_enter(const KnownPattern& known, std::uint64_t bytes) {
    Json request; // one member after the other: a list of pairs is copied twice
    request["op"] = "enter";
    request["pattern"] = known.second.id;
    request["message_bytes"] = bytes;
    const auto answer = ask(std::move(request));
    if (!answer) return tl::unexpected(answer.error());
    show(name_of(known.first.operation), *answer);
    note_prediction(known.first, bytes, *answer);
    requested_.emplace(++last_entry_, whole_number_in(*answer, "entered"));
    return last_entry_;
}

void Session::show(const std::string& what, const Json& answer) const {
    if (!verbose_) return;
    say("rank " + std::to_string(rank_) + " on " + node_ + ", " + what + ": " +
        answer.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace headway::glue
