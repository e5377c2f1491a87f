"""Sites of tests, and schedulers that are fakes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from conftest import FAKES


def site_file(scheduler: str, **more: object) -> Path:
    """One that launches with the fake of mpirun."""
    values = {
        "site": "mine",
        "title": "a machine of tests",
        "source": "these tests",
        "checked": "2026-11-23",
        "status": "tested",
        "scheduler": scheduler,
        "node": "{ranks: 2}",
        "launcher": "mpirun",
        **more,
    }
    path = Path("mine.yaml")
    path.write_text("".join(f"{name}: {value}\n" for name, value in values.items()))
    return path


@dataclass
class FakeScheduler:
    """Its commands are the first on the PATH."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"FAKE_CALLS": str(self.folder / "calls"), "FAKE_ANSWERS": str(self.folder)}

    def install(self, *names: str) -> None:
        (self.folder / "bin").mkdir(exist_ok=True, parents=True)
        for name in names:
            with suppress(FileExistsError):
                (self.folder / "bin" / name).symlink_to(FAKES / "scheduler")

    def answer(self, name: str, *lines: str) -> None:
        (self.folder / name).write_text("".join(f"{line}\n" for line in lines))

    def calls(self) -> list[str]:
        path = self.folder / "calls"
        return path.read_text().splitlines() if path.exists() else []
