"""Completion in a shell: what may stand at the place of the cursor; and `commlens completion`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import click
from click.shell_completion import CompletionItem, get_completion_class

from commlens.base.errors import CommlensError
from commlens.base.terminal import echo
from commlens.base.text import shown
from commlens.cli.group import COMPLETES

Completer = Callable[[click.Context, str], "list[CompletionItem]"]
_SHELLS = ("bash", "zsh", "fish")
_HEADING = re.compile(r"^ +(--[\w-]+)(.*)$")  # of an option in the help of a benchmark
_LISTED = re.compile(r"(?:\(|: )([\w-]+(?:, [\w-]+)+)\)?(?: \(|$)")  # its values, in its help


@click.command()
@click.argument("shell", metavar="SHELL")
def completion(shell: str) -> None:
    """Print the completion script of SHELL (bash, zsh or fish): it completes commands, benchmarks,
    suites, sites, options and their values.

    \b
    Examples:
      commlens completion bash >~/.local/share/bash-completion/completions/commlens
      commlens completion zsh >~/.zfunc/_commlens      # with fpath+=~/.zfunc before compinit
      commlens completion fish >~/.config/fish/completions/commlens.fish
      eval "$(commlens completion bash)"               # this shell alone
    """
    found = get_completion_class(shell) if shell in _SHELLS else None
    if found is None:
        raise CommlensError(f"SHELL {shown(shell)}: write bash, zsh or fish")
    root = click.get_current_context().find_root()
    echo(found(root.command, {}, "commlens", COMPLETES).source().strip("\n"))


def equip(command: click.Command) -> click.Command:
    """Makes a command complete the values of its options and arguments."""
    for parameter in command.params:
        if values := _values_of(parameter):
            # click takes a function only where the parameter is declared, of which there are many.
            setattr(parameter, "shell_complete", values)  # noqa: B010
    if isinstance(command, click.Group):
        for below in command.commands.values():
            equip(below)
    if command.name in ("run", "tune"):
        own = command.shell_complete

        def with_benchmark(context: click.Context, begin: str) -> list[CompletionItem]:
            names = _matching(_options_of(context), begin)
            return [*own(context, begin), *names]

        setattr(command, "shell_complete", with_benchmark)  # noqa: B010
    return command


def _values_of(parameter: click.Parameter) -> Completer | None:
    """Completes the values of a parameter; None where there is nothing to complete."""
    if words := getattr(parameter.callback, "words", ()):
        return lambda _, begin: _matching(words, begin)
    if parameter.name in _BY_NAME:
        return _BY_NAME[parameter.name]
    if parameter.type.name in ("path", "Path") or parameter.name in ("out", "settings_file"):
        return lambda _, begin: [CompletionItem(begin, type="file")]
    return None


def _matching(words: Iterable[str], begin: str) -> list[CompletionItem]:
    """Of values that are separated by commas, the last is completed."""
    before = begin[: begin.rfind(",") + 1]
    return [CompletionItem(before + word) for word in words if (before + word).startswith(begin)]


def _benchmarks(context: click.Context, begin: str) -> list[CompletionItem]:
    from commlens import knowledge

    suites = knowledge.names("suites") if context.info_name == "run" else ()
    return _matching([*_native_names(), *suites], begin)


def _sites(_: click.Context, begin: str) -> list[CompletionItem]:
    from commlens.jobs.sites import site

    return _matching(site.names(), begin)


def _references(_: click.Context, begin: str) -> list[CompletionItem]:
    from commlens import knowledge

    return _matching(knowledge.names("references"), begin)


def _words(context: click.Context, begin: str) -> list[CompletionItem]:
    """Words that go on to a benchmark: the value of its option, or another benchmark; of the other
    commands, records."""
    words = [str(word) for word in context.params.get("options") or ()]
    if words and words[-1].startswith("--"):
        return _matching(_options_of(context).get(words[-1], ()), begin)
    if context.info_name == "run" and not any(word.startswith("-") for word in words):
        return _benchmarks(context, begin)
    return []


def _records(_: click.Context, begin: str) -> list[CompletionItem]:
    return [CompletionItem(begin, type="file")]


_BY_NAME: dict[str | None, Completer] = {
    "benchmark": _benchmarks,
    "options": _words,
    "name": _sites,
    "site_name": _sites,
    "reference": _references,
    "words": _records,
    "shell": lambda _, begin: _matching(_SHELLS, begin),
}


def _native_names() -> Sequence[str]:
    from commlens.jobs.native import find_native

    try:
        return [*find_native().benchmarks]
    except CommlensError:
        return ()


def _options_of(context: click.Context) -> dict[str, Sequence[str]]:
    """The options of the benchmark on the command line, each with its values where they are
    known."""
    from commlens.jobs.native import find_native

    try:
        native = find_native()
        name = native.benchmark(str(context.params.get("benchmark"))).name
        found = dict(_in_help(native.help(name).splitlines()))
        return {**found, "--transport": [*native.about.transports, "all"]}
    except CommlensError:
        return {}


def _in_help(lines: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """The options in the help of a benchmark, with the values that it lists."""
    for line, following in zip(lines, [*lines[1:], ""]):
        if heading := _HEADING.match(line):
            text = heading[2] if _HEADING.match(following) else f"{heading[2]} {following.strip()}"
            listed = _LISTED.search(text)
            yield heading[1], listed[1].split(", ") if listed else ()
