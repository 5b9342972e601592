// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernel/netlink_exchange.hpp"
#include "kernel/traffic_control.hpp"

namespace headway {

[[nodiscard]] NetlinkMessage encode_link_query(const std::string& device);
/// Asks for all that RTM_GETQDISC, RTM_GETTCLASS or RTM_GETTFILTER dumps; for filters, of that
/// qdisc.
[[nodiscard]] NetlinkMessage encode_dump(std::uint16_t type, int ifindex, TcHandle qdisc = {});

/// Whether the kernel refused something because the loaded module does not know it yet.
[[nodiscard]] bool is_of_older_module(const Error& error);

/// Readers of one message of a dump.  None: it is about something else
/// (another device, not the root, another qdisc's class).
[[nodiscard]] Result<std::optional<RootQdisc>> decode_root_qdisc(const nlmsghdr* message,
                                                                 int ifindex);
/// The kind of a qdisc directly below that one.
[[nodiscard]] std::optional<std::string> decode_kind_below(const nlmsghdr* message, int ifindex, TcHandle qdisc);
[[nodiscard]] Result<std::optional<ClassState>> decode_class(const nlmsghdr* message, int ifindex);
[[nodiscard]] std::optional<FilterState> decode_filter(const nlmsghdr* message, int ifindex);

/// Traffic control by rtnetlink messages.  ApplyMode::together sends all
/// changes in one system call (64 at a time): it is on the path of every
/// collective.  tests/daemon/guest.py measures what an enter costs by it.
/// A loaded module that is older than bursts gets classes without them.
class NetlinkTrafficControl final : public TrafficControl {
public:
    /// Fails if there is no such device in this network namespace.
    /// `transport` must outlive the result.
    [[nodiscard]] static Result<NetlinkTrafficControl> open(NetlinkTransport& transport,
                                                            const std::string& device);

    [[nodiscard]] Result<void> find_device() override;
    [[nodiscard]] Result<std::optional<RootQdisc>> root_qdisc() override;
    [[nodiscard]] Result<std::vector<ClassState>> classes() override;
    [[nodiscard]] Result<std::vector<FilterState>> filters(TcHandle qdisc) override;
    [[nodiscard]] tl::expected<void, ApplyFailure> apply(std::span<const Change> changes,
                                                         ApplyMode mode) override;

    /// The kinds of the qdiscs directly below that one.
    [[nodiscard]] Result<std::vector<std::string>> kinds_below(TcHandle qdisc);

    // As the device was found last:
    [[nodiscard]] int ifindex() const { return link_.ifindex; }
    [[nodiscard]] std::uint32_t mtu_bytes() const { return link_.mtu_bytes; }
    /// Returns how many TX queues it can have; how many are in use, others may change at any time.
    [[nodiscard]] std::uint32_t tx_queues() const { return link_.tx_queues; }
    /// Returns how many frames one packet may become, now and by the device's own limit
    /// (ChangeSegmentsMax).
    [[nodiscard]] std::uint32_t segments_max() const { return link_.segments_max; }
    [[nodiscard]] std::uint32_t own_segments_max() const { return link_.own_segments_max; }

private:
    struct Link {
        int ifindex = 0;
        std::uint32_t mtu_bytes = 0;
        std::uint32_t tx_queues = 0;
        std::uint32_t segments_max = 0;
        std::uint32_t own_segments_max = 0;
    };

    NetlinkTrafficControl(NetlinkTransport& transport, std::string device)
        : exchange_(transport), device_(std::move(device)) {}

    template <class State, class Decode>
    Result<std::vector<State>> dump(const char* doing, std::uint16_t type, Decode decode,
                                    TcHandle qdisc = {});
    [[nodiscard]] static std::optional<Link> decode_link(const nlmsghdr* message);
    [[nodiscard]] tl::expected<void, ApplyFailure> attempt(std::span<const Change> changes,
                                                           ApplyMode mode);

    NetlinkExchange exchange_;
    std::string device_;
    Link link_;
    bool has_bursts_ = true;  ///< no: the module is older, and cuts all GSO packets
};

}  // namespace headway
