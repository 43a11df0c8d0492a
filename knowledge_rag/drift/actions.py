"""Action items of postmortems that ask for a change of a runbook that hasn't changed since.

Whether a runbook says what an item asks for can't be told by its words. That it can't say so can: its last commit is older than the incident.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.drift.findings import Finding, Kind
from knowledge_rag.drift.links import resolved
from knowledge_rag.extract.dates import find_dates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import date

    from knowledge_rag.drift.history import Commit
    from knowledge_rag.drift.page import Page

MAX_ITEMS: Final = 200
"""Of a postmortem that are compared."""
MAX_ITEM: Final = 2_000
"""Characters of an item that are read."""
HEAD: Final = 20
"""Lines at the head of a postmortem that may have the incident's day."""
_ITEMS: Final = re.compile(
    r"\b(?:actions?|action(?: items?| points?| plan)|follow[- ]?ups?|remediations?|corrective|preventi(?:ve|on)|next steps"
    r"|improvements|measures|to ?-?dos?|tasks)\b",
    re.IGNORECASE,
)
"""How a section of action items is headed."""
_RUNBOOK: Final = re.compile(
    r"(?P<of>(?:\b[\w-]+ ){0,5})(?:(?P<strict>run ?-?books?|play ?-?books?|sops?)|procedures?|checklists?|pages?|docs?|guides?)\b",
    re.IGNORECASE,
)
_ANOTHER: Final = re.compile(r"\b(?:a|an|new)(?: new| short)?$")
_DETERMINER: Final = re.compile(r".*\b(?:the|our|this|a|an|in|into|to|of|on|for|and|extend|update|amend)\b", re.IGNORECASE)  # fmt: skip
_TARGET: Final = re.compile(r"\]\(([^)\s]+)\)|([\w./-]+\.(?:md|mdx|rst|adoc|txt|html?))\b", re.IGNORECASE)  # fmt: skip
_RELATED: Final = re.compile(r"[\"']?runbooks?[\"']?\s*:\s*[\"'\[]*([^\"'\],\s]+)", re.IGNORECASE)
_CANCELLED: Final = re.compile(
    r"~~|\(dropped\b|\b(?:cancell?ed|won.?t (?:do|fix)|wontfix|rejected|declined|(?:not|no longer) needed|superseded|abandoned)\b",
    re.IGNORECASE,
)
_DONE: Final = re.compile(
    r"\[x\]|✅|☑|✔|(?<!not )(?<!half )\b(?:done|closed|completed?|finished|shipped|merged|resolved|published)\b",
    re.IGNORECASE,
)
_ISO: Final = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
_REVIEW: Final = re.compile(r"\W*(?:last_)?(?:reviewed|updated|modified)", re.IGNORECASE)
_WORD: Final = re.compile(r"[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Item:
    """An action item that asks for a change of a runbook.

    Args:
        path: of the postmortem.
        line: 1-based, of its beginning.
        day: ISO day, the earliest that the postmortem's head has.
        due: ISO day, the last in the item; ``""`` without one.
        is_done: whether it says so.
        targets: paths that it names, or else those that its postmortem does, relative to the folder.
        words: of the runbook's name, in lower case, where the item has no path.
    """

    path: str
    line: int
    day: str
    due: str
    is_done: bool
    targets: tuple[str, ...]
    words: tuple[str, ...] = ()

    @classmethod
    def of_wire(cls, path: str, wire: Sequence[Any]) -> Item:
        """Return what was made JSON, without the path."""
        line, day, due, is_done, targets, words = wire
        return cls(path, line, day, due, is_done, tuple(targets), tuple(words))


def items_in(page: Page) -> Iterator[Item]:
    """Find the first MAX_ITEMS action items of a postmortem that ask for a change of a runbook."""
    day = _day(page) if page.is_report else ""
    if day:
        yield from islice((it for one in _texts(page) for it in _read(page, day, *one)), MAX_ITEMS)


def _day(page: Page) -> str:
    named = _ISO.search(posixpath.basename(page.path))
    head = [it for it in page.lines[:HEAD] if not _REVIEW.match(it)]
    dates = [it.day.isoformat() for it in find_dates("\n".join(head))]
    return min([*dates, *([named[0]] if named else [])], default="")


def _texts(page: Page) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each action item: a row, a paragraph or list item, or a section below the heading."""
    headings = page.headings
    for at, (first, level, text) in enumerate(headings):
        if not _ITEMS.search(text):
            continue
        below = [(line, of, it) for line, of, it in headings[at + 1 :]]
        end = next((line for line, of, _ in below if of <= level), len(page.lines) + 1)
        parts = [(line, it) for line, _, it in below if line < end]
        rows = [(row.line, " | ".join(row.cells)) for row in page.rows if first < row.line < end]
        of_rows = {line for line, _ in rows}
        paragraphs = [
            (it.line, it.text) for it in page.paragraphs if first < it.line < end and it.line not in of_rows
        ]  # fmt: skip
        starts = [line for line, _ in parts]
        if not starts:
            yield from sorted([*rows, *paragraphs])
            return
        for (line, title), until in zip(parts, [*starts[1:], end], strict=True):
            inner = [text for at, text in sorted([*rows, *paragraphs]) if line < at < until]
            yield line, "\n".join([title, *inner])
        return


def _read(page: Page, day: str, line: int, text: str) -> Iterator[Item]:
    text = text[:MAX_ITEM]
    if _CANCELLED.search(text):
        return
    named = [link or path for link, path in _TARGET.findall(text)]
    words: tuple[str, ...] = ()
    if not named:
        called = _called(text)
        if called is None:
            return
        words = called
        named = _related(page)
    dates = [it.day.isoformat() for it in find_dates(text)]
    targets = tuple(dict.fromkeys(it for one in named for it in (resolved(page.path, one), posixpath.normpath(one))))  # fmt: skip
    yield Item(page.path, line, day, max(dates, default=""), bool(_DONE.search(text)), targets, words)  # fmt: skip


def _called(text: str) -> tuple[str, ...] | None:
    """Return the words that a text calls a runbook by, ``()`` if it only speaks of "the runbook", ``None`` if of none."""
    for found in _RUNBOOK.finditer(text):
        of = found["of"].strip()
        if _ANOTHER.search(of):
            continue
        words = tuple(_WORD.findall(_DETERMINER.sub("", of).casefold()))
        if words or found["strict"]:
            return words
    return None


def _related(page: Page) -> list[str]:
    """Return the runbooks that a postmortem names in its front matter, else those that it links."""
    front = [it[1] for line in page.lines[: page.front_matter_lines] if (it := _RELATED.match(line))]  # fmt: skip
    return front or [link.target.partition("#")[0] for link in page.links if ":" not in link.target]


def check_items(
    items: Iterable[Item],
    runbooks: Sequence[str],
    changed: Callable[[str], Commit | None],
    today: date,
) -> Iterator[Finding]:
    """Find items, done or overdue, whose runbook hasn't changed since the incident.

    Args:
        items: of all postmortems.
        runbooks: paths of the documents that aren't postmortems.
        changed: returns the commit that last changed a document, ``None`` if Git doesn't know.
        today: the day by which an item is overdue.
    """
    known = set(runbooks)
    for each in items:
        if not each.is_done and not "" < each.due < today.isoformat():
            continue
        page = _page_of(each, known)
        commit = changed(page) if page else None
        if commit is not None and commit.day < each.day:
            state = "done" if each.is_done else f"due {each.due}"
            message = (
                f"the item is {state}, but {page} hasn't changed since the incident of {each.day}:"
                f" the last commit is {commit.sha} of {commit.day}"
            )
            yield Finding(each.path, each.line, 1, 1, Kind.ACTION_ITEM, page, message)


def _page_of(item: Item, known: set[str]) -> str:
    """Return the runbook that an item names, ``""`` if that isn't one document."""
    targets = [it for it in item.targets if it in known]
    ends = {page for page in known for it in item.targets if page.endswith("/" + it.lstrip("./"))}
    if item.words:
        wanted = {_singular(word) for word in item.words}
        called = [
            it
            for it in known
            if wanted <= set(map(_singular, _WORD.findall(posixpath.basename(it).casefold())))
        ]
        targets = [it for it in targets if it in called] or called
    found = list(dict.fromkeys(targets)) or sorted(ends)
    return found[0] if len(found) == 1 else ""


def _singular(word: str) -> str:
    return word.removesuffix("s")
