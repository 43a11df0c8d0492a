"""All checks of drift on a set of documents."""

from __future__ import annotations

from dataclasses import dataclass, field
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
        documents: path relative to the folder, and text as Markdown, line for line.
        world: what they are compared with.
    """
    pages = [read_page(path, text) for path, text in documents]
    return sorted(_findings(pages, world))


def _findings(pages: list[Page], world: World) -> Iterator[Finding]:
    anchors = {page.path: page.anchors for page in pages}
    for page in pages:
        if Check.COMMANDS in world.checks:
            yield from check_commands(page)
        if Check.DANGER in world.checks and world.warns is not None:
            yield from check_unguarded(page, world.warns)
        if Check.LINKS in world.checks:
            yield from check_links(page, anchors, world.exists)
        if Check.OWNERS in world.checks and world.owners is not None:
            yield from check_owners(page, world.owners)
    if Check.NAMES in world.checks and world.code is not None:
        mentions = [mention for page in pages for mention in mentions_in(page)]
        code = world.code(frozenset(mention.name for mention in mentions))
        yield from check_names(mentions, code)
    if Check.AGE in world.checks and world.ages is not None:
        yield from check_age(pages, world.ages)


def unreadable(path: str, reason: str) -> Finding:
    """Return the finding of a document that can't be read."""
    return Finding(path, 1, 1, 1, Kind.UNREADABLE, "", reason)
