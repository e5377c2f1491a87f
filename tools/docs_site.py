"""A hook of mkdocs: the pages keep their places in the repository, so that a link in one of them
leads to the same page here, in an editor and on the web.

mkdocs reads one folder, which must not be that of mkdocs.yml. It gets one of links.
"""

from __future__ import annotations

import atexit
import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig

TOP = Path(__file__).resolve().parent.parent
# The pages beside docs/, and what pages link to.
BESIDE = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE",
    "packaging/README.md",
    "packaging/third-party-licenses.txt",
    "src/profile/functions/README.md",
    "tests/cluster/README.md",
    "tools/iframe-worker.js",
    "tools/peers/nccl.py",
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Makes the folder of links; a page that the navigation does not name comes at its end."""
    place = tempfile.TemporaryDirectory(prefix="commlens-site-")
    atexit.register(place.cleanup)
    for name in ("docs", *BESIDE):
        link = Path(place.name) / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(TOP / name)
    config.docs_dir = place.name
    assert config.nav
    named = str(config.nav)
    pages = [*(f"docs/{page.name}" for page in sorted(TOP.glob("docs/*.md"))), *BESIDE]
    more = [page for page in pages if page.endswith(".md") and f"'{page}'" not in named]
    if more:
        config.nav.append({"More": more})
    return config
