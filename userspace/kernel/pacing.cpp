// SPDX-License-Identifier: Apache-2.0
#include "kernel/pacing.hpp"

#include <algorithm>

namespace headway {

/// Learns from a change that the kernel has made, or may have made (`is_sure` is false).
struct KernelMirror::Learner {
    std::unordered_map<std::uint32_t, Known>& known;
    bool is_sure;

    void operator()(const AddClass& change) const {
        Known& one = known[change.classid.value] = {{}, change.lease.has_value()};
        if (!is_sure) return;
        one.table = change.table;
        if (!change.keeps_rate) one.learn_rate(change.rate);
    }
    void operator()(const ChangeClassRate& change) const {
        Known& one = known[change.classid.value];
        one.is_rate_known = false;
        if (is_sure) one.learn_rate(change.rate);
    }
    void operator()(const ChangeClassTable& change) const {
        RateTable& table = known[change.classid.value].table;
        for (const auto& [number, rate] : change.entries) {
            table.erase(number);
            if (is_sure) table.emplace(number, rate);
        }
    }
    void operator()(const ChangeClassLease& change) const { known[change.classid.value] = {{}, true}; }
    void operator()(const DeleteClass& change) const { known.erase(change.classid.value); }
    void operator()(const AddRootQdisc&) const { known.clear(); }
    void operator()(const DeleteRootQdisc&) const { known.clear(); }
    template <class Other>
    void operator()(const Other&) const {}  // of no class's rates
};

Result<std::vector<ClassState>> KernelMirror::classes() {
    auto states = kernel_.classes();
    if (!states) {
        known_.clear();
        return states;
    }
    // those that are still there keep their place: a pass over thousands of classes is frequent
    ++dumps_;
    for (const ClassState& state : *states) {
        Known& one = known_[state.classid.value];
        if (one.table != state.table) one.table = state.table;
        one.is_leased = state.lease.has_value();
        one.shown_in = dumps_;
        one.learn_rate(state.rate);
    }
    std::erase_if(known_, [&](const auto& one) { return one.second.shown_in != dumps_; });
    return states;
}

Result<std::optional<RootQdisc>> KernelMirror::root_qdisc() {
    auto root = kernel_.root_qdisc();
    if (root) link_rate_ = *root ? (*root)->link_rate : std::nullopt;
    return root;
}

bool KernelMirror::has_rate(TcHandle classid, const ClassRate& rate) const {
    const auto known = known_.find(classid.value);
    return known != known_.end() && known->second.is_rate_known && known->second.rate == rate_within(rate, link_rate_);
}

/// The kernel is to be asked for all of the change, in these words.
bool KernelMirror::is_all_news(const Change& change) const {
    if (const auto* const asked = std::get_if<ChangeClassRate>(&change)) {
        return rate_within(asked->rate, link_rate_) == asked->rate && !has_rate(asked->classid, asked->rate);
    }
    return !std::holds_alternative<ChangeClassTable>(change) && !std::holds_alternative<AddClass>(change);
}

/// Returns the part of the change that the kernel is not known to have; none: it has all of it.
std::optional<Change> KernelMirror::news_of(const Change& change) const {
    if (const auto* const asked = std::get_if<ChangeClassRate>(&change)) {
        if (has_rate(asked->classid, asked->rate)) return std::nullopt;
        return ChangeClassRate{asked->classid, rate_within(asked->rate, link_rate_)};
    }
    if (const auto* const asked = std::get_if<ChangeClassTable>(&change)) {
        ChangeClassTable rest{asked->classid, {}};
        const auto known = known_.find(asked->classid.value);
        for (const auto& [number, wanted] : asked->entries) {
            const ClassRate rate = rate_within(wanted, link_rate_);
            if (known == known_.end() || !known->second.has(number, rate)) rest.entries.emplace(number, rate);
        }
        return rest.entries.empty() ? std::nullopt : std::optional<Change>(std::move(rest));
    }
    if (const auto* const asked = std::get_if<AddClass>(&change)) {
        return rates_within(*asked, link_rate_);
    }
    return change;
}

tl::expected<void, ApplyFailure> KernelMirror::apply(std::span<const Change> changes, ApplyMode mode) {
    // Mostly; then nothing is copied while a collective waits.
    if (std::ranges::all_of(changes, [&](const Change& one) { return is_all_news(one); })) {
        return ask(changes, mode);
    }
    std::vector<Change> asked;
    std::vector<std::size_t> places, applied;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        auto news = news_of(changes[i]);
        if (!news) {
            applied.push_back(i);
            continue;
        }
        // at once, for a later change of the batch may be about the same class
        std::visit(Learner{known_, true}, *news);
        asked.push_back(std::move(*news));
        places.push_back(i);
    }
    auto done = ask(asked, mode);
    if (done) return done;
    for (const std::size_t i : done.error().applied) applied.push_back(places[i]);
    return tl::unexpected(ApplyFailure{std::move(done.error().error), std::move(applied)});
}

/// After a failure, every change that the failure does not name as made is in doubt.
tl::expected<void, ApplyFailure> KernelMirror::ask(std::span<const Change> changes, ApplyMode mode) {
    if (changes.empty()) return {};
    auto done = kernel_.apply(changes, mode);
    for (const Change& change : changes) std::visit(Learner{known_, done.has_value()}, change);
    if (done) return done;
    for (const std::size_t i : done.error().applied) std::visit(Learner{known_, true}, changes[i]);
    return done;
}

Pacer::Pacer(KernelMirror& kernel, const Clock& clock, const KernelLayout& layout)
    : kernel_(kernel), clock_(clock) {
    for (const ClassLayout& target : layout.classes) classes_.push_back({target.classid});
}

Result<Pacer::EnterId> Pacer::enter(std::vector<ClassRate> rates) {
    add_wishes(rates);
    if (const auto done = reconcile(); !done) {
        remove_wishes(rates);
        // Put back what did change; if that fails as well, a retry will.
        reconcile_or_retry();
        return tl::unexpected(done.error());
    }
    const EnterId id = next_id_++;
    enters_.emplace(id, std::move(rates));
    return id;
}

void Pacer::leave(std::span<const EnterId> enters) {
    for (const EnterId id : enters) {
        const auto entered = enters_.find(id);
        if (entered == enters_.end()) continue;
        remove_wishes(entered->second);
        enters_.erase(entered);
    }
    reconcile_or_retry();
}

void Pacer::hold(std::vector<ClassRate> rates) {
    held_ = std::move(rates);
    add_wishes(held_);
}

void Pacer::release_held() {
    remove_wishes(std::exchange(held_, {}));
    reconcile_or_retry();
}

void Pacer::set_off(bool is_off) {
    is_off_ = is_off;
    reconcile_or_retry();
}

void Pacer::confirm() {
    retry_at_.reset();
    retry_pause_.reset();
}

void Pacer::retry() {
    if (!retry_at_ || clock_.now() < *retry_at_) return;
    reconcile_or_retry();
}

std::optional<Error> Pacer::take_error() { return std::exchange(untold_error_, std::nullopt); }

ClassRate Pacer::wanted(std::size_t class_index) const {
    const auto& wishes = classes_[class_index].wishes;
    if (is_off_ || wishes.empty()) return std::nullopt;
    return wishes.begin()->first;
}

void Pacer::add_wishes(const std::vector<ClassRate>& rates) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
        if (rates[i]) ++classes_[i].wishes[*rates[i]];
    }
}

void Pacer::remove_wishes(const std::vector<ClassRate>& rates) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
        if (!rates[i]) continue;
        const auto wish = classes_[i].wishes.find(*rates[i]);
        if (--wish->second == 0) classes_[i].wishes.erase(wish);
    }
}

Result<void> Pacer::reconcile() {
    std::vector<Change> changes;
    changes.reserve(classes_.size());
    for (std::size_t i = 0; i < classes_.size(); ++i) {
        const TcHandle classid = classes_[i].classid;
        // not asked, which a collective would wait for, where it is so already
        if (!kernel_.has_rate(classid, wanted(i))) changes.emplace_back(ChangeClassRate{classid, wanted(i)});
    }
    if (auto done = kernel_.apply(changes, ApplyMode::together); !done) {
        retry_at_ = clock_.now() + retry_pause_.next();
        return tl::unexpected(std::move(done.error().error));
    }
    confirm();
    return {};
}

/// Reconciles where nobody waits for the result; it keeps a failure for the next status.
void Pacer::reconcile_or_retry() {
    if (const auto done = reconcile(); !done) untold_error_ = done.error();
}

}  // namespace headway
