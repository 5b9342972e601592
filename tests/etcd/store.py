# SPDX-License-Identifier: Apache-2.0
"""headway-etcd as headwayd sees it: packets over a socket."""

import json
import socket
import subprocess

LONGEST_WAIT_S = 30
PACKET_MAX_BYTES = 128 * 1024


class Gone(Exception):
    """headway-etcd has closed the socket."""


class Store:
    def __init__(self, program, endpoints, host="a1", prefix="/headway/a/", arguments=()):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(LONGEST_WAIT_S)
        command = [program, "--prefix", prefix, "--host", host, *arguments]
        for endpoint in endpoints:
            command += ["--endpoint", endpoint]
        with theirs:
            self.process = subprocess.Popen(command, stdin=theirs.fileno())
        self.seen = []  # what nobody has waited for yet
        self.request_id = 0
        self.snapshots = 0  # that have come so far

    def close(self):
        self.socket.close()
        self.process.wait(LONGEST_WAIT_S)

    # ---- reports ----

    def read(self):
        packet = self.socket.recv(PACKET_MAX_BYTES)
        if not packet:
            raise Gone
        report = json.loads(packet)
        self.snapshots += report["is"] == "snapshot"
        return report

    def wait_for(self, is_wanted, drops_earlier=True):
        """The first report of that kind; those before it are dropped, but for answers."""
        index = 0
        while True:
            while index == len(self.seen):
                self.seen.append(self.read())
            if is_wanted(self.seen[index]):
                break
            index += 1
        report, earlier = self.seen[index], self.seen[:index]
        if drops_earlier:
            earlier = [one for one in earlier if one["is"] == "answer"]
        self.seen = earlier + self.seen[index + 1:]
        return report

    def snapshot(self):
        """The next one, with its members by host."""
        begins = self.wait_for(lambda report: report["is"] == "snapshot")
        members = [self.wait_for(lambda report: report["is"] == "member")
                   for _ in range(begins["members"])]
        return {**begins, "members": {member["host"]: member for member in members}}

    def change(self, **wanted):
        """The next changes among which is one with these fields."""
        return self.wait_for(lambda report: report["is"] == "changes" and any(
            wanted.items() <= change.items() for change in report["changes"]))

    def condition(self, watched):
        return self.wait_for(
            lambda report: report["is"] == "condition" and report["watched"] == watched)

    # ---- requests ----

    def ask(self, **request):
        self.request_id += 1
        self.socket.send(json.dumps({"id": self.request_id, **request}).encode())
        return self.request_id

    def answer(self, **request):
        number = self.ask(**request)
        return self.wait_for(lambda report: report["is"] == "answer" and report["id"] == number,
                             drops_earlier=False)

    def answer_when_done(self, **request):
        """Asks until it is done: answers get lost while servers go and come."""
        while True:
            answer = self.answer(**request)
            if answer["done"]:
                return answer

    def grant(self, seconds=10):
        return self.answer_when_done(do="grant", seconds=seconds)["lease"]
