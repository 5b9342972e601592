# SPDX-License-Identifier: Apache-2.0
"""Debian's releases and kernels by their table, and what make packages does to a machine: apt and its kind are
stand-ins here."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import debian       # noqa: E402

INSTALL = HERE.parent / "lib/install-packages"


def load(path):
    """A program, as a module."""
    loader = importlib.machinery.SourceFileLoader(path.name.replace("-", "_"), str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


fetch_kernel = load(HERE.parent / "vm/fetch-kernel")
table = load(HERE / "table")


class FakeApt(debian.Apt):
    """`packages`: name -> what it depends on; `mentioned`: names that cannot be downloaded."""

    def __init__(self, packages, mentioned=()):
        super().__init__("trixie")
        self.packages, self.mentioned = packages, mentioned

    def run(self, program, *words, **_):
        if words[0] == "pkgnames":
            return "\n".join([*self.packages, *self.mentioned])
        if words[0] == "madison":
            return f"{words[1]} | 1 | here\n" if words[1] in self.packages else ""
        depends = self.packages[words[-1]]
        return f"Package: {words[-1]}\n" + (f"Depends: {', '.join(depends)}\n" if depends else "") + "Size: 1\n"


class Kernels(unittest.TestCase):
    def test_a_name_is_the_same_kernel_for_stable_and_newest(self):
        self.assertEqual(debian.kernel("stable", "bookworm")[:2], ("6.1", "bookworm"))
        self.assertEqual(debian.kernel("newest-rt", "bookworm")[:2], ("6.12-rt", "bookworm"))
        self.assertEqual(debian.kernel("newest", "trixie")[:2], ("7.3", "trixie"))

    def test_a_release_prefers_its_own_build_and_has_those_of_others(self):
        self.assertEqual(debian.kernel("6.12", "bookworm")[1], "bookworm")
        self.assertEqual(debian.kernel("6.12", "trixie")[1], "trixie")
        self.assertEqual(debian.kernel("7.3", "bookworm")[1], "trixie")
        self.assertEqual(debian.kernel("6.1", "trixie")[1], "bookworm")

    def test_stable_and_newest_are_kernels_in_every_release(self):
        for release in debian.releases():
            for name in ("stable", "newest"):
                debian.kernel(name, release)

    def test_of_an_older_release_packages_are_to_be_had_and_nothing_is_built_on_it(self):
        self.assertNotIn("bullseye", debian.releases())
        self.assertEqual(debian.Apt("bullseye").release, "bullseye")
        self.assertEqual(debian.kernels_of("bullseye"), [])
        with self.assertRaisesRegex(debian.Unknown, "there is no release 'sarge'"):
            debian.Apt("sarge")

    def test_doctor_and_status_tell_of_kernels_that_are_not_tested(self):
        source = (debian.ROOT / "userspace/kernel/tested_kernels.cpp").read_text()
        tested = {f"{major}.{minor}" for major, first, last in re.findall(r"\{(\d+), (\d+), (\d+)\}", source)
                  for minor in range(int(first), int(last) + 1)}
        named = {name.removesuffix("-rt") for release in debian.releases() for name in debian.kernels(release)}
        self.assertLessEqual(named, tested)
        self.assertEqual([name for name in ("5.10", "6.13", "7.2", "7.4", "8.0") if name in tested], [])

    def test_dkms_builds_for_the_kernels_that_are_tested_and_for_none_after_them(self):
        conf = (debian.ROOT / "packaging/dkms/dkms.conf").read_text()
        taken = re.compile(re.search(r'^BUILD_EXCLUSIVE_KERNEL="(.*)"$', conf, re.MULTILINE)[1])
        tested = {name.removesuffix("-rt") for release in debian.releases() for name in debian.kernels(release)}
        self.assertEqual([name for name in tested if not taken.match(f"{name}.4-amd64")], [])
        self.assertEqual([name for name in ("5.10", "6.13", "7.2", "7.4", "8.0") if taken.match(f"{name}.4-amd64")], [])

    def test_a_name_that_there_is_not_is_told_with_those_that_there_are(self):
        with self.assertRaisesRegex(debian.Unknown, "unknown kernel '9.9'; known: stable newest 6.1 .*7.3"):
            debian.kernel("9.9", "bookworm")

    def offered(self, *releases, without_image=()):
        packages = {f"linux-headers-{r}": [] for r in releases} | \
                   {f"linux-image-{r}": [] for r in releases if r not in without_image}
        return FakeApt(packages, [f"linux-image-{r}" for r in without_image])

    def test_the_newest_by_number_is_taken(self):
        apt = self.offered("6.12.9+deb13-amd64", "6.12.118+deb13-amd64", "6.12.118+deb13-cloud-amd64",
                           "6.12.118+deb13-rt-amd64", "7.3.4+deb13-amd64")
        self.assertEqual(apt.kernel("6.12", debian.kernels("trixie")["6.12"][1]), "6.12.118+deb13-amd64")

    def test_headers_whose_image_is_not_offered_yet_are_left_out(self):
        apt = self.offered("6.1.0-56-amd64", "6.1.0-57-amd64", without_image=["6.1.0-57-amd64"])
        self.assertEqual(apt.kernel("6.1", debian.kernels("bookworm")["6.1"][1]), "6.1.0-56-amd64")

    def test_no_kernel_of_a_name_is_an_error_that_says_so(self):
        with self.assertRaisesRegex(debian.Unknown, "trixie offers no kernel 7.3 with headers and image"):
            self.offered("6.12.118+deb13-amd64").kernel("7.3", debian.kernels("trixie")["7.3"][1])

    def test_an_image_in_several_packages_is_fetched_whole_and_nothing_else(self):
        release = "7.3.4+deb13-amd64"
        apt = FakeApt({
            f"linux-image-{release}": ["dracut | initramfs-tools", f"linux-base-{release} (= 7.3.4-1)",
                                       f"linux-binary-{release}", f"linux-modules-{release}"],
            f"linux-headers-{release}": ["gcc-14-for-host", "linux-base (>= 4.12~)", "linux-kbuild-7.3.4+deb13"],
            f"linux-base-{release}": [], f"linux-binary-{release}": [], f"linux-modules-{release}": ["kmod"],
            "linux-kbuild-7.3.4+deb13": ["pahole", "libc6"]})
        self.assertEqual(sorted(fetch_kernel.parts(apt, release)), sorted(apt.packages))

    def test_headers_find_each_other_wherever_they_are_unpacked(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            flavour = tree / "usr/src/linux-headers-7-amd64"
            flavour.mkdir(parents=True)
            (tree / "usr/src/linux-headers-7-common").mkdir()
            (tree / "usr/src/linux-headers-7-common/Makefile").write_text("all:\n\t@echo here $(KBUILD_OUTPUT)\n")
            (flavour / "Makefile").write_text("KBUILD_OUTPUT=/usr/src/linux-headers-7-amd64\n"
                                              "include /usr/src/linux-headers-7-common/Makefile\n")
            (tree / "usr/lib/modules/7-amd64").mkdir(parents=True)
            (tree / "lib").symlink_to("usr/lib")
            fetch_kernel.adopt_headers(tree, "7-amd64")
            said = subprocess.run(["make", "-s", "-C", tree / "lib/modules/7-amd64/build"], check=True, text=True,
                                  stdout=subprocess.PIPE).stdout
            here, output = said.split()
            self.assertEqual((here, pathlib.Path(output).resolve()), ("here", flavour.resolve()))


class Table(unittest.TestCase):
    """systems.rst, of results that are made up."""

    def setUp(self):
        self.systems = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.release = table.Release("trixie", self.systems)
        self.complaints = table.Complaints()

    def write(self, path, content):
        path = self.systems / "trixie.build" / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def write_everything(self):
        self.write("check/times.json", {"unit": {"passed": 7, "skipped": 1}, "tc": {"passed": 5, "expected": 2}})
        self.write("check/commit", "abc\n")
        self.write("check-kernels/times.json", {f"{suite}.{kernel}": {"passed": 9} for suite in table.suites_of("kernels")
                                                for kernel in self.release.kernels})
        self.write("check-debug/times.json", {suite: {"passed": 8} for suite in table.suites_of("debug")})
        for part in ("deb", "ansible"):
            self.write(f"check-{part}/times.json", {part: {"passed": 6}})
        self.write("debug-source/linux-source-7.3.version", "7.3.4-1\n")
        self.write("first-hour/seconds.json", {"git clone": 1, "make packages": 61, "make demo-build": 200,
                                               "the first paced job": 300, "make demo": 3601})
        contenders = ("stock", "rto_min", "rto_min_least", "htb", "headway")
        runs = [{"name": name, "median_ms": 2.0, "max_ms": 3.0} for name in contenders]
        for kernel in self.release.kernels:
            release = f"{kernel}.9-amd64"
            self.write(f"kernels/trixie-{kernel}", f"{release}\n")
            self.write(f"kernels/{release}/usr/src/linux-headers-{release}/include/config/auto.conf",
                       "CONFIG_HZ_250=y\nCONFIG_HZ=250\n")
            self.write(f"demo-{kernel}/demo.json", {
                "verdicts": [{"met": True, "target": "none lost"}],
                "scenes": [{"name": "rack", "messages": [{"bytes": 16384, "floor_ms": 1.5, "runs": runs}]}]})

    def document(self):
        return table.document([self.release], self.complaints)

    def test_results_are_told(self):
        self.write_everything()
        text = self.document()
        self.assertEqual(self.complaints, [])
        for line in (r"Debian 13 \(trixie\)  12 +0 +3 +abc", r"7.3-rt +9 +9 +9 +9 +9 +9 +9 +9 +9",
                     r"Debian 13 \(trixie\)  7.3.4-1 +8 +8 +8",
                     r"13, 7.3 +250 +rack +16 +1.50 +2.00 / 3.00 +2.00 / 3.00", r"make packages +1:01", r"7.3 +7.3.9-amd64 +250"):
            self.assertRegex(text, f"(?m)^{line}")

    def test_an_empty_cell_is_a_complaint(self):
        self.document()
        for cell in ("7.3-rt, kselftest-kernels", "debug-fuzz.4", "6.12", "make check", "7.3, make demo", "first hour, make demo"):
            self.assertIn(f"trixie, {cell}: no result", self.complaints)

    def test_so_is_a_test_that_failed(self):
        self.write_everything()
        self.write("check-kernels/times.json", {"tc-kernels.7.3": {"passed": 1, "failed": 2, "failures": ["a", "b"]}})
        self.write("check/times.json", {"unit": {"passed": 7, "failed": 1, "failures": ["c"]}})
        self.assertIn("**2 failed**", self.document())
        self.assertIn("trixie, 7.3, tc-kernels: 2 failed: a, b", self.complaints)
        self.assertIn("trixie, make check: 1 failed", self.complaints)


class Check(unittest.TestCase):
    def test_cases_of_another_release_are_told_with_their_suite(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "unit.log"
            log.write_bytes(b"1..4\nok 1 a\nnot ok 2 - b\0\n# ok\nnot ok 3 c # TODO later\nok d # SKIP why\n")
            script = 'eval "$(sed -n "/^tell_cases/,/^}/p" "$0")"; tell_cases "$1"'
            said = subprocess.run(["bash", "-c", script, HERE / "check", log], check=True, text=True, capture_output=True)
        self.assertEqual(said.stdout.splitlines(), ["ok unit: a", "not ok unit: b", "not ok unit: c # TODO later",
                                                    "ok unit: d # SKIP why"])


@unittest.skipIf(os.geteuid(), "packages are installed by root")
class Packages(unittest.TestCase):
    """Programs that install-packages calls write down how; those of apt know the packages in the file `known`."""
    PROGRAMS = {
        "dpkg-query": 'grep -qx "$3" $HW_FAKE/installed && echo installed',
        "apt-cache": 'grep -qx "$3" $HW_FAKE/known',
        "apt-get": '''echo "apt-get $*" >>$HW_FAKE/calls
case "$*" in
*" -s "*) sed 's/^/Inst /' $HW_FAKE/plan ;;
install*) touch $HW_FAKE/done ;;
esac''',
        "systemctl": '''if [ "$1" = list-unit-files ]; then echo ssh.service enabled
test ! -e $HW_FAKE/done || echo etcd.service enabled
else echo "systemctl $*" >>$HW_FAKE/calls; fi''',
        "update-alternatives": '''if [ "$1" = --get-selections ]; then
if [ -e $HW_FAKE/done ]; then echo "mpirun auto /usr/bin/mpirun.openmpi"; else echo "mpirun auto /usr/bin/mpirun.mpich"; fi
else echo "update-alternatives $*" >>$HW_FAKE/calls; fi''',
    }

    def setUp(self):
        self.fake = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, text in self.PROGRAMS.items():
            (self.fake / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.fake / name).chmod(0o755)
        self.write(installed="git", known="git\nmpich\netcd-server", plan="mpich\nlibmpich12")
        self.write(calls="", file="git  # versions\nmpich\netcd-server\n")

    def write(self, **files):
        for name, text in files.items():
            (self.fake / name).write_text(text)

    def run_it(self, *words):
        return subprocess.run([INSTALL, *(words or [self.fake / "file"])], check=False, text=True, capture_output=True,
                              env={**os.environ, "HW_FAKE": str(self.fake), "PATH": f"{self.fake}:{os.environ['PATH']}"})

    def calls(self):
        return (self.fake / "calls").read_text().splitlines()

    def test_nothing_is_asked_where_nothing_is_missing(self):
        self.write(installed="git\nmpich\netcd-server")
        done = self.run_it()
        self.assertEqual((done.returncode, done.stdout, self.calls()), (0, "", []))

    def test_what_will_be_installed_is_said_and_what_else_changed_is_put_back(self):
        done = self.run_it()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Installing 2 Debian packages: mpich etcd-server\nand what these need, 2 packages in all",
                      done.stdout)
        self.assertIn("etcd.service is installed, but not enabled", done.stdout)
        self.assertIn("mpirun stays /usr/bin/mpirun.mpich", done.stdout)
        self.assertIn("systemctl --quiet disable etcd.service", self.calls())
        self.assertIn("update-alternatives --quiet --set mpirun /usr/bin/mpirun.mpich", self.calls())
        self.assertNotIn("ssh.service", " ".join(self.calls()))

    def test_a_name_that_the_release_does_not_have_is_refused(self):
        self.write(known="git\nmpich")
        done = self.run_it()
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "has no package etcd-server")
        self.assertNotIn("apt-get install", " ".join(self.calls()))

    def test_a_kernel_is_refused(self):
        self.write(plan="mpich\nlinux-image-6.12.118+deb13-amd64")
        done = self.run_it()
        self.assertEqual(done.returncode, 1)
        self.assertIn("they would bring a kernel: linux-image-6.12.118+deb13-amd64", done.stderr)
        self.assertFalse((self.fake / "done").exists())

    def test_another_release_has_other_names(self):
        self.write(file="git\nlinux-source-6.1\n")
        names = {release: self.run_it("--names", release, self.fake / "file").stdout.split()
                 for release in ("bookworm", "trixie")}
        self.assertEqual(names, {"bookworm": ["git", "linux-source-6.1"], "trixie": ["git", "linux-source-6.12"]})

    def test_a_release_that_nobody_tested_is_named(self):
        done = self.run_it("--names", "sarge", self.fake / "file")
        self.assertEqual(done.returncode, 1)
        self.assertIn("and this is sarge", done.stderr)


if __name__ == "__main__":
    unittest.main()
