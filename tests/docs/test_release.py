"""The version is in one place, and its release notes can be printed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from knowledge_rag.core.version import VERSION
from tests.support.local import PROJECT
from tools.release_notes import notes, sections

CHANGELOG = (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT_TABLE = PYPROJECT["project"]
HATCH = PYPROJECT["tool"]["hatch"]
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
EXAMPLE = """# Changelog

## Unreleased

## 1.1.0 - 2026-12-01

### Fixed
- b

## 1.0.0 - 2026-11-01

### Added
- a
"""


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "tools.release_notes", *arguments],
        capture_output=True, text=True, cwd=PROJECT, timeout=600, check=False,
    )  # fmt: skip


def test_the_notes_of_a_version_are_its_own():
    assert notes(EXAMPLE, "1.1.0") == "### Fixed\n- b"
    assert notes(EXAMPLE, "1.0.0") == "### Added\n- a"


@pytest.mark.parametrize("missing", ["Unreleased", "2.0.0"])
def test_a_version_without_notes_is_reported_with_those_that_have_some(missing):
    with pytest.raises(KeyError, match=r"there are notes of Unreleased, 1\.1\.0, 1\.0\.0"):
        notes(EXAMPLE, missing)


def test_the_command_prints_them_or_says_what_is_missing():
    done = run("Unreleased")
    assert (done.returncode, done.stdout) == (0, notes(CHANGELOG, "Unreleased") + "\n")
    failed = run("99.0.0")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("no notes of 99.0.0; there are notes of Unreleased")


def test_the_changelog_has_the_next_version_first_and_each_one_once():
    headings = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert len(sections(CHANGELOG)) == len(headings)
    assert set(re.findall(r"^### (.*)$", CHANGELOG, re.MULTILINE)) <= KINDS


def test_the_version_stands_in_one_place():
    assert [
        path.relative_to(PROJECT).as_posix()
        for folder in ("knowledge_rag", "lambdas", "infra")
        for path in (PROJECT / folder).rglob("*.py")
        if f'"{VERSION}"' in path.read_text(encoding="utf-8")
    ] == [HATCH["version"]["path"]]


def test_the_licence_is_named_and_shipped():
    assert PROJECT_TABLE["license"] == "Apache-2.0"
    (file,) = PROJECT_TABLE["license-files"]
    text = (PROJECT / file).read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text
