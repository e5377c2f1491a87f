"""Generates the wrappers of the MPI functions in functions/ that the mpi.h at hand declares.

generate.py OUTPUT COMPILER [COMPILER_OPTION]...

Needs Python 3.9 and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "preload"))

import trace_fields
from bindings import (
    Signature,
    c_signature,
    in_all_languages,
    mpi_f08_signature,
    mpif_signature,
)
from function_table import Function, declared_in_header, read_tables
from operands import Binding, count_bytes, count_peers, exchanged_bytes, peer

# Before functions of this group a rank waits for the others, where --waiting asks for it.
_GROUP_THAT_WAITS = "collective"


@dataclass(frozen=True)
class Wrapper:
    """A function that the library defines in place of MPI's."""

    number: int  # of the function
    signature: Signature

    @property
    def function(self) -> Function:
        return self.signature.function

    @property
    def binding(self) -> Binding:
        return self.signature.binding

    @property
    def error(self) -> str:
        return self.signature.error

    def definition(self) -> str:
        return self.signature.definition(self._body())

    def _body(self) -> list[str]:
        values, returns = self.signature.values, self.signature.returns
        return [
            *self.signature.find_next(),
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
            *(trace_fields.own_statuses(self.function) if self.signature.result == "int" else []),
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


def wrappers(
    functions: list[tuple[int, Function]], signature: Callable[[Function], Signature]
) -> list[str]:
    return [Wrapper(number, signature(own)).definition() for number, own in functions]


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
        *in_all_languages(
            wrappers(present, c_signature),
            wrappers(in_fortran, mpif_signature),
            wrappers(in_fortran, mpi_f08_signature),
        ),
        "}  // namespace commlens::profile",
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    output, *compiler = sys.argv[1:]
    functions = read_tables(Path(__file__).resolve().parent / "functions")
    Path(output).write_text(generate(functions, declared_in_header(compiler)), encoding="utf-8")


if __name__ == "__main__":
    main()
