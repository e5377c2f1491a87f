"""Published figures: their sources, and the fields of their files."""

from __future__ import annotations

import msgspec

from commlens.base.text import format_scientific
from commlens.compare import references as reference
from doc_tables import Row, table
from doc_tables.source import NOTHING


@table
def reference_sources() -> list[Row]:
    rows: list[Row] = [["name", "document", "date", "machine", "benchmarks", "figures"]]
    for source in reference.load():
        benchmarks = dict.fromkeys(result.benchmark for result in source.figures if result.metric)
        names = ", ".join(f"`{name}`" for name in benchmarks) or NOTHING
        title = f"[{source.title}]({source.url})" if source.url else source.title
        rows.append(
            [
                f"`{source.name}`",
                title,
                source.date or NOTHING,
                source.machine,
                names,
                len(source.figures),
            ]
        )
    return rows


@table
def reference_notes() -> list[Row]:
    rows: list[Row] = [["name", "before comparing"]]
    rows += [[f"`{source.name}`", source.note] for source in reference.load() if source.note]
    return rows


@table
def reference_setups() -> list[Row]:
    """What sets the figures of a source apart."""
    rows: list[Row] = [["name", "set-up", "software", "settings"]]
    for source in reference.load():
        seen: dict[str, reference.PublishedValue] = {}
        for result in source.figures:
            if result.setup and (result.software or result.settings):
                seen.setdefault(result.setup, result)
        for setup, result in seen.items():
            software = ", ".join(f"{name} {text}" for name, text in result.software.items())
            settings = ", ".join(f"`{name}={text}`" for name, text in result.settings.items())
            rows.append([f"`{source.name}`", setup, software or NOTHING, settings or NOTHING])
    return rows


@table
def reference_source_fields() -> list[Row]:
    return _fields(reference.Source, ("name", "figures"))


@table
def reference_figure_fields() -> list[Row]:
    return _fields(reference.PublishedValue, ("source",))


@table
def published_bps5() -> list[Row]:
    return _throughputs("bps5")


@table
def published_bp5() -> list[Row]:
    return _throughputs("bp5")


def _throughputs(benchmark: str) -> list[Row]:
    """Of nekRS, per rank."""
    rows: list[Row] = [["GPU", "machine", "nodes", "(DOF x iter)/s/rank", "source"]]
    results = [
        result
        for source in reference.load()
        for result in source.figures
        if result.benchmark == benchmark and result.metric == "throughput_DOF_iter_per_s"
    ]
    for result in sorted(results, key=lambda result: (result.nodes or 0, result.value)):
        value = format_scientific(result.value)
        name = f"`{result.source}`"
        rows.append([result.gpu, result.machine or NOTHING, result.nodes or NOTHING, value, name])
    return rows


def _fields(struct: type[msgspec.Struct], but: tuple[str, ...]) -> list[Row]:
    """Those that stand in a file, with what the struct says of them."""
    rows: list[Row] = [["field", "", "meaning"]]
    schema = msgspec.json.schema_components([struct])[1][struct.__name__]
    required = schema.get("required", [])
    for name, declared in schema["properties"].items():
        if name not in but:
            need = "required" if name in required else ""
            meaning = str(declared.get("description", "")).replace("|", "\\|")
            rows.append([f"`{name}`", need, meaning])
    return rows
