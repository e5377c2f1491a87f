#!/usr/bin/env python3
"""Writes docs/commands.md, and manual pages, from the help of the command line itself.

tools/command_reference.py               writes docs/commands.md
tools/command_reference.py --check       exit status 1 if docs/commands.md is not what the help says
tools/command_reference.py --man FOLDER  writes commlens.1 and commlens-COMMAND.1 into the folder
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import jinja2

TOP = Path(__file__).resolve().parent.parent
PAGE = TOP / "docs" / "commands.md"
WIDTH = 100
sys.path.insert(0, str(TOP / "python"))

import commlens  # noqa: E402
from commlens.cli import command as root  # noqa: E402


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of the help; an example's lines are kept as they are."""

    text: str
    verbatim: bool


@dataclass(frozen=True)
class Command:
    """A command as its help describes it."""

    name: str
    usage: str
    paragraphs: list[Paragraph]
    options: list[tuple[str, str]]

    @property
    def summary(self) -> str:
        """The first sentence of the help, without its full stop."""
        return re.split(r"[.:](?:\s|$)", self.paragraphs[0].text, maxsplit=1)[0]


def _paragraphs(help_text: str) -> Iterator[Paragraph]:
    for block in re.split(r"\n\n+", inspect.cleandoc(help_text)):
        verbatim = block.startswith("\b")  # what click, too, does not wrap
        text = block.lstrip("\b\n")
        yield Paragraph(text if verbatim else " ".join(text.split()), verbatim)


def commands() -> list[Command]:
    """The program itself, then its commands in the order in which it lists them, each with its
    own."""
    parent = click.Context(root, info_name="commlens", **root.context_settings)
    return [_described(context) for context in _contexts(parent)]


def _contexts(context: click.Context) -> Iterator[click.Context]:
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            assert command is not None
            yield from _contexts(click.Context(command, info_name=name, parent=context))


def _described(context: click.Context) -> Command:
    command = context.command
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    named = [param for param in command.get_params(context) if isinstance(param, click.Option)]
    records = filter(None, (option.get_help_record(context) for option in named))
    options = [(names, re.sub(r"\s+", " ", text)) for names, text in records]
    return Command(context.command_path, usage, list(_paragraphs(command.help or "")), options)


PAGE_TEMPLATE = """\
# Which commands are there, and which options do they take?

`tools/command_reference.py` writes this page from the help of the commands, which
`commlens COMMAND --help` prints. The options of a benchmark are printed by
`commlens run BENCHMARK --help`.

{% for command in commands -%}
## {{ command.name }}

```
{{ command.usage }}
```

{% for paragraph in command.paragraphs -%}
{% if paragraph.verbatim -%}
{% set head, _, rest = paragraph.text.partition("\n") -%}
{{ head }}

```
{{ rest | dedent }}
```
{%- else -%}
{{ paragraph.text | in_markdown | wrap }}
{%- endif %}

{% endfor -%}
{% for names, text in command.options -%}
{{ ("- `" ~ names ~ "`: " ~ (text | in_markdown)) | wrap("  ") }}
{% endfor %}
{% endfor %}"""

MAN_TEMPLATE = r"""
.TH "{{ command.name | upper | replace(" ", "-") }}" "1" "" "commlens {{ version }}" "commlens"
.SH NAME
{{ command.name | replace(" ", "-") | roff }} \- {{ command.summary | roff }}
.SH SYNOPSIS
.B {{ command.usage | roff }}
.SH DESCRIPTION
{% for paragraph in command.paragraphs -%}
.PP
{% if paragraph.verbatim -%}
.nf
{{ paragraph.text | roff }}
.fi
{% else -%}
{{ paragraph.text | roff }}
{% endif -%}
{% endfor -%}
.SH OPTIONS
{% for names, text in command.options -%}
.TP
.B {{ names | roff }}
{{ text | roff }}
{% endfor -%}
.SH "SEE ALSO"
{{ others | join(", ") }}
"""


def _in_markdown(text: str) -> str:
    """What Markdown would take for HTML is code; what the help has in `...` stays."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"(<\w[^>]*>)", r"`\1`", p) for p in parts)


def _roff(text: str) -> str:
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^([.'])", r"\\&\1", escaped, flags=re.MULTILINE)


def _wrap(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    environment.filters.update(
        in_markdown=_in_markdown, roff=_roff, wrap=_wrap, dedent=textwrap.dedent
    )
    return environment


def page() -> str:
    """docs/commands.md."""
    text = _environment().from_string(PAGE_TEMPLATE).render(commands=commands())
    return text.rstrip("\n") + "\n"


def manual_pages() -> dict[str, str]:
    """The manual pages by the names of their files."""
    template = _environment().from_string(MAN_TEMPLATE.lstrip("\n"))
    names = [command.name.replace(" ", "-") for command in commands()]
    return {
        f"{name}.1": template.render(
            command=command,
            version=commlens.__version__,
            others=[rf"\fB{_roff(other)}\fP(1)" for other in names if other != name],
        )
        for name, command in zip(names, commands())
    }


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--man"]:
        folder = Path(arguments[1])
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in manual_pages().items():
            (folder / name).write_text(text, encoding="utf-8")
        return 0
    if arguments == ["--check"]:
        return int(PAGE.read_text(encoding="utf-8") != page())
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
