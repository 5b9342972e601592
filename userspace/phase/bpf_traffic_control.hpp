// SPDX-License-Identifier: Apache-2.0
// Traffic control by a BPF program: the classes, rates and leases of gap, kept in arrays that the program paces
// by, and qdiscs that hold the packets.  These are the kernel's fq, which holds each packet until the time that
// the program gives it (fq_pacing.bpf.c), or a qdisc that is a BPF program itself (pacing_qdisc.bpf.c).  A device
// of several TX queues keeps them: below mq each has a qdisc of its own.  The program's clocks are the node's, so
// that a class has its rate whichever queues and processors its packets take.
//
// Both release a packet whole.  The device's gso_max_segs is the number of frames that the shortest burst of all
// classes holds, for a packet that is longer would be a longer burst; where a class has none, a packet is one
// frame.
//
// What the kernel keeps there survives this program as classes of gap do: the root qdisc, the program at the
// device's egress, and its maps as long as that is attached.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "phase/bpf_classes.hpp"
#include "phase/bpf_qdisc.hpp"

namespace headway {

/// Claims the name of the qdisc that is a BPF program, for that device.
using NameQdisc = std::function<Result<QdiscName>(int ifindex)>;

/// By which qdiscs a program paces.
struct ProgramPacing {
    ProgramQdisc qdisc = ProgramQdisc::fq;
    NameQdisc name{};           ///< none: the kernel knows it
    bool knows_earlier = true;  ///< no: qdiscs of an earlier run know other classes
};

class BpfTrafficControl final : public TrafficControl {
public:
    /// The references must outlive this object.
    BpfTrafficControl(NetlinkTrafficControl& link, BpfClasses& classes, const Clock& clock, AskLinkRate link_rate,
                      ProgramPacing pacing = {})
        : link_(link), classes_(classes), clock_(clock), link_rate_(std::move(link_rate)), pacing_(std::move(pacing)) {}

    [[nodiscard]] Result<void> find_device() override { return link_.find_device(); }
    [[nodiscard]] Result<std::optional<RootQdisc>> root_qdisc() override;
    /// Classes have no backlog: the qdiscs do not tell of which class their packets are.
    [[nodiscard]] Result<std::vector<ClassState>> classes() override;
    /// Our own of the device's egress; others there are not Headway's business.
    [[nodiscard]] Result<std::vector<FilterState>> filters(TcHandle qdisc) override;
    [[nodiscard]] tl::expected<void, ApplyFailure> apply(std::span<const Change> changes,
                                                         ApplyMode mode) override;

private:
    struct Applier;
    struct Burst {
        std::uint32_t parent = 0;
        std::uint32_t bytes = 0;
    };

    [[nodiscard]] ClassState state_of(std::uint16_t minor, const headway_bpf_class& one) const;
    [[nodiscard]] bool is_ours(const std::optional<RootQdisc>& root) const;
    Result<void> set_up();
    Result<void> add_roots();
    [[nodiscard]] std::uint32_t segments_of_bursts();
    Result<void> set_segments(std::uint32_t segments);

    NetlinkTrafficControl& link_;
    BpfClasses& classes_;
    const Clock& clock_;
    AskLinkRate link_rate_;
    ProgramPacing pacing_;
    std::optional<std::uint32_t> segments_before_;  ///< none: an earlier run has changed it
    std::optional<std::uint32_t> segments_;         ///< none: nothing was set
    std::optional<std::map<std::uint16_t, Burst>> bursts_;  ///< as in the maps; none: these were not read yet
};

/// Takes away all that BpfTrafficControl makes but the maps: the device has its default
/// again, if `root` is of ours.  `segments` is what its packets may become then; none: as many as the device can.
[[nodiscard]] Result<void> remove_program(NetlinkTrafficControl& link, TcHandle root,
                                          std::optional<std::uint32_t> segments = {});

/// Removes the rest of what BpfTrafficControl makes where another root qdisc has taken the place of ours.
[[nodiscard]] Result<void> remove_rest_of_program(NetlinkTrafficControl& link,
                                                  std::optional<std::uint32_t> segments = {});

}  // namespace headway
