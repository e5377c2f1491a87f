"""The tables and outputs of README.md and docs/*.md, made from the records in docs/measured/.

A table is a function of a module in this folder, decorated with @table. Its name is that between
<!-- table: NAME --> and <!-- end --> in a page.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from importlib import import_module
from typing import Union

from doc_tables import outputs

Row = list[Union[str, int]]
_TABLE = re.compile(r"<!-- table: (\w+) -->\n.*?<!-- end -->", re.DOTALL)
_MAKERS: dict[str, Callable[[], list[Row]]] = {}


def table(maker: Callable[[], list[Row]]) -> Callable[[], list[Row]]:
    """Declares a table: its first row is the head."""
    _MAKERS[maker.__name__] = maker
    return maker


def rewritten(text: str) -> str:
    """The text of a page with its tables and outputs as the records have them."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return outputs.rewritten(_TABLE.sub(lambda match: _block(match[1]), text))


def _block(name: str) -> str:
    head, *rows = _MAKERS[name]()
    rule: Row = ["---"] * len(head)
    lines = [head, rule, *rows]
    cells = ("| " + " | ".join(map(str, line)) + " |" for line in lines)
    return f"<!-- table: {name} -->\n" + "\n".join(cells) + "\n<!-- end -->"
