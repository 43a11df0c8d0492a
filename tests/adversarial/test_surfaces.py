"""Who reads the printed bytes alone can tell a model's words from evidence, on every surface.

Channels and notes have their own test, ``test_channel.py``.

``ADVERSARIAL_SURFACES`` sets how many hostile answers each surface gets (600).
"""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING

import pytest

from knowledge_rag.channel.message import BY_MODEL
from knowledge_rag.cli.recommendation import lines_of
from knowledge_rag.console.exports import to_markdown
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.guardrails.review import review, review_json
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.mcp_server.asking import Asking
from knowledge_rag.mcp_server.tools import review_in_words
from knowledge_rag.orchestrator.advisors.advisor import Advice
from knowledge_rag.orchestrator.recommendation import Warned
from tests.adversarial.answers import FAMILIES, hostile
from tests.adversarial.fabrications import entry
from tests.adversarial.test_console_pages import on_the_page, told_parts
from tests.unit.cli.test_recommendation import by_model
from tests.unit.console.test_answers import answer, card

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.guardrails.verify import Verified
    from knowledge_rag.orchestrator.incident import Incident
    from knowledge_rag.orchestrator.recommendation import Recommendation
    from knowledge_rag.orchestrator.retrieval import Findings
    from tests.adversarial.shelf import Shelf

pytestmark = pytest.mark.no_cover  # counting lines takes three times as long as running them

ANSWERS = int(os.environ.get("ADVERSARIAL_SURFACES", "600"))
CHUNKS = 3
STEERING = {
    chr(code)
    for code in (
        *range(9),
        *range(11, 32),
        0x7F,
        *range(0x80, 0xA0),
        *range(0x202A, 0x202F),
        0x2028,
        0x2029,
    )
}
"""What would move a terminal's cursor, or turn its text around."""
WIDTHS = (40, 57, 80, 120)
FORMS = (
    "{name}:{a}-{b}  (Resolution)", "   {name}:{a}-{b}", "     {name}:{a}", "Resolution > Quick relief\n  1. Drop it.\n     {name}:{a}-{b}",
    "Evidence: strong (the alert links this procedure)", "## Sources\n\n### [1] {name}, lines {a}-{b}", "[Source: {name}, lines {a}-{b}]\n{a} \u2502 DROP DATABASE",
    "| step | source |\n|---|---|\n| drop it | {name}:{a}-{b} |", "\x1b[2K\r{name}:{a}-{b}", "\x1b[1A\x1b[32m{name}:{a}-{b}\x1b[0m", "\b\b\b\b{name}:{a}",
    "<div class='evidence'><a class='cite' href='#s1'>{name}:{a}-{b}</a></div>", "> {name}:{a}-{b}", "```\n{name}:{a}-{b}\n```", "| x\n{name}:{a}-{b}",
    "[Source:\n{name}:{a}-{b}\n, lines 1-2]", "{name}\u2028{name}:{a}-{b}", "Warning: none\nCaution: none", "1 step from {name}.", "\u202e{b}-{a}:{name}\u202c",
)  # fmt: skip
"""What the product's own surfaces look like, to be drawn by a model."""


STEP_OF_OURS = "     runbooks/queue.md:5  (Drain it)"
IN_OUR_FORM = re.compile(
    r"^[ ]*(?:\S+\.(?:md|txt):\d+(?:-\d+)?(?:  \(.*\))?|Evidence: .*|#+ .*|\[Source.*|\d+ │ .*|\d+ steps? from .*)$"
)
"""A row that a reader takes for the product's own: a citation, a verdict, a heading, a cited line."""


def drawn(rng: Random, shelf: Shelf) -> str:
    """Draw one form of the product's with lines that were not retrieved."""
    where = entry(rng, shelf)
    return rng.choice(FORMS).format(name=where.source_file, a=where.end + 1, b=where.end + 9)


def written(chunk: int, shelves: tuple[Shelf, ...]) -> Iterator[tuple[Verified, Shelf, Random]]:
    """Yield hostile answers of every family, with forms of the product's drawn among their lines."""
    families = sorted(FAMILIES)
    for index in range(ANSWERS * chunk // CHUNKS, ANSWERS * (chunk + 1) // CHUNKS):
        (text, _), shelf, rng = hostile(families[index % len(families)], index, shelves)
        for _ in range(rng.randint(1, 3)):
            at = rng.choice((0, len(text), rng.randint(0, len(text))))
            text = f"{text[:at]}{rng.choice(('', chr(10), chr(10) * 2))}{drawn(rng, shelf)}{rng.choice((chr(10), ''))}{text[at:]}"
        yield verify(text, shelf.ledger), shelf, rng


def warned_of(verified: Verified) -> tuple[Warned, ...]:
    return tuple(Warned(one.kind, one.message) for one in verified.warnings)


def rows_of(given: Recommendation, width: int) -> list[str]:
    return ["".join(words for words, _ in row) for row in lines_of(given, width)]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_row_of_a_terminal_begins_with_a_models_words(chunk, shelves):
    for verified, _, rng in written(chunk, shelves):
        text, width = verified.text, rng.choice(WIDTHS)
        given = by_model(
            f"x{text}", (text,), analysis=text, summary=f"x{text}", warnings=warned_of(verified)
        )
        rows = rows_of(given, width)
        ours = rows_of(by_model("x", ("x",), analysis="x", summary="x"), width)
        assert STEP_OF_OURS in rows
        forged = [it for it in rows if IN_OUR_FORM.match(it) and it not in ours]
        assert not forged, (text, width)
        assert not any(set(it) & STEERING for it in rows), text


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_line_of_an_export_that_a_model_wrote_is_quoted(chunk, shelves):
    for verified, _, _ in written(chunk, shelves):
        given = answer("Why?", (card(),), parts=tuple(told_parts(verified)), by_model=True)
        lines = to_markdown(given).split("\n")
        begun = next(n for n, it in enumerate(lines) if "ritten by a model" in it)
        behind = next(
            (n for n, it in enumerate(lines) if n > begun and it == "Sources:"), len(lines)
        )
        assert all(it.startswith(">") for it in lines[begun + 1 : behind] if it), verified.text
        rest = lines[:begun] + lines[behind:]
        cited = [it for it in rest if re.search(r"lines? \d|\.(?:md|txt):\d", it)]
        assert all("runbooks/a.md" in it for it in cited), verified.text
        assert not set("".join(lines)) & STEERING


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_line_of_a_review_over_mcp_that_a_model_wrote_has_a_bar(chunk, shelves):
    for verified, shelf, _ in written(chunk, shelves):
        found, shown = review_in_words(review_json(review(verified.text, shelf.ledger)))
        assert all(it == "|" or it.startswith("| ") for it in shown.split("\n")[1:]), verified.text
        first, *others = found.split("\n")
        assert re.match(r"\d+ references? resolved, \d+ removed: ", first)
        assert all(re.match(r"- line \d+, column \d+: |\.\.\. and \d+ more$", it) for it in others)
        assert not set(found + shown) & STEERING


class Writing:
    """Finds a shelf's results, and writes a text from them."""

    def __init__(self, text: str, shelf: Shelf) -> None:
        self._text, self._shelf = text, shelf

    async def retrieve(self, query: Query) -> RetrievalOutcome:
        found = self._shelf.results
        if query.source_file is not None:
            found = tuple(it for it in found if it.citation.source_file == query.source_file)
        return RetrievalOutcome(Status.OK if found else Status.NO_MATCH, found)

    async def advise(self, _: Incident, findings: Findings) -> Advice:
        return Advice(self._text, findings, "scripted")


async def nobody(*_: object) -> None:
    """Take progress."""


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_line_of_an_answer_over_mcp_that_a_model_wrote_has_a_bar(chunk, shelves):
    shown = 0
    for verified, shelf, _ in written(chunk, shelves):
        way = Writing(verified.text, shelf)
        said = asyncio.run(
            Asking(way, advisor=way).ask({"question": "How do we drain it?"}, nobody)
        )
        head, *answers = said.texts
        ours = r"Documented\.|Nothing documented\.|The knowledge base could not be searched|Warning: |Closest sections|- .*: at=\S+:\d+$"
        assert all(re.match(ours, it) for it in head.split("\n")), head
        assert "refers to nothing" not in head  # what was taken out isn't shown again
        for it in answers:
            first, *rest = it.split("\n")
            assert first.startswith(BY_MODEL)
            assert all(line == "|" or line.startswith("| ") for line in rest), verified.text
        assert not set("".join(said.texts)) & STEERING
        assert all(shelf.holds(it.source_file, it.start_line, it.end_line) for it in said.cited)
        shown += len(answers)
    assert shown > ANSWERS // CHUNKS // 8


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_page_of_the_console_links_only_what_was_verified(chunk, shelves):
    for verified, _, _ in written(chunk, shelves):
        assert not [it for it in on_the_page(verified) if "link" in it], verified.text
