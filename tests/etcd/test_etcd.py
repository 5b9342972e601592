# SPDX-License-Identifier: Apache-2.0
"""headway-etcd with real etcd.  HEADWAY_ETCD names the program, or it is
build/bin/headway-etcd.  No root; nothing is left behind."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from etcd_servers import ETCDCTL, Certificates, Etcd, Port  # noqa: E402
from store import Gone, Store  # noqa: E402

PROGRAM = os.environ.get("HEADWAY_ETCD", os.path.join(HERE, "../../build/bin/headway-etcd"))


class StoreCase(unittest.TestCase):
    servers, certificates = 1, None

    def setUp(self):
        self.etcd = Etcd(self.servers, self.certificates)
        self.addCleanup(self.etcd.close)

    def store(self, host="a1", **more):
        store = Store(PROGRAM, self.etcd.endpoints, host, **more)
        self.addCleanup(store.close)
        return store

    def member(self, host="a1", **more):
        """A store whose host has a record; and the lease of that."""
        store = self.store(host, **more)
        store.snapshot()
        lease = store.grant()
        store.answer_when_done(do="record", lease=lease, record=f"of {host}")
        store.record_of(host)
        return store, lease


class OneServer(StoreCase):
    """All tests of the class share it, and leave it running."""

    @classmethod
    def setUpClass(cls):
        cls.etcd = Etcd(1, cls.certificates)
        cls.addClassCleanup(cls.etcd.close)

    def setUp(self):
        """Nothing has to be started."""


class Keys(OneServer):
    def setUp(self):
        self.etcd.ctl("del", "--prefix", "/headway/")

    def test_new_store_is_empty_and_not_settled(self):
        snapshot = self.store().snapshot()
        self.assertEqual((snapshot["members"], snapshot["settled_by"]), ({}, 0))

    def test_everybody_sees_a_record_at_its_revision(self):
        other = self.store("a2")
        other.snapshot()
        store, lease = self.member()
        changes = other.change(put="record", host="a1", lease=lease, record="of a1")
        later = self.store("a3").snapshot()["members"]["a1"]
        self.assertEqual((later["changed"], later["record"], later["lease"], later["acknowledged"]),
                         (changes["revision"], "of a1", lease, 0))
        del store

    def test_record_of_another_lease_stays(self):
        self.member()
        second = self.store()
        second.snapshot()
        answer = second.answer(do="record", lease=second.grant(), record="of another daemon")
        self.assertFalse(answer["done"])
        self.assertEqual(self.store().snapshot()["members"]["a1"]["record"], "of a1")

    def test_record_of_the_same_lease_is_replaced(self):
        store, lease = self.member()
        answer = store.answer(do="record", lease=lease, record="again")
        self.assertTrue(answer["done"])
        changes = store.change(put="record", host="a1", record="again")
        self.assertEqual(changes["revision"], answer["revision"])

    def test_acknowledgement_needs_the_lease_of_the_record(self):
        store, lease = self.member()
        self.assertFalse(store.answer(do="acknowledge", lease=lease + 1, epoch=7)["done"])
        self.assertTrue(store.answer(do="acknowledge", lease=lease, epoch=7)["done"])
        store.change(put="acknowledgement", host="a1", epoch=7)
        self.assertEqual(self.store().snapshot()["members"]["a1"]["acknowledged"], 7)

    def test_settled_is_put_once_and_by_members_only(self):
        store, lease = self.member()
        second, second_lease = self.member("a2")
        self.assertFalse(store.answer(do="settle", lease=lease + 1)["done"])
        self.assertTrue(store.answer(do="settle", lease=lease)["done"])
        second.change(put="settled", by=lease)
        self.assertFalse(second.answer(do="settle", lease=second_lease)["done"])
        self.assertEqual(self.store().snapshot()["settled_by"], lease)

    def test_record_and_acknowledgement_go_together_with_the_lease(self):
        store, lease = self.member()
        store.answer(do="acknowledge", lease=lease, epoch=7)
        other = self.store("a2")
        other.snapshot()
        store.ask(do="revoke", lease=lease)
        other.change(put="nothing", host="a1")
        self.assertEqual(self.store().snapshot()["members"], {})
        lost = store.answer(do="prolong", lease=lease)
        self.assertEqual((lost["done"], lost["lost"]), (False, True))

    def test_lease_that_nobody_prolongs_ends(self):
        store = self.store()
        store.snapshot()
        lease = store.grant(2)
        while not store.answer(do="record", lease=lease, record="short-lived")["done"]:
            lease = store.grant(2)      # the host was busy for longer
        store.change(put="nothing", host="a1")
        self.assertTrue(store.answer(do="prolong", lease=lease)["lost"])

    def test_prolonging_renews_the_lease(self):
        store = self.store()
        lease = store.grant()
        before = self.etcd.renewed_leases()
        self.assertTrue(store.answer(do="prolong", lease=lease)["done"])
        self.assertEqual(self.etcd.renewed_leases(), before + 1)

    def test_longest_record_arrives_and_a_longer_one_is_told_as_none(self):
        store, lease = self.member()
        longest = "x" * 48 * 1024
        store.answer(do="record", lease=lease, record=longest)
        store.change(put="record", record=longest)
        self.etcd.ctl("put", "/headway/a/record/a9", "x" * (48 * 1024 + 1))
        store.change(put="record", host="a9", record="", lease=0)

    def test_what_is_no_text_is_told_as_no_record(self):
        store, _ = self.member()
        self.etcd.ctl("put", "/headway/a/record/a9", "\1" * 48 * 1024)
        store.change(put="record", host="a9", record="")
        self.etcd.ctl("put", "/headway/a/record/\1", "x")
        self.etcd.ctl("put", "/headway/a/record/a8", "x")
        store.change(put="record", host="a8")
        self.assertEqual(sorted(self.store().snapshot()["members"]), ["a1", "a8", "a9"])

    def test_other_keys_and_prefixes_are_nobodys_business(self):
        store, _ = self.member()
        for key in ("/headway/b/record/b1", "/headway/a/other", "/headway/a0"):
            self.etcd.ctl("put", key, "x")
        self.etcd.ctl("put", "/headway/a/ack/a2", "no number")
        changes = store.wait_for(lambda report: report["is"] == "changes")
        self.assertEqual(changes["changes"],
                         [{"put": "acknowledgement", "host": "a2", "epoch": 0}])

    def test_changes_of_a_revision_come_together(self):
        store, _ = self.member()
        puts = "".join(f"put /headway/a/record/b{i} x\n" for i in range(3))
        subprocess.run([ETCDCTL, "--endpoints", self.etcd.endpoint(), "txn"],
                       input=f"\n{puts}\n\n", text=True, check=True, capture_output=True,
                       env={**os.environ, "ETCDCTL_API": "3"})
        changes = store.change(host="b0")
        self.assertEqual([change["host"] for change in changes["changes"]], ["b0", "b1", "b2"])


class Trouble(StoreCase):
    def test_ends_with_headwayd_after_what_it_was_asked(self):
        store, lease = self.member()
        store.ask(do="revoke", lease=lease)
        store.close()
        self.assertEqual(store.process.returncode, 0)
        self.assertEqual(self.store("a2").snapshot()["members"], {})

    def test_nonsense_is_passed_over(self):
        store = self.store()
        store.snapshot()
        for packet in (b"\0\xff", b"[]", b'{"id":1}', b'{"id":-1,"do":"grant","seconds":2}'):
            store.socket.send(packet)
        self.assertGreater(store.grant(), 0)

    def test_killed_etcd_comes_back_and_the_watch_goes_on(self):
        store, lease = self.member()
        store.answer(do="settle", lease=lease)
        store.change(put="settled")
        self.etcd.kill()
        store.condition(watched=False)
        self.assertFalse(store.answer(do="prolong", lease=lease)["done"])
        self.etcd.start()
        store.condition(watched=True)
        self.assertEqual(store.snapshots, 1)
        answer = store.answer_when_done(do="record", lease=lease, record="after")
        store.change(revision=answer["revision"], put="record", record="after")

    def test_without_settled_a_broken_watch_needs_a_snapshot(self):
        store, _ = self.member()
        self.etcd.kill()
        self.etcd.start()
        self.assertEqual(store.snapshot()["members"]["a1"]["record"], "of a1")

    def test_etcd_that_has_lost_everything_is_another_store(self):
        store, lease = self.member()
        store.answer(do="settle", lease=lease)
        store.change(put="settled")
        self.etcd.lose_everything()
        snapshot = store.snapshot()
        self.assertEqual((snapshot["members"], snapshot["settled_by"]), ({}, 0))

    def test_settled_that_goes_means_another_store(self):
        store, lease = self.member()
        store.answer(do="settle", lease=lease)
        store.change(put="settled")
        self.etcd.ctl("del", "/headway/a/settled")
        self.assertEqual(store.snapshot()["settled_by"], 0)

    def test_compacted_changes_are_replaced_by_a_snapshot(self):
        store, lease = self.member()
        store.answer(do="settle", lease=lease)
        store.change(put="settled")
        port = self.etcd.clients[0]
        # it comes back where headway-etcd does not look, and is changed there
        self.etcd.kill()
        store.condition(watched=False)
        self.etcd.clients[0] = Port()
        self.etcd.start()
        self.etcd.ctl("put", "/headway/a/record/a2", "x")
        answer = self.etcd.ctl("put", "/headway/a/record/a2", "y", "--write-out=json")
        revision = json.loads(answer)["header"]["revision"]
        self.etcd.ctl("compact", str(revision))
        self.etcd.kill()
        self.etcd.clients[0] = port
        self.etcd.start()
        snapshot = store.snapshot()
        self.assertEqual(snapshot["members"]["a2"]["record"], "y")
        self.assertEqual(snapshot["settled_by"], lease)

    def test_etcd_that_says_nothing_is_noticed(self):
        store, lease = self.member(silence_ms=1000, timeout_ms=1000)
        self.etcd.stop()
        store.wait_for(lambda report: report["is"] == "condition" and "no progress" in report["text"])
        self.assertFalse(store.answer(do="prolong", lease=lease)["done"])

    def test_nobody_there_is_told_and_not_over_and_over(self):
        self.etcd.kill()
        store = self.store()
        store.condition(watched=False)
        for _ in range(100):
            self.assertFalse(store.answer(do="grant", seconds=2)["done"])
        self.assertLess(len([one for one in store.seen if one["is"] == "condition"]), 4)
        self.etcd.start()
        store.snapshot()


class ThreeServers(StoreCase):
    """They elect others as leaders while the host is busy: until a server has gone, the watch may change it, too, and
    answers get lost."""
    servers = 3

    def member_without(self, takes_away, **more):
        """A member of a settled store, after the server that it watched has been taken away; and its lease."""
        store, lease = self.member(**more)
        while store.settled_by != lease:
            store.answer(do="settle", lease=lease)
        store.seen.clear()
        snapshots, watched = store.snapshots, store.watched
        takes_away(self.etcd.endpoints.index(watched))
        return store, lease, watched, snapshots

    def check_goes_on(self, takes_away):
        store, lease, watched, snapshots = self.member_without(takes_away, silence_ms=1500, timeout_ms=1000)
        store.condition(watched=True, without=watched)
        self.assertEqual(store.snapshots, snapshots)
        answer = store.answer_when_done(do="record", lease=lease, record="after")
        store.change(revision=answer["revision"], put="record", record="after")
        store.answer_when_done(do="prolong", lease=lease)

    def test_one_killed(self):
        self.check_goes_on(self.etcd.kill)

    def test_one_that_says_nothing(self):
        self.check_goes_on(self.etcd.stop)

    def test_without_a_majority_nothing_is_done(self):
        def take_others_away(number):
            for other in {0, 1, 2} - {number}:
                self.etcd.kill(other)

        store, lease, _, _ = self.member_without(take_others_away, timeout_ms=1000)
        store.condition(watched=False)
        self.assertFalse(store.answer(do="prolong", lease=lease)["done"])


class TlsAndUsers(OneServer):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.certificates = Certificates(cls.folder.name)
        with open(cls.certificates["password"], "w", encoding="ascii") as file:
            file.write("secret\nnot this line\n")
        super().setUpClass()
        for arguments in (("user", "add", "root:root"), ("user", "add", "node:secret"),
                          ("user", "add", "late:secret"), ("role", "add", "node"),
                          ("user", "grant-role", "node", "node"), ("user", "grant-role", "late", "node"),
                          ("role", "grant-permission", "node", "readwrite", "/headway/a/",
                           "--prefix"), ("auth", "enable")):
            cls.etcd.ctl(*arguments)

    def tls(self, **changed):
        arguments = []
        for option, file in {"ca-file": "ca.pem", "cert-file": "client.pem",
                             "key-file": "client.key", **changed}.items():
            if file:
                arguments += ["--" + option, self.certificates[file]]
        return arguments

    def user(self, name="node"):
        return ["--user", name, "--password-file", self.certificates["password"]]

    def test_certificate_and_password(self):
        self.member("a1", arguments=self.tls() + self.user())

    def test_token_that_etcd_knows_no_more_is_renewed(self):
        """It forgets them when they expire and when it ends."""
        store, lease = self.member("a2", arguments=self.tls() + self.user("late"))
        self.etcd.kill()
        self.etcd.start()
        store.snapshot()
        self.assertTrue(store.answer_when_done(do="prolong", lease=lease)["done"])
        store.answer_when_done(do="record", lease=lease, record="after")
        store.change(put="record", record="after")

    def test_wrong_password(self):
        with open(self.certificates["wrong"], "w", encoding="ascii") as file:
            file.write("wrong\n")
        store = self.store(arguments=self.tls() + ["--user", "node", "--password-file",
                                                   self.certificates["wrong"]])
        self.assertIn("invalid user ID or password", store.condition(watched=False)["text"])

    def test_no_user(self):
        store = self.store(arguments=self.tls())
        self.assertIn("permission denied", store.condition(watched=False)["text"])

    def test_keys_that_the_user_may_not_read(self):
        store = Store(PROGRAM, self.etcd.endpoints, prefix="/other/",
                      arguments=self.tls() + self.user())
        self.addCleanup(store.close)
        self.assertIn("permission denied", store.condition(watched=False)["text"])

    def test_server_that_somebody_else_has_signed(self):
        store = self.store(arguments=self.tls(**{"ca-file": "client.pem"}) + self.user())
        store.condition(watched=False)
        self.assertFalse(store.answer(do="grant", seconds=2)["done"])

    def test_without_our_certificate_the_server_refuses(self):
        store = self.store(arguments=self.tls(**{"cert-file": None, "key-file": None}) + self.user())
        store.condition(watched=False)
        self.assertFalse(store.answer(do="grant", seconds=2)["done"])

    def test_file_that_is_not_there(self):
        store = self.store(arguments=["--ca-file", self.certificates["missing"]])
        self.assertIn("missing", store.condition(watched=False)["text"])
        with self.assertRaises(Gone):
            store.read()


if __name__ == "__main__":
    unittest.main()
