#!/usr/bin/env python3
"""Builds the documentation as a site, build/site, in which a broken link is an error; it opens from
the files, without a network.

    tools/docs_site.py

It is also a hook of mkdocs. The pages keep their places in the repository, so that a link in one of
them leads to the same page on the site, in an editor and on the web. mkdocs reads one folder, which
must not be that of mkdocs.yml: the hook makes it one of links.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

try:
    import tomllib
except ImportError:  # before Python 3.11; mypy and pytest bring it
    import tomli as tomllib

if TYPE_CHECKING:
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
    "recipes/build-openmpi.sh",
    "src/profile/functions/README.md",
    "tests/cluster/README.md",
    "tools/iframe-worker.js",
    "tools/peers/nccl.py",
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Makes the folder of links; pages that the navigation does not name come at its end."""
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


def main() -> int:
    """Installs what is missing (the extra `docs`), and runs mkdocs."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = project["optional-dependencies"]["docs"]
    install = ("pip", "install", "--quiet", "--disable-pip-version-check", *needed)
    build = ("mkdocs", "build", "--strict", "--quiet", "--config-file", str(TOP / "mkdocs.yml"))
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    for module in (install, build):
        done = subprocess.run([sys.executable, "-m", *module], env=environment, check=False)
        if done.returncode:
            return done.returncode
    print("commlens: build/site/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
