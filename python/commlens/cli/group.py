"""A command that has commands."""

from __future__ import annotations

from contextlib import suppress

import click

from commlens.base.errors import CommlensError

COMPLETES = "_COMMLENS_COMPLETE"  # is set by a shell that asks what may stand at the cursor


class CommandGroup(click.Group):
    """Refuses an option that is given twice, of which click itself takes the last."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which they were added."""
        return [*self.commands]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names."""
        name, found, rest = super().resolve_command(ctx, args)
        if found is not None:
            context = click.Context(found, ctx, name, **found.context_settings)
            with suppress(click.UsageError):  # of which the command itself complains
                _, _, given = found.make_parser(context).parse_args([*rest])
                _refuse_twice(given)
        return name, found, rest


def _refuse_twice(given: list[click.Parameter]) -> None:
    for option in given:
        is_flag = isinstance(option, click.Option) and option.is_flag and not option.secondary_opts
        is_single = isinstance(option, click.Option) and not (option.multiple or is_flag)
        if is_single and given.count(option) > 1:
            names = "/".join([max(option.opts, key=len), *option.secondary_opts])
            raise CommlensError(f"{names} is given twice; leave one of them out")
