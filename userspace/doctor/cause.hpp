// SPDX-License-Identifier: Apache-2.0
// What headway doctor may find, by names that scripts can rely on.
#pragma once

#include <string>
#include <vector>

namespace headway {

/// headway(1) has a line for each.
enum class Cause {
    time_outs, losses, no_neighbour, no_link, half_duplex, slow_link, broken_frames, checksums, receive_ring,
    backlog, dropped_by_driver, short_queue, limiting_qdisc, other_qdisc, leftover_qdisc, paused, sends_pause,
    no_gap_frames, kernel_not_tested, mtu_black_hole, route_mtu, ecn_dropped, connection_tracking,
    reverse_path, reordering, receiver, send_buffer, buffers, tcp_memory, receive_buffer_growth,
    window_scaling, selective_acknowledgements, tail_loss_probes, rack, slow_start_after_idle, autocorking,
    delayed_acknowledgements, queue_on_the_way, offload, slower_interface, shared_network, other_interfaces,
    bond_member, bond_hash, processors, slow_names, own_address, not_in_step, kernel_error, class_rate,
    at_its_bound,
};

/// "time-outs": as the JSON document and headway(1) have it.
[[nodiscard]] std::string cause_name(Cause cause);
[[nodiscard]] std::vector<std::string> cause_names();

}  // namespace headway
