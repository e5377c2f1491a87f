"""The symbols by which programs call an MPI function in C, by mpif.h and by mpi_f08, and the
functions that a preloaded library defines in their place."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "profile"))

from function_table import Function
from operands import Binding, FortranBinding

# MPI_Init has no parameters in Fortran, MPI_Init_thread two fewer.
_NOT_IN_FORTRAN = {"MPI_Init": ("argc", "argv"), "MPI_Init_thread": ("argc", "argv")}
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
class Signature:
    """Of a function that the library defines in place of MPI's."""

    function: Function
    binding: Binding
    name: str  # in C++
    symbols: list[str]  # which the program calls
    next: list[str]  # symbols of the function in the MPI library, the first that exists is called
    result: str
    arguments: list[Argument]
    error: str  # expression that tells whether the call succeeded

    @property
    def returns(self) -> bool:
        return self.result != "void"

    @property
    def values(self) -> str:
        return ", ".join(argument.name for argument in self.arguments)

    def find_next(self, variable: str = "next") -> list[str]:
        """The statements that define MPI's function, as `next` or as this variable."""
        types = ", ".join(argument.type for argument in self.arguments)
        names = ", ".join(f'"{name}"' for name in self.next)
        cached, symbol = f"cached_{variable}", f"{variable}_symbol"
        return [
            f"static std::atomic<void*> {cached} = nullptr;",
            f"void* {symbol} = {cached}.load(std::memory_order_relaxed);",
            f"if ({symbol} == nullptr) {{",
            f"  constexpr const char* names[] = {{{names}, nullptr}};",
            f"  {cached}.store({symbol} = find_or_exit(names), std::memory_order_relaxed);",
            "}",
            f"const auto {variable} = reinterpret_cast<{self.result} (*)({types})>({symbol});",
        ]

    def definition(self, statements: list[str]) -> str:
        """The symbol is not the C++ name: so small differences between headers do not matter."""
        declared = ", ".join(argument.declaration for argument in self.arguments)
        first, *others = self.symbols
        head = f"{self.result} {self.name}({declared})"
        body = "\n".join(f"  {line}" for line in statements)
        text = f'{_EXPORT} {head} __asm__("{first}");\n{head} {{\n{body}\n}}\n'
        for number, symbol in enumerate(others):
            text += (
                f"{_EXPORT} {self.result} {self.name}_{number}({declared}) "
                f'__asm__("{symbol}") __attribute__((alias("{first}")));\n'
            )
        return text


def c_signature(function: Function) -> Signature:
    name = function.name
    return Signature(
        function,
        Binding(),
        name=f"c_{name}",
        symbols=[name],
        next=[f"P{name}", name],
        result=function.result,
        arguments=[Argument(own.type, own.name) for own in function.parameters],
        error="return_value",
    )


def mpif_signature(function: Function) -> Signature:
    """Of mpif.h and the module mpi, with each way in which compilers mangle names."""
    lower, upper = function.name.lower(), function.name.upper()
    symbols = [f"{lower}_", f"{lower}__", lower, upper]
    next_symbols = [f"p{lower}_", f"p{lower}__", f"p{lower}", f"P{upper}"]
    return _fortran_signature(function, "mpif", symbols, next_symbols)


def mpi_f08_signature(function: Function) -> Signature:
    lower = function.name.lower()
    pmpir = lower.replace("mpi_", "pmpir_", 1)  # MPICH's
    return _fortran_signature(
        function, "mpi_f08", [f"{lower}_f08_"], [f"p{lower}_f08_", f"{pmpir}_f08_"]
    )


def _fortran_signature(
    function: Function, kind: str, symbols: list[str], next_symbols: list[str]
) -> Signature:
    """All arguments are addresses. The lengths of strings come last, by value."""
    is_subroutine = function.result == "int"
    omitted = _NOT_IN_FORTRAN.get(function.name, ())
    parameters = [own for own in function.parameters if own.name not in omitted]
    names = [own.name for own in parameters] + ["error"] * is_subroutine
    lengths = [f"length_of_{own.name}" for own in parameters if own.is_string]
    return Signature(
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


def in_all_languages(c: list[str], mpif: list[str], mpi_f08: list[str]) -> list[str]:
    """The definitions that the library needs with the MPI that it is built for."""
    return [
        'extern "C" {\n',
        *c,
        "// Open MPI's Fortran library calls PMPI functions, which the wrappers for C do not see.",
        "// MPICH's calls MPI functions, except those of mpi_f08 that have no buffers.",
        "#if defined(OPEN_MPI)",
        *mpif,
        "#endif",
        *mpi_f08,
        '}  // extern "C"',
    ]
