# SPDX-License-Identifier: Apache-2.0
"""A headwayd that plans nothing: speaks the control protocol and remembers.

For tests of programs that talk to the daemon.  What it answers to an operation
can be replaced by a function, so that it can also misbehave.

As a program, which can be stopped and killed, it writes each request as a line
of JSON once it is answered:  fake_headwayd.py SOCKET LOG NODE...   (with --no-phases
it has none, with --plans-change its plans do all the time)
"""

import fcntl
import json
import os
import selectors
import socket
import sys
import threading

NO_ANSWER = object()
CLOSE = object()

DATAGRAM_MAX = 65536
MIN_MESSAGE_BYTES = 2048
TRUNK_BITS_PER_S = 25_000_000
SLOTS_BYTES = 260
GENERATION_OFFSET = 256
GENERATION = 3
WHOLE_PHASE = 9
CALL_S_PER_BYTE = 5e-5   # amounts of a request are some hundred bytes: a call lasts some 5 ms
RATE_PHASE = 10


class Connection:
    """The requests of one client, in order."""

    def __init__(self, sock):
        self.socket = sock
        self.requests = []
        self.closed = False
        self.patterns = []
        self.slots = None  # descriptor of its array
        self.left_in = 0  # the phase in which it was when the daemon ended
        self.slots_are_due = False
        self.entries = []  # (request, what was in the slot then) of each phase that was asked for

    @property
    def rank(self):
        return self.requests[0].get("rank") if self.requests else None

    def phase(self):
        """Returns what is in its slot, or was when the daemon ended."""
        return self.left_in if self.slots is None else int.from_bytes(os.pread(self.slots, 4, 0), sys.byteorder)

    def entered(self):
        """(operation, bytes) of each phase that was asked for; traffic has neither."""
        return [(request.get("operation"), request.get("message_bytes")) for request, _ in self.entries]

    def operations(self):
        """But for rank 0's questions which algorithm is planned for a communicator."""
        return [request["op"] for request in self.requests if "algorithms" not in request]


class FakeHeadwayd:
    """`replace` maps an operation's name to function(request, connection) that
    returns a dict, bytes, NO_ANSWER or CLOSE.  `nodes` are the names that ranks
    0, 1, ... are told their nodes have; their first letters are the clusters.
    `algorithm` is what plans name to clients that leave the choice to them, and
    those that do not say anything of algorithms: a name, or a function(rank).
    Each client has an array of its own, and there is one phase for all plans; without
    `phases` there are neither.  If `plans_change`, each answer is out of date when it
    comes, so that a phase is asked for at each call that enters one."""

    def __init__(self, path, nodes=(), replace=None, backlog=64, accepts=True, algorithm=None,
                 phases=True, plans_change=False):
        self.path = path
        self.algorithm = algorithm
        self.has_phases = phases
        self.plans_change = plans_change
        self.generation = GENERATION
        self.nodes = list(nodes)
        self.replace = replace or {}
        self.accepts = accepts
        self.connections = []
        self.on_request = lambda request: None  # once it is answered
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(path)
        self._listener.listen(backlog)
        self._wake_read, self._wake_write = os.pipe()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        os.write(self._wake_write, b"x")
        self._thread.join()
        self._listener.close()
        for connection in self.connections:
            connection.socket.close()
            if connection.slots is not None:
                connection.left_in = connection.phase()
                os.close(connection.slots)
                connection.slots = None
        os.close(self._wake_read)
        os.close(self._wake_write)
        os.unlink(self.path)

    def phases_entered(self):
        """Returns what those who joined have in their slots."""
        return [connection.phase() for connection in self.connections
                if connection.slots is not None]

    def change_plans(self, algorithm):
        """Answers with another algorithm from now on, and lets those who joined see that plans have
        changed."""
        self.algorithm = algorithm
        self.generation += 1
        for connection in self.connections:
            if connection.slots is not None:
                self._show_generation(connection)

    def _show_generation(self, connection):
        os.pwrite(connection.slots, self.generation.to_bytes(4, sys.byteorder), GENERATION_OFFSET)

    def by_rank(self):
        return {connection.rank: connection for connection in self.connections}

    def _serve(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_read, selectors.EVENT_READ)
            if self.accepts:
                selector.register(self._listener, selectors.EVENT_READ)
            stopping = False
            while not stopping:
                for key, _ in selector.select():
                    if key.fileobj == self._wake_read:
                        stopping = True
                    elif key.fileobj is self._listener:
                        connection = Connection(self._listener.accept()[0])
                        self.connections.append(connection)
                        selector.register(connection.socket, selectors.EVENT_READ, connection)
                    elif not self._handle(key.data):
                        selector.unregister(key.fileobj)
                        key.data.closed = True
                        key.fileobj.close()

    def _handle(self, connection):
        """One datagram; False: the connection is over."""
        try:
            try:
                data = connection.socket.recv(DATAGRAM_MAX + 1)
            except ConnectionResetError:
                # told once, when the client went with answers unread; what it
                # said before that is still there
                data = connection.socket.recv(DATAGRAM_MAX + 1)
            if not data:
                return False
            request = json.loads(data)
            connection.requests.append(request)
            if request["op"] in ("phase", "traffic") and "algorithms" not in request:
                connection.entries.append((request, connection.phase()))
            answer = self._answer(request, connection)
            if answer is CLOSE:
                return False
            if answer is not NO_ANSWER:
                self._send(connection, answer)
            self.on_request(request)
        except ConnectionError:
            return False
        return True

    @staticmethod
    def _send(connection, answer):
        try:
            if connection.slots_are_due:
                connection.slots_are_due = False
                socket.send_fds(connection.socket, [answer], [connection.slots])
            else:
                connection.socket.send(answer)
        except BrokenPipeError:
            pass  # gone, but perhaps not all that it said has been read

    def _answer(self, request, connection):
        function = self.replace.get(request["op"]) or getattr(self, "answer_" + request["op"])
        answer = function(request, connection)
        if not isinstance(answer, dict):
            return answer
        answer = {"v": 1, "id": request["id"], "ok": "error" not in answer, **answer}
        return json.dumps(answer).encode()

    def answer_hello(self, request, _connection):
        rank = request["rank"]
        if rank >= len(self.nodes):
            return {}
        # each rank's daemon knows another buffer, and rank 0's none
        return {"node": self.nodes[rank], "cluster": self.nodes[rank][:1],
                "phases": self.has_phases, "port_buffer_bytes": 8000 * rank}

    def answer_join(self, _request, connection):
        if not self.has_phases:
            return {"error": "no phases"}
        connection.slots = os.memfd_create("slots", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.truncate(connection.slots, SLOTS_BYTES)
        fcntl.fcntl(connection.slots, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
        self._show_generation(connection)
        connection.slots_are_due = True
        return {"map_bytes": SLOTS_BYTES, "slot_offset": 0, "generation_offset": GENERATION_OFFSET}

    def answer_phase(self, request, connection):
        answer = {"phase": WHOLE_PHASE, "paced": True, "bytes_per_s": 1000,
                  "generation": self.generation - self.plans_change}
        algorithm = self._algorithm_for(request, connection)
        if algorithm:
            answer["algorithm"] = algorithm
        return answer

    def answer_prepare(self, request, connection):
        connection.patterns.append(request)
        answer = {"pattern": len(connection.patterns), "paced": True,
                  "reason": "as the test wants", "min_message_bytes": MIN_MESSAGE_BYTES}
        algorithm = self._algorithm_for(request, connection)
        return {**answer, "algorithm": algorithm} if algorithm else answer

    def _algorithm_for(self, request, connection):
        if "algorithm" in request:
            return request["algorithm"]
        return self.algorithm(connection.rank) if callable(self.algorithm) else self.algorithm

    def answer_plan(self, _request, _connection):
        return {"paced": True, "limiting_link": {"kind": "trunk_up", "cluster": "a",
                                                 "bits_per_s": TRUNK_BITS_PER_S}}

    def answer_rate(self, _request, _connection):
        if not self.has_phases:
            return {"error": "no phases"}
        return {"phase": RATE_PHASE, "bytes_per_s": 500, "generation": self.generation}

    def answer_traffic(self, request, connection):
        answer = {**self.answer_rate(request, connection), "paced": True}
        return {**answer, "end_s": CALL_S_PER_BYTE} if request.get("one_call") else answer


def main():
    path, log, *nodes = [word for word in sys.argv[1:] if not word.startswith("--")]
    with open(log, "a", encoding="utf-8") as file:
        daemon = FakeHeadwayd(path, nodes=nodes, phases="--no-phases" not in sys.argv,
                              plans_change="--plans-change" in sys.argv)
        daemon.on_request = lambda request: print(json.dumps(request), file=file, flush=True)
        daemon._serve()


if __name__ == "__main__":
    main()
