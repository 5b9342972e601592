#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels of the NPB's communication: right with any number of ranks that they take, with the
helper and without; and a wrong message does not escape them.

  test_kernels.py [Class.method ...]
  test_kernels.py --list
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "mpi"))
from mpi_job import HelperTest, main  # noqa: E402

KERNELS = ("IS", "FT", "CG", "MG", "LU", "SP", "MOE")
FFTW = "FFTW"   # where Debian's FFTW over MPI was when the program was built
ITERATIONS, WARMUP = 3, 1
PYTHON = "/usr/bin/python3"     # Debian's, for which mpi4py is installed
SPECTRUM = Path(__file__).resolve().parent / "spectrum.py"


class Both:
    """Tests that hold for either MPI library; they are mixed into a class for each."""

    def kernel(self, name, *arguments, ranks=4, **keywords):
        return self.run_job("npb_kernel", name, *arguments, "--iterations", str(ITERATIONS),
                            "--warmup", str(WARMUP), ranks=ranks, **keywords)

    def assert_right(self, name, job):
        self.assertEqual(job.status, 0, job.stderr)
        result = json.loads(job.stdout)
        self.assertEqual((result["kernel"], result["verified"]), (name, True))
        self.assertEqual((len(result["warmup_ms"]), len(result["samples_ms"])), (WARMUP, ITERATIONS))

    def kernels(self):
        """The program lists the kernels that it knows."""
        job = self.run_job("npb_kernel", helper=False, ranks=1)
        self.assertIn("a kernel is wanted, one of " + " ".join(KERNELS), job.stderr)
        return (*KERNELS, FFTW) if " ".join((*KERNELS, FFTW)) in job.stderr else KERNELS

    def test_as_one_process_alone(self):
        for name in self.kernels():
            for ranks in (4, 8):
                with self.subTest(kernel=name, ranks=ranks):
                    self.assert_right(name, self.kernel(name, ranks=ranks, helper=False))

    def test_grids_that_are_no_squares_and_parts_that_are_not_alike(self):
        for name, ranks, arguments in (("IS", 3, ()), ("CG", 2, ("--size", "64")), ("MG", 2, ()),
                                       ("LU", 6, ("--size", "7")), ("SP", 6, ("--size", "7")),
                                       ("MOE", 3, ("--size", "100"))):
            with self.subTest(kernel=name):
                self.assert_right(name, self.kernel(name, *arguments, ranks=ranks, helper=False))

    def test_paced(self):
        for name in KERNELS:
            with self.subTest(kernel=name):
                with self.daemon() as daemon:
                    self.assert_right(name, self.kernel(name))
                if name in ("IS", "FT", "MOE"):
                    self.assertIn("phase", daemon.connections[0].operations())

    def test_a_wrong_message_is_noticed(self):
        spoiler = "tests/wrong_message.mpich.so" if self.library == "mpich" else "tests/wrong_message.so"
        for name in self.kernels():
            with self.subTest(kernel=name):
                job = self.kernel(name, helper=False, preload=[spoiler])
                self.assertNotEqual(job.status, 0)
                self.assertIn('"verified":false', job.stdout)
                self.assertIn(f"{name}, iteration", job.stderr)

    def test_what_does_not_fit_is_told(self):
        for arguments, told in ((("IS", "--size", "1000"), "a power of two"),
                                (("FT", "--size", "2"), "must divide the edge"),
                                (("CG", "--size", "17"), "must divide the unknowns"),
                                (("LU", "--size", "1"), "must not be less"),
                                (("MOE", "--size", "3"), "each rank needs a token"), (("MOE", "--size", "40000"), "at most 32768"),
                                (("EP",), "a kernel is wanted"), (("LU", "--size", "many"), "--size"),
                                (("LU", "SP"), "one kernel at a time"), (("LU", "--deep"), "--deep")):
            with self.subTest(arguments=arguments):
                job = self.run_job("npb_kernel", *arguments, helper=False)
                self.assertNotEqual(job.status, 0)
                self.assertIn("npb_kernel: ", job.stderr)
                self.assertIn(told, job.stderr)


class OpenMpi(Both, HelperTest):
    """And a program in Python by a library of Debian."""

    def spectrum(self, **keywords):
        if subprocess.run([PYTHON, "-c", "import mpi4py_fft"], capture_output=True, check=False).returncode:
            self.skipTest("there is no mpi4py-fft: tests/lib/install-packages packages-bench.txt")
        return self.run_job(PYTHON, str(SPECTRUM), "--size", "16", "--iterations", str(ITERATIONS), "--warmup", str(WARMUP),
                            ranks=4, **keywords)

    def test_a_field_by_mpi4py_fft_is_that_of_one_process(self):
        self.assert_right("mpi4py-fft", self.spectrum(helper=False))
        with self.daemon() as daemon:
            self.assert_right("mpi4py-fft", self.spectrum())
        self.assertIn("enter", daemon.connections[0].operations())

    def test_a_wrong_message_to_mpi4py_fft_is_noticed(self):
        job = self.spectrum(helper=False, preload=["tests/wrong_message.so"])
        self.assertNotEqual(job.status, 0)
        self.assertIn('"verified": false', job.stdout)


class Mpich(Both, HelperTest):
    """Under which the kernels compute the same."""

    library = "mpich"


if __name__ == "__main__":
    main()
