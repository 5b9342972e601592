#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A client of headwayd's control socket (Documentation/control-protocol.rst).

As a program it enters an all-to-all of the hosts given, says so, and stays in
it until it is killed:  control.py SOCKET HOST...
"""

import json
import signal
import socket
import sys


class Control:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.socket.connect(path)
        self.id = 0

    def ask(self, op, **members):
        """The answer as it is."""
        self.id += 1
        self.socket.send(json.dumps({"v": 1, "id": self.id, "op": op, **members}).encode())
        answer = json.loads(self.socket.recv(65536))
        assert answer["id"] == self.id, answer
        return answer

    def do(self, op, **members):
        """The answer to a request that must be granted."""
        answer = self.ask(op, **members)
        assert answer["ok"], answer
        return answer

    def enter(self, hosts, **members):
        return self.do("enter", operation="alltoall", job_hosts=hosts, comm_hosts=hosts, **members)

    def close(self):
        self.socket.close()


if __name__ == "__main__":
    control = Control(sys.argv[1])
    control.enter(sys.argv[2:])
    print("entered", flush=True)
    signal.pause()
