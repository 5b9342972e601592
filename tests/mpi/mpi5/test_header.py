# SPDX-License-Identifier: Apache-2.0
"""mpi-glue/standard_abi/mpi.h, which the helper is built with, says what the headers of the MPI libraries
with that ABI say: the same values, the same prototypes, the same status.

Needs HW_WRITTEN, the folder of abi_functions.h, and HW_MPI_HEADERS, folders with a mpi.h, as
tests/mpi/mpi5/inside sets them.
"""
import os
import pathlib
import re
import subprocess
import unittest

OURS = pathlib.Path(__file__).resolve().parents[3] / "mpi-glue/standard_abi/mpi.h"


def comparison():
    """Returns a C file that compiles only where mpi.h agrees."""
    text = OURS.read_text(encoding="utf-8")
    constants = re.findall(r"^#define (MPI_\w+)\s+(\S.*)$", text, re.MULTILINE)
    constants += re.findall(r"^\t(MPI_\w+) = (-?\d+),$", text, re.MULTILINE)
    status = re.search(r"^typedef struct (\{.*?\}) MPI_Status;", text, re.MULTILINE | re.DOTALL).group(1)
    prototypes = re.findall(r"^int PMPI_\w+\(.*?\);", text, re.MULTILINE | re.DOTALL)
    written = (pathlib.Path(os.environ["HW_WRITTEN"]) / "abi_functions.h").read_text(encoding="utf-8")
    assert min(len(constants), len(prototypes), written.count("\n")) > 30, "the header is not understood"
    asserted = ["sizeof(struct status) == sizeof(MPI_Status)"]
    asserted += [f"offsetof(struct status, {field}) == offsetof(MPI_Status, {field})"
                 for field in ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR")]
    asserted += [f"sizeof({name}) == 8" for name in ("MPI_Aint", "MPI_Offset", "MPI_Count", "MPI_Comm", "MPI_Datatype")]
    asserted += [f"(intptr_t){name} == (intptr_t){value}" for name, value in constants]
    return "\n".join(["#include <mpi.h>", "#include <stddef.h>", "#include <stdint.h>", f"struct status {status};",
                      *(f'_Static_assert({words}, "{words}");' for words in asserted), *prototypes, written])


class Header(unittest.TestCase):
    def test_agrees_with_the_libraries(self):
        folders = os.environ["HW_MPI_HEADERS"].split(":")
        self.assertEqual(len(folders), 2)
        for folder in folders:
            done = subprocess.run(["gcc", f"-I{folder}", "-Werror", "-Wno-deprecated-declarations", "-xc", "-c", "-",
                                   "-o", "/dev/null"], input=comparison(), text=True, capture_output=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), folder)
