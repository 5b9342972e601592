// SPDX-License-Identifier: Apache-2.0
// Gives a device the qdisc that is a BPF program, with these classes, and ends: the device keeps it.  Who sends
// tells the qdisc himself what the classifier would (told_by_priority.bpf.c, qdisc_bench).
//   bpf_pacing DEVICE MINOR[:PARENT]=BPS...       0: the class has no rate of its own
#include <fmt/format.h>

#include <cstdio>
#include <span>
#include <string>

#include "base/clock.hpp"
#include "kernel/netlink_exchange.hpp"
#include "kernel/netlink_traffic_control.hpp"
#include "phase/bpf_phase_maps.hpp"
#include "phase/bpf_traffic_control.hpp"

namespace headway {
namespace {

/// Of these there is room for 130 classes each.
std::vector<PhaseTrunk> trunks_for(std::size_t classes) {
    return std::vector<PhaseTrunk>(1 + classes / 130, PhaseTrunk{{}, 1});
}

/// Fails for a word of another form.
Result<AddClass> class_in(const std::string& word) {
    unsigned minor = 0, parent = 0;
    unsigned long long bits_per_s = 0;
    const bool has_parent = std::sscanf(word.c_str(), "%u:%u=%llu", &minor, &parent, &bits_per_s) == 3;
    if (!has_parent && std::sscanf(word.c_str(), "%u=%llu", &minor, &bits_per_s) != 2) {
        return failure("\"{}\" is no MINOR[:PARENT]=BPS", word);
    }
    AddClass change{tc_handle(1, static_cast<std::uint16_t>(minor)), {}};
    if (bits_per_s != 0) change.rate = BytesPerSecond{bits_per_s / 8};
    if (has_parent) change.parent = tc_handle(1, static_cast<std::uint16_t>(parent));
    return change;
}

Result<void> pace(const char* device, std::span<char*> classes) {
    auto transport = MnlTransport::open();
    if (!transport) return tl::unexpected(transport.error());
    auto link = NetlinkTrafficControl::open(*transport, device);
    if (!link) return tl::unexpected(link.error());
    auto maps = BpfPhaseMaps::load(trunks_for(classes.size()), pacing_qdisc_object(link->tx_queues()));
    if (!maps) return tl::unexpected(maps.error());
    auto tables = (*maps)->classes();
    if (!tables) return tl::unexpected(tables.error());
    const SteadyClock clock;
    BpfTrafficControl program(*link, **tables, clock, [] { return std::nullopt; },
                              {.qdisc = ProgramQdisc::bpf,
                               .name = [&](int ifindex) { return (*maps)->name_qdisc(ifindex); },
                               .knows_earlier = false});
    std::vector<Change> changes{AddRootQdisc{tc_handle(1, 0)}};
    for (const char* const word : classes) {
        auto change = class_in(word);
        if (!change) return tl::unexpected(change.error());
        changes.emplace_back(*change);
    }
    auto done = program.apply(changes, ApplyMode::in_order);
    if (!done) return tl::unexpected(std::move(done.error().error));
    return {};
}

}  // namespace
}  // namespace headway

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const auto done = headway::pace(argv[1], std::span(argv + 2, argv + argc));
    if (done) return 0;
    fmt::print(stderr, "bpf_pacing: {}\n", done.error().message);
    return 1;
}
