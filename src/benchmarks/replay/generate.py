"""Generates the calls of a replay from the tables of MPI functions of the profiling library.

generate.py OUTPUT COMPILER [COMPILER_OPTION]...

Needs Python 3.9 and nothing else.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

TABLES = Path(__file__).resolve().parents[2] / "profile"
sys.path.insert(0, str(TABLES))

import trace_fields  # noqa: E402
from function_table import Function, Parameter, declared_in_header, read_tables  # noqa: E402


def _words(text: str) -> list[str]:
    return text.split()


_SENDS = {"Send", "Bsend", "Rsend", "Ssend"}
_RECEIVES = {"Recv", "Mrecv"}
# Of the parameters of the functions on requests; others are results.
_REQUEST_ROLES = {
    "request": "request",
    "array_of_requests": "requests",
    "count": "ignored",
    "incount": "ignored",
}
_LAST_ROLES = {"": "", "f": "flag", "i": "index", "I": "indices"}  # by letter
_COLLECTIVES = _words(
    "barrier bcast gather scatter allgather alltoall reduce allreduce reduce_scatter "
    "reduce_scatter_block scan exscan neighbor_allgather neighbor_alltoall"
)
_TYPES = _words("""
CHAR SIGNED_CHAR UNSIGNED_CHAR BYTE PACKED WCHAR SHORT UNSIGNED_SHORT INT UNSIGNED LONG
UNSIGNED_LONG LONG_LONG LONG_LONG_INT UNSIGNED_LONG_LONG FLOAT DOUBLE LONG_DOUBLE C_BOOL INT8_T
INT16_T INT32_T INT64_T UINT8_T UINT16_T UINT32_T UINT64_T AINT COUNT OFFSET C_COMPLEX
C_FLOAT_COMPLEX C_DOUBLE_COMPLEX C_LONG_DOUBLE_COMPLEX CXX_BOOL CXX_FLOAT_COMPLEX
CXX_DOUBLE_COMPLEX CXX_LONG_DOUBLE_COMPLEX FLOAT_INT DOUBLE_INT LONG_INT 2INT SHORT_INT
LONG_DOUBLE_INT INTEGER REAL DOUBLE_PRECISION COMPLEX DOUBLE_COMPLEX LOGICAL CHARACTER 2REAL
2DOUBLE_PRECISION 2INTEGER INTEGER1 INTEGER2 INTEGER4 INTEGER8 INTEGER16 REAL2 REAL4 REAL8 REAL16
COMPLEX4 COMPLEX8 COMPLEX16 COMPLEX32 LOGICAL1 LOGICAL2 LOGICAL4 LOGICAL8
""")
_OPERATIONS = _words("MAX MIN SUM PROD LAND BAND LOR BOR LXOR BXOR MINLOC MAXLOC")


@dataclass(frozen=True)
class Field:
    role: str  # empty: the parameter has no field
    argument: str  # in C++


@dataclass(frozen=True)
class Replayed:
    function: Function
    pattern: str
    mode: str
    fields: list[Field]
    last_role: str

    @property
    def name(self) -> str:
        return self.function.name

    @property
    def is_large(self) -> bool:
        return self.name.endswith("_c")

    def definition(self) -> str:
        roles = [field.role for field in self.fields if field.role]
        if self.last_role:
            roles.append(self.last_role)
        listed = ", ".join(f"Role::{role}" for role in roles)
        text = f"constexpr std::array<Role, {len(roles)}> roles_of_{self.name}{{{listed}}};\n"
        text += f'const Call activity_of_{self.name}{{"{self.name}"}};\n'
        if self.has_call:
            arguments = ", ".join(field.argument for field in self.fields)
            text += f"int call_{self.name}([[maybe_unused]] Arguments& a) {{\n"
            text += f"  return {self.name}({arguments});\n}}\n"
        return text

    @property
    def has_call(self) -> bool:
        return self.function.group != "request" and self.pattern != "buffer_attach"

    def row(self) -> str:
        call = f"call_{self.name}" if self.has_call else "nullptr"
        large = "true" if self.is_large else "false"
        return (
            f'    {{"{self.name}", Pattern::{self.pattern}, Mode::{self.mode}, {large}, '
            f"roles_of_{self.name}, {call}, activity_of_{self.name}}},"
        )


def replayed(function: Function) -> Replayed | None:
    """The function as a replay calls it; None: it is not in traces."""
    if not trace_fields.is_recorded(function):
        return None
    base = function.name.removeprefix("MPI_").removesuffix("_c")
    last_role = _LAST_ROLES[trace_fields.last_letter(function)]
    if function.group == "request":
        fields = [Field(_REQUEST_ROLES.get(own.name, ""), "") for own in function.parameters]
        return Replayed(function, base.lower(), "blocking", fields, last_role)
    if function.group in ("communicator", "topology", "process"):
        return _of_communicators(function, base)
    if base == "Buffer_attach":
        fields = [Field("ignored", ""), Field("number", "")]
        return Replayed(function, base.lower(), "blocking", fields, "")
    mode = _mode(function, base)
    pattern = _pattern(base, mode)
    names = {own.name for own in function.parameters}
    fields = [_field(own, pattern, names) for own in function.parameters]
    return Replayed(function, pattern, mode, fields, last_role)


def _mode(function: Function, base: str) -> str:
    if base.endswith("_init"):
        return "persistent"
    makes_request = function.parameters[-1].type == "MPI_Request *"
    return "nonblocking" if makes_request else "blocking"


def _pattern(base: str, mode: str) -> str:
    if mode == "persistent":
        base = base.removesuffix("_init")
    elif mode == "nonblocking":
        base = base[1:].capitalize()
    if base in _SENDS:
        return "send"
    if base in _RECEIVES:
        return {"Recv": "receive", "Mrecv": "mrecv"}[base]
    if base in ("Sendrecv", "Sendrecv_replace"):
        return base.lower()
    if base in ("Probe", "Iprobe"):
        return "probe"
    if base in ("Mprobe", "Improbe"):
        return "mprobe"
    lower = base.lower()
    for name in (lower, lower[:-1] if lower[-1] in "vw" else lower):
        if name in _COLLECTIVES:
            return name
    raise SystemExit(f"unknown function: MPI_{base}")


def _field(own: Parameter, pattern: str, names: set[str]) -> Field:
    simple = _simple_field(own, "made_message" if pattern == "mprobe" else "message")
    if simple is not None:
        return simple
    receives = pattern in ("receive", "mrecv", "sendrecv_replace", "probe", "mprobe")
    if own.name in ("buf", "buffer", "sendbuf", "recvbuf"):
        side = "receive" if receives or own.name == "recvbuf" else "send"
        return Field(f"{side}_buffer", f"a.{side}.buffer()")
    if own.name in ("tag", "sendtag", "recvtag"):
        side = "receive" if own.name == "recvtag" or (own.name == "tag" and receives) else "send"
        return Field(f"{side}_tag", f"a.{side}_tag")
    if own.name in ("count", "datatype"):
        # Reductions and Sendrecv_replace: one for both sides.
        is_both = "recvbuf" in names or pattern == "sendrecv_replace"
        side = "receive" if receives else "send"
        role = "both" if is_both else side
        if own.name == "datatype":
            if pattern in ("reduce_scatter", "reduce_scatter_block"):
                return Field("both_type", "a.receive.type")
            return Field(f"{role}_type", f"a.{side}.type")
        return Field(f"{role}_count", _count(own, side))
    return _of_one_side(own, names)


def _simple_field(own: Parameter, message: str) -> Field | None:
    known = {
        "dest": Field("dest", "a.dest"),
        "source": Field("source", "a.source"),
        "root": Field("root", "a.root"),
        "op": Field("operation", "a.operation"),
        "comm": Field("communicator", "a.communicator_handle"),
        "request": Field("made_request", "a.request_handle"),
        "status": Field("", "a.status"),
        "info": Field("", "MPI_INFO_NULL"),
        "flag": Field("", "&a.called_flag"),
        "message": Field(message, "a.message_handle"),
    }
    return known.get(own.name)


def _count(own: Parameter, side: str) -> str:
    return f"static_cast<{own.type}>(a.{side}.count)"


def _of_one_side(own: Parameter, names: set[str]) -> Field:
    if own.name in ("sdispls", "rdispls", "displs"):
        is_receive = own.name == "rdispls" or (own.name == "displs" and "recvcounts" in names)
        side = "receive" if is_receive else "send"
        return Field(f"{side}_displacements", f"a.{side}.{_array(own, 'displacements')}.data()")
    match = re.fullmatch(r"(send|recv)(count|counts|type|types)", own.name)
    if match is None:
        raise SystemExit(f"unknown parameter: {own}")
    side = {"send": "send", "recv": "receive"}[match[1]]
    role = f"{side}_{match[2]}"
    if match[2] == "count":
        return Field(role, _count(own, side))
    if match[2] == "counts":
        return Field(role, f"a.{side}.{_array(own, 'counts')}.data()")
    return Field(role, f"a.{side}.{match[2]}" + (".data()" if match[2] == "types" else ""))


def _array(own: Parameter, name: str) -> str:
    return name if own.type == "const int *" else f"wide_{name}"


def _of_communicators(function: Function, base: str) -> Replayed:
    parameters = function.parameters
    if base in ("Comm_free", "Comm_disconnect"):
        fields = [Field("communicator", "a.made_handle")]
        return Replayed(function, "free_communicator", "blocking", fields, "")
    numbers = arrays = communicators = 0
    fields = []
    for own in parameters:
        if own.type == "MPI_Comm *":
            fields.append(Field("made_communicator", "a.made_handle"))
        elif own.type == "MPI_Comm":
            role, name = ("communicator", "communicator_handle")
            if communicators > 0:
                role, name = ("second_communicator", "second_handle")
            fields.append(Field(role, f"a.{name}"))
            communicators += 1
        elif own.type == "MPI_Group":
            fields.append(Field("group", "a.group_handle"))
        elif own.type == "MPI_Info":
            fields.append(Field("", "MPI_INFO_NULL"))
        elif own.type == "MPI_Request *":
            fields.append(Field("made_request", "a.request_handle"))
        elif own.type == "const int *":
            if "weights" in own.name:
                fields.append(Field("", "MPI_UNWEIGHTED"))
                continue
            fields.append(Field("array", f"a.array({arrays})"))
            arrays += 1
        elif own.type == "int":
            kind = own.name if own.name in ("color", "split_type") else "number"
            fields.append(Field("number", f"a.{kind}({numbers})"))
            numbers += 1
        else:
            raise SystemExit(f"unknown parameter of {function.name}: {own}")
    mode = "nonblocking" if "idup" in base else "blocking"
    return Replayed(function, "make_communicator", mode, fields, "")


def _names(result: str, function: str, none: str, names: list[str]) -> str:
    """A function from names of MPI to those constants of them that are macros of the header. The
    types of C++ are those of C, which SMPI has alone."""
    constants = [(name, name.replace("CXX_", "C_")) for name in names]
    entries = "\n".join(
        f'#ifdef MPI_{constant}\n  if (name == "MPI_{name}") return MPI_{constant};\n#endif'
        for name, constant in constants
    )
    return f"{result} {function}(std::string_view name) {{\n{entries}\n  return {none};\n}}\n"


def generate(known: list[Replayed], declared: set[str]) -> str:
    present = [own for own in known if own.name in declared]
    rows = "\n".join(own.row() for own in present)
    names = "\n".join(f'    "{own.name}",' for own in known)
    return "\n".join(
        [
            "// Generated by generate.py from the tables of the profiling library.",
            '#include "benchmarks/replay/function.hpp"\n',
            "#include <algorithm>",
            "#include <array>",
            "#include <iterator>\n",
            "namespace commlens::replay {",
            "namespace {\n",
            *(own.definition() for own in present),
            f"constexpr std::string_view replayed_names[] = {{\n{names}\n}};\n",
            f"const Function table[] = {{\n{rows}\n}};\n",
            "}  // namespace\n",
            "std::span<const Function> functions() { return table; }\n",
            "bool is_replayed(std::string_view name) {",
            "  return std::find(std::begin(replayed_names), std::end(replayed_names), name) !=",
            "         std::end(replayed_names);",
            "}\n",
            _names("MPI_Datatype", "named_type", "MPI_DATATYPE_NULL", _TYPES),
            _names("MPI_Op", "named_operation", "MPI_OP_NULL", _OPERATIONS),
            "}  // namespace commlens::replay",
        ]
    )


def main() -> None:
    output, *compiler = sys.argv[1:]
    functions = read_tables(TABLES / "functions")
    known = [own for function in functions if (own := replayed(function)) is not None]
    Path(output).write_text(generate(known, declared_in_header(compiler)), encoding="utf-8")


if __name__ == "__main__":
    main()
