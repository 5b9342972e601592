// SPDX-License-Identifier: Apache-2.0
// Traffic control by the kernel's own qdisc fq: the classes, rates and leases of gap, kept in
// maps that a BPF program paces by (fq_pacing.bpf.c), and an fq which holds each packet until
// the time that the program gives it.  A device of several TX queues keeps them: below mq each
// has an fq of its own.  The program's clocks are the node's, so that a class has its rate
// whichever queues and processors its packets take.
//
// fq releases a packet whole.  The device's gso_max_segs is the number of frames that the
// shortest burst of all classes holds, for a packet that is longer would be a longer burst;
// where a class has none, a packet is one frame.
//
// What the kernel keeps there survives this program as classes of gap do: the root qdisc,
// the program at the device's egress, and its maps as long as that is attached.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/clock.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "phase/phase_layout.h"

namespace headway {

/// The classes by which the BPF program paces, by their minor numbers.
class FqClasses {
public:
    virtual ~FqClasses() = default;

    /// The class is there from now on, with a clock that has not begun if it is new.
    [[nodiscard]] virtual Result<void> put(std::uint16_t minor, const headway_fq_class& wanted) = 0;
    virtual void remove(std::uint16_t minor) = 0;
    [[nodiscard]] virtual std::optional<headway_fq_class> find(std::uint16_t minor) const = 0;
    [[nodiscard]] virtual headway_fq_clock clock(std::uint16_t minor) const = 0;
    /// By rising minor number.
    [[nodiscard]] virtual std::vector<std::uint16_t> minors() const = 0;

protected:
    FqClasses() = default;
    FqClasses(const FqClasses&) = default;
    FqClasses& operator=(const FqClasses&) = default;
};

/// In the kernel: the maps fq_classes and fq_clocks of phase_layout.h, whose descriptors
/// must stay open.
[[nodiscard]] std::unique_ptr<FqClasses> bpf_fq_classes(int classes_fd, int clocks_fd);

class FqTrafficControl final : public TrafficControl {
public:
    /// The references must outlive this object.
    FqTrafficControl(NetlinkTrafficControl& link, FqClasses& classes, const Clock& clock, AskLinkRate link_rate)
        : link_(link), classes_(classes), clock_(clock), link_rate_(std::move(link_rate)) {}

    [[nodiscard]] Result<void> find_device() override { return link_.find_device(); }
    [[nodiscard]] Result<std::optional<RootQdisc>> root_qdisc() override;
    /// Classes have no backlog: fq holds the packets, and nobody knows of which class they are.
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

    [[nodiscard]] ClassState state_of(std::uint16_t minor, const headway_fq_class& one) const;
    Result<void> set_up();
    [[nodiscard]] std::uint32_t segments_of_bursts();
    Result<void> set_segments(std::uint32_t segments);

    NetlinkTrafficControl& link_;
    FqClasses& classes_;
    const Clock& clock_;
    AskLinkRate link_rate_;
    std::optional<std::uint32_t> segments_before_;  ///< none: an earlier run has changed it
    std::optional<std::uint32_t> segments_;         ///< none: nothing was set
    std::optional<std::map<std::uint16_t, Burst>> bursts_;  ///< as in the maps; none: these were not read yet
};

/// Takes away all that FqTrafficControl makes but the maps: the device has its default
/// again, if `root` is of ours.  `segments` is what its packets may become then; none: as many as the device can.
[[nodiscard]] Result<void> remove_fq(NetlinkTrafficControl& link, TcHandle root,
                                     std::optional<std::uint32_t> segments = {});

/// Removes the rest of what FqTrafficControl makes where another root qdisc has taken fq's place.
[[nodiscard]] Result<void> remove_rest_of_fq(NetlinkTrafficControl& link,
                                             std::optional<std::uint32_t> segments = {});

}  // namespace headway
