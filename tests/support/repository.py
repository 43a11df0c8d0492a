"""Git repositories for tests, with fixed people and days."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tests.support.local import write_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Repository:
    """A repository in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._run("init", "--quiet", "--initial-branch=main")

    def commit(
        self, files: Mapping[str, str | bytes], day: str = "2026-03-01", author: str = "ada"
    ) -> str:
        """Write files, commit everything, and return the abbreviated SHA."""
        write_files(self.folder, files)
        self._run("add", "--all")
        self._run("commit", "--quiet", "--message", "change", day=day, author=author)
        return self._run("rev-parse", "HEAD").strip()[:12]

    def _run(self, *arguments: str, day: str = "2026-03-01", author: str = "ada") -> str:
        people = {
            f"GIT_{role}_{what}": value
            for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", author), ("EMAIL", "a@b.example"), ("DATE", f"{day}T12:00:00Z"))
        }  # fmt: skip
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            env=os.environ | people | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
            check=True,
            capture_output=True,
            text=True,
        )  # fmt: skip
        return done.stdout
