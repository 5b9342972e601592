// SPDX-License-Identifier: Apache-2.0
#include "kernel/traffic_control.hpp"

#include "gap_attr.h"

namespace headway {
namespace {

struct ToText {
    std::string operator()(const AddRootQdisc& c) const {
        return fmt::format("adding root qdisc gap {}", c.handle.to_string());
    }
    std::string operator()(const ChangeBackend& c) const {
        return fmt::format("setting the back end of qdisc {} to {}", c.handle.to_string(),
                           gap_backend_name(c.backend));
    }
    std::string operator()(const DeleteRootQdisc& c) const {
        return fmt::format("deleting root qdisc gap {}", c.handle.to_string());
    }
    std::string operator()(const AddFqQdisc&) const { return "adding root qdisc fq"; }
    std::string operator()(const DeleteFqQdisc&) const { return "deleting root qdisc fq"; }
    std::string operator()(const AddClsact&) const { return "adding qdisc clsact"; }
    std::string operator()(const DeleteClsact&) const { return "deleting qdisc clsact"; }
    std::string operator()(const ChangeSegmentsMax& c) const {
        return fmt::format("setting gso_max_segs to {}", c.segments);
    }
    std::string operator()(const AddClass& c) const {
        return fmt::format("adding class {}", c.classid.to_string());
    }
    std::string operator()(const DeleteClass& c) const {
        return fmt::format("deleting class {}", c.classid.to_string());
    }
    std::string operator()(const ChangeClassRate& c) const {
        return fmt::format("setting class {} to {}", c.classid.to_string(),
                           c.rate ? rate_to_text(c.rate->bits()) : "unlimited");
    }
    std::string operator()(const ChangeClassTable& c) const {
        return fmt::format("setting {} rates in the table of class {}", c.entries.size(),
                           c.classid.to_string());
    }
    std::string operator()(const RefreshClass& c) const {
        return fmt::format("refreshing class {}", c.classid.to_string());
    }
    std::string operator()(const ChangeClassLease& c) const {
        return fmt::format("{} class {}", c.revives ? "reviving" : "setting the fallback of",
                           c.classid.to_string());
    }
    std::string operator()(const AddFilter& c) const {
        return fmt::format("adding the filter for {}", c.destination.to_string());
    }
    std::string operator()(const AddClassifier& c) const {
        return c.replaces ? "replacing the BPF classifier" : "adding the BPF classifier";
    }
    std::string operator()(const DeleteFilter& c) const {
        return fmt::format("deleting a {} filter with preference {}", c.kind, c.preference);
    }
};

}  // namespace

std::string change_to_text(const Change& change) { return std::visit(ToText{}, change); }

Result<void> TrafficControl::apply_one(const Change& change) {
    auto done = apply(std::span(&change, 1), ApplyMode::in_order);
    if (done) return {};
    return tl::unexpected(std::move(done.error().error));
}

}  // namespace headway
