"""All checks of drift on a set of documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from knowledge_rag.drift.age import check_age
from knowledge_rag.drift.commands import check_commands
from knowledge_rag.drift.findings import Check, Finding, Kind
from knowledge_rag.drift.links import check_links
from knowledge_rag.drift.names import check_names, mentions_in
from knowledge_rag.drift.owners import check_owners
from knowledge_rag.drift.page import read_page
from knowledge_rag.drift.unguarded import check_unguarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from knowledge_rag.drift.age import Ages
    from knowledge_rag.drift.code import Code
    from knowledge_rag.drift.names import Mention
    from knowledge_rag.drift.owners import Owners
    from knowledge_rag.drift.page import Page


@dataclass(frozen=True, slots=True)
class World:
    """What documents are compared with.

    Args:
        exists: whether there is, or may be, a file of a path relative to the documents' folder.
        checks: that are run.
        code: reads the code for the words that it is given; ``None`` if there is none.
        owners: the known ones; ``None`` if there is no list.
        warns: whether a text tells to take care; ``None`` if dangers aren't looked for.
        ages: what age is measured by; ``None`` if it isn't.
    """

    exists: Callable[[str], bool]
    checks: frozenset[Check] = field(default=frozenset(Check))
    code: Callable[[frozenset[str]], Code] | None = None
    ages: Ages | None = None
    owners: Owners | None = None
    warns: Callable[[str], bool] | None = None


def check_documents(documents: Iterable[tuple[str, str]], world: World) -> list[Finding]:
    """Return the findings of all documents, in the order of their places.

    Args:
        documents: path relative to the folder, and text as Markdown, line for line; of each, only what
            is compared with other documents or with code is kept.
        world: what they are compared with.
    """
    return sorted(_findings(documents, world))


def _findings(documents: Iterable[tuple[str, str]], world: World) -> Iterator[Finding]:
    checks = world.checks
    kept: list[Page] = []
    mentions: list[Mention] = []
    for path, text in documents:
        page = read_page(path, text)
        if Check.COMMANDS in checks:
            yield from check_commands(page)
        if Check.DANGER in checks and world.warns is not None:
            yield from check_unguarded(page, world.warns)
        if Check.OWNERS in checks and world.owners is not None:
            yield from check_owners(page, world.owners)
        if Check.NAMES in checks and world.code is not None:
            mentions += mentions_in(page)
        kept.append(_without_text(page))
    if Check.LINKS in checks:
        anchors = {page.path: page.anchors for page in kept}
        for page in kept:
            yield from check_links(page, anchors, world.exists)
    if Check.NAMES in checks and world.code is not None:
        yield from check_names(mentions, world.code(frozenset(it.name for it in mentions)))
    if Check.AGE in checks and world.ages is not None:
        yield from check_age(kept, world.ages)


def _without_text(page: Page) -> Page:
    """Return what of a page is compared with other pages and with code: links, and spans that may be paths."""
    spans = tuple(code for code in page.codes if not code.is_block and "/" in code.text)
    front = page.lines[: page.front_matter_lines]
    return replace(page, lines=front, codes=spans, headings=())


def unreadable(path: str, reason: str) -> Finding:
    """Return the finding of a document that can't be read."""
    return Finding(path, 1, 1, 1, Kind.UNREADABLE, "", reason)
