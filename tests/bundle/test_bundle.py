# SPDX-License-Identifier: Apache-2.0
"""The bundle as `make bundle` made it: what it asks the dynamic linker for, and what it does on the
oldest system that it is for, in the home of a user who has an MPI library and nothing of Headway's.

The system is Debian 11 in a root file system of its own, made anew; it has no network but lo."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests/mpi")]
import symbols      # noqa: E402
from test_alone import NETWORK, ON_NODES        # noqa: E402
from mpi_job import LIMIT_S, MPIRUN_OPTIONS, NODES, PATIENCE_MS     # noqa: E402

PACKAGES = "gcc,libc6-dev,libmpich-dev,libopenmpi-dev,mpich,openmpi-bin,zstd"
SYSTEM = ROOT / "build/systems/bullseye.bundle"
HOME = pathlib.Path("/home/user")
HELPERS = ["agent", "mpi", "mpich", "ompi", "record-mpich", "record-ompi"]
LIBRARIES = [f"libheadway-{name}.so" for name in HELPERS]
VARIABLES = {"HOME": HOME, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8",
             "HEADWAY_TIMEOUT_MS": PATIENCE_MS}


def archive():
    (found,) = (ROOT / "build/bundle").glob("headway-*-x86_64.tar.zst")
    return found


NAME = archive().name.removesuffix(".tar.zst")
HEADWAY = HOME / NAME / "bin/headway"


class Files(unittest.TestCase):
    folder = ROOT / "build/bundle" / NAME

    def test_there_is_the_program_the_helpers_and_nothing_else(self):
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        names = {str(path.relative_to(self.folder)) for path in files}
        others = {name for name in names if not name.startswith("LICENSES/")}
        self.assertEqual(others, {"README", "bin/headway", *(f"lib/{name}" for name in LIBRARIES)})

    def test_nothing_needs_a_newer_c_library_or_another_library(self):
        files = {"bin/headway": False, **{f"lib/{name}": True for name in LIBRARIES}}
        for name, is_helper in files.items():
            with self.subTest(name):
                self.assertEqual(symbols.faults(self.folder / name, is_helper), [])

    def test_the_dynamic_linker_s_functions_come_with_the_preload(self):
        """Up to glibc 2.33 they are in a library that MPICH of Debian 11 does not load."""
        self.assertIn("libdl.so.2", symbols.needed(self.folder / "lib/libheadway-mpi.so"))

    def test_nothing_names_this_machine_s_folders(self):
        for path in self.folder.glob("*/*"):
            if path.is_file():
                self.assertFalse(os.fsencode(ROOT) in path.read_bytes(), path.name)


class Bullseye(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([ROOT / "tests/systems/make", "bullseye", SYSTEM, PACKAGES], check=True)
        cls.addClassCleanup(shutil.rmtree, SYSTEM)
        names = f"127.0.0.1 localhost known-host {socket.gethostname()}\n"
        (SYSTEM / "etc/hosts").write_text(names, encoding="utf-8")
        cls.run_in(HOME.parent, "useradd", "--create-home", "user", check=True)
        cls.put(archive(), archive().name)
        cls.user("tar", "-xf", archive().name, check=True)
        for library in ("openmpi", "mpich"):
            cls.put(ROOT / "tests/mpi/alltoall_check.c", "alltoall_check.c")
            cls.user(f"mpicc.{library}", "-pthread", "alltoall_check.c", "-o", f"check.{library}",
                     check=True)
        cls.put(ROOT / "tests/mpi/rank_record.c", "rank_record.c")
        cls.user("gcc", "rank_record.c", "-o", "rank_record", check=True)
        cls.write("network.toml", NETWORK)

    @staticmethod
    def home(name):
        """A file of the user's, as this machine sees it."""
        return SYSTEM / HOME.relative_to("/") / name

    @classmethod
    def put(cls, source, name):
        shutil.copyfile(source, cls.home(name))
        cls.home(name).chmod(0o644)

    @classmethod
    def write(cls, name, text):
        cls.home(name).write_text(text, encoding="utf-8")
        cls.home(name).chmod(0o644)

    @staticmethod
    def run_in(folder, *command, **keywords):
        alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
        return subprocess.run([*alone, ROOT / "tests/systems/enter", SYSTEM, folder, *command],
                              text=True, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LIMIT_S, **{"check": False, **keywords})

    @classmethod
    def user(cls, *command, variables=None, **keywords):
        settings = {**VARIABLES, **(variables or {})}
        return cls.run_in(HOME, "runuser", "-u", "user", "--", "env", "-i",
                          *(f"{name}={value}" for name, value in settings.items()), *command,
                          **keywords)

    def headway(self, *words):
        return self.user(HEADWAY, *words)

    def test_it_is_an_ordinary_user_with_the_oldest_c_library(self):
        self.assertNotEqual(self.user("id", "-u").stdout, "0\n")
        self.assertEqual(self.user("getconf", "GNU_LIBC_VERSION").stdout, "glibc 2.31\n")

    def test_the_program_starts(self):
        version = NAME.split("-")[1]
        self.assertEqual(self.headway("--version").stdout, f"headway {version}\n")

    def test_mistakes_are_told(self):
        """The libraries that are inside throw these exceptions, but for the XML."""
        wrongs = {"a.toml": ("[[cluster]]\nname = ", "a.toml:2: syntax: "),
                  "a.yaml": ("topologies:\n  - name: [\n", "a.yaml:3: end of sequence flow"),
                  "a.xml": ("<a><b></a>", "a.xml:1: syntax: ")}
        for name, (text, said) in wrongs.items():
            self.write(name, text)
            with self.subTest(name):
                done = self.headway("topology", "check", name)
                self.assertEqual((done.returncode, done.stderr[:len(said)]), (2, said))
        done = self.headway("check-config", "a.toml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("a.toml:2: syntax: ", done.stderr)

    def test_it_plans_as_the_ordinary_program_does(self):
        words = ("plan", "--config", "network.toml")
        ordinary = subprocess.run([ROOT / "build/bin/headway", *words], cwd=self.home(""),
                                  check=True, text=True, capture_output=True)
        done = self.headway(*words)
        self.assertEqual((done.returncode, done.stdout), (0, ordinary.stdout), done.stderr)

    def test_names_of_hosts_are_looked_up_as_the_system_does_it(self):
        done = self.headway("measure", "--hosts", "known-host,unknown-host")
        self.assertEqual(done.returncode, 2)
        self.assertIn('--hosts: "unknown-host" has no address', done.stderr)
        done = self.headway("measure", "--hosts", "known-host,localhost", "--launch", "false")
        self.assertIn("host known-host: it has ended", done.stderr)

    def test_doctor_looks_at_the_system(self):
        """It asks the kernel by libmnl, which is inside."""
        done = self.headway("doctor", "known-host", "--", "true")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("known-host is this node itself", done.stdout)

    def launcher(self, library):
        if library == "mpich":
            return ["mpirun.mpich", "-n", str(len(NODES))]
        options = [word for name, value in MPIRUN_OPTIONS.items()
                   for word in ("--mca", name, str(value))]
        return ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", str(len(NODES)),
                *options, "-x", "HW_RANK_RECORDS"]

    def job(self, library, *words):
        """Returns what the ranks of `headway WORDS... -- mpirun ...` wrote and how they ended, by
        file."""
        folder = f"ranks.{library}.{words[0]}"
        self.user("mkdir", folder, check=True)
        ranks = ["./rank_record", *ON_NODES, " ".join(NODES), f"./check.{library}"]
        done = self.user(HEADWAY, *words, "--", *self.launcher(library), *ranks,
                         variables={"HW_RANK_RECORDS": HOME / folder})
        files = {path.name: path.read_text() for path in self.home(folder).iterdir()}
        statuses = [files.get(f"{rank}.status") for rank in range(len(NODES))]
        self.assertEqual({(status or "none").strip() for status in statuses}, {"0"},
                         f"{done.stderr}\n{files}")
        self.assertIn("all data right", files["0.out"])
        return files

    def assert_paces(self, library):
        report = f"{library}.json"
        files = self.job(library, "run", "--config", "network.toml", "--report", report)
        self.assertIn("headway: no headwayd: each rank paces its own", files["0.err"])
        calls = json.loads(self.home(report).read_text())["collectives"]
        self.assertIn(("linear", True), {(call["algorithm"], call["paced"]) for call in calls})

    def test_an_open_mpi_job_is_paced(self):
        self.assert_paces("openmpi")

    def test_an_mpich_job_is_paced(self):
        self.assert_paces("mpich")

    def test_jobs_are_recorded(self):
        for library in ("openmpi", "mpich"):
            with self.subTest(library):
                self.job(library, "record", "-o", f"{library}.recording.json")
                recording = json.loads(self.home(f"{library}.recording.json").read_text())
                self.assertTrue(recording)


if __name__ == "__main__":
    unittest.main()
