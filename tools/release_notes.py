"""Prints the changelog of one version: ``python -m tools.release_notes [VERSION]``.

Without a version it prints the current one's.
"""

from __future__ import annotations

import re
import sys
from typing import Final

from knowledge_rag.core.version import VERSION
from tests.support.local import PROJECT

_SECTION: Final = re.compile(
    r"^## (?P<version>\S+)(?: - (?P<day>\d{4}-\d\d-\d\d))?\n(?P<notes>.*?)(?=^## |\Z)",
    re.DOTALL | re.MULTILINE,
)


def sections(changelog: str) -> dict[str, str]:
    """Return the notes of each version, and of ``Unreleased``."""
    return {found["version"]: found["notes"].strip() for found in _SECTION.finditer(changelog)}


def notes(changelog: str, version: str) -> str:
    """Return the notes of a version.

    Raises:
        KeyError: the changelog has none, or nothing below its heading; the message lists its versions.
    """
    found = sections(changelog)
    if not found.get(version):
        raise KeyError(
            f"no notes of {version}; there are notes of {', '.join(found)}: make notes VERSION=..."
        )
    return found[version]


def main() -> int:
    """Print the notes; return 1 if there are none."""
    version = sys.argv[1] if len(sys.argv) > 1 else VERSION
    try:
        print(notes((PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"), version))
    except KeyError as missing:
        print(missing.args[0], file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
