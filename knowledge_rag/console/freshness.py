"""Whether what is shown still stands in the files: for the console's wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knowledge_rag.console.sparing import SparingCorpus
from knowledge_rag.extract.documents import is_extracted
from knowledge_rag.guardrails.staleness import State, compare, compare_all
from knowledge_rag.guardrails.staleness_report import describe, to_dict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.guardrails.staleness import CitedLines, Corpus, Staleness

Stale = dict[str, Any]
"""What became of cited lines, as ``guardrails.staleness_report`` gives it, and ``message``."""


def stale_at_a_glance(cited: Sequence[CitedLines], corpus: Corpus | None) -> list[Stale | None]:
    """Say of each citation what became of it in its own file, as far as that is told at once.

    A web page or a PDF takes long to read: of those the view of the document tells.

    Args:
        cited: the lines, with what proves them.
        corpus: the documents as they are now; ``None`` if that isn't known.

    Returns:
        In their order; ``None`` where the lines are the same, or nobody knows.
    """
    if corpus is None:
        return [None] * len(cited)
    sparing = SparingCorpus(corpus)
    return [
        None
        if is_extracted(one.citation.source_file)
        else told_of(compare(one, sparing.now(one.citation.source_file)))
        for one in cited
    ]


def stale_anywhere(cited: Sequence[CitedLines], corpus: Corpus | None) -> list[Stale | None]:
    """Say the same, and look in all other files for what its own does not hold any more."""
    if corpus is None:
        return [None] * len(cited)
    return [told_of(one) for one in compare_all(cited, corpus)]


def told_of(one: Staleness) -> Stale | None:
    """Give the JSON form of what became of cited lines; ``None`` where they are the same."""
    if one.state is State.SAME:
        return None
    return to_dict(one) | {"message": describe(one)}
