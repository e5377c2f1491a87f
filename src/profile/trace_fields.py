"""The fields of a call in a trace (docs/trace.md), and the C++ statements that record them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from function_table import Function, Parameter
from operands import Binding

_RANKS = {"dest", "source", "root", "local_leader", "remote_leader"}
_TAGS = {"tag", "sendtag", "recvtag"}
_ARRAYS = {"int *", "MPI_Count *", "MPI_Aint *"}
_COMPLETED_LATER = {"MPI_Irecv", "MPI_Imrecv"}
_GROUPS = {
    "point-to-point", "request", "collective", "nonblocking collective", "persistent collective",
    "neighbor collective", "communicator", "topology",
}  # fmt: skip
_OPAQUE_GROUPS = {"RMA", "I/O"}
# They start or complete nothing that a replay does: local, generalized or partitioned.
_LOCAL = (
    "MPI_Get_", "MPI_Status_", "MPI_Test_cancelled", "MPI_Request_get_status", "MPI_Grequest",
    "MPI_Buffer_detach", "MPI_Buffer_flush", "MPI_Buffer_iflush", "MPI_Comm_get", "MPI_Session",
)  # fmt: skip
_PARTITIONED = ("MPI_Psend", "MPI_Precv", "MPI_Pready", "MPI_Parrived")
# What a length does not follow from the communicator for.
_LENGTHS = {
    ("MPI_Cart_create", "dims"): "{ndims}",
    ("MPI_Cart_create", "periods"): "{ndims}",
    ("MPI_Cart_sub", "remain_dims"): "amount::dimensions({comm})",
    ("MPI_Graph_create", "indx"): "{nnodes}",
    ("MPI_Graph_create", "edges"): "amount::last_of({indx}, {nnodes})",
    ("MPI_Dist_graph_create", "sources"): "{n}",
    ("MPI_Dist_graph_create", "degrees"): "{n}",
    ("MPI_Dist_graph_create", "destinations"): "amount::sum_of({degrees}, {n})",
    ("MPI_Dist_graph_create_adjacent", "sources"): "{indegree}",
    ("MPI_Dist_graph_create_adjacent", "destinations"): "{outdegree}",
}


# In the file: the kind of each field of a function.
_LETTERS = {
    "buffer": "b", "number": "n", "rank": "r", "tag": "t", "color": "k", "split type": "n",
    "type": "T", "types": "y", "operation": "o", "group": "g", "numbers": "a",
    "communicator": "c", "freed communicator": "F", "made communicator": "C",
    "request": "q", "request by value": "q", "requests": "s", "made request": "Q",
    "message": "m", "made message": "M",
}  # fmt: skip
_LAST_FIELDS = {
    "MPI_Test": "f", "MPI_Testall": "f", "MPI_Iprobe": "f", "MPI_Improbe": "f",
    "MPI_Waitany": "i", "MPI_Testany": "i", "MPI_Waitsome": "I", "MPI_Testsome": "I",
}  # fmt: skip


@dataclass(frozen=True)
class Field:
    kind: str  # of the parameter, as in docs/trace.md
    parameter: Parameter
    place: int  # among the fields of the event


def is_opaque(function: Function) -> bool:
    """Whether the time of a call is recorded, and nothing else."""
    return function.group in _OPAQUE_GROUPS or function.name.startswith(_PARTITIONED)


def is_recorded(function: Function) -> bool:
    """Whether a call is an event with its fields."""
    if function.group not in _GROUPS | {"process"} or is_opaque(function):
        return False
    if function.name.startswith(_LOCAL) or "from_group" in function.name:
        return False
    if function.group in ("communicator", "topology", "process"):
        kinds = {field.kind for field in fields(function)}
        makes = function.group != "process" and "made communicator" in kinds
        return makes or _frees(function)
    return True


def fields(function: Function) -> list[Field]:
    found: list[Field] = []
    for parameter in function.parameters:
        if kind := _kind(function, parameter):
            found.append(Field(kind, parameter, len(found)))
    return found


def letters(function: Function) -> str:
    """A letter for each field, in their order (docs/trace.md)."""
    if is_opaque(function) or not is_recorded(function):
        return ""
    known = "".join(_LETTERS[field.kind] for field in fields(function))
    return known + last_letter(function)


def last_letter(function: Function) -> str:
    """Of the field that follows those of the parameters; empty: there is none."""
    return _LAST_FIELDS.get(function.name, "")


def _frees(function: Function) -> bool:
    return function.name in ("MPI_Comm_free", "MPI_Comm_disconnect")


def _kind(function: Function, parameter: Parameter) -> str:
    name, kind = parameter.name, parameter.type.replace("const ", "").strip()
    makes = function.group != "request"
    by_type = {
        "MPI_Comm": "communicator",
        "MPI_Comm *": "freed communicator" if _frees(function) else "made communicator",
        "MPI_Datatype": "type",
        "MPI_Datatype *": "types",
        "MPI_Op": "operation",
        "MPI_Group": "group",
        "MPI_Request": "request by value",
        "MPI_Request *": "made request" if makes else _request_kind(function),
        "MPI_Message *": "message" if "recv" in function.name else "made message",
    }
    if kind in by_type:
        return by_type[kind]
    if kind in ("int", "MPI_Count", "MPI_Aint"):
        if name in _RANKS:
            return "rank"
        if name in _TAGS:
            return "tag"
        return {"color": "color", "split_type": "split type"}.get(name, "number")
    if kind == "void *":
        return "buffer"
    is_array = parameter.type.startswith("const ") and kind in _ARRAYS
    return "numbers" if is_array and "weights" not in name else ""


def _request_kind(function: Function) -> str:
    names = {own.name for own in function.parameters}
    return "requests" if "array_of_requests" in names else "request"


def before(function: Function, binding: Binding) -> list[str]:
    """The statements before the call."""
    if is_opaque(function):
        return []
    lines = []
    roles = function.roles
    if "comm" in roles and _needs_communicator(function):
        handle = binding.handle(roles["comm"])
        lines.append(f"[[maybe_unused]] const MPI_Comm traced = communicator_of({handle});")
    for field in fields(function):
        record = _record(function, field, binding)
        significant = _significant(function, field.parameter, binding)
        if significant and record != "recording.number(0);":
            lines.append(f"if ({significant}) {{ {record} }} else {{ {_insignificant(field)} }}")
        else:
            lines.append(record)
    return lines


def _needs_communicator(function: Function) -> bool:
    is_collective = "collective" in function.group
    return is_collective or function.name == "MPI_Cart_sub"


def _insignificant(field: Field) -> str:
    return f"recording.number({-1 if field.kind in ('type', 'types', 'numbers') else 0});"


def _record(function: Function, field: Field, binding: Binding) -> str:
    name = field.parameter.name
    value, handle = binding.value(name), binding.handle(name)
    calls = {
        "buffer": f"buffer({name})",
        "number": f"number({value})",
        "rank": f"rank({value})",
        "tag": f"tag({value})",
        "color": f"color({value})",
        "split type": f"split_type({value})",
        "communicator": f"communicator(communicator_of({handle}))",
        "freed communicator": f"communicator(communicator_of({binding.handle_at(name)}))",
        "made communicator": "number(0)",
        "type": f"type(datatype_of({handle}))",
        "operation": f"operation(operation_of({handle}))",
        "group": f"group(group_of({handle}))",
        "made request": "number(0)",
        "made message": "number(0)",
        "request": f"request({handle})",
        "request by value": f"request({binding.address(name)})",
        "message": f"message(message_at({handle}))",
    }
    if field.kind in calls:
        return f"recording.{calls[field.kind]};"
    if field.kind == "requests":
        count = next(own.name for own in function.parameters if own.name.endswith("count"))
        return f"recording.requests({handle}, {binding.value(count)});"
    length = _length(function, name, binding)
    if field.kind == "types":
        counts = binding.counts(name.replace("types", "counts"))
        return f"recording.types({handle}, {counts}, {length});"
    return f"recording.numbers({_array(function, field.parameter, binding)}, {length});"


def _array(function: Function, parameter: Parameter, binding: Binding) -> str:
    if "MPI_Aint" in parameter.type and not function.name.endswith("_c"):
        return binding.addresses(parameter.name)
    return binding.counts(parameter.name)


def _length(function: Function, name: str, binding: Binding) -> str:
    own = _LENGTHS.get((function.name, name))
    if own is not None:
        values = {
            other.name: (binding.counts if "*" in other.type else binding.value)(other.name)
            for other in function.parameters
        }
        return own.format_map({**values, "comm": "traced"})
    if "eighbor" in function.name:
        is_sent = _is_of_sender(function, name)
        return f"amount::{'out' if is_sent else 'in'}_degree(traced)"
    return f"amount::{'size' if 'educe_scatter' in function.name else 'peers'}(traced)"


def _is_of_sender(function: Function, name: str) -> bool:
    is_scatter = "catterv" in function.name
    return name.startswith("send") or name == "sdispls" or (name == "displs" and is_scatter)


def _is_of_receiver(function: Function, name: str) -> bool:
    is_displacement = name == "rdispls" or name == "displs"
    return (name.startswith("recv") or is_displacement) and not _is_of_sender(function, name)


def _significant(function: Function, parameter: Parameter, binding: Binding) -> str:
    """When MPI reads the parameter: a condition; empty: always."""
    names = {own.name for own in function.parameters}
    if "collective" not in function.group or not {"sendbuf", "recvbuf"} <= names:
        return ""
    name = parameter.name
    if name in ("sendbuf", "recvbuf"):
        return ""
    if _is_of_sender(function, name):
        conditions = ["!is_in_place(sendbuf)"]
        rooted = "is_root" if "catter" in function.name else "is_member"
    elif _is_of_receiver(function, name):
        conditions = ["!is_in_place(recvbuf)"]
        rooted = "is_root" if "ather" in function.name else "is_member"
    else:
        return ""
    if "root" in names:
        conditions.append(f"amount::{rooted}({binding.value('root')}, traced)")
    return " && ".join(conditions)


def after(function: Function, binding: Binding) -> Iterator[str]:
    """The statements after a call that has succeeded."""
    if is_opaque(function):
        return
    by_kind = {field.kind: field for field in fields(function)}
    places = {field.parameter.name: field.place for field in fields(function)}
    for kind, field in by_kind.items():
        yield from _made(function, kind, field, binding)
    yield from _completed(function, binding)
    if function.name in _COMPLETED_LATER and "source" in places:
        yield f"recording.will_receive({places['source']}, {places['tag']});"
    elif "status" in {own.name for own in function.parameters} and "source" in places:
        tag = places["recvtag" if "recvtag" in places else "tag"]
        condition = f"if ({binding.result('flag')} != 0) " if _has_flag(function) else ""
        yield f"{condition}recording.received({places['source']}, {tag}, status);"


def _has_flag(function: Function) -> bool:
    return "flag" in {own.name for own in function.parameters}


def _made(function: Function, kind: str, field: Field, binding: Binding) -> Iterator[str]:
    name = field.parameter.name
    handle, place = binding.handle(name), field.place
    if kind == "made communicator":
        yield f"recording.made_communicator({place}, communicator_of({binding.handle_at(name)}));"
    elif kind == "freed communicator":
        yield f"recording.freed_communicator({place});"
    elif kind == "made request":
        yield f"recording.made_request({place}, {handle});"
    elif kind == "made message":
        flag = f"if ({binding.result('flag')} != 0) " if _has_flag(function) else ""
        otherwise = f" else recording.no_message({place});" if flag else ""
        yield f"{flag}recording.made_message({place}, message_at({handle}));{otherwise}"
    elif kind == "message":
        yield "recording.freed_message();"


def _completed(function: Function, binding: Binding) -> Iterator[str]:
    """What is known of the requests, and the last field."""
    name = function.name
    if name in ("MPI_Iprobe", "MPI_Improbe"):
        yield from _flag(binding)
    if name in ("MPI_Wait", "MPI_Test"):
        requests = binding.handle("request")
        condition = f"if ({binding.result('flag')} != 0) " if name == "MPI_Test" else ""
        yield f"{condition}recording.completed({requests}, 0, status, 0);"
        if condition:
            yield from _flag(binding)
    elif name in ("MPI_Waitall", "MPI_Testall"):
        count, requests = binding.value("count"), binding.handle("array_of_requests")
        condition = f"{binding.result('flag')} != 0 && " if name == "MPI_Testall" else ""
        yield (
            f"for (int index = 0; {condition}index < {count}; ++index) "
            f"recording.completed({requests}, index, array_of_statuses, index);"
        )
        if condition:
            yield from _flag(binding)
    elif name in ("MPI_Waitany", "MPI_Testany"):
        index, requests = binding.result("indx"), binding.handle("array_of_requests")
        is_none = f"{index} == MPI_UNDEFINED"
        yield f"const int completed = {is_none} ? -1 : {index} - {binding.first_index};"
        yield f"if (completed >= 0) recording.completed({requests}, completed, status, 0);"
        yield "recording.number(completed);"
        if name == "MPI_Testany":
            yield f"if ({binding.result('flag')} == 0) recording.without_result();"
    elif name in ("MPI_Waitsome", "MPI_Testsome"):
        yield from _some(name, binding)
    if name.startswith(("MPI_Wait", "MPI_Test", "MPI_Request_free")):
        counts = {own.name for own in function.parameters} & {"count", "incount"}
        requests = binding.handle("array_of_requests" if counts else "request")
        count = binding.value(counts.pop()) if counts else "1"
        yield f"recording.freed_requests({requests}, {count});"


def _some(name: str, binding: Binding) -> Iterator[str]:
    count = binding.result("outcount")
    requests, indices = binding.handle("array_of_requests"), binding.counts("array_of_indices")
    yield f"const int outcome = {count} == MPI_UNDEFINED ? 0 : {count};"
    yield (
        f"for (int index = 0; index < outcome; ++index) recording.completed({requests}, "
        f"{indices}[index] - {binding.first_index}, array_of_statuses, index);"
    )
    yield f"recording.indices({indices}, outcome, {binding.first_index});"
    if name == "MPI_Testsome":
        yield f"if ({count} == 0) recording.without_result();"


def _flag(binding: Binding) -> Iterator[str]:
    yield f"recording.number({binding.result('flag')} != 0 ? 1 : 0);"
    yield f"if ({binding.result('flag')} == 0) recording.without_result();"


def own_statuses(function: Function) -> list[str]:
    """In C: statuses of ours where the program wants none, for a wildcard to be known."""
    names = {own.name for own in function.parameters}
    if not is_recorded(function):
        return []
    if "status" in names:
        return [
            "MPI_Status own_status;",
            "if (recording.is_on() && status == MPI_STATUS_IGNORE) status = &own_status;",
        ]
    if "array_of_statuses" in names:
        count = "incount" if "incount" in names else "count"
        return [
            "if (recording.is_on() && array_of_statuses == MPI_STATUSES_IGNORE && "
            f"recording.is_any_waiting({count}) && trace.statuses({count}) != nullptr) "
            f"array_of_statuses = trace.statuses({count});"
        ]
    return []
