"""Whether the owners that documents name are in a list of owners."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knowledge_rag.drift.findings import Finding, Kind, near

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.drift.page import Page

CODEOWNERS: Final = (".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where a repository keeps its list."""
_KEY: Final = re.compile(r"[\"']?(?:owners?|team|owner_slack)[\"']?\s*:\s*(?P<value>.*)$")
_ITEM: Final = re.compile(r"\s+-\s+(?P<value>.*)$|-\s+(?P<other>.*)$")
_NAME: Final = re.compile(r"[\"']?([#@]?[\w./@+-]+(?: [\w./@+-]+)*)[\"']?")
_COMMENT: Final = re.compile(r"\s#(?![\w]).*$")


@dataclass(frozen=True, slots=True)
class Owners:
    """A list of owners.

    Args:
        names: as :func:`key` makes them comparable, each as it is written.
        handles_only: whether only names that begin with ``@`` are compared: a repository's list says
            nothing of others.
    """

    names: dict[str, str]
    handles_only: bool = False


def key(name: str) -> str:
    """Return what two ways to write an owner share.

    >>> key("@acme/Data-Platform"), key("data platform"), key("#data_platform")
    ('data-platform', 'data-platform', 'data-platform')
    """
    return re.sub(r"[-_ ]+", "-", name.strip().lstrip("@#").rpartition("/")[2].lower())


def read_owners(text: str, *, handles_only: bool = False) -> Owners:
    """Read CODEOWNERS, or a list with one owner on each line."""
    names: dict[str, str] = {}
    for line in text.split("\n"):
        row = _COMMENT.sub("", line).strip()
        if not row or row.startswith(("# ", "[")) or row == "#":
            continue
        words = row.split()
        owners = [word for word in words[1:] if "@" in word]
        for name in owners or ([row] if not handles_only else []):
            names.setdefault(key(name), name)
    return Owners(names, handles_only)


def check_owners(page: Page, owners: Owners) -> Iterator[Finding]:
    """Find owners in a document's front matter that are in no list."""
    is_inside = False
    for number, line in enumerate(page.lines[: page.front_matter_lines], 1):
        said, item = _KEY.match(line), _ITEM.match(line)
        is_inside = said is not None or (is_inside and item is not None)
        found = said or (item if is_inside else None)
        if found is None:
            continue
        start = found.start(found.lastgroup or 0)
        for name in _NAME.finditer(_COMMENT.sub("", line), start):
            written = name[1]
            if key(written) in owners.names or (owners.handles_only and written[0] != "@"):
                continue
            like = near(key(written), owners.names)
            column = name.start(1) + 1
            yield Finding(
                page.path, number, column, column + len(written), Kind.UNKNOWN_OWNER, written,
                f"{written} is in no list of owners", owners.names.get(like, ""),
            )  # fmt: skip
