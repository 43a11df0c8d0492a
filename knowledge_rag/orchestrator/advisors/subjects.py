"""Which sections of a page are about an incident, where it speaks of several matters.

A page may have a section for each of many alerts, all told in much the same words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.orchestrator.advisors.sections import tells_purpose
from knowledge_rag.orchestrator.confidence import words_of
from knowledge_rag.orchestrator.names import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.orchestrator.advisors.passages import Passage

OWN_WORDS: Final = 3
"""A heading of so many words, all of which the incident is told in, is that of its own section."""
FITTING_SHARE: Final = 2 / 3
"""A heading of whose words the incident says so many is about it."""

_GENERATED: Final = re.compile(r"^user-content-")
"""What GitHub puts in front of an anchor."""
_GIVEN: Final = re.compile(r"\{:?\s*#([\w.:-]+)[^{}]*\}\s*$")
_LINK: Final = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_NUMBERED: Final = re.compile(r"\s*(?:step\s*)?\d+[.):]?\s", re.IGNORECASE)


def sections_of(passages: Sequence[Passage], name: str) -> list[Passage]:
    """Give the passages of one document that stand below an alert's name; none without one."""
    wanted = fold(name)
    return [it for it in passages if wanted and wanted in map(fold, it.path)]


def sections_at(passages: Sequence[Passage], anchors: Iterable[str]) -> list[Passage]:
    """Give the passages of one document that stand below a heading which one of these anchors names."""
    wanted = list(anchors)
    return [it for it in passages if any(is_at(it.path, anchor) for anchor in wanted)]


def is_at(path: Iterable[str], anchor: str) -> bool:
    """Whether an anchor names one of these headings: by its words, or as ``{#name}`` says there."""
    wanted = fold(_GENERATED.sub("", anchor))
    return bool(wanted) and any(wanted in _names(heading) for heading in path)


def _names(heading: str) -> set[str]:
    """Give what a heading may be called behind ``#``, folded."""
    given = _GIVEN.search(heading)
    plain = _LINK.sub(r"\1", _GIVEN.sub("", heading) if given else heading)
    return {fold(heading), fold(plain), *([fold(given[1])] if given else ())}


def sections_told_of(passages: Sequence[Passage], told: set[str]) -> list[Passage]:
    """Give the passages of one document below the heading that an incident says whole, if there is one.

    Args:
        passages: of the document.
        told: the incident's words; see ``confidence.told_of``.
    """
    fits = [fit(it, told, share=1, words=OWN_WORDS) for it in passages]
    best = max(fits, default=0)
    return [it for it, of_it in zip(passages, fits, strict=True) if best and of_it == best]


def fit(passage: Passage, told: set[str], *, share: float = FITTING_SHARE, words: int = 1) -> int:
    """Say how much of a heading above a passage an incident is told in.

    Args:
        passage: of a document.
        told: the incident's words.
        share: a heading counts if the incident says so many of its words, 0..1.
        words: ... and at least so many.

    Returns:
        The words that both have, of the heading that has most of them; 0 if none counts.
    """
    headings = [words_of([heading]) for heading in _matters(passage.path)]
    shared = ((len(it & told), len(it)) for it in headings)
    return max((both for both, all_ in shared if both >= max(words, share * all_)), default=0)


def _matters(path: Sequence[str]) -> Iterator[str]:
    """Give the headings that name a matter: below the title, above what a section is for.

    The steps of a procedure, each under a heading with its number, are no matters of their own.
    """
    for heading in path[1:]:
        if tells_purpose(heading):
            return
        if not _NUMBERED.match(heading):
            yield heading
