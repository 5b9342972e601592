// SPDX-License-Identifier: Apache-2.0
// A BPF program that stores what bpf_ktime_get_ns() and its like return into a map,
// run by BPF_PROG_TEST_RUN.
#define _GNU_SOURCE
#include "kernel_clocks.h"

#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static const int helpers[KERNEL_CLOCKS] = {
	[KERNEL_MONOTONIC] = BPF_FUNC_ktime_get_ns,
	[KERNEL_BOOTTIME] = BPF_FUNC_ktime_get_boot_ns,
	[KERNEL_TAI] = BPF_FUNC_ktime_get_tai_ns,
};

static volatile const uint64_t *seen;
static int program;

static int bpf(int command, union bpf_attr *attributes)
{
	return syscall(SYS_bpf, command, attributes, sizeof(*attributes));
}

static int make_map(void)
{
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.map_type = BPF_MAP_TYPE_ARRAY;
	attributes.key_size = sizeof(uint32_t);
	attributes.value_size = KERNEL_CLOCKS * sizeof(uint64_t);
	attributes.max_entries = 1;
	attributes.map_flags = BPF_F_MMAPABLE;
	return bpf(BPF_MAP_CREATE, &attributes);
}

/* r6 = the map's value; for each clock: *(u64 *)(r6 + offset) = helper(); return 0 */
static int load_program(int map)
{
	struct bpf_insn code[2 + 2 * KERNEL_CLOCKS + 2] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = BPF_REG_6,
		  .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = map },
		{ 0 },	/* its second half: the offset into the value */
	};
	union bpf_attr attributes;
	int length = 2;

	for (int clock = 0; clock < KERNEL_CLOCKS; clock++) {
		code[length++] = (struct bpf_insn){
			.code = BPF_JMP | BPF_CALL, .imm = helpers[clock] };
		code[length++] = (struct bpf_insn){
			.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_6,
			.src_reg = BPF_REG_0, .off = clock * sizeof(uint64_t) };
	}
	code[length++] = (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 };
	code[length++] = (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT };

	memset(&attributes, 0, sizeof(attributes));
	attributes.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attributes.insns = (uintptr_t)code;
	attributes.insn_cnt = length;
	attributes.license = (uintptr_t)"GPL";
	return bpf(BPF_PROG_LOAD, &attributes);
}

const char *kernel_clocks_open(void)
{
	int map = make_map();
	void *value;

	if (map < 0)
		return "BPF_MAP_CREATE";
	value = mmap(NULL, KERNEL_CLOCKS * sizeof(uint64_t), PROT_READ, MAP_SHARED, map, 0);
	if (value == MAP_FAILED)
		return "mmap of a BPF map";
	seen = value;
	program = load_program(map);
	return program < 0 ? "BPF_PROG_LOAD" : NULL;
}

int kernel_clocks_read(uint64_t ns[KERNEL_CLOCKS])
{
	static const unsigned char packet[64];
	union bpf_attr attributes;

	memset(&attributes, 0, sizeof(attributes));
	attributes.test.prog_fd = program;
	attributes.test.data_in = (uintptr_t)packet;
	attributes.test.data_size_in = sizeof(packet);
	if (bpf(BPF_PROG_TEST_RUN, &attributes))
		return -1;
	for (int clock = 0; clock < KERNEL_CLOCKS; clock++)
		ns[clock] = seen[clock];
	return 0;
}
