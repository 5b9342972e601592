#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`headway job` and `headway top` as a user runs them, against real daemons before
fake kernels (tests/mpi/node_headwayds.cpp).

    job_cli_test.py HEADWAY NODE_HEADWAYDS
"""
import fcntl
import json
import os
import pathlib
import pty
import select
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from hang_limit import HANGS_S

HEADWAY = NODES = ""
ALONE = 773437      # bytes/s of each of four hosts: 0.99 * 25 Mbit/s / 4 / 8
CONFIG = "".join(
    f'[[cluster]]\nname = "{name}"\nhosts = ["{name}[0-3]"]\nprefixes = ["10.{number}.0.0/16"]\n'
    f'host_rate = "20mbit"\ntrunk_rate = "25mbit"\n' for name, number in (("a", 1), ("b", 2)))


class Daemons(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "headway.toml").write_text(CONFIG)
        self.daemons = subprocess.Popen([NODES, self.folder / "headway.toml", self.folder],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        self.assertEqual(self.daemons.stdout.readline(), "ready\n")
        self.socket = str(self.folder / "a0.sock")

    def end(self):
        self.daemons.stdin.close()
        self.assertEqual(self.daemons.wait(HANGS_S), 0)
        self.daemons.stdout.close()

    def run_headway(self, *words, status=0):
        done = subprocess.run([HEADWAY, *words, "--socket", self.socket], text=True,
                              capture_output=True, check=False, timeout=HANGS_S)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def json(self, *words):
        return json.loads(self.run_headway(*words, "--json"))


class Jobs(Daemons):
    def test_a_daemon_that_tells_no_backend(self):
        """As one older than this command: another answers for it, without that."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as older, \
                socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as daemon:
            daemon.connect(self.socket)
            self.socket = str(self.folder / "older.sock")
            older.bind(self.socket)
            older.listen()
            with subprocess.Popen([HEADWAY, "status", "--socket", self.socket], text=True,
                                  stdout=subprocess.PIPE) as status:
                with older.accept()[0] as client:
                    while request := client.recv(65536):
                        daemon.send(request)
                        answer = json.loads(daemon.recv(65536))
                        answer.get("daemon", {}).pop("backend", None)
                        client.send(json.dumps(answer).encode())
                said = status.communicate(timeout=HANGS_S)[0]
        self.assertIn("headwayd", said)
        self.assertNotIn("paced by", said)

    def test_started_listed_and_ended(self):
        told = self.json("job", "start", "4711", "--hosts", "a[0-3],b[0-3]", "--pattern", "alltoall")
        self.assertTrue(told["paced"])
        self.assertEqual((told["hosts"], told["parts"]), (8, None))
        classes = self.json("status")["classes"]
        self.assertEqual(classes[1]["bytes_per_s"], ALONE)
        self.run_headway("job", "start", "4712", "--hosts", "a1", "--hosts", "b1", "--lasting")
        self.assertEqual(self.json("status")["classes"][1]["bytes_per_s"], ALONE // 2)
        listed = self.run_headway("job", "list").splitlines()
        self.assertEqual([line.split()[0] for line in listed], ["job", "4711", "4712"])
        self.assertIn("50.0 %", listed[1])
        self.assertIn("lasting", listed[2])
        self.run_headway("job", "end", "4712")
        self.run_headway("job", "end", "4711")
        self.assertEqual(self.json("job", "list")["jobs"], [])
        self.assertEqual(self.json("status")["classes"][1]["wanted_bytes_per_s"], None)

    def test_a_start_is_told(self):
        self.assertEqual(self.json("job", "start", "x", "--start", str(2**53 - 1))["start"], 2**53 - 1)
        self.assertEqual(self.json("job", "start", "x", "--start", "7")["start"], 7)
        self.assertEqual(self.json("job", "list")["jobs"][0]["start"], 7)
        self.assertEqual(self.json("job", "start", "x")["start"], None)
        for wrong in ("0", str(2**53), "-1", "now"):
            self.run_headway("job", "start", "x", "--start", wrong, status=2)

    def test_a_matrix_is_a_pattern(self):
        rows = [[0 if i == j else 10000 for j in range(16)] for i in range(16)]
        matrix = self.folder / "traffic.csv"
        matrix.write_text("\n".join(",".join(map(str, row)) for row in rows))
        told = self.json("job", "start", "x", "--hosts", "a[0-3],b[0-3]", "--ranks-per-host", "2",
                         "--pattern", str(matrix))
        self.assertTrue(told["paced"])
        self.assertIn("trunk", told["reason"])

    def test_off_and_on(self):
        self.run_headway("job", "start", "4711", "--hosts", "a[0-3],b[0-3]", "--pattern", "alltoall")
        self.assertEqual(self.run_headway("off"), "pacing is off\n")
        self.assertEqual(self.json("status")["classes"][1]["bytes_per_s"], None)
        self.assertIn("not paced; after `headway on` by ", self.run_headway("status"))
        self.assertRegex(self.run_headway("status"), rf"PACING IS OFF since 2\d.*, by user {os.getuid()}: ")
        self.assertIn("PACING IS OFF", self.run_headway("top", "--once", "--interval", "0.1"))
        self.assertEqual(self.json("on")["in_step"], True)
        self.assertEqual(self.json("status")["off"], None)
        self.assertEqual(self.json("status")["classes"][1]["bytes_per_s"], ALONE)

    def test_answers_of_any_size_are_shown(self):
        clients = []
        self.addCleanup(lambda: [client.close() for client in clients])
        for number in range(1000):
            client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            clients.append(client)
            client.connect(self.socket)
            client.send(json.dumps({"v": 1, "id": 1, "op": "hello", "job": f"{number:0128}"}).encode())
            client.recv(65536)
        told = self.json("job", "list")
        self.assertGreater(len(json.dumps(told)), 3 * 65536)
        self.assertEqual((told["job_count"], len(told["jobs"])), (1000, 1000))
        self.assertEqual(len(self.run_headway("job", "list").splitlines()), 1001)
        self.assertEqual(self.json("status")["client_count"], 1001)
        self.run_headway("wait", "--timeout", str(HANGS_S))

    def test_mistakes_are_told(self):
        self.assertIn("no job \"x\"", self.run_headway("job", "end", "x", status=1))
        self.assertIn("--hosts", self.run_headway("job", "start", "x", "--pattern", "alltoall", status=2))
        self.assertIn("z9", self.run_headway("job", "start", "x", "--hosts", "z9", status=1))
        self.assertIn("nobody-here", self.run_headway("job", "start", "x", "--user", "nobody-here",
                                                      status=2))
        self.assertEqual(self.json("job", "list")["job_count"], 0)


class Screen:
    """`headway top` on a terminal of that size; what it has drawn last."""

    def __init__(self, socket, width, height):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execv(HEADWAY, [HEADWAY, "top", "--socket", socket, "--interval", "0.1"])
        self.resize(width, height)
        self.seen = b""

    def resize(self, width, height):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read(self):
        ready, _, _ = select.select([self.fd], [], [], 0.2)
        try:
            data = os.read(self.fd, 65536) if ready else b""
        except OSError:     # the other end is closed
            return False
        self.seen += data
        return True

    def wait_for(self, holds):
        """Until a whole frame satisfies that; its lines."""
        deadline = time.monotonic() + HANGS_S
        while time.monotonic() < deadline:
            self.read()
            frames = self.seen.split(b"\x1b[H")[1:]
            for frame in reversed(frames):
                if not frame.endswith(b"\x1b[J"):
                    continue
                lines = frame[:-3].decode().replace("\x1b[K", "").split("\r\n")
                if holds(lines):
                    return lines
        raise AssertionError(f"never seen: {self.seen[-2000:]!r}")

    def key(self, text):
        os.write(self.fd, text)

    def status(self):
        deadline = time.monotonic() + HANGS_S
        while self.read() and time.monotonic() < deadline:
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


class Top(Daemons):
    def test_lives_on_a_terminal(self):
        screen = Screen(self.socket, 100, 30)
        lines = screen.wait_for(lambda lines: any("1:11" in line for line in lines))
        self.assertTrue(lines[0].startswith("headway "), lines)
        self.assertTrue(all(len(line) <= 100 for line in lines))
        self.run_headway("job", "start", "4711", "--hosts", "a[0-3],b[0-3]", "--pattern", "alltoall")
        screen.wait_for(lambda lines: any(line.startswith("4711") for line in lines))
        screen.resize(40, 6)
        lines = screen.wait_for(lambda lines: len(lines) <= 6 and max(map(len, lines)) <= 40)
        self.assertGreater(len(lines), 3)
        screen.key(b"x")
        screen.key(b"q")
        self.assertEqual(screen.status(), 0)
        self.assertTrue(screen.seen.startswith(b"\x1b[?1049h"))
        self.assertTrue(screen.seen.endswith(b"\x1b[?1049l"), "what was there before comes back")

    def test_a_daemon_that_ends_is_told(self):
        screen = Screen(self.socket, 100, 30)
        screen.wait_for(lambda lines: len(lines) > 3)
        self.daemons.stdin.close()
        self.daemons.stdin = open(os.devnull)  # for the clean-up
        self.assertEqual(screen.status(), 1)
        self.assertRegex(screen.seen.split(b"\x1b[?1049l")[1], rb"headway top: ")

    def test_one_frame_without_a_terminal(self):
        out = self.run_headway("top", "--once", "--interval", "0.1")
        self.assertNotIn("\x1b", out)
        self.assertIn("1:11", out)

    def test_frames_as_json(self):
        self.run_headway("job", "start", "4711", "--hosts", "a[0-3],b[0-3]", "--pattern", "alltoall")
        frames = [json.loads(line) for line in
                  self.run_headway("top", "--json", "--count", "3", "--interval", "0.1").splitlines()]
        self.assertEqual(len(frames), 3)
        for frame in frames:
            self.assertGreater(frame["interval_s"], 0)
            self.assertEqual([trunk["cluster"] for trunk in frame["trunks"]], ["a", "b"])
            self.assertEqual(frame["trunks"][1]["bytes_per_s"], ALONE)
            self.assertEqual(frame["jobs"][0]["job"], "4711")
            self.assertIn("timeouts", frame["tcp"])
        before = int(self.tcp_timeouts())
        self.assertLessEqual(frames[0]["tcp"]["timeouts_total"], before)

    @staticmethod
    def tcp_timeouts():
        text = pathlib.Path("/proc/net/netstat").read_text()
        lines = [line.split() for line in text.splitlines() if line.startswith("TcpExt:")]
        return dict(zip(*lines))["TCPTimeouts"]


if __name__ == "__main__":
    NODES = str(pathlib.Path(sys.argv.pop(2)).resolve())
    HEADWAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
