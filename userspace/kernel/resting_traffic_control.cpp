// SPDX-License-Identifier: Apache-2.0
#include "kernel/resting_traffic_control.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "kernel/kernel_diff.hpp"
#include "kernel/kernel_layout.hpp"

namespace headway {
namespace {

bool is_limited(const ClassRate& rate, const RateTable& table, const std::optional<ClassLease>& lease) {
    const auto limits = [](const auto& entry) { return entry.second.has_value(); };
    return rate || lease || std::ranges::any_of(table, limits);
}

AddClass to_change(const ClassState& state) {
    AddClass change{.classid = state.classid, .rate = state.rate, .table = state.table,
                    .burst_bytes = state.burst_bytes.value_or(0)};
    if (state.parent != TcHandle{}) change.parent = state.parent;
    return change;
}

/// As the kernel dumps them.
ClassState to_state(const AddClass& change) {
    return {.classid = change.classid,
            .parent = change.parent.value_or(TcHandle{}),
            .rate = change.rate,
            .table = change.table,
            .burst_bytes = change.burst_bytes};
}

FilterState to_state(const Change& filter) {
    if (const auto* const flower = std::get_if<AddFilter>(&filter)) {
        return {.kind = "flower", .preference = flower->preference, .protocol = flower->protocol(),
                .handle = flower->handle, .classid = flower->classid, .destination = flower->destination};
    }
    const auto& classifier = std::get<AddClassifier>(filter);
    return {.kind = "bpf", .name = classifier_name, .preference = classifier.preference, .protocol = ETH_P_ALL,
            .handle = classifier_handle, .classid = classifier.qdisc, .program_id = classifier.program.id};
}

bool is_same_place(const FilterState& one, const FilterState& other) {
    return one.preference == other.preference && one.protocol == other.protocol && one.handle == other.handle;
}

}  // namespace

// ------------------------------------------------------------------------- to rest

std::optional<Change> RestingTrafficControl::to_change(const FilterState& state) const {
    if (state.kind == "flower" && state.destination) {
        return AddFilter{state.preference, state.handle, *state.destination, state.classid};
    }
    if (state.kind == "bpf" && program_ && state.program_id == program_->id) {
        return AddClassifier{state.preference, *program_, root_handle};
    }
    return std::nullopt;
}

/// None: something is limited or waits, or cannot be put back.
auto RestingTrafficControl::keep(const RootQdisc& root, const std::vector<ClassState>& classes,
                                 const std::vector<FilterState>& filters) const -> std::optional<Kept> {
    Kept kept{root.backend, {}, {}};
    const auto is_kept = [&](TcHandle classid) {
        if (classid == TcHandle{}) return true;
        return std::ranges::find(kept.classes, classid, &AddClass::classid) != kept.classes.end();
    };
    for (std::size_t before = 0; kept.classes.size() < classes.size(); before = kept.classes.size()) {
        for (const ClassState& state : classes) {
            if (is_limited(state.rate, state.table, state.lease) || state.backlog_bytes != 0) return std::nullopt;
            if (!is_kept(state.classid) && is_kept(state.parent)) kept.classes.push_back(headway::to_change(state));
        }
        if (kept.classes.size() == before) return std::nullopt;
    }
    for (const FilterState& state : filters) {
        auto filter = to_change(state);
        if (!filter) return std::nullopt;
        kept.filters.push_back(std::move(*filter));
    }
    return kept;
}

Result<bool> RestingTrafficControl::rest() {
    if (is_resting()) return true;
    const auto found = read_kernel(kernel_);
    if (!found) return tl::unexpected(found.error());
    if (!is_ours(found->root) || found->root->queued_packets != 0) return false;
    auto kept = keep(*found->root, found->classes, found->filters);
    if (!kept) return false;
    if (auto gone = kernel_.apply_one(DeleteRootQdisc{root_handle}); !gone) return tl::unexpected(gone.error());
    kept_ = std::move(kept);
    return true;
}

// ------------------------------------------------------------------------- at rest

Result<std::optional<RootQdisc>> RestingTrafficControl::root_qdisc() {
    auto root = kernel_.root_qdisc();
    if (!root || !is_resting() || somebody_elses(*root)) return root;
    RootQdisc ours{.kind = "gap", .handle = root_handle, .backend = kept_->backend};
    if (const auto rate = link_rate_()) ours.link_rate = BytesPerSecond{rate->value / 8};
    return ours;
}

Result<std::vector<ClassState>> RestingTrafficControl::classes() {
    if (!is_resting()) return kernel_.classes();
    std::vector<ClassState> states;
    for (const AddClass& one : kept_->classes) states.push_back(to_state(one));
    std::ranges::sort(states, {}, &ClassState::classid);
    return states;
}

Result<std::vector<FilterState>> RestingTrafficControl::filters(TcHandle qdisc) {
    if (!is_resting()) return kernel_.filters(qdisc);
    std::vector<FilterState> states;
    for (const Change& one : kept_->filters) states.push_back(to_state(one));
    std::ranges::stable_sort(states, {}, &FilterState::preference);
    return states;
}

/// Changes what is kept, as the kernel would change what it has.
struct RestingTrafficControl::Applier {
    Kept& kept;

    Result<void> operator()(const ChangeBackend& change) const {
        kept.backend = change.backend;
        return {};
    }
    Result<void> operator()(const AddClass& change) const {
        if (find(change.classid) != kept.classes.end()) return system_failure(EEXIST, "the class is there already");
        kept.classes.push_back(change);
        return {};
    }
    Result<void> operator()(const DeleteClass& change) const {
        const auto found = find(change.classid);
        if (found == kept.classes.end()) return no_class();
        kept.classes.erase(found);
        return {};
    }
    Result<void> operator()(const ChangeClassRate& change) const {
        return mend(change.classid, [&](AddClass& one) { one.rate = change.rate; });
    }
    Result<void> operator()(const ChangeClassBurst& change) const {
        return mend(change.classid, [&](AddClass& one) { one.burst_bytes = change.burst_bytes; });
    }
    Result<void> operator()(const ChangeClassTable& change) const {
        return mend(change.classid, [&](AddClass& one) {
            for (const auto& [number, rate] : change.entries) one.table[number] = rate;
        });
    }
    Result<void> operator()(const RefreshClass& change) const { return mend(change.classid, [](AddClass&) {}); }
    Result<void> operator()(const ChangeClassLease& change) const {
        return mend(change.classid, [&](AddClass& one) { one.lease = change.lease; });
    }
    Result<void> operator()(const AddFilter& change) const { return put(change); }
    Result<void> operator()(const AddClassifier& change) const { return put(change); }
    Result<void> operator()(const DeleteFilter& change) const {
        const FilterState place{.kind = change.kind, .preference = change.preference, .protocol = change.protocol,
                                .handle = change.handle};
        const auto gone =
            std::erase_if(kept.filters, [&](const Change& one) { return is_same_place(to_state(one), place); });
        return gone > 0 ? Result<void>() : system_failure(ENOENT, "the filter is not there");
    }
    template <class Other>
    Result<void> operator()(const Other& change) const {
        return system_failure(EOPNOTSUPP, "{}: not while it rests", change_to_text(change));
    }

private:
    [[nodiscard]] std::vector<AddClass>::iterator find(TcHandle classid) const {
        return std::ranges::find(kept.classes, classid, &AddClass::classid);
    }
    static Result<void> no_class() { return system_failure(ENOENT, "the class is not there"); }

    template <class Mend>
    Result<void> mend(TcHandle classid, Mend change) const {
        const auto found = find(classid);
        if (found == kept.classes.end()) return no_class();
        change(*found);
        return {};
    }

    /// In the place of one that is there.
    Result<void> put(const Change& filter) const {
        std::erase_if(kept.filters, [&](const Change& one) { return is_same_place(to_state(one), to_state(filter)); });
        kept.filters.push_back(filter);
        return {};
    }
};

tl::expected<void, ApplyFailure> RestingTrafficControl::apply(std::span<const Change> changes, ApplyMode mode) {
    if (!is_resting()) return kernel_.apply(changes, mode);
    Kept wanted = *kept_;
    Outcomes outcomes;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        outcomes.add(i, changes[i], std::visit(Applier{wanted}, changes[i]));
        if (mode == ApplyMode::in_order && outcomes.has_failed()) break;
    }
    const bool limits = std::ranges::any_of(
        wanted.classes, [](const AddClass& one) { return is_limited(one.rate, one.table, one.lease); });
    if (limits) {
        if (auto done = wake(wanted); !done) return tl::unexpected(ApplyFailure{done.error(), {}});
    } else {
        kept_ = std::move(wanted);
    }
    return outcomes.all();
}

// ------------------------------------------------------------------------- to pace

/// A failure leaves the device its default, and what is kept as it was.
Result<void> RestingTrafficControl::wake(const Kept& wanted) {
    auto done = put_back(wanted);
    if (done) kept_.reset();
    woken_(done);
    return done;
}

Result<void> RestingTrafficControl::put_back(const Kept& wanted) {
    const auto root = kernel_.root_qdisc();
    if (!root) return tl::unexpected(root.error());
    if (auto refusal = somebody_elses(*root)) return tl::unexpected(std::move(*refusal));
    std::vector<Change> build{AddRootQdisc{root_handle}};
    build.insert(build.end(), wanted.classes.begin(), wanted.classes.end());
    build.insert(build.end(), wanted.filters.begin(), wanted.filters.end());
    if (auto done = kernel_.apply(build, ApplyMode::in_order); !done) {
        (void)kernel_.apply_one(DeleteRootQdisc{root_handle});
        return tl::unexpected(std::move(done.error().error));
    }
    // what is refused is decided anew by the next self-test
    if (wanted.backend != GAP_BACKEND_TIMER) (void)kernel_.apply_one(ChangeBackend{root_handle, wanted.backend});
    return {};
}

}  // namespace headway
