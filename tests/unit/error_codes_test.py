#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every warning and error of headwayd's log has a code, and Documentation/errors.rst
explains just these."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from hang_limit import HANGS_S

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "Documentation/errors.rst"
HEADWAYD = ""
CALL = re.compile(r'\blog(?:_(?:warning|error)\((?:\w+\.)?log_?,|_?(?:\.|->)(?:warn|error|critical)\()'
                  r'\s*("[^"]*"|[^")])')


def sources():
    return sorted((ROOT / "userspace").rglob("*.cpp"))


class ErrorCodes(unittest.TestCase):
    def test_every_call_has_one(self):
        calls = 0
        for source in sources():
            for literal in CALL.findall(source.read_text()):
                calls += 1
                self.assertRegex(literal, r'^"HW-\d{3} ', f"{source}: {literal}")
        self.assertGreater(calls, 15)

    def test_page_and_source_have_the_same(self):
        used = {code for source in sources() for code in re.findall(r'"(HW-\d{3}) ', source.read_text())}
        self.assertEqual(set(self.sections()), used)

    def sections(self):
        """{"HW-101": its text}, each once."""
        parts = re.split(r"^(HW-\d{3})\n-{6}\n", PAGE.read_text(), flags=re.M)
        codes = parts[1::2]
        self.assertEqual(sorted(set(codes)), codes, "each once, in order")
        return dict(zip(codes, parts[2::2]))

    def test_each_says_what_why_and_what_to_do(self):
        for code, text in self.sections().items():
            for field in ("What", "Why", "Do"):
                self.assertRegex(text, rf"(?m)^:{field}: \S", code)
        for other in re.findall(r"HW-\d{3}", PAGE.read_text()):
            self.assertIn(other, self.sections())

    def test_one_event_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder) / "headway.toml"
            # a name with a line's end in it comes back in the message
            config.write_text('[node]\nname = "a0"\ninterface = "no-such-dev"\n[daemon]\n'
                              f'socket = "{folder}/two\\nlines/control.sock"\n'
                              '[[cluster]]\nname = "a"\nhosts = ["a0"]\nprefixes = ["10.1.0.0/16"]\n'
                              'host_rate = "20mbit"\ntrunk_rate = "25mbit"\n')
            done = subprocess.run([HEADWAYD, "--config", config, "--foreground"], text=True,
                                  capture_output=True, check=False, timeout=HANGS_S)
        self.assertEqual(done.returncode, 1)
        lines = done.stderr.splitlines()
        self.assertEqual(sum("error: HW-201 " in line for line in lines), 1, lines)
        for line in lines:
            self.assertRegex(line, r"^\d{4}-\d\d-\d\d .* headwayd\[\d+\]: \w+: ")


if __name__ == "__main__":
    HEADWAYD = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
