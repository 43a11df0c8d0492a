"""The evidence of a question as the page shows it: source cards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from knowledge_rag.console.freshness import stale_at_a_glance
from knowledge_rag.console.links import citation_url
from knowledge_rag.core.caution import sentence
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.metadata import CAUTION
from knowledge_rag.guardrails.headings import heading_words
from knowledge_rag.guardrails.staleness import CitedLines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowledge_rag.guardrails.staleness import Corpus

_KNOWN = {
    "title": "title",
    "document_type": "documentType",
    "relevance_score": "score",
    "page": "page",
    "document_sha256": "documentSha256",
}


def cards(
    evidence: Sequence[Mapping[str, Any]], fetched_at: str, corpus: Corpus | None
) -> list[dict[str, Any]]:
    """Give the cards for evidence.

    Args:
        evidence: as ``orchestrator.telling.sources_of`` gives it.
        fetched_at: when it was retrieved, ISO 8601.
        corpus: the documents as they are now; ``None`` if that isn't known. Reads files: blocks.
    """
    citations = [Citation(**one["citation"]) for one in evidence]
    cited = [
        CitedLines(citation, one["content"], one.get("document_sha256"))
        for citation, one in zip(citations, evidence, strict=True)
    ]
    return [
        _card(one, citation, fetched_at, stale)
        for one, citation, stale in zip(
            evidence, citations, stale_at_a_glance(cited, corpus), strict=True
        )
    ]


def _card(
    one: Mapping[str, Any], citation: Citation, fetched_at: str, stale: Mapping[str, Any] | None
) -> dict[str, Any]:
    card = {
        "number": one["number"],
        "id": f"source-{one['number']}",
        "title": citation.source_file,
        "source": citation.source_file,
        "url": citation_url(citation),
        "fetchedAt": fetched_at,
        "citation": one["citation"],
        "reference": str(citation),
        "content": one["content"],
        "section": heading_words(citation.section_header),
    }
    card |= {name: one[key] for key, name in _KNOWN.items() if key in one}
    if is_web_address(one.get("source_url")):
        card["sourceUrl"] = one["source_url"]
    if caution := sentence(citation, one.get(CAUTION, ())):
        card["caution"] = caution
    return card | ({"stale": stale} if stale else {})


def is_web_address(url: object) -> bool:
    """Whether a browser may be led there: metadata of a document hold whatever its writer liked."""
    if not isinstance(url, str):
        return False
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname)
    except ValueError:
        return False
