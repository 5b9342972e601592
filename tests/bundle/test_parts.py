# SPDX-License-Identifier: Apache-2.0
"""Tests that the check of the bundle's symbols finds what it is for, in libraries made up for it;
how a bundle is made of programs, the same twice, and whole or not at all; and how what it is
linked with is unpacked.  Nothing is downloaded."""
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests/systems")]
import symbols      # noqa: E402
from test_systems import load       # noqa: E402

NAME = "headway-7.8.9-x86_64"
fetch = load(ROOT / "packaging/bundle/fetch")


class Symbols(unittest.TestCase):
    def faults(self, text, *options, compiler="gcc", is_helper=True):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        source = folder / ("source.cpp" if compiler == "g++" else "source.c")
        source.write_text(text, encoding="utf-8")
        library = folder / "library.so"
        subprocess.run([compiler, "-shared", "-fPIC", *options, source, "-o", library], check=True)
        return symbols.faults(library, is_helper)

    def test_what_every_c_library_has_is_no_fault(self):
        text = "#include <string.h>\nvoid *f(void *a) { return memset(a, 0, 9); }\n"
        self.assertEqual(self.faults(text), [])

    def test_a_newer_symbol_is_a_fault(self):
        text = "unsigned arc4random(void);\nunsigned f(void) { return arc4random(); }\n"
        self.assertEqual(self.faults(text), ["it needs GLIBC_2.36 of libc.so.6 for arc4random"])

    def test_so_is_one_that_may_be_missing(self):
        text = "#include <stdio.h>\n#pragma weak arc4random\nunsigned arc4random(void);\n" \
               "unsigned f(void) { return puts(\"\") + arc4random(); }\n"
        self.assertEqual(self.faults(text), ["it needs GLIBC_2.36 of libc.so.6 for arc4random"])

    def test_so_is_a_newer_format_of_the_whole_file(self):
        text = "#include <stdio.h>\nint own;\nint *a = &own;\n" \
               "int f(void) { return puts(\"\") + *a; }\n"
        found = self.faults(text, "-Wl,-z,pack-relative-relocs")
        self.assertIn("it needs GLIBC_ABI_DT_RELR of libc.so.6 for the whole file", found)

    def test_so_is_the_c_plus_plus_library(self):
        text = "#include <string>\nstd::string f() { throw std::string(\"a\"); }\n"
        found = self.faults(text, compiler="g++")
        self.assertIn("it needs libstdc++.so.6", found)
        self.assertTrue(any("it needs CXXABI_" in fault for fault in found), found)
        self.assertTrue(any("it needs GLIBCXX_" in fault for fault in found), found)

    def test_only_helpers_may_need_libgcc(self):
        text = "__uint128_t f(__uint128_t a, __uint128_t b) { return a / b; }\n"
        options = ("-shared-libgcc",)
        self.assertEqual(self.faults(text, *options), [])
        found = self.faults(text, *options, is_helper=False)
        self.assertEqual(found, ["it needs libgcc_s.so.1",
                                 "it needs GCC_3.0 of libgcc_s.so.1 for __udivti3"])

    def test_what_nobody_has_is_a_fault_but_the_mpi_library_s(self):
        text = "int PMPI_Barrier(int);\nint nowhere(void);\n" \
               "int f(void) { return PMPI_Barrier(nowhere()); }\n"
        self.assertEqual(self.faults(text), ["no library of a known version has nowhere"])
        self.assertEqual(len(self.faults(text, is_helper=False)), 2)


class Pack(unittest.TestCase):
    """The folder has programs that are none, and a zstd that says when it was called."""

    def setUp(self):
        (ROOT / "build").mkdir(exist_ok=True)
        self.folder = self.new_folder()
        self.tools = self.new_folder()
        self.calls = self.tools / "calls"
        self.calls.touch()
        self.zstd('cat >"$4"')

    def new_folder(self):
        return pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(dir=ROOT / "build")))

    def zstd(self, does):
        tool = self.tools / "zstd"
        tool.write_text(f'#!/bin/sh\necho "$@" >>{self.calls}\n{does}\n', encoding="utf-8")
        tool.chmod(0o755)

    def fill(self, folder, program="a program\n"):
        """Makes a bundle as the build does."""
        files = {"linked/bin/headway": program, "linked/lib/libheadway-mpi.so": "a library\n",
                 "parts/complete": json.dumps({"libc6-dev": "2.31-1", "libmnl-dev": "1.0-1"}),
                 "parts/libc/usr/share/doc/libc6-dev/copyright": "terms\n",
                 "parts/libmnl/usr/share/doc/libmnl-dev/copyright": "terms\n"}
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")

    def pack(self, folder=None, umask=0o022):
        path = f"{self.tools}:{os.environ['PATH']}"
        command = [ROOT / "packaging/bundle/pack", "7.8.9", folder or self.folder]
        return subprocess.run(command, check=False, text=True, capture_output=True, umask=umask,
                              env={**os.environ, "PATH": path})

    def packed(self, folder=None, **keywords):
        done = self.pack(folder, **keywords)
        self.assertEqual(done.returncode, 0, done.stderr)
        return ((folder or self.folder) / f"{NAME}.tar.zst").read_bytes()

    def results(self):
        names = {path.name for path in self.folder.iterdir()}
        return sorted(names - {"linked", "parts"})

    def test_the_archive_is_what_the_folder_is(self):
        self.fill(self.folder)
        self.packed()
        with tarfile.open(self.folder / f"{NAME}.tar.zst", "r:") as tar:
            entries = tar.getmembers()
        names = [entry.name for entry in entries]
        self.assertEqual(names, sorted(names))
        paths = (self.folder / NAME).rglob("*")
        folder = sorted(str(path.relative_to(self.folder)) for path in paths)
        self.assertEqual(names, [NAME, *folder])
        owners = {(entry.uid, entry.gid, entry.mtime) for entry in entries}
        self.assertEqual(owners, {(0, 0, entries[0].mtime)})
        modes = {entry.name: entry.mode for entry in entries}
        self.assertEqual((modes[f"{NAME}/bin/headway"], modes[f"{NAME}/README"]), (0o755, 0o644))

    def test_it_says_how_to_begin_and_under_which_licences(self):
        self.fill(self.folder)
        self.packed()
        readme = (self.folder / NAME / "README").read_text(encoding="utf-8")
        self.assertEqual(readme.count("\n"), 3)
        terms = (self.folder / NAME / "LICENSES/README").read_text(encoding="utf-8")
        self.assertRegex(terms, r"libmnl-dev +1\.0-1\n")
        for name in ("Apache-2.0.txt", "MIT.txt", "LGPL-2.1.txt", "libfmt-dev", "libc6-dev"):
            self.assertTrue((self.folder / NAME / "LICENSES" / name).exists(), name)

    def test_whoever_makes_it_it_is_the_same(self):
        other = self.new_folder()
        self.fill(self.folder)
        self.fill(other)
        self.assertEqual(self.packed(), self.packed(other, umask=0o077))

    def test_a_second_call_does_nothing_and_one_with_another_program_does(self):
        self.fill(self.folder)
        first = self.packed()
        self.assertEqual(self.packed(), first)
        self.assertEqual(len(self.calls.read_text().splitlines()), 1)
        self.fill(self.folder, "another program\n")
        self.assertNotEqual(self.packed(), first)
        self.assertEqual(len(self.calls.read_text().splitlines()), 2)

    def test_an_interrupted_call_leaves_nothing_and_the_next_one_makes_it(self):
        self.fill(self.folder)
        for signal in ("INT", "TERM"):
            with self.subTest(signal=signal):
                self.zstd(f'echo half >"$4"; kill -{signal} $PPID; exit 1')
                self.assertNotEqual(self.pack().returncode, 0)
                self.assertEqual(self.results(), [])
        self.zstd('cat >"$4"')
        self.packed()
        self.assertEqual(self.results(), [NAME, f"{NAME}.tar.zst", "packed"])

    def test_without_somebody_s_terms_there_is_no_bundle(self):
        self.fill(self.folder)
        (self.folder / "parts/libmnl/usr/share/doc/libmnl-dev/copyright").unlink()
        done = self.pack()
        self.assertEqual(done.returncode, 1)
        self.assertIn("libmnl-dev/copyright is missing, and without it the bundle may not be",
                      done.stderr)
        self.assertEqual(self.results(), [])


class FakeApt:
    """A store whose second release cannot be had while it `is_away`."""
    is_away = False

    def __init__(self, release):
        self.release = release

    def update(self):
        if self.is_away and self.release == "trixie":
            raise fetch.debian.Unknown("no network")

    def unpack(self, packages, tree):
        (tree / "lib").mkdir(parents=True)
        (tree / "usr").mkdir()
        (tree / "lib/libdl.so.2").touch()
        (tree / "usr/libdl.so").symlink_to("/lib/libdl.so.2")
        return {name: "1" for name in packages}


class Fetch(unittest.TestCase):
    def setUp(self):
        self.enterContext(unittest.mock.patch.object(fetch.debian, "Apt", FakeApt))
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "parts"

    def test_links_lead_to_what_was_fetched_and_not_to_this_system(self):
        fetch.make(self.folder)
        link = self.folder / "libc/usr/libdl.so"
        self.assertEqual(link.resolve(), (self.folder / "libc/lib/libdl.so.2").resolve())
        versions = json.loads((self.folder / "complete").read_text())
        self.assertIn("libmnl-dev", versions)

    def test_what_cannot_be_had_as_a_whole_is_not_there(self):
        with unittest.mock.patch.object(FakeApt, "is_away", True):
            with self.assertRaises(fetch.debian.Unknown):
                fetch.make(self.folder)
        self.assertEqual(list(self.folder.parent.iterdir()), [])
        fetch.make(self.folder)
        self.assertTrue((self.folder / "complete").exists())


if __name__ == "__main__":
    unittest.main()
