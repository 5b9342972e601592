// SPDX-License-Identifier: Apache-2.0
#include "phase/bpf_qdisc.hpp"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "phase/map_update.hpp"
#include "phase/phase_layout.h"

namespace headway {
namespace {

using namespace std::chrono_literals;

// Of Linux 6.4 and later, which the headers of Debian 12 do not know.
constexpr std::uint32_t link_flag = 1U << 13;                   // BPF_F_LINK
constexpr auto link_type = static_cast<bpf_attach_type>(44);    // BPF_STRUCT_OPS

constexpr const char* operations = "headway_qdisc";
constexpr std::uint32_t slots_most = 16384, slots_least = 1024;
constexpr std::size_t memory_most_bytes = std::size_t{64} << 20;
// Of pacing_qdisc.bpf.c, for an instance, and for each of its classes, turns and packets.
constexpr std::size_t heap_bytes = 16 * (HEADWAY_QDISC_CLASSES + 1), queue_bytes = 56, turn_bytes = 16, slot_bytes = 24;
constexpr int claims_most = 100;
constexpr auto between_claims = 10ms;

std::uint32_t slots_of(std::uint32_t instances) { return std::max(slots_most / instances, slots_least); }

/// The traffic of several queues is spread over these already.
std::uint32_t turn_bits_of(std::uint32_t instances) { return instances == 1 ? 7 : 4; }

const bpf_map* map_of(const bpf_object& object, const char* name) {
    return bpf_object__find_map_by_name(&object, name);
}

Result<std::uint32_t> network_name_space() {
    struct stat found{};
    if (::stat("/proc/self/ns/net", &found) != 0) return errno_failure("/proc/self/ns/net");
    return static_cast<std::uint32_t>(found.st_ino);
}

bool libbpf_links_operations() { return libbpf_major_version() > 1 || libbpf_minor_version() >= 2; }

/// Of invalid descriptor, with errno, if the kernel refuses it.
FileDescriptor link_operations(const bpf_object& object) {
    bpf_map* const map = bpf_object__find_map_by_name(&object, operations);
    bpf_link* const link = bpf_map__attach_struct_ops(map);
    if (libbpf_links_operations()) {
        if (link == nullptr) return FileDescriptor();
        FileDescriptor own(::fcntl(bpf_link__fd(link), F_DUPFD_CLOEXEC, 3));
        bpf_link__destroy(link);
        return own;
    }
    // An older libbpf has given the map its value, which it needs once, and no link.
    if (link != nullptr) {
        bpf_link__disconnect(link);
        bpf_link__destroy(link);
    }
    return FileDescriptor(bpf_link_create(bpf_map__fd(map), 0, link_type, nullptr));
}

}  // namespace

bool kernel_has_bpf_qdiscs() {
    const std::unique_ptr<btf, decltype(&btf__free)> kernel(btf__load_vmlinux_btf(), btf__free);
    return kernel && btf__find_by_name_kind(kernel.get(), "bpf_struct_ops_Qdisc_ops", BTF_KIND_STRUCT) > 0;
}

Result<void> size_qdisc(bpf_object& object, std::uint32_t instances) {
    const std::size_t clocks = bpf_map__max_entries(map_of(object, "bpf_clocks"));
    const std::size_t queues = instances * clocks, turns = queues << turn_bits_of(instances);
    const std::size_t slots = 1 + std::size_t{instances} * slots_of(instances);
    const std::size_t bytes =
        instances * heap_bytes + queues * queue_bytes + turns * turn_bytes + slots * slot_bytes;
    if (clocks > HEADWAY_QDISC_CLASSES || bytes > memory_most_bytes) {
        return system_failure(E2BIG,
                              "the BPF qdisc has no room for {} TX queues and {} classes: it takes {} classes and "
                              "{} MiB of memory at most",
                              instances, clocks, HEADWAY_QDISC_CLASSES, memory_most_bytes >> 20U);
    }
    const auto resize = [&](const char* name, std::size_t entries) {
        bpf_map__set_max_entries(bpf_object__find_map_by_name(&object, name), static_cast<std::uint32_t>(entries));
    };
    resize("qdiscs", instances);
    resize("qdisc_slots", slots);
    resize("qdisc_queues", queues);
    resize("qdisc_heaps", instances);
    resize("qdisc_turns", turns);
    bpf_map__set_map_flags(bpf_object__find_map_by_name(&object, operations), link_flag);
    return {};
}

Result<void> fill_qdisc(const bpf_object& object, std::uint32_t instances) {
    const std::uint32_t queues = bpf_map__max_entries(map_of(object, "qdisc_queues")) / instances;
    for (std::uint32_t i = 0; i < instances; ++i) {
        headway_qdisc one{};
        one.slot_count = slots_of(instances);
        one.first_slot = 1 + i * one.slot_count;
        one.first_queue = i * queues;
        one.queue_count = queues;
        one.turn_bits = turn_bits_of(instances);
        const int error = update_map(bpf_map__fd(map_of(object, "qdiscs")), &i, &one, BPF_ANY);
        if (error != 0) return system_failure(-error, "filling the table of qdiscs: {}", std::strerror(-error));
    }
    return {};
}

Result<QdiscName> QdiscName::claim(const bpf_object& object, int ifindex) {
    const auto netns = network_name_space();
    if (!netns) return tl::unexpected(netns.error());
    const headway_qdisc_device device{static_cast<std::uint32_t>(ifindex), *netns};
    const std::uint32_t only = 0;
    const int error = update_map(bpf_map__fd(map_of(object, "qdisc_device")), &only, &device, BPF_ANY);
    if (error != 0) return system_failure(-error, "naming the qdisc's device: {}", std::strerror(-error));
    for (int claim = 1;; ++claim) {
        FileDescriptor link = link_operations(object);
        if (link) return QdiscName(std::move(link));
        if (errno != EEXIST || claim == claims_most) return errno_failure("giving the BPF qdisc its name");
        std::this_thread::sleep_for(between_claims);
    }
}

}  // namespace headway
