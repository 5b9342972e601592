// SPDX-License-Identifier: Apache-2.0
// Traffic control of one network device: what Headway asks of the kernel, as
// values, and the interface behind which the kernel is reached.
//
// Implementation: NetlinkTrafficControl (rtnetlink, through a transport that
// unit tests replace by a kernel in memory).
//
// Threading: none; one object belongs to one thread.  Calls block until the
// kernel has answered, or fail within the implementation's deadline.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <linux/if_ether.h>
#include <linux/pkt_sched_gap.h>

#include "base/error.hpp"
#include "base/ip_prefix.hpp"
#include "base/units.hpp"

namespace headway {

/// Asks for the device's speed; none: nobody knows it.
using AskLinkRate = std::function<std::optional<BitsPerSecond>()>;

/// Name of a qdisc ("1:") or of a class ("1:10"; both halves hexadecimal).
struct TcHandle {
    std::uint32_t value = 0;

    friend auto operator<=>(const TcHandle&, const TcHandle&) = default;

    [[nodiscard]] constexpr std::uint16_t major() const {
        return static_cast<std::uint16_t>(value >> 16U);
    }
    [[nodiscard]] constexpr std::uint16_t minor() const {
        return static_cast<std::uint16_t>(value & 0xffffU);
    }
    [[nodiscard]] std::string to_string() const {
        return minor() == 0 ? fmt::format("{:x}:", major())
                            : fmt::format("{:x}:{:x}", major(), minor());
    }
};

constexpr TcHandle tc_handle(std::uint16_t major, std::uint16_t minor) {
    return {static_cast<std::uint32_t>(major) << 16U | minor};
}

/// A class's own limit; none: unlimited.
using ClassRate = std::optional<BytesPerSecond>;

/// Entries of a class's table of rates (tc-gap(8)): 1 .. table_entries_max.  A packet
/// that a BPF classifier gave an entry's number leaves at the entry's rate.
using TableEntry = std::uint8_t;
inline constexpr unsigned table_entries_max = 160;
using RateTable = std::map<TableEntry, ClassRate>;

/// A class falls back to this rate by itself when no change of it has come for so long (tc-gap(8)).
struct ClassLease {
    BytesPerSecond fallback;
    std::chrono::nanoseconds expires{0};

    friend bool operator==(const ClassLease&, const ClassLease&) = default;
};

/// Adds a root qdisc whose back end is the timer.
struct AddRootQdisc {
    TcHandle handle;
    bool replaces = false;  ///< whatever root is there, which stays where this one is refused
};

/// Refused by the kernel, with a sentence, where gap frames cannot work.
struct ChangeBackend {
    TcHandle handle;
    std::uint32_t backend = GAP_BACKEND_TIMER;
};

/// Takes its classes and filters with it; the device gets its default back.
/// Refused by the kernel if the root is not a `gap` of that handle.
struct DeleteRootQdisc {
    TcHandle handle;
};

/// What holds the packets that a BPF program paces, without the module (phase/bpf_traffic_control.hpp).
enum class ProgramQdisc {
    fq,   ///< the kernel's: holds each packet until the time that the program gave it, and drops none
    bpf,  ///< a BPF program itself, of Linux 6.16 and later (phase/bpf_qdisc.hpp)
};

/// The kind of qdisc, as tc shows it.
[[nodiscard]] const char* kind_of(ProgramQdisc qdisc);

struct AddProgramQdisc {
    ProgramQdisc qdisc = ProgramQdisc::fq;
    std::uint16_t queue = 0;  ///< below our mq, of the TX queue of that number; 0: in the place of any root
};
/// In the place of any root, with the kernel's default below it for each TX queue.
struct AddMqQdisc {
    ProgramQdisc qdisc = ProgramQdisc::fq;  ///< those that will be below it
};
/// Of our own handles.  Refused by the kernel if the root has another.
struct DeleteProgramRoot {
    TcHandle handle;
};
struct AddClsact {};
struct DeleteClsact {};

/// No packet that is handed to the device's qdisc becomes more frames than so many.
struct ChangeSegmentsMax {
    std::uint32_t segments;
};

struct AddClass {
    TcHandle classid;
    ClassRate rate;
    std::optional<TcHandle> parent{};  ///< none: directly below the root
    std::optional<ClassLease> lease{};  ///< none: it never expires
    bool keeps_rate = false;  ///< one that is there: `rate` is what it is made with only
    RateTable table{};
    std::uint32_t burst_bytes = 0;  ///< GSO packets of so much wire time leave whole
};

/// Refused by the kernel if it has children.  Packets that it holds are lost.
struct DeleteClass {
    TcHandle classid;
};

struct ChangeClassRate {
    TcHandle classid;
    ClassRate rate;
};

struct ChangeClassBurst {
    TcHandle classid;
    std::uint32_t burst_bytes;
};

/// Entries that are not named stay as they are.
struct ChangeClassTable {
    TcHandle classid;
    RateTable entries;
};

/// The change of nothing: a class that has not expired does not for its time.  One
/// that has stays so.
struct RefreshClass {
    TcHandle classid;
};

/// Renews a class; one that has expired gets its own rate again.
struct ChangeClassLease {
    TcHandle classid;
    ClassLease lease;
    bool revives = false;  ///< and its rate is unlimited
};

/// Packets to `destination` go to class `classid`.  The kernel walks filters
/// by rising `preference`, of which each belongs to one family of addresses.
struct AddFilter {
    std::uint16_t preference;
    std::uint32_t handle;
    IpPrefix destination;
    TcHandle classid;

    [[nodiscard]] std::uint16_t protocol() const {
        return destination.family == IpFamily::v4 ? ETH_P_IP : ETH_P_IPV6;
    }
};

/// A loaded BPF program.  `fd` must stay open as long as anybody may add it.
struct PhaseProgram {
    int fd = -1;
    std::uint32_t id = 0;  ///< the kernel's, which dumps show

    friend bool operator==(const PhaseProgram&, const PhaseProgram&) = default;
};

/// A BPF program chooses the class of a packet; only the minor number is its
/// own choice.
struct AddClassifier {
    std::uint16_t preference;
    PhaseProgram program;
    TcHandle qdisc;
    bool replaces = false;  ///< the one that is there, with no packet between them
};

/// Any filter of that qdisc, as a dump names it.
struct DeleteFilter {
    TcHandle qdisc;
    std::uint16_t preference;
    std::uint16_t protocol;  ///< ETH_P_*
    std::uint32_t handle;
    std::string kind;
};

using Change = std::variant<AddRootQdisc, ChangeBackend, DeleteRootQdisc, AddProgramQdisc, AddMqQdisc,
                            DeleteProgramRoot, AddClsact, DeleteClsact, ChangeSegmentsMax, AddClass, DeleteClass,
                            ChangeClassRate, ChangeClassBurst, ChangeClassTable, RefreshClass, ChangeClassLease,
                            AddFilter, AddClassifier, DeleteFilter>;

/// "adding class 1:10", for messages.
[[nodiscard]] std::string change_to_text(const Change& change);

/// The handles of the roots that Headway makes for BPF programs to pace, which nobody else uses: of such a qdisc,
/// or of an mq with one for each TX queue.
[[nodiscard]] constexpr TcHandle root_handle_of(ProgramQdisc qdisc) {
    return tc_handle(qdisc == ProgramQdisc::fq ? 0x4857 : 0x4859, 0);
}
[[nodiscard]] constexpr TcHandle mq_handle_of(ProgramQdisc qdisc) {
    return tc_handle(qdisc == ProgramQdisc::fq ? 0x4858 : 0x485a, 0);
}
/// Filters of packets that leave the device are here, if it has clsact.
inline constexpr TcHandle egress_hook{0xfffffff3};
/// All BPF classifiers that Headway adds have this name and handle.
inline constexpr const char* classifier_name = "headway_phase";
inline constexpr std::uint32_t classifier_handle = 1;

/// The counters of a gap qdisc.  Those of bytes that the driver was given and has given back are
/// modulo 2^32, in frames without what only the wire adds.
using GapCounters = tc_gap_qdisc_xstats;

struct RootQdisc {
    std::string kind;
    TcHandle handle;  ///< major 0: the kernel's own default, installed by nobody
    std::optional<BytesPerSecond> link_rate{};  ///< of a gap qdisc: what it drives
    std::uint32_t backend = GAP_BACKEND_TIMER;  ///< in use
    std::uint32_t reason = GAP_REASON_ASKED;    ///< GAP_REASON_*: why that one
    GapCounters counters{};                     ///< all 0 of another qdisc
    std::uint32_t queued_packets = 0;           ///< in it and all below it
    std::uint32_t dropped_packets = 0;          ///< the same

    [[nodiscard]] bool is_default() const { return handle.major() == 0; }
};

struct ClassState {
    TcHandle classid;
    TcHandle parent{};             ///< 0 directly below the root
    ClassRate rate;                ///< in force
    RateTable table{};
    std::optional<ClassLease> lease{};
    bool expired = false;          ///< and `rate` is the fallback
    std::optional<std::uint32_t> burst_bytes{};  ///< none: classes there have no bursts
    std::uint64_t wire_bytes = 0;
    std::uint64_t packets = 0;
    std::uint64_t drops = 0;
    std::uint64_t backlog_bytes = 0;
};

/// A filter of the root qdisc.
struct FilterState {
    std::string kind;
    std::string name{};  ///< of a BPF classifier
    std::uint16_t preference = 0;
    std::uint16_t protocol = 0;  ///< ETH_P_*
    std::uint32_t handle = 0;
    TcHandle classid{};
    std::optional<IpPrefix> destination{};  ///< of a flower filter that looks at nothing else
    std::uint32_t program_id = 0;           ///< of a BPF classifier
};

/// Why apply() failed, and what it had done by then.
struct ApplyFailure {
    Error error;  ///< of the first change that failed, with the kernel's words
    std::vector<std::size_t> applied;  ///< indices of the changes that are in the kernel
};

/// The outcomes of changes, told one after the other.
class Outcomes {
public:
    void add(std::size_t index, const Change& change, const Result<void>& outcome);
    [[nodiscard]] bool has_failed() const { return first_error_.has_value(); }
    [[nodiscard]] tl::expected<void, ApplyFailure> all();

private:
    std::optional<Error> first_error_;
    std::vector<std::size_t> applied_;
};

enum class ApplyMode {
    in_order,  ///< stop at the first failure: later changes build on earlier ones
    together,  ///< independent changes in as few system calls as possible
};

class TrafficControl {
public:
    virtual ~TrafficControl() = default;

    /// Looks for the device by its name, which may be another device's by now.
    [[nodiscard]] virtual Result<void> find_device() = 0;
    /// Returns the root qdisc; none if the device has no queueing at all (noqueue).
    [[nodiscard]] virtual Result<std::optional<RootQdisc>> root_qdisc() = 0;
    /// Classes of gap qdiscs, by rising class id.
    [[nodiscard]] virtual Result<std::vector<ClassState>> classes() = 0;
    /// In the order in which the kernel walks them.
    [[nodiscard]] virtual Result<std::vector<FilterState>> filters(TcHandle qdisc) = 0;
    [[nodiscard]] virtual tl::expected<void, ApplyFailure> apply(std::span<const Change> changes,
                                                                 ApplyMode mode) = 0;
    [[nodiscard]] Result<void> apply_one(const Change& change);

protected:
    TrafficControl() = default;
    TrafficControl(const TrafficControl&) = default;
    TrafficControl& operator=(const TrafficControl&) = default;
};

/// The kernel takes no rate above its link's: such are no limit there, and are asked for as none.
[[nodiscard]] ClassRate rate_within(const ClassRate& rate, const std::optional<BytesPerSecond>& link_rate);
[[nodiscard]] AddClass rates_within(AddClass change, const std::optional<BytesPerSecond>& link_rate);

}  // namespace headway
