"""Generates the wrappers of the MPI functions in functions/ that the mpi.h at hand declares.

generate.py OUTPUT COMPILER [COMPILER_OPTION]...

Needs Python 3.9 and nothing else.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import trace_fields
from function_table import Function, declared_in_header, read_tables
from operands import Binding, FortranBinding, count_bytes, count_peers, exchanged_bytes, peer

# MPI_Init has no parameters in Fortran, MPI_Init_thread two fewer.
_NOT_IN_FORTRAN = {"MPI_Init": ("argc", "argv"), "MPI_Init_thread": ("argc", "argv")}
# Before functions of this group a rank waits for the others, where --waiting asks for it.
_GROUP_THAT_WAITS = "collective"
_EXPORT = '__attribute__((visibility("default")))'


@dataclass(frozen=True)
class Argument:
    type: str
    name: str

    @property
    def declaration(self) -> str:
        if "(*)" in self.type:
            return self.type.replace("(*)", f"(*{self.name})")
        return f"{self.type} {self.name}"


@dataclass(frozen=True)
class Wrapper:
    """A function that the library defines in place of MPI's."""

    number: int  # of the function
    function: Function
    binding: Binding
    name: str  # in C++
    symbols: list[str]  # which the program calls
    next: list[str]  # symbols of the function in the MPI library, the first that exists is called
    result: str
    arguments: list[Argument]
    error: str  # expression that tells whether the call succeeded

    def definition(self) -> str:
        """The symbol is not the C++ name: so small differences between headers do not matter."""
        declared = ", ".join(argument.declaration for argument in self.arguments)
        first, *others = self.symbols
        head = f"{self.result} {self.name}({declared})"
        body = "\n".join(f"  {line}" for line in self._body())
        text = f'{_EXPORT} {head} __asm__("{first}");\n{head} {{\n{body}\n}}\n'
        for number, symbol in enumerate(others):
            text += (
                f"{_EXPORT} {self.result} {self.name}_{number}({declared}) "
                f'__asm__("{symbol}") __attribute__((alias("{first}")));\n'
            )
        return text

    def _body(self) -> list[str]:
        types = ", ".join(argument.type for argument in self.arguments)
        values = ", ".join(argument.name for argument in self.arguments)
        names = ", ".join(f'"{name}"' for name in self.next)
        returns = self.result != "void"
        return [
            f"using Next = {self.result} (*)({types});",
            "static std::atomic<void*> cached = nullptr;",
            "void* symbol = cached.load(std::memory_order_relaxed);",
            "if (symbol == nullptr) {",
            f"  constexpr const char* names[] = {{{names}, nullptr}};",
            "  cached.store(symbol = find_or_exit(names), std::memory_order_relaxed);",
            "}",
            "const auto next = reinterpret_cast<Next>(symbol);",
            f"Call call({self.number}, __builtin_return_address(0));",
            f"if (!call.is_counted()) return next({values});",
            *self._before(),
            *self._recording(),
            "call.begin();",
            *self._waiting(),
            f"{'const auto return_value = ' if returns else ''}next({values});",
            "call.end();",
            *self._after(),
            f"return{' return_value' if returns else ''};",
        ]

    def _before(self) -> list[str]:
        roles, binding = self.function.roles, self.binding
        lines = []
        if "before" in roles:
            lines.append(f"hook::{roles['before']}();")
        if "completes" in roles:
            number = binding.value(roles["number"]) if "number" in roles else "1"
            requests = binding.handle(roles["completes"])
            waits = f"Call::measures_waiting() && is_any_active({requests}, {number})"
            lines.append(f"const bool waits = {waits};")
        if "frees" in roles:
            request = f"request_at({binding.handle(roles['frees'])}, 0)"
            lines.append(f"profile.requests.forget({request});")
        return lines

    def _waiting(self) -> list[str]:
        roles, binding = self.function.roles, self.binding
        if self.function.group == _GROUP_THAT_WAITS:
            wait = "wait_for_ranks_of("
        elif "sender_of" in roles:
            wait = "".join(f"{binding.value(name)}, " for name in roles["sender_of"].split(","))
            wait = f"wait_for_message({wait}"
        else:
            return []
        communicator = f"communicator_of({binding.handle(roles['comm'])})"
        return [f"if (Call::measures_waiting()) call.{wait}{communicator});"]

    def _after(self) -> list[str]:
        lines = []
        counting = count(self.function, self.binding)
        if counting:
            lines.append(f"if (Call::can_query_mpi() && succeeded({self.error})) {{")
            lines += [f"  {line}" for line in counting]
            lines.append("}")
        lines += self._recorded()
        if "after" in self.function.roles:
            lines.append(f"hook::{self.function.roles['after']}();")
        return lines

    @property
    def _is_traced(self) -> bool:
        return trace_fields.is_recorded(self.function) or trace_fields.is_opaque(self.function)

    def _recording(self) -> list[str]:
        if not self._is_traced:
            return []
        return [
            f"Recording recording({self.number});",
            "if (recording.is_on()) {",
            *(f"  {line}" for line in trace_fields.before(self.function, self.binding)),
            "}",
            *(trace_fields.own_statuses(self.function) if self.result == "int" else []),
        ]

    def _recorded(self) -> list[str]:
        if not self._is_traced:
            return []
        return [
            f"if (recording.is_on() && succeeded({self.error})) {{",
            *(f"  {line}" for line in trace_fields.after(self.function, self.binding)),
            "  recording.append(call.end_ticks(), call.ticks());",
            "}",
        ]


def count(function: Function, binding: Binding) -> list[str]:
    """The statements that count what a successful call did."""
    roles = function.roles
    lines = []
    if "comm" in roles:
        communicator = f"communicator_of({binding.handle(roles['comm'])})"
        lines.append(f"const MPI_Comm communicator = {communicator};")
        lines.append("call.count_communicator(communicator);")
    if "bytes" in roles:
        lines.append(f"const std::uint64_t bytes = {count_bytes(roles, binding)};")
    if "buffer" in roles:
        buffer = roles["buffer"]
        if "in_place_buffer" in roles:
            buffer = f"is_in_place({buffer}) ? {roles['in_place_buffer']} : {buffer}"
        lines.append(f"call.count_buffer({buffer});")
    if "persistent" in roles:
        request = f"request_at({binding.handle(roles['persistent'])}, 0)"
        lines.append(f"profile.requests.remember({request}, {{bytes, {peer(roles, binding)}}});")
    elif "bytes" in roles:
        lines.append("call.count_bytes(bytes);")
        lines += count_peers(roles, binding)
    exchanged = exchanged_bytes(roles, binding)
    if "late" in roles:
        late = f"call.count_late_{roles['late']}({'' if roles['late'] == 'sender' else exchanged});"
        lines.append(f"if (Call::measures_waiting()) {late}")
    if function.starts_request:
        lines.append(f"if (Call::measures_waiting()) call.note_start({exchanged});")
    if "starts" in roles:
        number = binding.value(roles["number"]) if "number" in roles else "1"
        lines.append(f"count_starts(call, {binding.handle(roles['starts'])}, {number});")
    if "completes" in roles:
        lines.append("if (waits) call.count_late_exchange();")
    if "completed" in roles:
        completed = binding.value(roles["completed"])
        lines.append(f"if (Call::measures_waiting() && {completed} != 0) call.note_completion();")
    return lines


def c_wrapper(number: int, function: Function) -> Wrapper:
    name = function.name
    return Wrapper(
        number,
        function,
        Binding(),
        name=f"c_{name}",
        symbols=[name],
        next=[f"P{name}", name],
        result=function.result,
        arguments=[Argument(own.type, own.name) for own in function.parameters],
        error="return_value",
    )


def mpif_wrapper(number: int, function: Function) -> Wrapper:
    """Of mpif.h and the module mpi, with each way in which compilers mangle names."""
    lower, upper = function.name.lower(), function.name.upper()
    symbols = [f"{lower}_", f"{lower}__", lower, upper]
    return _fortran_wrapper(
        number, function, "mpif", symbols, [f"p{lower}_", f"p{lower}__", f"p{lower}", f"P{upper}"]
    )


def mpi_f08_wrapper(number: int, function: Function) -> Wrapper:
    lower = function.name.lower()
    pmpir = lower.replace("mpi_", "pmpir_", 1)  # MPICH's
    return _fortran_wrapper(
        number, function, "mpi_f08", [f"{lower}_f08_"], [f"p{lower}_f08_", f"{pmpir}_f08_"]
    )


def _fortran_wrapper(
    number: int, function: Function, kind: str, symbols: list[str], next_symbols: list[str]
) -> Wrapper:
    """All arguments are addresses. The lengths of strings come last, by value."""
    is_subroutine = function.result == "int"
    omitted = _NOT_IN_FORTRAN.get(function.name, ())
    parameters = [own for own in function.parameters if own.name not in omitted]
    names = [own.name for own in parameters] + ["error"] * is_subroutine
    lengths = [f"length_of_{own.name}" for own in parameters if own.is_string]
    return Wrapper(
        number,
        function,
        FortranBinding(),
        name=f"{kind}_{function.name}",
        symbols=symbols,
        next=[*next_symbols, *symbols],  # a library without PMPI has the function itself
        result="void" if is_subroutine else function.result,
        arguments=[
            *(Argument("void*", name) for name in names),
            *(Argument("std::size_t", length) for length in lengths),
        ],
        error="error",
    )


def generate(functions: list[Function], declared: set[str]) -> str:
    present = [
        (number, function) for number, function in enumerate(functions) if function.name in declared
    ]
    # Large counts are overloads in mpi_f08, with symbols of their own.
    in_fortran = [own for own in present if not own[1].name.endswith("_c")]
    rows = "\n".join(
        f'    {{"{own.name}", "{own.group}", "{trace_fields.letters(own)}"}},' for own in functions
    )
    parts = [
        "// Generated by generate.py from functions/.",
        '#include "trace/recording.hpp"\n',
        "namespace commlens::profile {",
        f"constinit const Function functions[] = {{\n{rows}\n}};",
        f"constinit const int function_count = {len(functions)};",
        f"static_assert({len(functions)} <= max_functions);",
        'extern "C" {\n',
        *(c_wrapper(*own).definition() for own in present),
        "// Open MPI's Fortran library calls PMPI functions, which the wrappers for C do not see.",
        "// MPICH's calls MPI functions, except those of mpi_f08 that have no buffers.",
        "#if defined(OPEN_MPI)",
        *(mpif_wrapper(*own).definition() for own in in_fortran),
        "#endif",
        *(mpi_f08_wrapper(*own).definition() for own in in_fortran),
        '}  // extern "C"',
        "}  // namespace commlens::profile",
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    output, *compiler = sys.argv[1:]
    functions = read_tables(Path(__file__).resolve().parent / "functions")
    Path(output).write_text(generate(functions, declared_in_header(compiler)), encoding="utf-8")


if __name__ == "__main__":
    main()
