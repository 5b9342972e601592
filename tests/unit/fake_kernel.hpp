// SPDX-License-Identifier: Apache-2.0
// A kernel in memory behind the netlink transport: it takes the very bytes the
// daemon would send, reads them with the kernel's rules (and gap_attr's
// decoder), keeps qdiscs, classes and filters, and answers as rtnetlink does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "base/units.hpp"
#include "kernel/netlink_exchange.hpp"
#include "kernel/traffic_control.hpp"

namespace headway::test {

struct FakeClass {
    ClassRate rate;
    RateTable table{};
    std::uint32_t parent = 0;  ///< 0: the qdisc
    std::uint32_t backlog_bytes = 0;
    ClassRate fallback{};
    std::uint64_t expires_ns = 0;  ///< 0: never
    bool expired = false;
    std::uint32_t burst_bytes = 0;
    std::uint32_t refreshes = 0;   ///< changes of it that came before it expired

    friend bool operator==(const FakeClass&, const FakeClass&) = default;
};

struct FakeFilter {
    std::uint16_t preference = 0;
    std::uint16_t ethertype = 0;  ///< host order
    std::uint32_t handle = 0;
    std::string destination;      ///< "10.1.0.0/16"
    std::uint32_t classid = 0;
    int program_fd = -1;          ///< of a BPF classifier

    friend bool operator==(const FakeFilter&, const FakeFilter&) = default;
};

struct FakeQdisc {
    std::string kind;
    std::uint32_t handle = 0;
    std::map<std::uint32_t, FakeClass> classes;
    std::vector<FakeFilter> filters;
    std::uint32_t backend = GAP_BACKEND_TIMER;
    std::uint32_t reason = GAP_REASON_ASKED;

    friend bool operator==(const FakeQdisc&, const FakeQdisc&) = default;
};

/// Returns the rate at which a packet of that class and entry leaves.
[[nodiscard]] inline ClassRate rate_in(const FakeQdisc& root, std::uint32_t minor, TableEntry entry) {
    const FakeClass& one = root.classes.at(root.handle | minor);
    const auto found = one.table.find(entry);
    return found == one.table.end() ? one.rate : found->second;
}

struct FakeDevice {
    int ifindex = 0;
    BytesPerSecond link_rate;
    bool has_speed = true;  ///< no: qdiscs do not know link_rate, which then limits nothing
    std::uint32_t segments_max = 65535;     ///< gso_max_segs
    std::uint32_t own_segments_max = 65535;
    FakeQdisc root{"fq_codel", 0, {}, {}};  ///< handle 0: the default
    GapCounters counters{};                 ///< of a gap qdisc at the root

    [[nodiscard]] bool has_default() const { return root.handle == 0; }
};

class FakeKernel final : public NetlinkTransport {
public:
    struct Refusal {
        int error_number = 0;
        std::string text;
    };

    // ------------------------------------------------------------- test's side
    FakeDevice& add_device(const std::string& name, BitsPerSecond link_rate);
    [[nodiscard]] FakeDevice& device(const std::string& name) { return devices_.at(name); }

    /// False: "Specified qdisc kind is unknown".
    bool gap_module = true;
    /// Root qdiscs that it makes besides, in the place of any other.
    std::set<std::string> other_kinds{};
    /// As `ip link del` and `ip link add` of the same name: another number, and the default.
    void remake_device(const std::string& name);
    void remove_device(const std::string& name) { devices_.at(name).ifindex = -1; }

    /// Asked before each request is carried out; a refusal is answered as one.
    std::function<std::optional<Refusal>(const nlmsghdr&)> refuse;
    /// So many dumps are marked as interrupted by a change of the tables.
    int interrupted_dumps = 0;
    /// So many acknowledgements are lost after the request was carried out.
    int lost_acknowledgements = 0;
    bool knows_bursts = true;  ///< no: the module is older
    /// Answers to nobody's question come first: of an old sequence number, and
    /// of another port.
    bool stray_answers = false;
    /// So many attempts to open the socket again fail.
    int failing_reopens = 0;
    /// Refused requests are sent back whole, as without NETLINK_CAP_ACK.
    bool capped = true;

    /// As when nobody has refreshed that class for its time.
    void expire(const std::string& device, std::uint32_t classid);

    [[nodiscard]] std::size_t sends() const { return sends_; }
    [[nodiscard]] std::size_t requests() const { return requests_; }
    [[nodiscard]] std::size_t reopens() const { return reopens_; }
    [[nodiscard]] bool has_unread_answers() const { return !answers_.empty(); }

    // ------------------------------------------------------- transport's side
    [[nodiscard]] std::uint32_t port_id() const override { return port; }
    [[nodiscard]] Result<void> send(std::span<const std::byte> messages) override;
    [[nodiscard]] Result<std::span<const std::byte>> receive(Clock::time_point deadline) override;
    [[nodiscard]] Result<void> reopen() override;

private:
    static constexpr std::uint32_t port = 4711;

    Refusal carry_out(const nlmsghdr& request);
    Refusal new_qdisc(const nlmsghdr& request);
    Refusal delete_qdisc(const nlmsghdr& request);
    Refusal new_class(const nlmsghdr& request);
    Refusal delete_class(const nlmsghdr& request);
    Refusal new_filter(const nlmsghdr& request);
    Refusal delete_filter(const nlmsghdr& request);
    static Refusal new_bpf_filter(FakeQdisc& root, FakeFilter filter, const nlattr* options,
                                  bool exclusive);
    static bool has_filter(const FakeQdisc& root, std::uint32_t classid);
    Refusal get_link(const nlmsghdr& request);
    Refusal set_link(const nlmsghdr& request);
    void dump(const nlmsghdr& request);
    void dump_qdisc(const nlmsghdr& request, const FakeDevice& device, std::uint16_t flags);
    void dump_classes(const nlmsghdr& request, const FakeDevice& device, std::uint16_t flags);
    void dump_filters(const nlmsghdr& request, const FakeDevice& device, std::uint16_t flags);
    void acknowledge(const nlmsghdr& request, const Refusal& refusal);
    void push(const nlmsghdr* message);
    void push_strays(std::uint32_t sequence);
    FakeDevice* find(int ifindex);

    std::map<std::string, FakeDevice> devices_;
    std::deque<std::vector<std::byte>> answers_;
    std::vector<std::byte> current_;
    std::size_t sends_ = 0;
    std::size_t requests_ = 0;
    std::size_t reopens_ = 0;
    int last_ifindex_ = 1;
};

}  // namespace headway::test
