"""Puts answers through the verifier, whole and as a stream, and says what was wrong.

``ADVERSARIAL_ANSWERS`` sets how many hostile and how many honest answers there are (10,000 each);
every one has its own seed, so fewer are the first of more.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from knowledge_rag.guardrails.verify import VerifiedStream, verify
from tests.adversarial.answers import honest, hostile
from tests.adversarial.fragments import fragments
from tests.adversarial.oracle import judge, misquoted
from tests.adversarial.reading import VIEWS

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from random import Random

    from knowledge_rag.guardrails.verify import Verified
    from tests.adversarial.oracle import Tolerated
    from tests.adversarial.shelf import Shelf

ANSWERS = int(os.environ.get("ADVERSARIAL_ANSWERS", "10000"))
CHUNKS = 3
"""Tests that the answers of one kind are spread over."""


def portion(chunk: int, kinds: int) -> range:
    """Give the indexes of a chunk's answers of one of so many kinds."""
    each = -(-ANSWERS // kinds)
    return range(each * chunk // CHUNKS, each * (chunk + 1) // CHUNKS)


def try_hostile(
    family: str, index: int, shelves: tuple[Shelf, ...], tolerated: Counter[Tolerated]
) -> list[str]:
    """Give what is wrong with how a hostile answer was verified."""
    (answer, expected), shelf, rng = hostile(family, index, shelves)
    verified = verify(answer, shelf.ledger)
    finding = judge(verified, shelf, VIEWS[index % len(VIEWS)])
    tolerated.update(finding.tolerated)
    wrong = [*finding.violations]
    if expected is not None and verified.text != expected:
        wrong.append("other characters are left than should be")
    if _put_together(answer, verified) != verified.text:
        wrong.append("what was taken out and what is left do not make up the answer")
    wrong += _streamed(answer, shelf, verified, rng)
    return [f"{family} {index}: {one}: {answer!r} -> {verified.text!r}" for one in wrong]


def try_honest(notation: str, index: int, shelves: tuple[Shelf, ...]) -> list[str]:
    """Give what is wrong with how an honest answer was verified."""
    (answer, cited), shelf, rng = honest(notation, index, shelves)
    verified = verify(answer, shelf.ledger)
    wrong = []
    if verified.text != answer or verified.removed:
        wrong.append("characters are missing")
    found = [
        (one.citation.source_file, one.citation.start_line, one.citation.end_line)
        for one in verified.citations
    ]
    if found != cited:
        wrong.append(f"cites {found}, not {cited}")
    wrong += misquoted(verified, shelf)
    wrong += _streamed(answer, shelf, verified, rng)
    return [f"{notation} {index}: {one}: {answer!r} -> {verified.text!r}" for one in wrong]


def _put_together(answer: str, verified: Verified) -> str:
    """Give the answer with what was taken out replaced by its marks."""
    parts, position = [], 0
    for taken in verified.removed:
        if answer[taken.start : taken.end] != taken.text or taken.start < position:
            return f"{taken.text!r} does not stand at {taken.start}"
        parts += [answer[position : taken.start], taken.mark]
        position = taken.end
    return "".join([*parts, answer[position:]])


def _streamed(answer: str, shelf: Shelf, verified: Verified, rng: Random) -> Iterator[str]:
    """Yield where a stream shows what the whole does not, or half of a citation."""
    stream, shown = VerifiedStream(shelf.ledger), ""
    spans = {(cited.start, cited.end) for cited in verified.citations}
    for fragment in fragments(answer, rng):
        more = stream.feed(fragment)
        shown += more
        if not verified.text.startswith(shown):
            yield "a stream shows what the whole does not"
            return
        if more and any(start < len(shown) < end for start, end in spans):
            yield "a stream shows half of a citation"
    rest, whole = stream.close()
    if shown + rest != verified.text or whole != verified:
        yield "a stream ends otherwise than the whole"
