"""Generates the functions that are rerouted, and the reasons for which a call is not.

generate.py FOLDER COMPILER [COMPILER_OPTION]...

Writes names.hpp and wrappers.cpp into FOLDER. The functions are described in the tables of
src/profile/functions. Needs Python 3.9 and nothing else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "preload"))

from bindings import (  # noqa: E402
    Signature,
    c_signature,
    in_all_languages,
    mpi_f08_signature,
    mpif_signature,
)
from function_table import Function, Parameter, declared_in_header, read_tables  # noqa: E402

COLLECTIVES = (
    "Allreduce",
    "Reduce",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Bcast",
    "Allgather",
    "Allgatherv",
    "Alltoall",
    "Alltoallv",
    "Gather",
    "Scatter",
)
MESSAGES = ("Send", "Recv")  # with --functions p2p
REROUTED = (
    *(f"MPI_{name}" for name in COLLECTIVES),
    *(f"MPI_I{name[0].lower()}{name[1:]}" for name in COLLECTIVES),
    *(f"MPI_{name}" for name in MESSAGES),
)
# A function that waits for requests, and the one that looks at them once.
WAITS = {
    "MPI_Wait": "MPI_Test",
    "MPI_Waitall": "MPI_Testall",
    "MPI_Waitany": "MPI_Testany",
    "MPI_Waitsome": "MPI_Testsome",
}
TESTS = (*WAITS.values(), "MPI_Request_get_status")
HOOKS = {
    "MPI_Init": (None, "started"),
    "MPI_Init_thread": (None, "started"),
    "MPI_Finalize": ("finalizing", None),
    "MPI_Abort": ("aborting", None),
}
_HANDLES = {
    "MPI_Datatype": "datatype",
    "MPI_Op": "operation",
    "MPI_Comm": "communicator",
}


def identifier(name: str) -> str:
    return name.removeprefix("MPI_").lower()


def argument(function: Function, own: Parameter, signature: Signature) -> str:
    """The value of a parameter in C."""
    is_fortran = signature.error == "error"
    if not is_fortran:
        return f"writable({own.name})" if own.name == "buf" else own.name
    if own.type in _HANDLES:
        return f"{_HANDLES[own.type]}_of({own.name})"
    if own.type == "MPI_Request *":
        return "&request_in_c"
    if own.type.endswith("*"):
        is_buffer = own.type.replace("const ", "").startswith("void")
        if is_buffer:
            return f"address_of({own.name})"
        return f"status_of({own.name}, status_in_c)" if "Status" in own.type else own.name
    return f"*static_cast<const MPI_Fint*>({own.name})"


def rerouting(signature: Signature) -> list[str]:
    function = signature.function
    is_large = "true" if function.name.endswith("_c") else "false"
    name = identifier(function.name.removesuffix("_c"))
    lines = [
        f"if (!is_active()) return next({signature.values});",
        f"Arguments arguments{{Function::{name}, {is_large}}};",
    ]
    is_fortran = signature.error == "error"
    names = {own.name for own in function.parameters}
    if is_fortran and "request" in names:
        lines.append("MPI_Request request_in_c{};")
    if is_fortran and "status" in names:
        lines.append("MPI_Status status_in_c{};")
    for own in function.parameters:
        lines.append(f"arguments.{own.name} = {argument(function, own, signature)};")
    if not is_fortran:
        return [*signature.find_next(), *lines, "return call(arguments);"]
    lines.append("const int result = call(arguments);")
    if "request" in names:
        lines.append("if (result == MPI_SUCCESS) give_request(request, request_in_c);")
    if "status" in names:
        lines.append("give_status(status, status_in_c);")
    lines.append("give_error(error, result);")
    return [*signature.find_next(), *lines]


def passing_on(function: Function) -> str:
    """Calls MPI's function in C with these arguments."""
    values = ", ".join(
        f"static_cast<{own.type}>(arguments.{own.name})" for own in function.parameters
    )
    body = [*c_signature(function).find_next(), f"return next({values});"]
    return "\n".join(
        [
            f"int next_{function.name}(const Arguments& arguments) {{",
            *(f"  {line}" for line in body),
            "}",
        ]
    )


def waiting(signature: Signature, test: Signature) -> list[str]:
    """Rerouted requests make progress while the others are looked at."""
    values = []
    for own in test.arguments:
        is_result = own.name in ("flag", "error")
        values.append(f"&{own.name}_of_test" if is_result else own.name)
    is_fortran = signature.error == "error"
    done = "flag_of_test != 0" if "&flag_of_test" in values else "*outcount_of(outcount) != 0"
    look = f"test({', '.join(values)});"
    lines = [
        *signature.find_next(),
        "while (has_requests()) {",
        "  progress_requests();",
        *(f"  {line}" for line in test.find_next("test")),
    ]
    if "&flag_of_test" in values:
        lines.append("  int flag_of_test = 0;")
    if is_fortran:
        lines += ["  MPI_Fint error_of_test = MPI_SUCCESS;", f"  {look}"]
        lines.append(f"  if (error_of_test != MPI_SUCCESS || {done}) {{")
        lines.append("    return give_error(error, error_of_test);")
    else:
        lines.append(f"  const int error_of_test = {look}")
        lines.append(f"  if (error_of_test != MPI_SUCCESS || {done}) {{")
        lines.append("    return error_of_test;")
    return [*lines, "  }", "}", f"return next({signature.values});"]


def testing(signature: Signature) -> list[str]:
    return [
        *signature.find_next(),
        "if (has_requests()) progress_requests();",
        f"return next({signature.values});",
    ]


def hooked(signature: Signature) -> list[str]:
    before, after = HOOKS[signature.function.name]
    keep = "const auto return_value = " if signature.returns and after else ""
    result = "return " if signature.returns and not after else ""
    return [
        *signature.find_next(),
        *([f"hook::{before}();"] if before else []),
        f"{keep}{result}next({signature.values});",
        *([f"hook::{after}();"] if after else []),
        *(["return return_value;"] if keep else []),
    ]


def reasons() -> list[tuple[str, str]]:
    lines = (HERE / "reasons.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split(": ", 1) for line in lines if line and not line.startswith("#"))
    return [(name, phrase) for name, phrase in pairs]


def names_header() -> str:
    functions = "".join(f"  {identifier(name)},\n" for name in REROUTED)
    quoted = "".join(f'    "{name}",\n' for name in REROUTED)
    completing = "".join(f'    "{name}",\n' for name in (*WAITS, *TESTS))
    listed = reasons()
    names = "".join(f"  {name},\n" for name, _ in listed)
    phrases = "".join(f'    "{phrase}",\n' for _, phrase in listed)
    return f"""// Generated by generate.py.
#pragma once

#include <cstdint>

namespace commlens::reroute {{

enum class Function : std::uint8_t {{
{functions}}};
constexpr int function_count = {len(REROUTED)};
constexpr int collective_count = {len(COLLECTIVES)};  // first these, then their non-blocking forms
constexpr const char* function_names[] = {{
{quoted}}};
constexpr const char* completing_functions[] = {{
{completing}}};

enum class Reason : std::uint8_t {{
{names}  none
}};
constexpr int reason_count = {len(listed)};
constexpr const char* reason_phrases[] = {{
{phrases}}};

}}  // namespace commlens::reroute
"""


Binding = Callable[[Function], Signature]


def rerouted_in(binding: Binding, functions: list[Function]) -> list[str]:
    return [binding(own).definition(rerouting(binding(own))) for own in functions]


def others_in(binding: Binding, functions: dict[str, Function]) -> list[str]:
    """What completes requests, starts and ends MPI."""
    made: list[str] = []
    for name, test in WAITS.items():
        wait = binding(functions[name])
        made.append(wait.definition(waiting(wait, binding(functions[test]))))
    for names, body in ((TESTS, testing), (HOOKS, hooked)):
        signatures = [binding(functions[name]) for name in names]
        made += [signature.definition(body(signature)) for signature in signatures]
    return made


def wrappers(functions: dict[str, Function]) -> str:
    forms = [f"{name}{form}" for name in REROUTED for form in ("", "_c")]
    rerouted = [functions[name] for name in forms if name in functions]
    plain = [own for own in rerouted if not own.name.endswith("_c")]
    rows = "".join(
        f"    {{next_{name}, {f'next_{name}_c' if f'{name}_c' in functions else 'nullptr'}}},\n"
        for name in REROUTED
    )
    parts = [
        "// Generated by generate.py.",
        '#include "fortran.hpp"',
        '#include "requests.hpp"',
        '#include "reroute.hpp"\n',
        "namespace commlens::reroute {",
        "namespace {\n",
        *(passing_on(own) for own in rerouted),
        "}  // namespace\n",
        f"constinit const PassOn pass_on_functions[function_count][2] = {{\n{rows}}};\n",
        *in_all_languages(
            [*rerouted_in(c_signature, rerouted), *others_in(c_signature, functions)],
            [
                *rerouted_in(mpif_signature, plain),
                *rerouted_in(mpi_f08_signature, plain),
                *others_in(mpif_signature, functions),
            ],
            others_in(mpi_f08_signature, functions),
        ),
        "}  // namespace commlens::reroute",
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    folder, *compiler = sys.argv[1:]
    declared = declared_in_header(compiler)
    table = read_tables(HERE.parent / "profile" / "functions")
    functions = {own.name: own for own in table if own.name in declared}
    Path(folder, "names.hpp").write_text(names_header(), encoding="utf-8")
    Path(folder, "wrappers.cpp").write_text(wrappers(functions), encoding="utf-8")


if __name__ == "__main__":
    main()
