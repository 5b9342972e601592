# SPDX-License-Identifier: Apache-2.0
"""headway.py, libheadway for Python, with a fake daemon."""
import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "libheadway"), str(ROOT / "tests/mpi")]

import headway  # noqa: E402
from fake_headwayd import RATE_PHASE, WHOLE_PHASE, FakeHeadwayd  # noqa: E402

LIBRARY = str(ROOT / "build/lib/libheadway.so.0")
HOSTS = ["a0", "a1", "b0"]
BYTES = 65536
PATIENCE_MS = 60000


class Module(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="headway-python-")
        self.addCleanup(folder.cleanup)
        self.socket = os.path.join(folder.name, "control.sock")

    def session(self, **options):
        options = {"library": LIBRARY, "socket_path": self.socket, "timeout_ms": PATIENCE_MS, "job": "job", **options}
        session = headway.Session(HOSTS, **options)
        self.addCleanup(session.close)
        return session

    def daemon(self, **options):
        return FakeHeadwayd(self.socket, nodes=HOSTS, **options)

    def test_a_context_is_paced(self):
        with self.daemon() as daemon, self.session(rank=1) as session:
            self.assertEqual((session.connected, session.node, session.cluster, session.reason), (True, "a1", "a", ""))
            alltoall = session.exchange("alltoall")
            for _ in range(3):
                with alltoall(BYTES) as is_paced:
                    self.assertTrue(is_paced, session.reason)
                    self.assertEqual(daemon.phases_entered(), [WHOLE_PHASE])
                self.assertEqual(daemon.phases_entered(), [0])
            asked = daemon.connections[0].entries
            self.assertEqual([request["comm_hosts"] for request, _ in asked], [HOSTS])

    def test_an_exception_leaves_the_exchange(self):
        with self.daemon() as daemon, self.session() as session:
            with self.assertRaises(ZeroDivisionError), session.exchange()(BYTES):
                self.assertEqual(daemon.phases_entered(), [WHOLE_PHASE])
                raise ZeroDivisionError
            self.assertEqual(daemon.phases_entered(), [0])

    def test_some_hosts_a_root_and_a_ring(self):
        with self.daemon() as daemon, self.session() as session:
            for exchange in (session.exchange("gather", root="b0", hosts=["a1", "b0"]),
                             session.exchange("ring", hosts=["b0", "a0", "a1"])):
                with exchange(BYTES) as is_paced:
                    self.assertTrue(is_paced, session.reason)
            (gather, _), (ring, _) = daemon.connections[0].entries
            self.assertEqual((gather["operation"], gather["root"], gather["comm_hosts"]),
                             ("gather", "b0", ["a1", "b0"]))
            self.assertEqual((ring["op"], ring["hosts"], ring["flows"]),
                             ("traffic", HOSTS, [[0, 1, 1000], [1, 2, 1000], [2, 0, 1000]]))

    def test_a_plan(self):
        with self.daemon() as daemon, self.session() as session:
            plan = session.exchange().plan(BYTES)
            self.assertEqual((plan.is_paced, plan.paced_s), (True, 0))
            daemon.replace["plan"] = lambda *_: {"error": "no such thing"}
            self.assertIsNone(session.exchange().plan(BYTES))
            self.assertIn("no such thing", session.reason)

    def test_traffic(self):
        with self.daemon() as daemon, self.session() as session:
            self.assertTrue(session.traffic([[0, 5, 0], [0, 0, 5], [5, 0, 0]]))
            self.assertEqual(daemon.phases_entered(), [RATE_PHASE])
            self.assertTrue(session.traffic(None))
            self.assertEqual(daemon.phases_entered(), [0])
            with self.assertRaisesRegex(ValueError, "3 rows"):
                session.traffic([[1, 2]])

    def test_nothing_makes_a_program_fail(self):
        """Without a daemon, without the library, with nonsense, and closed."""
        unknown = self.session(library="/nowhere/libheadway.so.0")
        self.assertIn("/nowhere/libheadway.so.0", unknown.reason)
        without = self.session()
        self.assertIn("no headwayd at", without.reason)
        closed = self.session()
        closed.close()
        for session in (unknown, without, closed):
            self.assertFalse(session.connected)
            self.assertFalse(session.traffic(None))
            exchange = session.exchange("nonsense", root="elsewhere", hosts=["nobody"])
            with exchange(BYTES) as is_paced:
                self.assertFalse(is_paced)
            self.assertIsNone(exchange.plan(BYTES))
            self.assertNotEqual(session.reason, "")
            session.close()
