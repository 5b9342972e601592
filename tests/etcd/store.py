# SPDX-License-Identifier: Apache-2.0
"""headway-etcd as headwayd sees it: packets over a socket."""

import json
import socket
import subprocess

from etcd_servers import HANGS_S

LASTING_S = 24 * 3600   # of a lease that no test waits for the end of
PACKET_MAX_BYTES = 128 * 1024


class Gone(Exception):
    """headway-etcd has closed the socket."""


class Store:
    """A request and the watch wait until something happens, unless they have another limit."""

    def __init__(self, program, endpoints, host="a1", prefix="/headway/a/", arguments=(), timeout_ms=1000 * HANGS_S,
                 silence_ms=1000 * HANGS_S):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(HANGS_S)
        command = [program, "--prefix", prefix, "--host", host, "--timeout-ms", str(timeout_ms),
                   "--silence-ms", str(silence_ms), *arguments]
        for endpoint in endpoints:
            command += ["--endpoint", endpoint]
        with theirs:
            self.process = subprocess.Popen(command, stdin=theirs.fileno())
        self.seen = []  # what nobody has waited for yet
        self.request_id = 0
        self.snapshots = 0  # that have come so far
        self.watched = None     # the server, at last
        self.settled_by = 0     # what is known of it

    def close(self):
        self.socket.close()
        self.process.wait(HANGS_S)

    # ---- reports ----

    def read(self):
        packet = self.socket.recv(PACKET_MAX_BYTES)
        if not packet:
            raise Gone
        report = json.loads(packet)
        if report["is"] == "snapshot":
            self.snapshots += 1
            self.settled_by = report["settled_by"]
        if report["is"] == "condition" and report["watched"]:
            self.watched = report["text"]
        for change in report.get("changes", ()):
            if change["put"] == "settled":
                self.settled_by = change["by"]
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

    def change(self, revision=None, **wanted):
        """The next changes among which is one with these fields; those of that revision."""
        return self.wait_for(lambda report: report["is"] == "changes" and report["revision"] == (
            revision or report["revision"]) and any(wanted.items() <= change.items() for change in report["changes"]))

    def record_of(self, host):
        """The record comes as a change, or in another snapshot: what is not settled is read again
        when the watch breaks."""
        self.wait_for(lambda report: (report["is"] == "member" and report["host"] == host) or (
            report["is"] == "changes" and any(change.items() >= {"put": "record", "host": host}.items()
                                              for change in report["changes"])))

    def condition(self, watched, without=None):
        return self.wait_for(lambda report: report["is"] == "condition" and report["watched"] == watched and
                             report["text"] != without)

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

    def grant(self, seconds=LASTING_S):
        return self.answer_when_done(do="grant", seconds=seconds)["lease"]
