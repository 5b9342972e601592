// SPDX-License-Identifier: Apache-2.0
#include "doctor/cause.hpp"

#include <algorithm>
#include <utility>

namespace headway {
namespace {

constexpr std::pair<Cause, const char*> names[] = {
    {Cause::time_outs, "time-outs"},
    {Cause::losses, "losses"},
    {Cause::no_neighbour, "no-neighbour"},
    {Cause::no_link, "no-link"},
    {Cause::half_duplex, "half-duplex"},
    {Cause::slow_link, "slow-link"},
    {Cause::broken_frames, "broken-frames"},
    {Cause::checksums, "checksums"},
    {Cause::receive_ring, "receive-ring"},
    {Cause::backlog, "backlog"},
    {Cause::dropped_by_driver, "dropped-by-driver"},
    {Cause::short_queue, "short-queue"},
    {Cause::limiting_qdisc, "limiting-qdisc"},
    {Cause::other_qdisc, "other-qdisc"},
    {Cause::leftover_qdisc, "leftover-qdisc"},
    {Cause::paused, "paused"},
    {Cause::sends_pause, "sends-pause"},
    {Cause::no_gap_frames, "no-gap-frames"},
    {Cause::kernel_not_tested, "kernel-not-tested"},
    {Cause::mtu_black_hole, "mtu-black-hole"},
    {Cause::route_mtu, "route-mtu"},
    {Cause::ecn_dropped, "ecn-dropped"},
    {Cause::connection_tracking, "connection-tracking"},
    {Cause::reverse_path, "reverse-path"},
    {Cause::reordering, "reordering"},
    {Cause::receiver, "receiver"},
    {Cause::send_buffer, "send-buffer"},
    {Cause::buffers, "buffers"},
    {Cause::tcp_memory, "tcp-memory"},
    {Cause::receive_buffer_growth, "receive-buffer-growth"},
    {Cause::window_scaling, "window-scaling"},
    {Cause::selective_acknowledgements, "selective-acknowledgements"},
    {Cause::tail_loss_probes, "tail-loss-probes"},
    {Cause::rack, "rack"},
    {Cause::slow_start_after_idle, "slow-start-after-idle"},
    {Cause::autocorking, "autocorking"},
    {Cause::delayed_acknowledgements, "delayed-acknowledgements"},
    {Cause::queue_on_the_way, "queue-on-the-way"},
    {Cause::offload, "offload"},
    {Cause::slower_interface, "slower-interface"},
    {Cause::shared_network, "shared-network"},
    {Cause::other_interfaces, "other-interfaces"},
    {Cause::bond_member, "bond-member"},
    {Cause::bond_hash, "bond-hash"},
    {Cause::processors, "processors"},
    {Cause::slow_names, "slow-names"},
    {Cause::own_address, "own-address"},
    {Cause::not_in_step, "not-in-step"},
    {Cause::kernel_error, "kernel-error"},
    {Cause::class_rate, "class-rate"},
    {Cause::at_its_bound, "at-its-bound"},
};

}  // namespace

std::string cause_name(Cause cause) {
    return std::ranges::find(names, cause, &std::pair<Cause, const char*>::first)->second;
}

std::vector<std::string> cause_names() {
    std::vector<std::string> all;
    for (const auto& [cause, name] : names) all.emplace_back(name);
    return all;
}

}  // namespace headway
