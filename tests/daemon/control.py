#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A client of headwayd's control socket (Documentation/control-protocol.rst).

As a program it enters an all-to-all of the hosts given, says so, and stays in
it until it is killed:  control.py SOCKET HOST...
With --phase it enters it with a store, as a process of --job=NAME; with --child,
too, it leaves a child that holds the socket and goes on storing.
"""

import json
import mmap
import os
import signal
import socket
import struct
import sys


class Slot:
    """A client maps these: its own word, and the job's generation."""

    def __init__(self, control, fd, place):
        self.control = control      # the connection lives as long as the slot
        self.fd, self.place = fd, place
        self.memory = mmap.mmap(fd, place["map_bytes"])

    def store(self, phase, slot=None):
        offset = self.place["slot_offset"] if slot is None else 4 * slot
        self.memory[offset:offset + 4] = struct.pack("=I", phase)

    def load(self, slot=None):
        offset = self.place["slot_offset"] if slot is None else 4 * slot
        return struct.unpack("=I", self.memory[offset:offset + 4])[0]

    def close(self):
        self.memory.close()
        os.close(self.fd)

    def generation(self):
        offset = self.place["generation_offset"]
        return struct.unpack("=I", self.memory[offset:offset + 4])[0]


class Control:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(1200)    # ends only what hangs
        self.socket.connect(path)
        self.id = 0

    def ask(self, op, **members):
        """The answer as it is."""
        self.id += 1
        self.socket.send(json.dumps({"v": 1, "id": self.id, "op": op, **members}).encode())
        answer = json.loads(self.socket.recv(65536))
        assert answer["id"] == self.id, answer
        return self.whole(answer) if "left" in answer and op != "more" else answer

    def whole(self, piece):
        """An answer that is longer than a datagram comes as text, piece by piece."""
        text = piece["text"]
        while piece["left"]:
            piece = self.do("more")
            text += piece["text"]
        return json.loads(text)

    def do(self, op, **members):
        """The answer to a request that must be granted."""
        answer = self.ask(op, **members)
        assert answer["ok"], answer
        return answer

    def join(self, job="12.0"):
        """This process's slot, and the answer."""
        self.id += 1
        self.socket.send(json.dumps({"v": 1, "id": self.id, "op": "join", "job": job}).encode())
        data, files, _, _ = socket.recv_fds(self.socket, 65536, 1)
        answer = json.loads(data)
        assert answer["id"] == self.id, answer
        assert answer["ok"] == bool(files), answer
        return (Slot(self, files[0], answer) if files else None), answer

    def phase(self, hosts, operation="alltoall", **members):
        return self.do("phase", operation=operation, job_hosts=hosts, comm_hosts=hosts, **members)

    def enter(self, hosts, **members):
        return self.do("enter", operation="alltoall", job_hosts=hosts, comm_hosts=hosts, **members)

    def close(self):
        self.socket.close()


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    control = Control(words[0])
    if "--phase" in sys.argv:
        names = [word.removeprefix("--job=") for word in sys.argv if word.startswith("--job=")]
        slot, _ = control.join(*names)
        number = control.phase(words[1:])["phase"]
        slot.store(number)
    else:
        control.enter(words[1:])
    print("entered", flush=True)
    if "--child" in sys.argv and os.fork() == 0:
        # a child may end only with its parent's parent
        sys.stdout.close()
        while os.getppid() != 1 or slot.load() == number:
            pass
        while True:
            slot.store(number)
            signal.sigtimedwait([], 0.001)
    signal.pause()
