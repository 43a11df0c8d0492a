"""Whether documents are kept up: their last review, what has changed since in the code that they name, and their owners."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.drift.findings import Finding, Kind, near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from knowledge_rag.drift.history import Commit
    from knowledge_rag.drift.page import Page

REVIEWED: Final = ("last_reviewed", "last_reviewed_on", "reviewed")
"""Fields of front matter that say when a document was reviewed."""
_REVIEW_KEY: Final = re.compile(rf"[\"']?(?:{'|'.join(REVIEWED)})[\"']?\s*:\s*(?P<value>\S.*)")
_CODE_PATH: Final = re.compile(r"(?:\./)?[\w.-]+(?:/[\w.-]+)+/?")
CODEOWNERS: Final = (".github/CODEOWNERS", ".gitlab/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where a repository keeps its list."""
_OWNER_KEY: Final = re.compile(r"[\"']?(?:owners?|team|owner_slack)[\"']?\s*:\s*(?P<value>.*)$")
_ITEM: Final = re.compile(r"\s+-\s+(?P<value>.*)$|-\s+(?P<other>.*)$")
_NAME: Final = re.compile(r"[\"']?([#@]?[\w./@+-]+(?: [\w./@+-]+)*)[\"']?")
_COMMENT: Final = re.compile(r"\s#(?![\w]).*$")


@dataclass(frozen=True, slots=True)
class Ages:
    """What the age of documents is measured by.

    Args:
        today: the day on which it is measured.
        max_days: since a review that are no finding; ``None`` for any number.
        lines: returns the commit of each line of a document, ``()`` if Git doesn't know.
        is_code: whether code has a file or folder of a path.
        commits: returns the commits that changed each path, newest first.
        changed: returns the last commit that changed a document; ``None`` if Git doesn't know, or if it was edited since.
    """

    today: date
    max_days: int | None
    lines: Callable[[str], Sequence[Commit]]
    is_code: Callable[[str], bool]
    commits: Callable[[frozenset[str]], Mapping[str, Sequence[Commit]]]
    changed: Callable[[str], Commit | None] = lambda _: None


class _Mention(NamedTuple):
    page: Page
    line: int
    column: int
    end_column: int
    path: str


def check_age(pages: Sequence[Page], ages: Ages) -> Iterator[Finding]:
    """Find reviews that are overdue, and code that changed since the lines that name it.

    A line counts as seen on the later of its own last commit and the document's review.
    """
    reviews = {page.path: _review(page) for page in pages}
    for page in pages:
        if found := reviews[page.path]:
            line, column, day = found
            days = (ages.today - day).days
            if ages.max_days is not None and days > ages.max_days:
                message = f"last reviewed {days} days ago, at most {ages.max_days} are allowed"
                yield Finding(page.path, line, column, column + 10, Kind.OVERDUE, "last_reviewed", message)  # fmt: skip
    mentions = [mention for page in pages for mention in _mentions(page, ages.is_code)]
    commits = ages.commits(frozenset(mention.path for mention in mentions)) if mentions else {}
    for mention in mentions:
        if changes := commits.get(mention.path):
            found = reviews[mention.page.path]
            yield from _changed(mention, found[2] if found else None, changes, ages)


def _review(page: Page) -> tuple[int, int, date] | None:
    """Return line, column and day of what front matter says of the last review."""
    for number, line in enumerate(page.lines[: page.front_matter_lines], 1):
        said = _REVIEW_KEY.match(line)
        value = said["value"].rstrip().strip("\"'")[:10] if said else ""
        try:
            if said and re.fullmatch(r"\d{4}-\d\d-\d\d", value):
                return number, said.start("value") + 1, date.fromisoformat(value)
        except ValueError:
            continue
    return None


def _mentions(page: Page, is_code: Callable[[str], bool]) -> Iterator[_Mention]:
    for code in page.codes:
        path = code.text.strip()
        if not code.is_block and len(path) <= 200 and _CODE_PATH.fullmatch(path):
            path = path.removeprefix("./").rstrip("/")
            if ".." not in path.split("/") and is_code(path):
                line, column = code.places[0]
                yield _Mention(page, line, column, column + len(code.text), path)


def _changed(
    mention: _Mention, reviewed: date | None, changes: Sequence[Commit], ages: Ages
) -> Iterator[Finding]:
    lines = ages.lines(mention.page.path)
    own = lines[mention.line - 1] if mention.line <= len(lines) else None
    seen = max(
        [it for it in (own and own.day, reviewed and reviewed.isoformat()) if it], default=""
    )
    newer = [commit for commit in changes if commit.day > seen]
    if not seen or not newer:
        return
    written = f" (written {own.day} by {own.author}, {own.sha})" if own and own.day == seen else ""
    count = f"{len(newer)} commit{'s' if len(newer) > 1 else ''}"
    last = newer[0]
    message = (
        f"{count} to {mention.path} since {seen}{written}, the last {last.sha} of {last.day}"
        f" by {last.author}"
    )
    yield Finding(
        mention.page.path, mention.line, mention.column, mention.end_column,
        Kind.CODE_CHANGED, mention.path, message,
    )  # fmt: skip


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
        said, item = _OWNER_KEY.match(line), _ITEM.match(line)
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
