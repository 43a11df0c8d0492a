"""Action items of postmortems that ask for a change of a runbook that hasn't changed since.

Whether a runbook says what an item asks for can't be told by its words. That it can't say so can: its last commit is older than the incident.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
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
MAX_TARGETS: Final = 50
"""Runbooks of a postmortem of which an item may mean one."""
HEAD: Final = 20
"""Lines at the head of a postmortem that may have the incident's day."""
_ITEMS: Final = re.compile(
    r"\b(?:actions?|action(?: items?| points?| plan)|follow[- ]?ups?|remediations?|corrective|preventi(?:ve|on)|next steps"
    r"|improvements|measures|to ?-?dos?|tasks)\b",
    re.IGNORECASE,
)
"""How a section of action items is headed."""
_RUNBOOK: Final = re.compile(
    r"(?P<of>(?:\b[\w-]{1,40} ){0,5})(?:(?P<strict>run ?-?books?|play ?-?books?|sops?)|procedures?|checklists?|pages?|docs?|guides?)\b",
    re.IGNORECASE,
)
_ANOTHER: Final = re.compile(r"\b(?:a|an|new)(?: new| short)?$")
_DETERMINER: Final = re.compile(r".*\b(?:the|our|this|a|an|in|into|to|of|on|for|and|extend|update|amend)\b", re.IGNORECASE)  # fmt: skip
_TARGET: Final = re.compile(r"\]\(([^)\s]+)\)|(?<![\w./-])([\w./-]+\.(?:md|mdx|rst|adoc|txt|html?))\b", re.IGNORECASE)  # fmt: skip
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
        line: 1-based, of its beginning.
        day: ISO day, the earliest that the postmortem's head has.
        due: ISO day, the last in the item; ``""`` without one.
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
        related = _related(page)
        yield from islice((it for one in _texts(page) for it in _read(page, related, day, *one)), MAX_ITEMS)  # fmt: skip


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
        texts = sorted([*rows, *paragraphs])
        for (line, title), until in zip(parts, [*starts[1:], end], strict=True):
            inner = texts[bisect_right(texts, (line + 1,)) : bisect_left(texts, (until,))]
            yield line, "\n".join([title, *(text for _, text in inner)])
        return


def _read(page: Page, related: Sequence[str], day: str, line: int, text: str) -> Iterator[Item]:
    text = text[:MAX_ITEM]
    if _CANCELLED.search(text):
        return
    named: Sequence[str] = [link or path for link, path in _TARGET.findall(text)]
    words: tuple[str, ...] = ()
    if not named:
        called = _called(text)
        if called is None:
            return
        words = called
        named = related
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
    linked = (link.target.partition("#")[0] for link in page.links if ":" not in link.target)
    return front[:MAX_TARGETS] or list(islice(dict.fromkeys(linked), MAX_TARGETS))


def check_items(
    items: Iterable[Item],
    runbooks: Sequence[str],
    changed: Callable[[str], Commit | None],
    today: date,
) -> Iterator[Finding]:
    """Find items, done or overdue by today, whose runbook hasn't changed since the incident.

    ``runbooks`` are the documents that aren't postmortems; ``changed`` returns the last commit of one, ``None`` if Git
    doesn't know.
    """
    known = _Runbooks(runbooks)
    for each in items:
        if not each.is_done and not "" < each.due < today.isoformat():
            continue
        page = known.of(each)
        commit = changed(page) if page else None
        if commit is not None and commit.day < each.day:
            state = "done" if each.is_done else f"due {each.due}"
            message = (
                f"the item is {state}, but {page} hasn't changed since the incident of {each.day}:"
                f" the last commit is {commit.sha} of {commit.day}"
            )
            yield Finding(each.path, each.line, 1, 1, Kind.ACTION_ITEM, page, message)


class _Runbooks:
    """Documents, by the ends of their paths and by the words of their names."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._known = set(paths)
        self._of_end: dict[str, set[str]] = defaultdict(set)
        self._of_word: dict[str, set[str]] = defaultdict(set)
        for path in self._known:
            end = path
            while end := end.partition("/")[2]:
                self._of_end[end].add(path)
            for word in _WORD.findall(posixpath.basename(path).casefold()):
                self._of_word[_singular(word)].add(path)

    def of(self, item: Item) -> str:
        """Return the runbook that an item names, ``""`` if that isn't one document."""
        targets = [it for it in item.targets if it in self._known]
        ends = {page for it in item.targets for page in self._of_end.get(it.lstrip("./"), ())}
        if item.words:
            words = (self._of_word.get(_singular(word), set()) for word in item.words)
            called = set.intersection(*words)
            targets = [it for it in targets if it in called] or sorted(called)
        found = list(dict.fromkeys(targets)) or sorted(ends)
        return found[0] if len(found) == 1 else ""


def _singular(word: str) -> str:
    return word.removesuffix("s")
