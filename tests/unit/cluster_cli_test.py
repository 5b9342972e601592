#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What headway-cluster makes of a file of hosts; ssh is a program that writes down whom it was to ask.

    cluster_cli_test.py
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "packaging/cluster/headway-cluster"


class Hosts(unittest.TestCase):
    def check(self, text):
        """How `headway-cluster check` ends, and the hosts that it asks."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            asked = folder / "asked"
            asked.touch()
            ssh = folder / "ssh"
            ssh.write_text(f'#!/bin/sh\nfor word; do case $word in host-*) echo "$word" >>{asked}; esac; done\nexit 1\n')
            ssh.chmod(0o755)
            (folder / "hosts").write_text(text)
            done = subprocess.run([PROGRAM, "check", folder / "hosts"], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
            return done, sorted(asked.read_text().split())

    def test_a_file_without_hosts_is_refused(self):
        for text in ("", "\n", "# host-a\n"):
            done, asked = self.check(text)
            self.assertEqual((done.returncode, asked), (2, []), done.stderr)
            self.assertIn("names no host", done.stderr)

    def test_a_list_of_hosts_is_refused(self):
        for text in ("host-[0-3]\n", "host-a,host-b\n"):
            done, asked = self.check(text)
            self.assertEqual((done.returncode, asked), (2, []), done.stderr)
            self.assertIn("write one host a line", done.stderr)

    def test_a_host_that_stands_there_twice_is_asked_once(self):
        done, asked = self.check("host-a\nhost-b # host-c\nhost-a\n")
        self.assertEqual(asked, ["host-a", "host-b"])
        self.assertIn("looked at: 0 of 2 hosts", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
