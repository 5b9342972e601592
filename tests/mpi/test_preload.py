#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""libheadway-mpi.so in every kind of process that may inherit it: programs linked in
different ways, Python, shells, and together with tools that wrap MPI, too.

  test_preload.py [Class.method ...]
  test_preload.py --list
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

from mpi_job import NODES, PRELOAD, RANKS, ComparedTest, main

HERE = os.path.dirname(os.path.realpath(__file__))
MPI4PY = "/usr/lib/python3/dist-packages/mpi4py"
HELPERS = [f"libheadway-{use}{library}.so" for use in ("", "record-") for library in ("ompi", "mpich", "abi")]
# Functions that MPI 3.1 has not: large counts, persistent collectives, and others of MPI 4; extensions.
MPI_4 = re.compile(r"P?MPIX_\w+|\w+_c|P?MPI_(?![BRS]?[Ss]end_init|Recv_init)\w+_init|"
                   r"P?MPI_(Session_|Isendrecv|Psend|Precv|Pready|Parrived)\w*")
AGENT = "libheadway-agent.so"
OLDEST_GLIBC = (2, 17)  # of what containers may be made of


def library(name):
    return os.path.join(os.environ["HW_LIB"], name)


def output_of(*command, **environment):
    return subprocess.run(command, env={**os.environ, **environment}, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)


def symbols(file, option):
    """Name -> type, without versions."""
    lines = output_of("nm", "-D", option, "--format=posix", file).stdout.splitlines()
    return {line.split()[0].split("@")[0]: line.split()[1] for line in lines}


def functions_of(file):
    return {name for name in symbols(file, "--defined-only") if re.match("P?MPIX?_", name)}


class Files(ComparedTest):
    """Tests what the libraries need."""

    def needed(self, name):
        return re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "-d", library(name)).stdout)

    def test_preload_needs_the_c_library_alone(self):
        self.assertEqual(self.needed(AGENT), ["libc.so.6"])
        # up to glibc 2.33 the dynamic linker's functions are in a file that MPICH of Debian 11 does not load
        self.assertEqual(self.needed(PRELOAD), ["libdl.so.2", "libc.so.6"])
        undefined = symbols(library(PRELOAD), "--undefined-only")
        self.assertIn("dlopen", undefined)
        self.assertEqual([name for name in undefined if "mpi" in name.lower()], [])

    def test_preload_needs_no_new_c_library(self):
        for name in (PRELOAD, AGENT):
            versions = re.findall(r"Name: GLIBC_([\d.]+)", output_of("readelf", "-V", library(name)).stdout)
            self.assertGreater(len(versions), 0)
            for version in versions:
                self.assertLessEqual(tuple(map(int, version.split(".")[:2])), OLDEST_GLIBC)

    def test_helpers_name_no_mpi_library(self):
        for name in HELPERS:
            self.assertEqual([file for file in self.needed(name) if "mpi" in file], [])

    def test_helpers_call_past_the_preload(self):
        """The preload shows no symbol that the libraries want of the MPI library."""
        shown = symbols(library(PRELOAD), "--defined-only")
        for name in HELPERS:
            wanted = symbols(library(name), "--undefined-only")
            self.assertIn("PMPI_Comm_rank", wanted)
            self.assertEqual([symbol for symbol in wanted if symbol in shown], [])

    def test_stack_is_not_executable(self):
        for name in [PRELOAD, *HELPERS]:
            stack = re.search(r"GNU_STACK.*", output_of("readelf", "-lW", library(name)).stdout)
            self.assertNotIn("RWE", stack.group())


class WithoutMpi(ComparedTest):
    """Processes that call no MPI function, or none of a library that we know."""

    def test_nothing_is_loaded(self):
        for command in (["cat", "/proc/self/maps"],
                        ["/usr/bin/python3", "-c", "print(open('/proc/self/maps').read())"]):
            maps = output_of(*command, LD_PRELOAD=library(PRELOAD)).stdout
            files = {os.path.basename(line.split()[-1]) for line in maps.splitlines() if line}
            self.assertEqual({file for file in files if "mpi" in file or "headway" in file},
                             {PRELOAD})

    def other_program(self, *arguments, **environment):
        program = os.path.join(os.environ["HW_BIN"], "other_mpi_program")
        return output_of(program, *arguments, LD_PRELOAD=library(PRELOAD), **environment)

    def test_another_mpi_library(self):
        """It gets every argument, of first calls by several threads too, which end in one
        line."""
        for _ in range(20):
            job = self.other_program()
            self.assertEqual((job.returncode, job.stdout), (7, ""), job.stderr)
            self.assertRegex(job.stderr, "^headway: not pacing: .*other_mpi.so is neither Open MPI "
                             "nor MPICH as Headway knows them, nor has it the ABI of MPI 5; HEADWAY=off says nothing\n$")

    def test_another_mpi_library_says_it_once(self):
        """Other ranks than the first say nothing, nor does anybody with HEADWAY=off."""
        for variable in ({"PMI_RANK": "1"}, {"PMIX_RANK": "2"}, {"HEADWAY": "off"}):
            job = self.other_program(**variable)
            self.assertEqual((job.returncode, job.stdout, job.stderr), (7, "", ""))


    # ---- MPI functions of a process's own ------------------------------------------

    SIMULATE = "import ctypes; serial = ctypes.CDLL({!r}); print(serial.simulate({}), serial.finish())"

    def test_serial_code_with_functions_of_its_own(self):
        """That Python opens, with its symbols visible to nobody else."""
        code = self.SIMULATE.format(library("tests/serial_mpi.so"), 2)
        for variables in ({}, {"HEADWAY": "off"}, {"HEADWAY_RECORD": "/nowhere/file"}):
            done = output_of("/usr/bin/python3", "-c", code, LD_PRELOAD=library(PRELOAD), **variables)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "43 0\n", ""))

    def lookups(self, calls):
        code = "import ctypes; serial = ctypes.CDLL({!r}); serial.simulate({}); print(ctypes.CDLL({!r}).lookups())"
        names = library("tests/serial_mpi.so"), calls, library("tests/lookups.so")
        done = output_of("/usr/bin/python3", "-c", code.format(*names),
                         LD_PRELOAD=f"{library('tests/lookups.so')}:{library(PRELOAD)}")
        return int(done.stdout)

    def test_calls_of_such_functions_cost_no_lookup(self):
        """But for the first call of each function."""
        self.assertEqual(self.lookups(1000), self.lookups(1))
        self.assertGreater(self.lookups(1), self.lookups(0))

    # ---- an MPI library of two objects ---------------------------------------------

    def preload_beside(self, helper):
        """Returns a preload that has the helper of two_part_helper.c under this name alone."""
        folder = tempfile.TemporaryDirectory(prefix="headway-preload-")
        self.addCleanup(folder.cleanup)
        shutil.copy(library("tests/two_part_helper.so"), os.path.join(folder.name, helper))
        return shutil.copy(library(PRELOAD), folder.name)

    def test_helper_by_the_abi_in_force(self):
        """A library that has the ABI of MPI 5, and says so, gets the helper for that, whoever made it."""
        program = os.path.join(os.environ["HW_BIN"], "two_part_program")
        for variables, helper in (({}, "libheadway-ompi.so"), ({"WITH_STANDARD_ABI": "1"}, "libheadway-abi.so"),
                                  ({"HEADWAY_RECORD": "/nowhere/file"}, "libheadway-record-ompi.so"),
                                  ({"WITH_STANDARD_ABI": "1", "HEADWAY_RECORD": "/nowhere/file"},
                                   "libheadway-record-abi.so")):
            done = output_of(program, LD_PRELOAD=self.preload_beside(helper), **variables)
            self.assertEqual((done.stdout, done.stderr), ("1001\n", ""), helper)

    def test_mpi_library_of_two_objects(self):
        """A call of the object with MPI_X is the MPI library's, and a tool's is not."""
        preload = self.preload_beside("libheadway-ompi.so")
        for program, plain, wrapped in (("two_part_program", 11, 1001), ("two_part_tool_program", 101, 1101)):
            path = os.path.join(os.environ["HW_BIN"], program)
            self.assertEqual(output_of(path).stdout, f"{plain}\n")
            done = output_of(path, LD_PRELOAD=preload)
            self.assertEqual((done.stdout, done.stderr), (f"{wrapped}\n", ""))

    def test_function_that_the_mpi_library_lacks(self):
        """Ends the program, as in the dynamic linker, and in no endless loop."""
        job = self.other_program("--missing", HEADWAY="off")
        self.assertEqual((job.returncode, job.stdout, job.stderr),
                         (-signal.SIGABRT, "", "headway: the MPI library has no MPI_Bcast\n"))


class Both:
    """Tests that hold for either MPI library; they are mixed into a class for each."""

    @property
    def helper_name(self):
        return f"libheadway-{os.environ.get('HW_HELPER', self.library)}.so"

    def plain_and_paced(self, program, **keywords):
        plain = self.run_job(program, helper=False, **keywords)
        with self.daemon() as daemon:
            job = self.run_job(program, **keywords)
        return plain, job, daemon

    def assert_paced(self, job, daemon):
        self.assert_succeeded(job)
        self.assert_one_line(job, "pacing all-to-all over 4 hosts")
        self.assertEqual(len(daemon.connections), RANKS)
        for connection in daemon.connections:
            self.assert_balanced(connection)
            self.assertTrue(connection.entries)

    def copied(self, *names):
        """The preload in a folder of its own, with these beside it."""
        folder = tempfile.TemporaryDirectory(prefix="headway-preload-")
        self.addCleanup(folder.cleanup)
        for name in (PRELOAD, *names):
            shutil.copy(library(name), folder.name)
        return os.path.join(folder.name, PRELOAD)

    # ---- ways to be linked and started -------------------------------------------

    def test_position_dependent_or_not(self):
        for form, kind in (("pie", "DYN"), ("no-pie", "EXEC")):
            with self.subTest(form):
                program = f"alltoall_check_{form}"
                header = output_of("readelf", "-h", self.program(program)).stdout
                self.assertRegex(header, rf"Type: +{kind}")
                _, job, daemon = self.plain_and_paced(program)
                self.assert_paced(job, daemon)

    def test_shell_script_around_the_program(self):
        _, job, daemon = self.plain_and_paced(
            "alltoall_check", under=["sh", "-c", 'test -n "$LD_PRELOAD"; "$@"; exit $?', "sh"])
        self.assert_paced(job, daemon)

    def open_local(self, module, **keywords):
        suffix = ".mpich" if self.library == "mpich" else ""
        command = self.command_of("alltoall_check", **keywords)
        with self.daemon() as daemon:
            job = self.run_command(command[:-1] + [os.path.join(os.environ["HW_BIN"], "open_local"),
                                                   library(f"tests/{module}{suffix}.so")])
        return job, daemon

    def test_opened_by_a_program_without_mpi(self):
        self.assert_paced(*self.open_local("alltoall_check_module"))

    def test_opened_beside_a_serial_code(self):
        """Which has MPI functions of its own, and each calls its own."""
        self.assert_paced(*self.open_local("alltoall_check_module", SERIAL=library("tests/serial_mpi.so")))

    def test_opened_with_a_tool(self):
        plain, _ = self.open_local("alltoall_check_tool_module", helper=False)
        job, daemon = self.open_local("alltoall_check_tool_module")
        self.assert_paced(job, daemon)
        self.assertEqual(self.counted(job), self.counted(plain))
        self.assertGreater(self.counted(job)["alltoall"], 0)

    def test_opened_and_switched_off(self):
        job, daemon = self.open_local("alltoall_check_module", HEADWAY="off",
                                      SERIAL=library("tests/serial_mpi.so"))
        self.assert_succeeded(job)
        self.assertEqual((job.told, daemon.connections), ([], []))

    # ---- what it shows -----------------------------------------------------------

    def test_shows_only_what_every_library_has(self):
        """A program that looks for a name finds it where its MPI library has it, and nowhere else."""
        shown = functions_of(library(PRELOAD))
        self.assertIn("MPI_Alltoall", shown)
        listed = output_of("ldd", self.program("alltoall_check")).stdout
        own, = {line.split()[2] for line in listed.splitlines() if re.match(r"\s*libmpi(ch|_abi)?\.so", line)}
        self.assertEqual(shown - functions_of(own), set())
        self.assertEqual({name for name in shown if MPI_4.fullmatch(name)}, set())

    def test_weak_references(self):
        plain = self.run_job("weak_names", helper=False)
        self.assert_succeeded(plain)
        with self.daemon():
            for variables in ({}, {"HEADWAY": "off"}):
                job = self.run_job("weak_names", **variables)
                self.assertEqual((job.status, job.stdout), (plain.status, plain.stdout), job.stderr)
        job = self.run_job("weak_names")
        self.assertEqual((job.status, job.stdout), (plain.status, plain.stdout), job.stderr)

    # ---- failing open ---------------------------------------------------------------

    def run_with(self, preload, **environment):
        return self.run_job("alltoall_check", LD_PRELOAD=[preload], **environment)

    def test_found_beside_it(self):
        with self.daemon() as daemon:
            job = self.run_with(self.copied(self.helper_name))
        self.assert_paced(job, daemon)

    def test_found_by_another_dlopen(self):
        """UCX 1.18 has one of its own, for which $ORIGIN is another folder."""
        with self.daemon():
            job = self.run_job("alltoall_check", preload=["tests/other_dlopen.so"])
        self.assert_succeeded(job)
        self.assert_one_line(job, "pacing all-to-all over 4 hosts")

    def test_helper_missing(self):
        with self.daemon() as daemon:
            job = self.run_with(self.copied())
        self.assert_succeeded(job)
        self.assert_one_line(job, "not pacing: ", self.helper_name, "No such file", "HEADWAY=off")
        self.assertEqual(daemon.connections, [])

    def test_helper_broken(self):
        preload = self.copied()
        with open(os.path.join(os.path.dirname(preload), self.helper_name), "w",
                  encoding="ascii") as file:
            file.write("no library")
        job = self.run_with(preload)
        self.assert_succeeded(job)
        self.assert_one_line(job, "not pacing: ", self.helper_name)

    def test_switched_off(self):
        with self.daemon() as daemon:
            job = self.run_job("alltoall_check", HEADWAY="off")
        self.assert_succeeded(job)
        self.assertEqual((job.told, daemon.connections), ([], []))

    def test_inherited_from_the_launcher(self):
        """The environment of the launcher's own process, too."""
        command = self.command_of("alltoall_check")
        with self.daemon() as daemon:
            job = self.run_command(command, LD_PRELOAD=library(PRELOAD))
        self.assert_paced(job, daemon)

    # ---- tools ----------------------------------------------------------------------

    def counted(self, job):
        return {words[1]: int(words[2]) for words in map(str.split, job.stdout.splitlines())
                if words[:1] == ["counted"]}

    def tool(self):
        return "tests/counting_tool" + (".mpich.so" if self.library == "mpich" else ".so")

    def job_with(self, program, algorithm, preload):
        """The job, and how many collectives rank 0 had paced."""
        with self.daemon(algorithm=algorithm, plans_change=True) as daemon:
            job = self.run_job(program, LD_PRELOAD=preload)
        self.assert_succeeded(job)
        return job, len(daemon.by_rank()[0].entries)

    def check_places(self, program, linked):
        """The tool counts what it counts without us, and as much is paced as without it."""
        counted = self.counted(self.run_job(program, helper=False, preload=[self.tool()]))
        self.assertEqual(counted["init"], 1)
        self.assertGreaterEqual(counted["alltoall"], 2)
        self.assertGreaterEqual(counted["alltoallv"], 2)
        for algorithm in (None, "linear"):  # the MPI library's own, and ours
            _, paced = self.job_with(program, algorithm, [PRELOAD])
            self.assertGreater(paced, 0)
            for place, named, preload in (("before", program, [self.tool(), PRELOAD]),
                                          ("after", program, [PRELOAD, self.tool()]),
                                          ("linked", linked, [PRELOAD])):
                with self.subTest(place=place, algorithm=algorithm):
                    job, entered = self.job_with(named, algorithm, preload)
                    self.assertEqual(self.counted(job), counted)
                    self.assertEqual(entered, paced)

    def test_tool_in_c(self):
        self.check_places("alltoall_check", "alltoall_check_tool")

    def test_tool_in_fortran(self):
        self.check_places("alltoall_mpif", "alltoall_mpif_tool")

    # ---- calls inside others ---------------------------------------------------------

    def test_calls_inside_others_are_not_counted(self):
        file = os.path.join(os.path.dirname(self.socket), "recording.json")
        job = self.run_job("inner_calls", HEADWAY_RECORD=file)
        self.assert_succeeded(job)
        with open(file, encoding="utf-8") as text:
            phases = json.load(text)["phases"]
        sent = [flow for phase in phases if phase["operation"] == "point_to_point"
                for flow in phase["flows"]]
        self.assertEqual(sorted((flow["source"], flow["destination"], flow["bytes"])
                                for flow in sent), [(rank, rank, 7) for rank in range(RANKS)])

    # ---- headway run -------------------------------------------------------------------

    def headway_run(self, *command):
        with self.daemon() as daemon:
            return self.run_headway("run", "--", *command), daemon

    def test_run_of_a_launcher(self):
        self.assert_paced(*self.headway_run(*self.ranks_of(RANKS, self.program("alltoall_check"))))

    def test_run_of_a_script(self):
        """That calls the launcher by a name that headway does not see."""
        self.assert_paced(*self.headway_run("sh", "-c", '"$@"; exit $?', "sh",
                                            *self.ranks_of(RANKS, self.program("alltoall_check"))))


class OpenMpi(Both, ComparedTest):
    """Under Open MPI."""

    longer = ("test_tool_in_fortran",)

    def run_mpi4py(self, **environment):
        if not os.path.isdir(MPI4PY):
            self.skipTest(f"there is no {MPI4PY}: install python3-mpi4py")
        command = self.command_of("alltoall_check", **environment)[:-1]
        return self.run_command(command + ["/usr/bin/python3", f"{HERE}/alltoall_mpi4py.py"])

    def test_mpi4py(self):
        with self.daemon() as daemon:
            job = self.run_mpi4py()
        self.assert_paced(job, daemon)

    def test_mpi4py_switched_off(self):
        with self.daemon() as daemon:
            job = self.run_mpi4py(HEADWAY="off")
        self.assert_succeeded(job)
        self.assertEqual((job.told, daemon.connections), ([], []))

    def test_run_of_mpi4py(self):
        if not os.path.isdir(MPI4PY):
            self.skipTest(f"there is no {MPI4PY}: install python3-mpi4py")
        job, daemon = self.headway_run(*self.ranks_of(RANKS, "/usr/bin/python3", f"{HERE}/alltoall_mpi4py.py"))
        self.assert_paced(job, daemon)


class Mpich(Both, ComparedTest):
    """Under MPICH."""

    library = "mpich"
    longer = ("test_tool_in_fortran",)

    def test_serial_code_that_is_opened_later(self):
        """The MPI library is still visible to nobody else.  Open MPI 4 makes itself visible in MPI_Init."""
        self.assert_paced(*self.open_local("alltoall_check_module", SERIAL_LATE=library("tests/serial_mpi.so")))

    def test_mpi_library_lacks_something(self):
        """As one of another version may.  Here Open MPI's helper finds no ompi_mpi_..."""
        preload = self.copied()
        shutil.copy(library("libheadway-ompi.so"),
                    os.path.join(os.path.dirname(preload), self.helper_name))
        job = self.run_with(preload)
        self.assert_succeeded(job)
        self.assert_one_line(job, "not pacing: ", "undefined symbol: ompi_")


if __name__ == "__main__":
    main()
