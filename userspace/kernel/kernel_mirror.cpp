// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_mirror.hpp"

namespace headway {

/// What follows from a change that the kernel has made, or may have made (`is_sure` is false).
struct KernelMirror::Learner {
    std::map<TcHandle, Known>& known;
    bool is_sure;

    void operator()(const AddClass& change) const {
        Known& one = known[change.classid] = {{}, change.lease.has_value()};
        if (!is_sure) return;
        one.table = change.table;
        if (!change.keeps_rate) one.learn_rate(change.rate);
    }
    void operator()(const ChangeClassRate& change) const {
        Known& one = known[change.classid];
        one.is_rate_known = false;
        if (is_sure) one.learn_rate(change.rate);
    }
    void operator()(const ChangeClassTable& change) const {
        RateTable& table = known[change.classid].table;
        for (const auto& [number, rate] : change.entries) {
            table.erase(number);
            if (is_sure) table.emplace(number, rate);
        }
    }
    void operator()(const ChangeClassLease& change) const { known[change.classid] = {{}, true}; }
    void operator()(const DeleteClass& change) const { known.erase(change.classid); }
    void operator()(const AddRootQdisc&) const { known.clear(); }
    void operator()(const DeleteRootQdisc&) const { known.clear(); }
    template <class Other>
    void operator()(const Other&) const {}  // of no class's rates
};

Result<std::vector<ClassState>> KernelMirror::classes() {
    auto states = kernel_.classes();
    known_.clear();
    for (const ClassState& state : states.value_or(std::vector<ClassState>{})) {
        Known& one = known_[state.classid] = {state.table, state.lease.has_value()};
        one.learn_rate(state.rate);
    }
    return states;
}

Result<std::optional<RootQdisc>> KernelMirror::root_qdisc() {
    auto root = kernel_.root_qdisc();
    if (root) link_rate_ = *root ? (*root)->link_rate : std::nullopt;
    return root;
}

ClassRate KernelMirror::allowed(const ClassRate& rate) const {
    return rate && link_rate_ && *rate > *link_rate_ ? std::nullopt : rate;
}

/// What of the change the kernel is not known to have; none: it has all of it.
std::optional<Change> KernelMirror::news_of(const Change& change) const {
    if (const auto* const asked = std::get_if<ChangeClassRate>(&change)) {
        const ClassRate rate = allowed(asked->rate);
        const auto known = known_.find(asked->classid);
        if (known != known_.end() && known->second.is_rate_known && known->second.rate == rate) {
            return std::nullopt;
        }
        return ChangeClassRate{asked->classid, rate};
    }
    if (const auto* const asked = std::get_if<ChangeClassTable>(&change)) {
        ChangeClassTable rest{asked->classid, {}};
        const auto known = known_.find(asked->classid);
        for (const auto& [number, wanted] : asked->entries) {
            const ClassRate rate = allowed(wanted);
            if (known == known_.end() || !known->second.has(number, rate)) rest.entries.emplace(number, rate);
        }
        return rest.entries.empty() ? std::nullopt : std::optional<Change>(std::move(rest));
    }
    if (const auto* const asked = std::get_if<AddClass>(&change)) {
        AddClass added = *asked;
        added.rate = allowed(added.rate);
        for (auto& [number, rate] : added.table) rate = allowed(rate);
        return added;
    }
    return change;
}

tl::expected<void, ApplyFailure> KernelMirror::apply(std::span<const Change> changes, ApplyMode mode) {
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
    if (asked.empty()) return {};
    auto done = kernel_.apply(asked, mode);
    if (done) return done;
    for (const Change& change : asked) std::visit(Learner{known_, false}, change);
    for (const std::size_t i : done.error().applied) {
        std::visit(Learner{known_, true}, asked[i]);
        applied.push_back(places[i]);
    }
    return tl::unexpected(ApplyFailure{std::move(done.error().error), std::move(applied)});
}

}  // namespace headway
