# SPDX-License-Identifier: Apache-2.0
"""Lists what a file of the bundle asks the dynamic linker for, and what of that it may not."""
import re
import subprocess

OLDEST_GLIBC = (2, 31)
OF_LIBC = {"libc.so.6", "libpthread.so.0", "libdl.so.2", "libm.so.6", "ld-linux-x86-64.so.2"}
# Helpers have it beside them: exceptions that a program's error handler throws pass through them.
LIBGCC = "libgcc_s.so.1"
MPI_FUNCTION = re.compile(r"P?MPIX?_\w+")


def said(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", said("readelf", "-dW", path))


def versions(path):
    """(library, version) of each that is needed, whether a symbol has it or not."""
    found, library, is_needed = [], None, False
    for line in said("readelf", "-VW", path).splitlines():
        if line.startswith("Version "):
            is_needed = line.startswith("Version needs")
        elif is_needed and (match := re.search(r"File: (\S+)", line)):
            library = match[1]
        elif is_needed and (match := re.search(r"Name: (\S+)", line)):
            found.append((library, match[1]))
    return found


def undefined(path):
    """(type, name, version) of each symbol that others have to define; type w: it may lack."""
    lines = said("nm", "-D", "--undefined-only", "--format=posix", path).splitlines()
    return [(line.split()[1], *line.split()[0].partition("@")[::2]) for line in lines]


def is_old(library, version):
    number = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
    if number:
        return (int(number[1]), int(number[2])) <= OLDEST_GLIBC
    return library == LIBGCC and version.startswith("GCC_")


def faults(path, is_helper):
    """Sentences; none: it runs wherever the bundle is to run."""
    libraries = OF_LIBC | {LIBGCC} if is_helper else OF_LIBC
    found = [f"it needs {library}" for library in needed(path) if library not in libraries]
    symbols = undefined(path)
    for library, version in versions(path):
        if library not in libraries or not is_old(library, version):
            who = [name for _, name, of in symbols if of.lstrip("@") == version]
            what = ", ".join(who) or "the whole file"
            found.append(f"it needs {version} of {library} for {what}")
    for kind, name, version in symbols:
        if kind == "U" and not version and not (is_helper and MPI_FUNCTION.fullmatch(name)):
            found.append(f"no library of a known version has {name}")
    return found
