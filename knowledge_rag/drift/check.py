"""All checks of drift on a set of documents."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import astuple, dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from knowledge_rag.drift.actions import check_items, items_in
from knowledge_rag.drift.age import check_age
from knowledge_rag.drift.agreement import check_agreement, statements_in
from knowledge_rag.drift.alerts import Alerts
from knowledge_rag.drift.cache import afresh, digest
from knowledge_rag.drift.commands import check_commands
from knowledge_rag.drift.facts import Facts, findings_of, without_text
from knowledge_rag.drift.findings import Check, Finding, Kind
from knowledge_rag.drift.links import check_links, check_superseded
from knowledge_rag.drift.names import Names, mentions_in
from knowledge_rag.drift.owners import check_owners
from knowledge_rag.drift.page import read_page
from knowledge_rag.drift.resources import resources_in
from knowledge_rag.drift.settings import check_settings, settings_in
from knowledge_rag.drift.unguarded import check_unguarded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from knowledge_rag.drift.age import Ages
    from knowledge_rag.drift.code import Code
    from knowledge_rag.drift.names import Mention
    from knowledge_rag.drift.owners import Owners
    from knowledge_rag.drift.resources import Resource

    Recall = Callable[[Sequence[bytes | str], Callable[[], Any]], Any]


@dataclass(frozen=True, slots=True)
class World:
    """What documents are compared with.

    Args:
        exists: whether there is, or may be, a file of a path relative to the documents' folder.
        checks: that are run.
        code: reads the code for the words and settings that it is given; ``None`` if there is none.
        owners: the known ones; ``None`` if there is no list.
        warns: whether a text tells to take care; ``None`` if dangers aren't looked for.
        ages: what age is measured by; ``None`` if it isn't.
        live: looks resources up in an account; ``None`` if it isn't asked.
        recall: returns a value that was made of the same parts before, or makes it.
    """

    exists: Callable[[str], bool]
    checks: frozenset[Check] = field(default=frozenset(Check))
    code: Callable[[frozenset[str], frozenset[str]], Code] | None = None
    ages: Ages | None = None
    owners: Owners | None = None
    warns: Callable[[str], bool] | None = None
    live: Callable[[Sequence[Resource]], Iterable[Finding]] | None = None
    recall: Recall = afresh

    @property
    def of_facts(self) -> str:
        """Return what the facts of a document depend on besides the document."""
        owners = sorted(self.owners.names.items()) if self.owners else None
        handles_only = self.owners is not None and self.owners.handles_only
        has = (self.code is not None, self.warns is not None, self.live is not None)
        return json.dumps([sorted(self.checks), owners, handles_only, has])


def check_documents(documents: Iterable[tuple[str, str]], world: World) -> list[Finding]:
    """Return the findings of all documents, in the order of their places.

    Args:
        documents: path relative to the folder, and text as Markdown, line for line.
        world: what they are compared with.
    """
    return check_facts((facts_of(path, text, world) for path, text in documents), world)


def facts_of(path: str, text: str, world: World) -> Facts:
    """Return the facts of one document, which is all that the checks need of it.

    Args:
        path: relative to the folder, ``/``-separated.
        text: as Markdown, line for line.
        world: what it is compared with.
    """
    page = read_page(path, text)
    findings: list[Finding] = []
    if Check.COMMANDS in world.checks:
        findings += check_commands(page)
    if Check.DANGER in world.checks and world.warns is not None:
        findings += check_unguarded(page, world.warns)
    if Check.OWNERS in world.checks and world.owners is not None:
        findings += check_owners(page, world.owners)
    has_names = Check.NAMES in world.checks and world.code is not None
    has_statements = Check.AGREEMENT in world.checks and world.code is not None
    return Facts(
        without_text(page),
        tuple(findings),
        tuple(mentions_in(page)) if has_names else (),
        tuple(statements_in(page)) if has_statements else (),
        tuple(resources_in(page)) if world.live else (),
        tuple(settings_in(page)) if has_statements else (),
        tuple(items_in(page)) if Check.AGREEMENT in world.checks else (),
    )


def check_facts(facts: Iterable[Facts], world: World) -> list[Finding]:
    """Return the findings of all documents, in the order of their places."""
    return sorted(_findings(list(facts), world))


def _findings(facts: Sequence[Facts], world: World) -> Iterator[Finding]:
    for each in facts:
        yield from each.findings
    pages = [each.page for each in facts]
    if Check.LINKS in world.checks:
        anchors = {page.path: page.anchors for page in pages}
        for page in pages:
            yield from check_links(page, anchors, world.exists)
    if Check.AGREEMENT in world.checks:
        retired = {page.path: page.retired for page in pages}
        for page in pages:
            yield from check_superseded(page, retired)
    if world.code is not None and world.checks & {Check.NAMES, Check.AGREEMENT}:
        names = frozenset(it.name for each in facts for it in each.mentions)
        keys = frozenset(it.key for each in facts for it in each.settings)
        code = world.code(names, keys)
        yield from _of_code(facts, code, world)
    if Check.AGREEMENT in world.checks and world.ages is not None:
        items = [it for each in facts for it in each.items]
        runbooks = [page.path for page in pages if not page.is_report and page.retired is None]
        yield from check_items(items, runbooks, world.ages.changed, world.ages.today)
    if Check.AGE in world.checks and world.ages is not None:
        yield from check_age(pages, world.ages)
    if world.live is not None:
        yield from world.live(list(chain.from_iterable(each.resources for each in facts)))


def _of_code(facts: Sequence[Facts], code: Code, world: World) -> Iterator[Finding]:
    if Check.NAMES in world.checks:
        yield from _of_names(facts, code, world.recall)
    if Check.AGREEMENT in world.checks:
        alerts = Alerts(code.alerts)
        for each in facts:
            yield from check_agreement(each.statements, alerts)
        yield from check_settings([it for each in facts for it in each.settings], code.values)


def _of_names(facts: Sequence[Facts], code: Code, recall: Recall) -> Iterator[Finding]:
    """Compare names again where the document's or the code's that matter to it changed."""
    names = Names(code)
    # in their order: of two files that define a name, the first is named
    defined = digest(json.dumps(code.names))
    of_documents: dict[str, list[Mention]] = defaultdict(list)
    for each in facts:
        of_documents[each.page.path] += each.mentions
    for path, mentions in of_documents.items():
        if not mentions:
            continue
        own = {mention.name for mention in mentions}
        parts = (
            "names",
            defined,
            json.dumps([astuple(mention)[1:] for mention in mentions]),
            json.dumps(sorted(own & code.words)),
            json.dumps({name: astuple(code.removed[name]) for name in sorted(own & code.removed.keys())}),
        )  # fmt: skip
        wire = recall(parts, lambda of=mentions: [astuple(it)[1:] for it in names.check(of)])  # type: ignore[misc]
        yield from findings_of(path, wire)


def unreadable(path: str, reason: str) -> Finding:
    """Return the finding of a document that can't be read."""
    return Finding(path, 1, 1, 1, Kind.UNREADABLE, "", reason)
