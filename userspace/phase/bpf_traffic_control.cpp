// SPDX-License-Identifier: Apache-2.0
#include "phase/bpf_traffic_control.hpp"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "kernel/kernel_diff.hpp"

namespace headway {
namespace {

/// Filters of others come first: what they let through is paced.
constexpr std::uint16_t preference_offset = 65000;
constexpr TcHandle ingress_hook{0xfffffff2};

std::uint64_t to_map(const ClassRate& rate) { return rate ? rate->value : HEADWAY_BPF_UNLIMITED; }

ClassRate from_map(std::uint64_t bytes_per_s) {
    if (bytes_per_s == 0 || bytes_per_s == HEADWAY_BPF_UNLIMITED) return std::nullopt;
    return BytesPerSecond{bytes_per_s};
}

bool is_expired(const headway_bpf_class& one, std::uint64_t now_ns) {
    return one.expires_ns != 0 && now_ns > one.renewed_ns + one.expires_ns;
}

void put_lease(headway_bpf_class& one, const ClassLease& lease) {
    one.fallback_bytes_per_s = lease.fallback.value;
    one.expires_ns = static_cast<std::uint64_t>(lease.expires.count());
}

void put_table(headway_bpf_class& one, const RateTable& table) {
    for (const auto& [number, rate] : table) one.bytes_per_s[number] = to_map(rate);
}

/// clsact may be there for others' filters.
Result<void> add_hook(NetlinkTrafficControl& link) {
    const auto added = link.apply_one(AddClsact{});
    return !added && added.error().error_number == EEXIST ? Result<void>() : added;
}

bool is_our_filter(const FilterState& filter) {
    return filter.kind == "bpf" && filter.name == classifier_name &&
           filter.preference >= preference_offset;
}

/// clsact without any filter does nothing.
Result<void> remove_empty_clsact(NetlinkTrafficControl& link) {
    for (const TcHandle hook : {ingress_hook, egress_hook}) {
        const auto filters = link.filters(hook);
        if (!filters) return tl::unexpected(filters.error());
        if (!filters->empty()) return {};
    }
    return link.apply_one(DeleteClsact{});
}

bool may_change_bursts(const Change& change) {
    return std::holds_alternative<AddClass>(change) || std::holds_alternative<DeleteClass>(change) ||
           std::holds_alternative<ChangeClassBurst>(change);
}

bool was_not_there(const Result<void>& done) {
    return !done && (done.error().error_number == ENOENT || done.error().error_number == EINVAL);
}

}  // namespace

// ------------------------------------------------------------------------ reading

bool BpfTrafficControl::is_ours(const std::optional<RootQdisc>& root) const {
    return pacing_.knows_earlier && program_qdisc_of(root) == pacing_.qdisc;
}

Result<std::optional<RootQdisc>> BpfTrafficControl::root_qdisc() {
    auto root = link_.root_qdisc();
    if (!root || !*root) return root;
    if (!is_ours(*root)) {
        // what an earlier run paced by makes room as the device's own does
        if (headway::is_ours(*root)) (*root)->handle = TcHandle{};
        return root;
    }
    if ((*root)->handle == mq_handle_of(pacing_.qdisc)) {
        const auto kinds = link_.kinds_below((*root)->handle);
        if (!kinds) return tl::unexpected(kinds.error());
        // as if all were gone: what is missing is set up anew, and what is there stays
        const auto is_other = [&](const std::string& kind) { return kind != kind_of(pacing_.qdisc); };
        if (std::ranges::any_of(*kinds, is_other)) (*root)->handle = {};
    }
    if (const auto rate = link_rate_()) (*root)->link_rate = BytesPerSecond{rate->value / 8};
    return root;
}

ClassState BpfTrafficControl::state_of(std::uint16_t minor, const headway_bpf_class& one) const {
    const headway_bpf_clock clock = classes_.clock(minor);
    ClassState state;
    state.classid = tc_handle(1, minor);
    if (one.parent != 0) state.parent = tc_handle(1, static_cast<std::uint16_t>(one.parent));
    state.burst_bytes = one.burst_bytes;
    state.expired = is_expired(one, static_cast<std::uint64_t>(clock_.now().count()));
    state.rate = from_map(state.expired ? one.fallback_bytes_per_s : one.bytes_per_s[0]);
    for (unsigned entry = 1; entry <= table_entries_max; ++entry) {
        if (one.bytes_per_s[entry] == 0) continue;
        state.table.emplace(static_cast<TableEntry>(entry), from_map(one.bytes_per_s[entry]));
    }
    if (one.expires_ns != 0) {
        state.lease = ClassLease{{one.fallback_bytes_per_s}, std::chrono::nanoseconds(one.expires_ns)};
    }
    state.wire_bytes = clock.wire_bytes;
    state.packets = clock.packets;
    return state;
}

Result<std::vector<ClassState>> BpfTrafficControl::classes() {
    std::vector<ClassState> states;
    for (const std::uint16_t minor : classes_.minors()) {
        if (const auto one = classes_.find(minor)) states.push_back(state_of(minor, *one));
    }
    return states;
}

Result<std::vector<FilterState>> BpfTrafficControl::filters(TcHandle) {
    auto all = link_.filters(egress_hook);
    if (!all) return all;
    std::erase_if(*all, [](const FilterState& one) { return !is_our_filter(one); });
    for (FilterState& one : *all) one.preference -= preference_offset;
    return all;
}

// ------------------------------------------------------------------------ changing

struct BpfTrafficControl::Applier {
    BpfTrafficControl& self;

    Result<void> operator()(const AddRootQdisc&) const { return self.set_up(); }
    Result<void> operator()(const DeleteRootQdisc&) const {
        for (const std::uint16_t minor : self.classes_.minors()) self.classes_.remove(minor);
        self.bursts_.reset();
        const auto root = self.link_.root_qdisc();
        if (!root) return tl::unexpected(root.error());
        const TcHandle handle = self.is_ours(*root) ? (*root)->handle : root_handle_of(self.pacing_.qdisc);
        auto done = remove_program(self.link_, handle, self.segments_before_);
        if (done) self.segments_.reset();
        return done;
    }

    Result<void> operator()(const AddClass& change) const {
        const auto found = self.classes_.find(change.classid.minor());
        headway_bpf_class one{};
        one.parent = change.parent ? change.parent->minor() : 0;
        one.burst_bytes = change.burst_bytes;
        one.bytes_per_s[0] = change.keeps_rate && found ? found->bytes_per_s[0] : to_map(change.rate);
        put_table(one, change.table);
        if (change.lease) put_lease(one, *change.lease);
        return put(change.classid, one, true);
    }

    Result<void> operator()(const DeleteClass& change) const {
        self.classes_.remove(change.classid.minor());
        if (self.bursts_) self.bursts_->erase(change.classid.minor());
        return {};
    }

    Result<void> operator()(const ChangeClassRate& change) const {
        return mend(change.classid, true, [&](headway_bpf_class& one) { one.bytes_per_s[0] = to_map(change.rate); });
    }
    Result<void> operator()(const ChangeClassTable& change) const {
        return mend(change.classid, false, [&](headway_bpf_class& one) { put_table(one, change.entries); });
    }
    Result<void> operator()(const ChangeClassBurst& change) const {
        return mend(change.classid, false, [&](headway_bpf_class& one) { one.burst_bytes = change.burst_bytes; });
    }
    Result<void> operator()(const RefreshClass& change) const {
        return mend(change.classid, false, [](headway_bpf_class&) {});
    }
    Result<void> operator()(const ChangeClassLease& change) const {
        return mend(change.classid, change.revives, [&](headway_bpf_class& one) {
            if (change.revives) one.bytes_per_s[0] = HEADWAY_BPF_UNLIMITED;
            put_lease(one, change.lease);
        });
    }

    /// In the place of one that is there: an earlier run's, or one that outlived its root.
    Result<void> operator()(const AddClassifier& change) const {
        AddClassifier here = change;
        here.qdisc = egress_hook;
        here.preference += preference_offset;
        here.replaces = true;
        if (auto hook = add_hook(self.link_); !hook) return hook;
        return self.link_.apply_one(here);
    }
    Result<void> operator()(const DeleteFilter& change) const {
        DeleteFilter here = change;
        here.qdisc = egress_hook;
        here.preference += preference_offset;
        return self.link_.apply_one(here);
    }

    template <class Other>
    Result<void> operator()(const Other& change) const {
        return system_failure(EOPNOTSUPP, "{}: not without the module sch_gap", change_to_text(change));
    }

private:
    [[nodiscard]] std::uint64_t now_ns() const { return static_cast<std::uint64_t>(self.clock_.now().count()); }

    /// Any change renews a class that has not expired; some revive one that has.
    template <class Mend>
    Result<void> mend(TcHandle classid, bool revives, Mend change) const {
        auto one = self.classes_.find(classid.minor());
        if (!one) return system_failure(ENOENT, "there is no class {}", classid.to_string());
        const bool renews = revives || !is_expired(*one, now_ns());
        change(*one);
        return put(classid, *one, renews);
    }

    Result<void> put(TcHandle classid, headway_bpf_class& one, bool renews) const {
        if (renews) one.renewed_ns = now_ns();
        auto done = self.classes_.put(classid.minor(), one);
        if (done && self.bursts_) (*self.bursts_)[classid.minor()] = {one.parent, one.burst_bytes};
        return done;
    }
};

/// The maps may still hold the classes of before: then they go on.
Result<void> BpfTrafficControl::set_up() {
    if (auto found = link_.find_device(); !found) return found;
    const auto earlier = link_.filters(egress_hook);
    if (!earlier) return tl::unexpected(earlier.error());
    const bool is_changed = segments_ || std::ranges::any_of(*earlier, is_our_filter);
    if (!is_changed) segments_before_ = link_.segments_max();
    if (auto added = add_roots(); !added) return added;
    segments_.reset();
    return add_hook(link_);
}

/// In the place of any root; what is there already stays, with the packets that it holds, if it knows these classes.
Result<void> BpfTrafficControl::add_roots() {
    QdiscName name;  // the qdiscs that are made hold the program themselves
    if (pacing_.name) {
        auto claimed = pacing_.name(link_.ifindex());
        if (!claimed) return tl::unexpected(claimed.error());
        name = std::move(*claimed);
    }
    std::vector<Change> changes;
    const auto root = link_.root_qdisc();
    if (root && !pacing_.knows_earlier && program_qdisc_of(*root) == pacing_.qdisc) {
        changes.emplace_back(DeleteProgramRoot{(*root)->handle});
    }
    if (link_.tx_queues() <= 1) {
        changes.emplace_back(AddProgramQdisc{pacing_.qdisc});
    } else {
        changes.emplace_back(AddMqQdisc{pacing_.qdisc});
        for (std::uint32_t queue = 1; queue <= link_.tx_queues(); ++queue) {
            changes.emplace_back(AddProgramQdisc{pacing_.qdisc, static_cast<std::uint16_t>(queue)});
        }
    }
    auto done = link_.apply(changes, ApplyMode::in_order);
    if (!done) return tl::unexpected(std::move(done.error().error));
    pacing_.knows_earlier = true;
    return {};
}

/// Returns how many frames the shortest burst holds, of all classes that have packets: one with children has none.
std::uint32_t BpfTrafficControl::segments_of_bursts() {
    if (!bursts_) {
        bursts_.emplace();
        for (const std::uint16_t minor : classes_.minors()) {
            if (const auto one = classes_.find(minor)) (*bursts_)[minor] = {one->parent, one->burst_bytes};
        }
    }
    std::set<std::uint32_t> parents;
    for (const auto& [minor, one] : *bursts_) parents.insert(one.parent);
    std::uint32_t shortest_bytes = bursts_->empty() ? 0 : UINT32_MAX;
    for (const auto& [minor, one] : *bursts_) {
        if (!parents.contains(minor)) shortest_bytes = std::min(shortest_bytes, one.bytes);
    }
    const std::uint32_t frame_bytes = link_.mtu_bytes() + ETH_HLEN + GAP_FRAME_OVERHEAD_BYTES;
    const std::uint32_t device_most = link_.own_segments_max() == 0 ? UINT32_MAX : link_.own_segments_max();
    return std::clamp(shortest_bytes / frame_bytes, 1U, device_most);
}

Result<void> BpfTrafficControl::set_segments(std::uint32_t segments) {
    if (segments_ == segments) return {};
    auto done = link_.apply_one(ChangeSegmentsMax{segments});
    if (done) segments_ = segments;
    return done;
}

tl::expected<void, ApplyFailure> BpfTrafficControl::apply(std::span<const Change> changes, ApplyMode mode) {
    Outcomes outcomes;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        outcomes.add(i, changes[i], std::visit(Applier{*this}, changes[i]));
        if (mode == ApplyMode::in_order && outcomes.has_failed()) break;
    }
    if (outcomes.has_failed() || !std::ranges::any_of(changes, may_change_bursts)) return outcomes.all();
    const std::uint32_t segments = segments_of_bursts();
    outcomes.add(changes.size(), ChangeSegmentsMax{segments}, set_segments(segments));
    return outcomes.all();
}

// ------------------------------------------------------------------------ removing

Result<void> remove_rest_of_program(NetlinkTrafficControl& link, std::optional<std::uint32_t> segments) {
    const auto filters = link.filters(egress_hook);
    if (!filters) return tl::unexpected(filters.error());
    for (const FilterState& one : *filters) {
        if (!is_our_filter(one)) continue;
        const auto gone = link.apply_one(DeleteFilter{egress_hook, one.preference, one.protocol, one.handle, one.kind});
        if (!gone) return gone;
    }
    if (const auto gone = remove_empty_clsact(link); !gone && !was_not_there(gone)) return gone;
    const std::uint32_t before = segments.value_or(link.own_segments_max());
    return before == 0 || before == link.segments_max() ? Result<void>() : link.apply_one(ChangeSegmentsMax{before});
}

Result<void> remove_program(NetlinkTrafficControl& link, TcHandle root, std::optional<std::uint32_t> segments) {
    // The last of it first: as long as it is there, an earlier run's is known as ours.
    if (auto found = link.find_device(); !found) return found;
    if (auto rest = remove_rest_of_program(link, segments); !rest) return rest;
    return link.apply_one(DeleteProgramRoot{root});
}

}  // namespace headway
