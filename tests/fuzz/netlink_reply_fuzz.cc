// SPDX-License-Identifier: Apache-2.0
// What the kernel answers over netlink, datagram by datagram: to each question of
// headwayd, and what its monitor reads.  The input: which question, then datagrams
// as 16 bits of length (of the machine's order) and bytes.
#include <linux/rtnetlink.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "fuzz_text.hh"
#include "kernel/kernel_monitor.hpp"
#include "kernel/netlink_attributes.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "look/tcp_sockets.hpp"

namespace headway::fuzz {
namespace {

constexpr std::uint32_t own_port = 7;

/// Each datagram in memory of just its size, so that reading beyond is seen.
class ScriptedTransport final : public NetlinkTransport {
public:
    explicit ScriptedTransport(std::string_view script) : script_(script) {}

    [[nodiscard]] std::uint32_t port_id() const override { return own_port; }
    [[nodiscard]] Result<void> send(std::span<const std::byte>) override { return {}; }
    [[nodiscard]] Result<void> reopen() override { return {}; }
    [[nodiscard]] Result<std::span<const std::byte>> receive(Clock::time_point) override {
        std::uint16_t length = 0;
        if (script_.size() < sizeof(length)) return system_failure(ETIMEDOUT, "the kernel is silent");
        std::memcpy(&length, script_.data(), sizeof(length));
        script_.remove_prefix(sizeof(length));
        const auto text = script_.substr(0, length);
        script_.remove_prefix(text.size());
        datagram_ = std::make_unique<std::byte[]>(text.size());  // new aligns for any message
        std::memcpy(datagram_.get(), text.data(), text.size());
        return std::span<const std::byte>(datagram_.get(), text.size());
    }

private:
    std::string_view script_;
    std::unique_ptr<std::byte[]> datagram_;
};

template <class Value>
bool is_told(const Result<Value>& result) {
    if (!result) require(!result.error().message.empty(), "an error without a reason");
    return result.has_value();
}

void check_filters(const Result<std::vector<FilterState>>& filters) {
    if (!is_told(filters)) return;
    for (const FilterState& filter : *filters) {
        if (!filter.destination) continue;
        require(filter.destination->length_bits <= 8 * filter.destination->address_bytes(),
                "a prefix longer than its address");
    }
}

void check_classes(const Result<std::vector<ClassState>>& classes) {
    if (!is_told(classes)) return;
    for (const ClassState& state : *classes) {
        require(!state.table.contains(0), "an entry that is the class's rate");
        require(!state.lease || state.lease->expires.count() >= 0, "a time below zero");
    }
}

void check_change(NetlinkTrafficControl& control) {
    const std::vector<Change> changes{AddClass{tc_handle(1, 0x10), BytesPerSecond{1000}},
                                      DeleteClass{tc_handle(1, 0x11)}};
    const auto applied = control.apply(changes, ApplyMode::together);
    if (applied) return;
    require(!applied.error().error.message.empty(), "an error without a reason");
    require(applied.error().applied.size() < changes.size(), "a failure of nothing");
}

void ask(NetlinkTrafficControl& control, unsigned question) {
    switch (question % 4) {
        case 0: (void)is_told(control.root_qdisc()); break;
        case 1: check_classes(control.classes()); break;
        case 2: check_filters(control.filters(tc_handle(1, 0))); break;
        default: check_change(control);
    }
}

void monitor(ScriptedTransport transport) {
    const MonitoredDevice device{"eth0", 2};
    while (const auto datagram = transport.receive({})) {
        for_each_message(*datagram, [&](const nlmsghdr* message) {
            (void)concerns(message, device);
            (void)extended_ack_text(message);
            if (const auto flow = decode_tcp_flow(message)) {
                require(flow->remote.length_bits == 8 * flow->remote.address_bytes(),
                        "an address that is a block");
            }
        });
    }
}

}  // namespace
}  // namespace headway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace headway::fuzz;
    if (size == 0) return 0;
    const auto script = text_of(data + 1, size - 1);
    monitor(ScriptedTransport(script));
    ScriptedTransport transport(script);
    auto control = headway::NetlinkTrafficControl::open(transport, "eth0");
    if (is_told(control)) ask(*control, data[0]);
    return 0;
}
