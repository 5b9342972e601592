// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_diff.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "kernel/kernel_layout.hpp"

namespace headway {
namespace {

constexpr std::size_t changes_told_max = 3;
constexpr std::uint16_t classifier_preference = filter_preference_v4;

auto find_classifier(const std::vector<FilterState>& filters, std::uint16_t preference) {
    return std::ranges::find_if(filters, [&](const FilterState& state) {
        return state.kind == "bpf" && state.preference == preference &&
               state.protocol == ETH_P_ALL && state.handle == classifier_handle;
    });
}

class Differ {
public:
    Differ(const KernelDesire& desire, const KernelState& observed)
        : desire_(desire), observed_(observed), keeps_filter_(observed.filters.size()) {
        found_.reserve(observed.classes.size());
        desired_.reserve(observed.classes.size());
        filters_.reserve(observed.filters.size());
        for (const ClassState& state : observed.classes) found_.emplace(state.classid.value, &state);
        for (std::size_t i = 0; i < observed.filters.size(); ++i) {
            filters_.emplace(observed.filters[i].handle, i);
        }
        if (observed.root) link_rate_ = observed.root->link_rate;
    }

    KernelDiff run() {
        for (const Change& change : desire_.build) std::visit(*this, change);
        delete_other_filters();
        delete_other_classes();
        mend_bursts();
        std::vector<Change> all = std::move(deletions_);
        all.insert(all.end(), additions_.begin(), additions_.end());
        return {std::move(all), unfinished_};
    }

    void operator()(const AddClass& wanted) {
        desired_.insert(wanted.classid.value);
        const auto found = found_.find(wanted.classid.value);
        const bool is_there = found != found_.end();
        if (is_there && found->second->parent == wanted.parent.value_or(TcHandle{})) {
            mend(wanted, *found->second);
            return;
        }
        if (is_there) misplaced_.insert(wanted.classid);  // a class cannot be moved
        additions_.emplace_back(rates_within(wanted, link_rate_));
    }

    void operator()(const AddFilter& wanted) {
        const auto [first, last] = filters_.equal_range(wanted.handle);
        const auto found = std::find_if(first, last, [&](const auto& handle_and_place) {
            const FilterState& state = observed_.filters[handle_and_place.second];
            return !keeps_filter_[handle_and_place.second] &&
                   state.preference == wanted.preference && state.protocol == wanted.protocol() &&
                   state.destination == wanted.destination && state.classid == wanted.classid;
        });
        // One that leads to a class in the wrong place would hold that there.
        if (found == last || misplaced_.contains(wanted.classid)) additions_.emplace_back(wanted);
        else keeps_filter_[found->second] = true;
    }

    void operator()(const AddClassifier& wanted) {
        AddClassifier addition = wanted;
        const auto found = find_classifier(observed_.filters, wanted.preference);
        if (found != observed_.filters.end()) {
            keeps_filter_[static_cast<std::size_t>(found - observed_.filters.begin())] = true;
            if (found->program_id == wanted.program.id) return;
            addition.replaces = true;
        }
        additions_.emplace_back(addition);
    }

    template <class Other>
    void operator()(const Other&) {}  // the root qdisc, which is there, or builds nothing

private:
    void mend(const AddClass& wanted, const ClassState& state) {
        if (RateTable missing = missing_entries(wanted.table, state.table); !missing.empty()) {
            additions_.emplace_back(ChangeClassTable{wanted.classid, std::move(missing)});
        }
        if (wanted.lease && state.lease != wanted.lease) {
            additions_.emplace_back(ChangeClassLease{wanted.classid, *wanted.lease});
        }
        if (state.burst_bytes.value_or(wanted.burst_bytes) != wanted.burst_bytes) {
            bursts_.push_back({wanted.classid, wanted.burst_bytes});
        }
        if (wanted.keeps_rate) return;
        const ClassRate rate = rate_within(wanted.rate, link_rate_);
        if (state.rate != rate) additions_.emplace_back(ChangeClassRate{wanted.classid, rate});
    }

    /// A class that still has children has no packets that a burst keeps whole, and is refused one.
    void mend_bursts() {
        for (const ChangeClassBurst& wanted : bursts_) {
            const bool keeps_children = std::ranges::any_of(observed_.classes, [&](const ClassState& child) {
                return child.parent == wanted.classid && !deleted_.contains(child.classid.value);
            });
            if (keeps_children && wanted.burst_bytes != 0) ++unfinished_;
            else additions_.emplace_back(wanted);
        }
    }

    /// Table entries that nobody wants stay: packets in the queue may still refer to them.
    [[nodiscard]] RateTable missing_entries(const RateTable& wanted, const RateTable& found) const {
        RateTable missing;
        for (const auto& [number, rate] : wanted) {
            const auto known = found.find(number);
            if (known == found.end() || known->second != rate_within(rate, link_rate_)) {
                missing.emplace(number, rate_within(rate, link_rate_));
            }
        }
        return missing;
    }

    void delete_other_filters() {
        for (std::size_t i = 0; i < observed_.filters.size(); ++i) {
            if (keeps_filter_[i]) continue;
            const FilterState& state = observed_.filters[i];
            deletions_.emplace_back(DeleteFilter{root_handle, state.preference, state.protocol,
                                                 state.handle, state.kind});
        }
    }

    /// Children before their parents.  Those below a class that must make room
    /// for another go with it, whatever they hold.
    void delete_other_classes() {
        std::unordered_map<std::uint32_t, std::vector<TcHandle>> children;
        for (const ClassState& state : observed_.classes) {
            children[state.parent.value].push_back(state.classid);
        }
        const auto children_of = [&](TcHandle classid) -> std::span<const TcHandle> {
            const auto found = children.find(classid.value);
            if (found == children.end()) return {};
            return found->second;
        };
        const auto remove = [&](const auto& self, TcHandle classid, bool must) -> bool {
            must = must || misplaced_.contains(classid);
            bool is_childless = true;
            for (const TcHandle child : children_of(classid)) {
                is_childless = self(self, child, must) && is_childless;
            }
            if (!must && (desired_.contains(classid.value) || classid == selftest_class)) return false;
            if (!must && found_.at(classid.value)->backlog_bytes != 0) {
                ++unfinished_;
                return false;
            }
            if (!is_childless) return false;
            if (desired_.contains(classid.value) && !misplaced_.contains(classid)) ++unfinished_;
            deletions_.emplace_back(DeleteClass{classid});
            deleted_.insert(classid.value);
            return true;
        };
        for (const TcHandle top : children_of(TcHandle{})) remove(remove, top, false);
    }

    const KernelDesire& desire_;
    const KernelState& observed_;
    // All by handle.
    std::unordered_map<std::uint32_t, const ClassState*> found_;
    std::unordered_multimap<std::uint32_t, std::size_t> filters_;
    std::optional<BytesPerSecond> link_rate_;
    std::vector<bool> keeps_filter_;
    std::unordered_set<std::uint32_t> desired_;
    std::unordered_set<std::uint32_t> deleted_;
    std::set<TcHandle> misplaced_;
    std::vector<ChangeClassBurst> bursts_;  ///< that are not as wanted
    std::vector<Change> additions_;
    std::vector<Change> deletions_;
    std::size_t unfinished_ = 0;
};

}  // namespace

bool is_ours(const std::optional<RootQdisc>& root) {
    return root && ((root->kind == "gap" && root->handle == root_handle) || program_qdisc_of(root));
}

std::optional<ProgramQdisc> program_qdisc_of(const std::optional<RootQdisc>& root) {
    for (const ProgramQdisc one : {ProgramQdisc::fq, ProgramQdisc::bpf}) {
        if (root && ((root->kind == kind_of(one) && root->handle == root_handle_of(one)) ||
                     (root->kind == "mq" && root->handle == mq_handle_of(one)))) {
            return one;
        }
    }
    return std::nullopt;
}

std::optional<Error> somebody_elses(const std::optional<RootQdisc>& root) {
    if (!root || root->is_default() || is_ours(root)) return std::nullopt;
    return Error{fmt::format("the interface has a root qdisc already: {} {}, which somebody else "
                             "installed; remove it first (tc qdisc del dev ... root) or name "
                             "another interface",
                             root->kind, root->handle.to_string()),
                 EEXIST};
}

Result<KernelState> read_kernel(TrafficControl& kernel) {
    KernelState state;
    auto root = kernel.root_qdisc();
    if (!root) return tl::unexpected(root.error());
    state.root = std::move(*root);
    if (!is_ours(state.root)) return state;
    auto classes = kernel.classes();
    if (!classes) return tl::unexpected(classes.error());
    auto filters = kernel.filters(root_handle);
    if (!filters) return tl::unexpected(filters.error());
    state.classes = std::move(*classes);
    state.filters = std::move(*filters);
    return state;
}

void put_before_classifier(std::vector<Change>& build, std::uint32_t earlier_program) {
    const auto own = std::ranges::find_if(
        build, [](const Change& change) { return std::holds_alternative<AddClassifier>(change); });
    if (own == build.end()) return;
    // A classifier without a descriptor can only be found, not made anew.
    AddClassifier earlier = std::get<AddClassifier>(*own);
    earlier.program = {-1, earlier_program};
    std::get<AddClassifier>(*own).preference = classifier_preference - 1;
    build.insert(std::next(own), earlier);
}

std::optional<std::uint32_t> classifier_of_run(const KernelState& observed) {
    const auto found = find_classifier(observed.filters, classifier_preference);
    return found == observed.filters.end() ? std::nullopt : std::optional(found->program_id);
}

KernelDiff diff_kernel(const KernelDesire& desire, const KernelState& observed) {
    if (!is_ours(observed.root)) return {desire.build, 0};
    return Differ(desire, observed).run();
}

std::string diff_to_text(const KernelDiff& diff) {
    if (diff.changes.empty()) return "nothing to do";
    if (std::holds_alternative<AddRootQdisc>(diff.changes.front())) {
        return "the root qdisc was gone with its classes and filters";
    }
    std::string text = "it was changed: ";
    for (std::size_t i = 0; i < diff.changes.size() && i < changes_told_max; ++i) {
        text += (i == 0 ? "" : ", ") + change_to_text(diff.changes[i]);
    }
    const std::size_t untold = diff.changes.size() - std::min(diff.changes.size(), changes_told_max);
    return untold == 0 ? text : fmt::format("{}, and {} more", text, untold);
}

}  // namespace headway
