#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes what follows from the table of wrapped MPI functions, functions.def.

  generate_wrappers.py TABLE DIRECTORY

into DIRECTORY, for the helper libraries of every MPI library:
  real.hpp       real::NAME(...): the MPI library's own function
  wrappers.cpp   what runs, where there is pacing, when the program calls MPI_NAME or
                 PMPI_NAME, and headway_wrapper_of(), which finds it by name
  recording.cpp  the same where there is recording
  abi_functions.h  the prototypes, for standard_abi/mpi.h
and for libheadway-mpi.so:
  functions.inc    HEADWAY_FUNCTION(INDEX, NAME, KIND) for each function that it shows
  headway-mpi.map  the linker's list of these
"""

import os
import re
import sys

BANNER = "// SPDX-License-Identifier: MIT\n// Written by generate_wrappers.py from functions.def.\n"
BANNER_C = "/* SPDX-License-Identifier: MIT */\n/* Written by generate_wrappers.py from functions.def. */\n"


class Argument:
    """One argument."""

    def __init__(self, text):
        if text == "...":
            self.type, self.name = "...", ""
        else:
            self.type, self.name = re.fullmatch(r"(.*?[ *])(\w+)", text).groups()

    def __str__(self):
        return self.type + self.name


class Function:
    """One function as a program calls it."""

    def __init__(self, kind, operation, name, arguments):
        self.kind = kind
        self.operation = operation  # the name in the table
        self.name = name
        self.arguments = arguments

    def parameters(self):
        return ", ".join(map(str, self.arguments))

    def passed(self, without=()):
        return ", ".join(argument.name for argument in self.arguments
                         if argument.name and argument.name not in without)

    @property
    def symbol(self):
        return "MPI_" + self.name


def table_lines(path):
    with open(path, encoding="utf-8") as file:
        text = file.read().replace("\\\n", " ")
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            yield re.fullmatch(r"(\S+) (\w+)\((.*)\)\s*", line).groups()


def functions(path):
    """Every function of the table, collectives in both forms."""
    for kinds, name, text in table_lines(path):
        kinds = set(kinds.split("+"))
        arguments = [Argument(part.strip()) for part in text.split(",")]
        yield Function(kinds, name, name, arguments)
        if "collective" in kinds:
            yield Function((kinds - {"own", "ring"}) | {"nonblocking"}, name, "I" + name.lower(),
                           arguments + [Argument("MPI_Request *request")])


def real(function):
    """A call that goes past every wrapper; see next_function.hpp."""
    twin = "P" + function.symbol
    pointer = f"decltype(&::{twin})"
    return (f"inline int {function.name}({function.parameters()}) {{\n"
            f"    static const auto next = next_function<{pointer}>(\"{twin}\");\n"
            f"    return next({function.passed()});\n}}\n")


def arguments_of(function):
    """The arguments that our algorithm takes, of an operation that it may carry out."""
    described = function.passed(("request",))
    operation = function.operation.lower()
    if "ring" in function.kind:
        return f"ring::{operation}({described})"
    return f"rooted::{operation}({described})" if "rooted" in function.kind else f"make_exchange({described})"


def collective_body(function):
    root = "root" if "rooted" in function.kind else "no_root"
    operation = function.operation.lower()
    call = f"real::{function.name}({function.passed()})"
    native = f"[&] {{ return {call}; }}"
    what = f"{{Operation::{operation}, {root}}}"
    size = f"[=] {{ return call_sizes::{operation}({function.passed(('request',))}); }}"
    # One of MPI_Alltoall's arguments, see by_hand.hpp.
    first = ["by_hand::settle_in_place(sendbuf, sendcount, sendtype, recvcount, recvtype);"] \
        if function.name == "Alltoall" else []
    if function.kind & {"own", "ring"}:
        carry_out = "blocking_by_ring" if "ring" in function.kind else "blocking"
        first += [f"if (is_left_alone(Operation::{operation}, comm, {size}))",
                  f"    return ended({call}, Operation::{operation}, comm, [=] {{ return {arguments_of(function)}; }});"]
        last = f"return {carry_out}(call, {arguments_of(function)}, {native});"
    else:
        first.append(f"if (is_left_alone(Operation::{operation}, comm)) return {call};")
        last = f"return nonblocking(call, request, {native});" if "nonblocking" in function.kind \
            else f"return blocking(call, {native});"
    return first + [
        "const auto look_at = [=]() __attribute__((noinline)) {",
        f"    const auto size = {size};",
        f"    const CollectiveCall call{{{what}, comm, size}};",
        f"    {last}",
        "};",
        "return look_at();"]


def body(function):
    if "collective" in function.kind:
        return collective_body(function)
    call = f"real::{function.name}({function.passed()})"
    if "completes" in function.kind:
        handles = ", ".join(argument.name for argument in function.arguments
                            if argument.name in ("request", "count", "requests"))
        return [f"return completing(handles_of({handles}), [&] {{ return {call}; }});"]
    return [f"return by_hand::{function.name}({function.passed()});"]


def recording_body(function):
    call = f"real::{function.name}({function.passed()})"
    outermost = ["const CallDepth depth;", f"if (!depth.is_outermost()) return {call};"]
    if "send" in function.kind:
        return outermost + ["recorder().sent(comm, dest, count, datatype);", f"return {call};"]
    if "send_init" in function.kind:
        return outermost + [f"const int status = {call};",
                "if (status == MPI_SUCCESS) recorder().prepared(*request, comm, dest, count, datatype);",
                "return status;"]
    if "uncounted" in function.kind:
        return outermost + ["recorder().leave_out();", f"return {call};"]
    if "collective" not in function.kind:
        return [f"return by_hand::{function.name}({function.passed()});"]
    operation = function.operation.lower()
    described = function.passed(("request",))
    lines = outermost + ["const auto messages = [&](const MessageSink& sink) {",
             f"    call_messages::{operation}({described}, sink);",
             "};"]
    return lines + [f"recorder().collective(Operation::{operation}, comm, messages);", f"return {call};"]


def is_paced(function):
    return bool(function.kind & {"collective", "completes", "by_hand"})


def is_recorded(function):
    return bool(function.kind & {"collective", "send", "send_init", "uncounted", "recorded"})


def wrapper(function, lines):
    """Its type is compared with that of mpi.h."""
    text = "".join(f"    {line}\n" for line in lines)
    return (f"int {function.name}({function.parameters()}) {{\n{text}}}\n"
            f"static_assert(std::is_same_v<decltype(&{function.name}), "
            f"decltype(&::{function.symbol})>);\n")


def lookup(every):
    """headway_wrapper_of(), see preload.h."""
    lines = "".join(f"    {{\"{function.symbol}\", reinterpret_cast<headway_function*>("
                    f"wrapped::{function.name})}},\n" for function in every)
    return ("const Wrapper wrappers[] = {\n" + lines + "};\n\n"
            "}  // namespace\n\n"
            "extern \"C\" HEADWAY_EXPORT headway_function* headway_wrapper_of(const char* name,\n"
            "                                                               headway_find* find) {\n"
            "    find_functions_by(find);\n"
            "    return wrapper_among(wrappers, name);\n}\n")


def shown(path):
    """(name, kind) of what programs may call."""
    for function in functions(path):
        yield function.symbol, "program_call"
        yield "P" + function.symbol, "profiling_call"


def write_preload(table, directory):
    every = list(shown(table))
    write(directory, "functions.inc", BANNER_C + "".join(
        f"HEADWAY_FUNCTION({index}, {name}, {kind})\n" for index, (name, kind) in enumerate(every)))
    write(directory, "headway-mpi.map", BANNER_C + "{\n  global:\n" +
          "".join(f"    {name};\n" for name, _ in every) + "  local:\n    *;\n};\n")


def write_helper(table, directory):
    every = list(functions(table))
    write(directory, "abi_functions.h", BANNER_C + "".join(
        f"int {prefix}{function.symbol}({function.parameters()});\n" for function in every for prefix in ("", "P")))
    write(directory, "real.hpp", BANNER + "#pragma once\n\n#include \"mpi_library.hpp\"\n"
          "#include \"next_function.hpp\"\n\nnamespace headway::glue::real {\n\n" +
          "\n".join(map(real, every)) + "\n}  // namespace headway::glue::real\n")
    for name, header, are_wrapped, its_body in (
            ("wrappers.cpp", "wrapper_parts.hpp", is_paced, body),
            ("recording.cpp", "record/record_wrappers.hpp", is_recorded, recording_body)):
        wrapped = list(filter(are_wrapped, every))
        write(directory, name, BANNER + f"#include \"next_function.hpp\"\n#include \"{header}\"\n\n"
              "using namespace headway::glue;\n\nnamespace {\nnamespace wrapped {\n\n" +
              "\n".join(wrapper(function, its_body(function)) for function in wrapped) +
              "\n}  // namespace wrapped\n\n" + lookup(wrapped))


def write(directory, name, text):
    """Leaves a file alone that is right already, and so what depends on it."""
    path = os.path.join(directory, name)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    write_preload(*sys.argv[1:])
    write_helper(*sys.argv[1:])


if __name__ == "__main__":
    main()
