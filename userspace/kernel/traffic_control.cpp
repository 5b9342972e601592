// SPDX-License-Identifier: Apache-2.0
#include "kernel/traffic_control.hpp"

#include "gap_attr.h"

namespace headway {
namespace {

struct ToText {
    std::string operator()(const AddRootQdisc& c) const {
        return with("adding root qdisc gap", c.handle);
    }
    std::string operator()(const ChangeBackend& c) const {
        return fmt::format("{} to {}", with("setting the back end of qdisc", c.handle),
                           gap_backend_name(c.backend));
    }
    std::string operator()(const DeleteRootQdisc& c) const {
        return with("deleting root qdisc gap", c.handle);
    }
    std::string operator()(const AddProgramQdisc& c) const {
        if (c.queue == 0) return fmt::format("adding root qdisc {}", kind_of(c.qdisc));
        return fmt::format("adding qdisc {} for TX queue {}", kind_of(c.qdisc), c.queue);
    }
    std::string operator()(const AddMqQdisc&) const { return "adding root qdisc mq"; }
    std::string operator()(const DeleteProgramRoot& c) const { return with("deleting root qdisc", c.handle); }
    std::string operator()(const AddClsact&) const { return "adding qdisc clsact"; }
    std::string operator()(const DeleteClsact&) const { return "deleting qdisc clsact"; }
    std::string operator()(const ChangeSegmentsMax& c) const {
        return fmt::format("setting gso_max_segs to {}", c.segments);
    }
    std::string operator()(const AddClass& c) const { return with("adding class", c.classid); }
    std::string operator()(const DeleteClass& c) const { return with("deleting class", c.classid); }
    std::string operator()(const ChangeClassRate& c) const {
        const std::string rate = c.rate ? rate_to_text(c.rate->bits()) : "unlimited";
        return fmt::format("{} to {}", with("setting class", c.classid), rate);
    }
    std::string operator()(const ChangeClassBurst& c) const {
        return with("setting the burst of class", c.classid);
    }
    std::string operator()(const ChangeClassTable& c) const {
        return with(fmt::format("setting {} rates in the table of class", c.entries.size()),
                    c.classid);
    }
    std::string operator()(const RefreshClass& c) const {
        return with("refreshing class", c.classid);
    }
    std::string operator()(const ChangeClassLease& c) const {
        return with(c.revives ? "reviving class" : "setting the fallback of class", c.classid);
    }
    std::string operator()(const AddFilter& c) const {
        return "adding the filter for " + c.destination.to_string();
    }
    std::string operator()(const AddClassifier& c) const {
        return c.replaces ? "replacing the BPF classifier" : "adding the BPF classifier";
    }
    std::string operator()(const DeleteFilter& c) const {
        return fmt::format("deleting a {} filter with preference {}", c.kind, c.preference);
    }

    static std::string with(std::string_view doing, TcHandle handle) {
        return fmt::format("{} {}", doing, handle.to_string());
    }
};

}  // namespace

const char* kind_of(ProgramQdisc qdisc) { return qdisc == ProgramQdisc::fq ? "fq" : "headway"; }

std::string change_to_text(const Change& change) { return std::visit(ToText{}, change); }

Result<void> TrafficControl::apply_one(const Change& change) {
    auto done = apply(std::span(&change, 1), ApplyMode::in_order);
    if (done) return {};
    return tl::unexpected(std::move(done.error().error));
}

void Outcomes::add(std::size_t index, const Change& change, const Result<void>& outcome) {
    if (outcome) applied_.push_back(index);
    else if (!first_error_) first_error_ = outcome.error().within(change_to_text(change));
}

tl::expected<void, ApplyFailure> Outcomes::all() {
    if (!first_error_) return {};
    return tl::unexpected(ApplyFailure{std::move(*first_error_), std::move(applied_)});
}

ClassRate rate_within(const ClassRate& rate, const std::optional<BytesPerSecond>& link_rate) {
    return rate && link_rate && *rate > *link_rate ? std::nullopt : rate;
}

AddClass rates_within(AddClass change, const std::optional<BytesPerSecond>& link_rate) {
    change.rate = rate_within(change.rate, link_rate);
    for (auto& [number, rate] : change.table) rate = rate_within(rate, link_rate);
    return change;
}

}  // namespace headway
