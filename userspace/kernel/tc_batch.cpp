// SPDX-License-Identifier: Apache-2.0
#include "kernel/tc_batch.hpp"

#include "base/units.hpp"
#include "gap_attr.h"

namespace headway {
namespace {

std::string rate_word(const ClassRate& rate) {
    return rate ? rate_to_tc(rate->bits()) : "unlimited";
}

std::string lease_words(const ClassLease& lease) {
    return fmt::format(" fallback {} expires {}", rate_word(lease.fallback),
                       duration_to_text(lease.expires));
}

std::string burst_words(std::uint32_t bytes) { return fmt::format(" burst {}", bytes); }

std::string table_words(const RateTable& table) {
    std::string words;
    for (const auto& [number, rate] : table) {
        words += fmt::format(" phase {} {}", number, rate_word(rate));
    }
    return words;
}

struct ToLine {
    std::string_view device;

    std::string operator()(const AddRootQdisc& c) const {
        return fmt::format("qdisc add dev {} root handle {} gap bypass on", device, c.handle.to_string());
    }

    std::string operator()(const ChangeBackend& c) const {
        return fmt::format("qdisc change dev {} root handle {} gap backend {}", device,
                           c.handle.to_string(), gap_backend_name(c.backend));
    }

    // tc sends the kind along, so that only a gap of that handle is deleted.
    std::string operator()(const DeleteRootQdisc& c) const {
        return fmt::format("qdisc del dev {} root handle {} gap", device, c.handle.to_string());
    }

    std::string operator()(const AddClass& c) const {
        const TcHandle parent = c.parent.value_or(tc_handle(c.classid.major(), 0));
        std::string line = fmt::format("class add dev {} parent {} classid {} gap rate {}", device,
                                       parent.to_string(), c.classid.to_string(), rate_word(c.rate));
        line += table_words(c.table);
        if (c.lease) line += lease_words(*c.lease);
        if (c.burst_bytes != 0) line += burst_words(c.burst_bytes);
        return line;
    }

    std::string operator()(const DeleteClass& c) const {
        return fmt::format("class del dev {} classid {}", device, c.classid.to_string());
    }

    std::string operator()(const ChangeClassRate& c) const {
        return change_line(c.classid) + " rate " + rate_word(c.rate);
    }

    std::string operator()(const ChangeClassBurst& c) const {
        return change_line(c.classid) + burst_words(c.burst_bytes);
    }

    std::string operator()(const ChangeClassTable& c) const {
        return change_line(c.classid) + table_words(c.entries);
    }

    std::string operator()(const RefreshClass& c) const { return change_line(c.classid); }

    std::string operator()(const ChangeClassLease& c) const {
        return change_line(c.classid) + (c.revives ? " rate unlimited" : "") + lease_words(c.lease);
    }

    std::string operator()(const AddFilter& c) const {
        return fmt::format(
            "filter add dev {} parent {} protocol {} pref {} handle {:#x} flower dst_ip {} "
            "classid {}",
            device, tc_handle(c.classid.major(), 0).to_string(),
            c.destination.family == IpFamily::v4 ? "ip" : "ipv6", c.preference, c.handle,
            c.destination.to_string(), c.classid.to_string());
    }

    // tc has no words for a program without a file, and for what no plan has: it skips this line.
    template <class Other>
    std::string operator()(const Other& change) const {
        return fmt::format("# dev {}: {}", device, change_to_text(change));
    }

    // tc takes only handles of these two kinds as it shows them.
    std::string operator()(const DeleteFilter& c) const {
        std::string line = fmt::format("filter del dev {} parent {} protocol {:#x} pref {}", device,
                                       c.qdisc.to_string(), c.protocol, c.preference);
        if (c.kind == "flower" || c.kind == "bpf") {
            line += fmt::format(" handle {:#x} {}", c.handle, c.kind);
        }
        return line;
    }

    // The line names no parent, so the class keeps the one that it has.
    [[nodiscard]] std::string change_line(TcHandle classid) const {
        return fmt::format("class change dev {} classid {} gap", device, classid.to_string());
    }
};

}  // namespace

std::string tc_line(std::string_view device, const Change& change) {
    return std::visit(ToLine{device}, change);
}

std::string tc_batch(std::string_view device, std::span<const Change> changes) {
    std::string batch;
    for (const Change& change : changes) batch += tc_line(device, change) + "\n";
    return batch;
}

}  // namespace headway
