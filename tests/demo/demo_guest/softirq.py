# SPDX-License-Identifier: Apache-2.0
"""How long the processor has been in softirqs, to the nanosecond.

/proc/stat samples at timer ticks, and an idle processor has none: the short
bursts of a paced network would pass for idle time.  Two BPF programs of a few
instructions on the softirq trace points count them exactly, at a cost far
below one per cent.  One processor only, which -icount guests have.
"""

import ctypes
import os
import struct

SYS_BPF = 321               # x86-64
MAP_CREATE, MAP_LOOKUP, PROG_LOAD, RAW_TRACEPOINT_OPEN = 0, 1, 5, 17
MAP_TYPE_ARRAY, PROG_TYPE_RAW_TRACEPOINT = 2, 17
KTIME_GET_NS = 5            # helper function
PSEUDO_MAP_VALUE = 2        # a 64-bit immediate that names a map's memory
VALUE = struct.Struct("=QQ")  # entered at, spent in all
ENTERED, SPENT = 0, 8

libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, max(len(attributes), 128))
    answer = libc.syscall(SYS_BPF, command, buffer, len(buffer))
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"bpf command {command}: {os.strerror(number)}")
    return answer


def address(buffer):
    return ctypes.addressof(buffer)


def instruction(code, target=0, source=0, offset=0, immediate=0):
    return struct.pack("=BBhi", code, source << 4 | target, offset, immediate)


def load_map_address(target, map_fd):
    return instruction(0x18, target, PSEUDO_MAP_VALUE, 0, map_fd) + instruction(0)


def call(helper):
    return instruction(0x85, immediate=helper)


def load(target, source, offset):
    return instruction(0x79, target, source, offset)


def store(target, offset, source):
    return instruction(0x7b, target, source, offset)


def return_zero():
    return instruction(0xb7, 0) + instruction(0x95)


def at_entry(map_fd):
    """entered = now"""
    return call(KTIME_GET_NS) + load_map_address(1, map_fd) + store(1, ENTERED, 0) + return_zero()


def at_exit(map_fd):
    """if (entered) { spent += now - entered; entered = 0 }"""
    body = (instruction(0x1f, 0, 2)          # r0 = now - entered
            + load(3, 6, SPENT)
            + instruction(0x0f, 3, 0)        # r3 += r0
            + store(6, SPENT, 3)
            + instruction(0xb7, 2)           # r2 = 0
            + store(6, ENTERED, 2))
    skip = instruction(0x15, 2, offset=len(body) // 8)  # entered == 0: began before we did
    return load_map_address(6, map_fd) + call(KTIME_GET_NS) + load(2, 6, ENTERED) + skip + body \
        + return_zero()


def load_program(code):
    instructions = ctypes.create_string_buffer(code, len(code))
    licence = ctypes.create_string_buffer(b"Apache-2.0")
    return bpf(PROG_LOAD, struct.pack("=IIQQ", PROG_TYPE_RAW_TRACEPOINT, len(code) // 8,
                                      address(instructions), address(licence)))


def attach(tracepoint, program_fd):
    name = ctypes.create_string_buffer(tracepoint.encode())
    return bpf(RAW_TRACEPOINT_OPEN, struct.pack("=QI", address(name), program_fd))


class SoftirqMeter:
    """Counts from its making until it is closed."""

    def __init__(self):
        if os.cpu_count() != 1:
            raise RuntimeError("the softirq meter knows one processor only")
        self.map_fd = bpf(MAP_CREATE, struct.pack("=IIII", MAP_TYPE_ARRAY, 4, VALUE.size, 1))
        self.fds = [self.map_fd]
        for tracepoint, code in (("softirq_exit", at_exit), ("softirq_entry", at_entry)):
            program = load_program(code(self.map_fd))
            self.fds += [program, attach(tracepoint, program)]

    def spent_s(self):
        key, value = ctypes.c_uint32(0), ctypes.create_string_buffer(VALUE.size)
        bpf(MAP_LOOKUP, struct.pack("=IIQQQ", self.map_fd, 0, ctypes.addressof(key),
                                    address(value), 0))
        return VALUE.unpack(value.raw)[1] / 1e9

    def close(self):
        for fd in self.fds:
            os.close(fd)
        self.fds = []
