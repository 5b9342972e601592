# SPDX-License-Identifier: Apache-2.0
"""A service manager as far as headwayd sees one: it hears notifications, and keeps
descriptors from one run to the next (sd_notify(3), sd_listen_fds(3))."""

import contextlib
import fcntl
import os
import queue
import select
import socket
import threading
import time

FIRST = 3                   # SD_LISTEN_FDS_START
# Sets what only the process itself knows; "$@" is the program.
LAUNCHER = ["/bin/sh", "-c", 'LISTEN_PID=$$ exec "$@"', "sh"]


def is_hung_up(fd, events=0):
    """Says it as epoll does, which systemd asks; not every kind of file can be asked."""
    poll = select.epoll()
    try:
        poll.register(fd, events)
        return bool(poll.poll(0))
    except PermissionError:
        return False
    finally:
        poll.close()


class Store:
    """Descriptors by name, the oldest first."""

    def __init__(self):
        self.entries = []       # (name, descriptor, is forgotten when hung up)
        self.lock = threading.Lock()
        self.heard_by = []      # Notifications, of one run after the other

    def put(self, name, fds, is_polled):
        with self.lock:
            self.entries += [(name, fd, is_polled) for fd in fds]

    def remove(self, is_meant):
        with self.lock:
            gone = [entry for entry in self.entries if is_meant(entry)]
            self.entries = [entry for entry in self.entries if entry not in gone]
        for _, fd, _ in gone:
            os.close(fd)

    def hear_all(self):
        for notifications in self.heard_by:
            notifications.hear_all()

    def clear(self):
        self.hear_all()
        self.remove(lambda _: True)

    def names(self):
        """Returns the names of what is there: all that a daemon has sent until now, after the
        forgetting."""
        self.hear_all()
        self.remove(lambda entry: entry[2] and is_hung_up(entry[1]))
        with self.lock:
            return [name for name, _, _ in self.entries]

    def launch(self):
        """Options of Popen, and the environment, of a process that gets all."""
        names = self.names()
        if not names:
            return {}, {}
        fds = [fd for _, fd, _ in self.entries]

        def place():
            # first out of the way of the numbers that they are to have
            for i, fd in enumerate([fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 500) for fd in fds]):
                os.dup2(fd, FIRST + i)
        return ({"preexec_fn": place, "close_fds": False},
                {"LISTEN_FDS": str(len(fds)), "LISTEN_FDNAMES": ":".join(names)})


class Notifications:
    """The other end of $NOTIFY_SOCKET; what is stored goes to `store`."""

    def __init__(self, store):
        self.store = store
        store.heard_by.append(self)
        self.path = f"/run/notify.{time.monotonic_ns()}"
        # as systemd, which does so before it has a socket: a daemon does not wait for who does not read
        with open("/proc/sys/net/unix/max_dgram_qlen", "w") as file:
            file.write("512")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.bind(self.path)
        self.texts = queue.Queue()
        self.lock = threading.Lock()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            select.select([self.socket], [], [])
            self.hear_all()

    def hear_all(self):
        """Waits until all that has been sent by now is in the store or among the texts."""
        with self.lock, contextlib.suppress(BlockingIOError):
            while True:
                self.hear()

    def hear(self):
        data, fds, _, _ = socket.recv_fds(self.socket, 4096, 64)
        lines = data.decode().splitlines()
        words = dict(line.partition("=")[::2] for line in lines)
        if "FDSTORE" in words:
            self.store.put(words["FDNAME"], fds, words.get("FDPOLL") != "0")
        elif "FDSTOREREMOVE" in words:
            self.store.remove(lambda entry, name=words["FDNAME"]: entry[0] == name)
        else:
            self.texts.put(data.decode())
