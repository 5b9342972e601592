// SPDX-License-Identifier: Apache-2.0
#include "trunk/coordinator.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/hostlist.hpp"
#include "base/limits.hpp"
#include "base/log.hpp"
#include "kernel/kernel_layout.hpp"
#include "trunk/member_record.hpp"

namespace headway {
namespace {

/// More than hosts that anybody configures: a bound for what is kept of a snapshot.
constexpr std::uint64_t members_max = 100'000;
constexpr std::size_t differing_in_status_max = 16;  ///< hosts, for people to read

const ClassState* find_class(const KernelState& observed, TcHandle classid) {
    const auto found = std::ranges::find(observed.classes, classid, &ClassState::classid);
    return found == observed.classes.end() ? nullptr : &*found;
}

tl::unexpected<Error> out_of_place(const char* what) {
    return failure("headway-etcd tells {} where none belongs", what);
}

}  // namespace

Coordinator::Coordinator(const NodeTrunk& node, const CoordinationConfig& config,
                         TrafficControl& kernel, StoreSender store, const Clock& clock,
                         BytesPerSecond link_rate, const HostNumbers& hosts, spdlog::logger& log)
    : node_(node),
      config_(config),
      kernel_(kernel),
      store_(std::move(store)),
      clock_(clock),
      hosts_(hosts),
      log_(log),
      member_({node.trunk, config.timing, node.host, node.configuration}),
      link_rate_(link_rate) {}

// ---- what happens -------------------------------------------------------------------

void Coordinator::want(const std::vector<JobHere>& jobs) {
    if (jobs == jobs_) return;
    jobs_ = jobs;
    member_.want(clock_.now(), demands_of(jobs));
    carry_out();
}

void Coordinator::tick() {
    member_.tick(clock_.now());
    carry_out();
}

Result<void> Coordinator::report(const StoreReport& report) {
    auto taken = std::visit([this](const auto& one) { return take(one); }, report);
    carry_out();
    return taken;
}

void Coordinator::store_gone() {
    beginning_.reset();
    has_snapshot_ = false;
}

void Coordinator::stop() {
    member_.stop(clock_.now());
    carry_out();
}

PassObserver Coordinator::observer() {
    return {[this](const KernelState& observed) { pass_found(observed); },
            [this] { pass_ended(); }};
}

/// Somebody else's change of the guard or of the cap, or none of them there.
void Coordinator::pass_found(const KernelState& observed) {
    if (observed.root && observed.root->link_rate) link_rate_ = *observed.root->link_rate;
    const ClassState* guard = find_class(observed, guard_class);
    const ClassState* cap = find_class(observed, cap_class);
    const auto set = member_.cap();
    const bool is_guard_ours = guard != nullptr && guard->lease == node_.guard &&
                               (guard->expired || !guard->rate);
    const bool is_cap_ours = cap != nullptr && cap->parent == guard_class &&
                             (!set || cap->rate == in_kernel(*set));
    is_kernel_lost_ = is_kernel_lost_ || !is_guard_ours || !is_cap_ours;
}

/// The reconciler calls this after it has restored the classes as far as it can.
void Coordinator::pass_ended() {
    if (!std::exchange(is_kernel_lost_, false)) return;
    member_.kernel_lost(clock_.now());
    carry_out();
}

// ---- what the store says --------------------------------------------------------------

Result<void> Coordinator::take(const StoreAnswer& answer) {
    member_.store_answered(clock_.now(), answer);
    return {};
}

Result<void> Coordinator::take(const SnapshotBegins& begins) {
    if (beginning_ || begins.members > members_max) return out_of_place("a snapshot");
    has_snapshot_ = false;
    beginning_ = {begins.revision, begins.settled_by, {}};
    members_missing_ = begins.members;
    snapshot_if_complete();
    return {};
}

Result<void> Coordinator::take(const SnapshotMember& member) {
    if (!beginning_) return out_of_place("a member");
    --members_missing_;
    beginning_->members.push_back(member);
    snapshot_if_complete();
    return {};
}

void Coordinator::snapshot_if_complete() {
    if (members_missing_ > 0) return;
    member_.snapshot(clock_.now(), *beginning_);
    beginning_.reset();
    has_snapshot_ = true;
}

Result<void> Coordinator::take(const StoreChanges& changes) {
    if (!has_snapshot_) return out_of_place("changes");
    if (changes.revision <= member_.view().revision()) return out_of_place("an earlier revision");
    member_.changes(clock_.now(), changes.changes);
    return {};
}

Result<void> Coordinator::take(const StoreCondition& condition) {
    if (condition.is_watched) log_info(log_, "watching etcd at {}", condition.text);
    else log_warning(log_, "HW-501 cannot watch etcd: {}", condition.text);
    condition_ = condition;
    return {};
}

// ---- what is to be done -----------------------------------------------------------------

/// The configuration's weight goes before the one that the job was started with, but not to
/// whoever uses the name.
std::uint32_t Coordinator::weight_of(const JobHere& job) const {
    const auto weight = job.is_granted ? config_.weights.find(job.name) : config_.weights.end();
    return weight == config_.weights.end() ? job.weight : weight->second;
}

/// A job wants all it can get as long as it is there.  A user with many jobs here does not crowd
/// out the others': if a record cannot hold all jobs, each user's first ones come first.
std::vector<Demand> Coordinator::demands_of(const std::vector<JobHere>& jobs) const {
    std::map<JobIdentity, std::uint32_t> weights;
    for (const JobHere& job : jobs) weights.try_emplace(cluster_identity(job), weight_of(job));
    std::map<uid_t, std::size_t> of_user;
    std::multimap<std::size_t, Demand> by_turn;
    for (const auto& [job, weight] : weights) {
        const std::size_t turn = of_user[job.uid]++;
        if (job.uid != 0 && turn >= demands_per_user_max) continue;
        by_turn.emplace(turn, Demand{node_.host, job, weight, no_limit_wanted});
    }
    std::vector<Demand> demands;
    for (auto& [turn, demand] : by_turn) {
        if (demands.size() < demands_per_host_max) demands.push_back(std::move(demand));
    }
    return demands;
}

/// The deed's shares are those of the record that the store has now.
bool Coordinator::set_cap(const SetCap& deed) {
    if (!change(ChangeClassRate{cap_class, in_kernel(deed.rate)})) return false;
    job_shares_.clear();
    const MemberRecordPtr& record = member_.view().host(node_.host).record;
    for (std::size_t i = 0; record && i < deed.demands.size(); ++i) {
        job_shares_.emplace(record->demands[i].job, deed.demands[i]);
    }
    return true;
}

/// Below their share where the node is: together its jobs have no more than it.
std::optional<TrunkDivision> Coordinator::division() const {
    const auto cap = member_.cap();
    if (!cap) return std::nullopt;
    TrunkDivision division{*cap, job_shares_};
    unsigned __int128 sum = 0;
    for (const auto& [job, share] : job_shares_) sum += share.value;
    if (sum <= cap->value) return division;
    for (auto& [job, share] : division.of_job) {
        const auto part = static_cast<unsigned __int128>(share.value) * cap->value / sum;
        share.value = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(part));
    }
    return division;
}

/// The kernel takes no rate above the link's, and none is needed.
BytesPerSecond Coordinator::in_kernel(BytesPerSecond cap) const {
    return std::min(cap, link_rate_);
}

bool Coordinator::change(const Change& change) {
    const auto made = kernel_.apply_one(change);
    if (!made) log_warning(log_, "HW-502 cannot set the trunk's share: {}", made.error().message);
    return made.has_value();
}

/// Carries the action out and returns the kernel's answer; none: the store has been asked.
std::optional<bool> Coordinator::carry_out(const Action& action) {
    if (const auto* cap = std::get_if<SetCap>(&action.deed)) return set_cap(*cap);
    if (std::holds_alternative<RefreshGuard>(action.deed)) return change(RefreshClass{guard_class});
    if (std::holds_alternative<ReviveGuard>(action.deed)) {
        return change(ChangeClassLease{guard_class, node_.guard, true});
    }
    store_(to_packet(action));
    return std::nullopt;
}

/// The actions of an event are carried out in their order before the kernel's
/// answers to them are the next event.
void Coordinator::carry_out() {
    for (auto actions = member_.take_actions(); !actions.empty(); actions = member_.take_actions()) {
        std::vector<std::pair<RequestId, bool>> answers;
        for (const Action& action : actions) {
            if (const auto done = carry_out(action)) answers.emplace_back(action.id, *done);
        }
        for (const auto& [id, done] : answers) member_.kernel_answered(clock_.now(), id, done);
    }
    tell_cap();
    tell_differing();
}

void Coordinator::tell_cap() {
    if (member_.cap() == told_cap_ || !member_.cap()) return;
    told_cap_ = member_.cap();
    log_info(log_, "using up to {} of the trunk's {}", rate_to_text(told_cap_->bits()),
              rate_to_text(node_.trunk.capacity.bits()));
}

/// Live members whose settings are not those of most; if nobody understands most records, those
/// whose settings are not this node's.
std::vector<HostNumber> Coordinator::differing() const {
    const StoreView& view = member_.view();
    const std::uint64_t leading = view.leading_configuration();
    const std::uint64_t usual = leading != 0 ? leading : node_.configuration;
    std::vector<HostNumber> differing;
    for (HostNumber host = 0; host < view.hosts(); ++host) {
        const MemberRecordPtr& record = view.host(host).record;
        if (record && record->configuration != usual) differing.push_back(host);
    }
    return differing;
}

/// Once a minute at most: new settings come to one host after the other.
void Coordinator::tell_differing() {
    const auto now = clock_.now();
    const Revision epoch = member_.view().epoch();
    if (epoch == told_differing_at_ || now < tell_differing_from_) return;
    told_differing_at_ = epoch;
    const auto differing = this->differing();
    if (differing == told_differing_) return;
    told_differing_ = differing;
    tell_differing_from_ = now + std::chrono::minutes(1);
    if (differing.empty())
        log_info(log_, "found on all hosts the same settings for the trunk again");
    else log_warning(log_, "HW-506 compare settings: {}", differing_text(differing));
}

std::string Coordinator::differing_text(const std::vector<HostNumber>& differing) const {
    constexpr std::size_t names_max_bytes = 512;
    std::vector<std::string> names;
    for (const HostNumber host : differing) names.push_back(hosts_.name_of(host));
    const std::string list = format_hostlist(names).substr(0, names_max_bytes);
    const std::uint64_t leading = member_.view().leading_configuration();
    if (leading == 0)
        return fmt::format("nobody shares the trunk, for this node understands the records of too few "
                           "hosts; those of {} are of other settings or of another version", list);
    if (leading == node_.configuration)
        return fmt::format("the settings of {} differ from this node's, which most hosts have: those hosts "
                           "stay at their fallback", list);
    return fmt::format("this node's settings ({}) are not those of most hosts ({}), so it stays at its "
                       "fallback; settings differ on {}",
                       configuration_text(node_.configuration), configuration_text(leading), list);
}

// ---- for those who look -------------------------------------------------------------------

nlohmann::json Coordinator::status() const {
    const StoreView& view = member_.view();
    std::size_t live = 0;
    for (HostNumber host = 0; host < node_.hosts.size(); ++host) live += view.host(host).record != nullptr;
    const auto lease = member_.lease_until();
    const auto left = lease ? std::max(*lease - clock_.now(), std::chrono::nanoseconds(0))
                            : std::chrono::nanoseconds(0);
    nlohmann::json status{{"via", "etcd"},
                          {"watched", condition_.is_watched},
                          {"store", condition_.text},
                          {"settled", view.settled_by() != 0},
                          {"epoch", view.epoch()},
                          {"agreed", member_.is_agreed()},
                          {"waiting_for", view.waiting()},
                          {"hosts", node_.hosts.size()},
                          {"live_hosts", live},
                          {"lease_left_ms", std::chrono::ceil<std::chrono::milliseconds>(left).count()},
                          {"has_lease", lease.has_value()},
                          {"trunk_bytes_per_s", node_.trunk.capacity.value},
                          {"fallback_bytes_per_s", node_.trunk.fallback.value},
                          {"jobs", jobs_.size()}};
    const std::uint64_t leading = view.leading_configuration();
    status["configuration"] = configuration_text(node_.configuration);
    status["leading_configuration"] = leading != 0 ? nlohmann::json(configuration_text(leading)) : nullptr;
    const auto differing = this->differing();
    status["differing_hosts"] = differing.size();
    status["differing"] = nlohmann::json::array();
    for (const HostNumber host : differing) {
        if (status["differing"].size() == differing_in_status_max) break;
        const std::uint64_t configuration = view.host(host).record->configuration;
        status["differing"].push_back(
            {{"host", hosts_.name_of(host)},
             {"configuration",
              configuration != 0 ? nlohmann::json(configuration_text(configuration)) : nullptr}});
    }
    status["share_bytes_per_s"] = member_.cap() ? nlohmann::json(member_.cap()->value) : nullptr;
    return status;
}

}  // namespace headway
