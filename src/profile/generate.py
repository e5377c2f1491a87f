"""Makes the wrappers from functions.txt, for the functions that the mpi.h at hand declares. Python 3.8 is enough.

generate.py FUNCTIONS OUTPUT COMPILER [COMPILER'S OPTIONS]...
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

_LINE = re.compile(r"(?:(?P<result>\w+) )?(?P<name>MPI_\w+)\((?P<parameters>.*?)\)(?: \| (?P<roles>.*))?$")
_PARAMETER = re.compile(r"(?P<type>.*?)(?P<name>\w+)(?P<array>(?:\[\d*\])*)$")
_AMOUNT = re.compile(r"(?P<kind>\w+)\((?P<count>\w+),(?P<type>\w+)(?:,(?P<extent>\w+))?\)$")

# MPI_Init has no parameters in Fortran, MPI_Init_thread two fewer.
_NOT_IN_FORTRAN = {"MPI_Init": ("argc", "argv"), "MPI_Init_thread": ("argc", "argv")}
# Before functions of this group a rank may wait for the others, where that is asked for.
_WAITS = "collective"


@dataclass(frozen=True)
class Parameter:
    type: str  # as in C, without the name; an array as a pointer
    name: str

    @property
    def is_text(self) -> bool:
        return self.type.replace("const ", "").startswith("char")


@dataclass(frozen=True)
class Function:
    number: int
    name: str
    group: str
    result: str
    parameters: tuple[Parameter, ...]
    roles: dict[str, str] = field(default_factory=dict)

    def type_of(self, name: str) -> str:
        return next(parameter.type for parameter in self.parameters if parameter.name == name)


def read_table(text: str) -> list[Function]:
    functions: list[Function] = []
    group = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("["):
            group = line.strip("[]")
        elif line and not line.startswith("#"):
            match = _LINE.match(line)
            if match is None:
                raise SystemExit(f"functions.txt:{number}: not a function: {line}")
            parameters = tuple(_parameter(part) for part in match["parameters"].split(",") if part)
            roles = dict(role.split("=", 1) for role in (match["roles"] or "").split())
            functions.append(
                Function(len(functions), match["name"], group, match["result"] or "int", parameters, roles)
            )
    return functions


def _parameter(text: str) -> Parameter:
    match = _PARAMETER.match(text.strip())
    assert match is not None, text
    kind = match["type"].strip()
    dimensions = re.findall(r"\[\d*\]", match["array"])
    if len(dimensions) == 2:
        return Parameter(f"{kind} (*){dimensions[1]}", match["name"])
    return Parameter(f"{kind} *" if dimensions else kind, match["name"])


def declared_in_header(compiler: list[str]) -> set[str]:
    command = [*compiler, "-E", "-x", "c", "-"]
    header = subprocess.run(command, input="#include <mpi.h>\n", capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\b(MPI_\w+)\s*\(", header))


# ---- what a wrapper notes ----


class Binding:
    """How a wrapper names its parameters' values; in C they are what they are."""

    def value(self, name: str) -> str:
        return name

    def counts(self, name: str) -> str:
        return name

    def handle(self, name: str) -> str:
        return name


class FortranBinding(Binding):
    """All is passed by address."""

    def value(self, name: str) -> str:
        return f"*static_cast<const MPI_Fint*>({name})"

    def counts(self, name: str) -> str:
        return f"static_cast<const MPI_Fint*>({name})"

    def handle(self, name: str) -> str:
        return f"FortranHandles{{{name}}}"


def amount(text: str, binding: Binding) -> str:
    if text == "nothing":
        return "0"
    match = _AMOUNT.match(text)
    assert match is not None, text
    kind = match["kind"]
    count = match["count"]
    if kind in ("sum", "sums", "own"):
        count = binding.counts(count)
    elif not count.isdigit():
        count = binding.value(count)
    arguments = [count, binding.handle(match["type"])]
    if kind == "own":
        arguments.append("communicator")
    if match["extent"]:
        arguments.append(f"amount::{match['extent']}(communicator)")
    return f"amount::{kind}({', '.join(arguments)})"


def share_of(text: str, binding: Binding) -> str:
    """Of each(), sum() or sums(): what goes to the rank `index`."""
    match = _AMOUNT.match(text)
    assert match is not None, text
    kind, count, datatype = match["kind"], match["count"], binding.handle(match["type"])
    if kind == "sums":
        datatype = f"datatype_at({datatype}, index)"
    return f"amount::one({binding.value(count) if kind == 'each' else f'{binding.counts(count)}[index]'}, {datatype})"


def notes(function: Function, binding: Binding) -> list[str]:
    """The statements that note what a call that succeeded did."""
    roles = function.roles
    lines = []
    if "comm" in roles:
        lines.append(f"const MPI_Comm communicator = communicator_of({binding.handle(roles['comm'])});")
        lines.append("call.note_communicator(communicator);")
    if "bytes" in roles:
        lines.append(f"const std::uint64_t bytes = {bytes_of(roles, binding)};")
    if "buffer" in roles:
        buffer = roles["buffer"]
        if "instead" in roles:
            buffer = f"is_in_place({buffer}) ? {roles['instead']} : {buffer}"
        lines.append(f"call.note_buffer({buffer});")
    if "persistent" in roles:
        request = f"request_at({binding.handle(roles['persistent'])}, 0)"
        lines.append(f"profile.requests.remember({request}, {{bytes, {peer(roles, binding)}}});")
    elif "bytes" in roles:
        lines.append("call.note_bytes(bytes);")
        if "peer" in roles:
            lines.append(f"Call::note_peer({peer(roles, binding)}, bytes);")
        elif "peers" in roles["bytes"]:
            share = share_of(roles["bytes"], binding)
            if "in_place" in roles:
                share = f"is_in_place({roles['buffer']}) ? {share_of(roles['in_place'], binding)} : {share}"
            lines.append(f"note_each_peer(communicator, [&]([[maybe_unused]] int index) {{ return {share}; }});")
    if "starts" in roles:
        number = binding.value(roles["number"]) if "number" in roles else "1"
        lines.append(f"note_starts(call, {binding.handle(roles['starts'])}, {number});")
    return lines


def bytes_of(roles: dict[str, str], binding: Binding) -> str:
    text = amount(roles["bytes"], binding)
    if "in_place" in roles:
        text = f"is_in_place({roles['buffer']}) ? {amount(roles['in_place'], binding)} : {text}"
    if "root" in roles:
        text = f"{binding.value(roles['root'])} < 0 ? 0 : {text}"
    for role in ("sender", "peer"):
        if role in roles:
            text = f"{binding.value(roles[role])} == MPI_PROC_NULL ? 0 : {text}"
    return text


def peer(roles: dict[str, str], binding: Binding) -> str:
    if "peer" not in roles:
        return "Peers::nobody"
    rank = binding.value(roles["peer"])
    if "window" in roles:
        return f"profile.peers.of_window(window_of({binding.handle(roles['window'])}), {rank})"
    return f"profile.peers.of(communicator, {rank})"


def body(function: Function, binding: Binding, real: list[str], arguments: list[tuple[str, str]], error: str) -> str:
    """`real` are the names of the function below: those of PMPI, and the function's own for a library that lacks these.
    `error` is what tells whether the call succeeded: the C function's result, or Fortran's ierror."""
    types = ", ".join(kind for kind, _ in arguments)
    values = ", ".join(name for _, name in arguments)
    result = "" if function.result == "void" else "const auto answer = "
    returned = "" if function.result == "void" else " answer"
    roles = function.roles
    names = ", ".join(f'"{name}"' for name in real)
    lines = [
        f"using Real = {function.result} (*)({types});",
        "static std::atomic<void*> below = nullptr;",
        "void* found = below.load(std::memory_order_relaxed);",
        "if (found == nullptr) {",
        f"  constexpr const char* names[] = {{{names}, nullptr}};",
        "  below.store(found = find_or_abort(names), std::memory_order_relaxed);",
        "}",
        "const auto real = reinterpret_cast<Real>(found);",
        f"Call call({function.number}, __builtin_return_address(0));",
        f"if (!call.is_counted()) return real({values});",
    ]
    if "before" in roles:
        lines.append(f"hook::{roles['before']}();")
    if "forgets" in roles:
        lines.append(f"profile.requests.forget(request_at({binding.handle(roles['forgets'])}, 0));")
    if function.group == _WAITS:
        waiting = f"call.wait_for_others(communicator_of({binding.handle(roles['comm'])}));"
        lines.append(f"if (Call::waits()) {waiting}")
    lines += ["call.begin();", f"{result}real({values});", "call.end();"]
    noted = notes(function, binding)
    if noted:
        lines.append(f"if (Call::is_open() && succeeded({error})) {{")
        lines += [f"  {line}" for line in noted]
        lines.append("}")
    if "after" in roles:
        lines.append(f"hook::{roles['after']}();")
    lines.append(f"return{returned};")
    return "\n".join(f"  {line}" for line in lines)


# ---- the wrappers ----

_EXPORT = '__attribute__((visibility("default")))'


def c_wrapper(function: Function) -> str:
    """The symbol is given apart from the C++ name, so that small differences between headers cannot matter."""
    declared = ", ".join(_declaration(parameter) for parameter in function.parameters)
    head = f"{function.result} c_{function.name}({declared})"
    arguments = [(parameter.type, parameter.name) for parameter in function.parameters]
    content = body(function, Binding(), [f"P{function.name}", function.name], arguments, "answer")
    return f'{_EXPORT} {head} __asm__("{function.name}");\n{head} {{\n{content}\n}}\n'


def _declaration(parameter: Parameter) -> str:
    if "(*)" in parameter.type:
        return parameter.type.replace("(*)", f"(*{parameter.name})")
    return f"{parameter.type} {parameter.name}"


def fortran_wrapper(function: Function, symbols: list[str], real: list[str], kind: str) -> str:
    """All arguments are addresses, whatever they are of; the lengths of texts come last, by value."""
    is_subroutine = function.result == "int"
    left_out = _NOT_IN_FORTRAN.get(function.name, ())
    parameters = [parameter for parameter in function.parameters if parameter.name not in left_out]
    arguments = [("void*", parameter.name) for parameter in parameters]
    if is_subroutine:
        arguments.append(("void*", "error"))
    arguments += [("std::size_t", f"length_of_{parameter.name}") for parameter in parameters if parameter.is_text]
    result = "void" if is_subroutine else function.result
    returning = Function(function.number, function.name, function.group, result, function.parameters, function.roles)
    declared = ", ".join(f"{type_} {name}" for type_, name in arguments)
    content = body(returning, FortranBinding(), [*real, *symbols], arguments, "error")
    first, *others = symbols
    own = f"{kind}_{function.name}"
    text = f'{_EXPORT} {result} {own}({declared}) __asm__("{first}");\n{result} {own}({declared}) {{\n{content}\n}}\n'
    for number, symbol in enumerate(others):
        text += (
            f'{_EXPORT} {result} {own}_{number}({declared}) __asm__("{symbol}") __attribute__((alias("{first}")));\n'
        )
    return text


def mpif_wrapper(function: Function) -> str:
    lower, upper = function.name.lower(), function.name.upper()
    symbols = [f"{lower}_", f"{lower}__", lower, upper]
    return fortran_wrapper(function, symbols, [f"p{lower}_", f"p{lower}__", f"p{lower}", f"P{upper}"], "mpif")


def mpi_f08_wrapper(function: Function) -> str:
    lower = function.name.lower()
    return fortran_wrapper(
        function, [f"{lower}_f08_"], [f"p{lower}_f08_", lower.replace("mpi_", "pmpir_", 1) + "_f08_"], "mpi_f08"
    )


def generate(functions: list[Function], declared: set[str]) -> str:
    there = [function for function in functions if function.name in declared]
    # Large counts are overloads in mpi_f08, with names of their own.
    in_fortran = [function for function in there if not function.name.endswith("_c")]
    rows = "\n".join(f'    {{"{function.name}", "{function.group}"}},' for function in functions)
    parts = [
        "// Made by generate.py from functions.txt.",
        '#include "amounts.hpp"\n',
        "namespace commlens::profile {",
        f"constinit const Function functions[] = {{\n{rows}\n}};",
        f"constinit const int function_count = {len(functions)};",
        f"static_assert({len(functions)} <= most_functions);",
        'extern "C" {\n',
        *map(c_wrapper, there),
        "// Open MPI's Fortran library calls the PMPI functions, which the wrappers for C do not see. MPICH's calls",
        "// the MPI functions, but for those of mpi_f08 that have no buffers.",
        "#if defined(OPEN_MPI)",
        *map(mpif_wrapper, in_fortran),
        "#endif",
        *map(mpi_f08_wrapper, in_fortran),
        '}  // extern "C"',
        "}  // namespace commlens::profile",
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    table, output, *compiler = sys.argv[1:]
    functions = read_table(Path(table).read_text(encoding="utf-8"))
    Path(output).write_text(generate(functions, declared_in_header(compiler)), encoding="utf-8")


if __name__ == "__main__":
    main()
