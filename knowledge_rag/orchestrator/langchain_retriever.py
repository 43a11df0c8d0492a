"""The knowledge base as a LangChain retriever: documents that know their file and their lines.

::

    KnowledgeRagError
    └── KnowledgeUnavailable          it could not be searched; has the coarse reason
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, SkipValidation

from knowledge_rag.core.errors import KnowledgeRagError
from knowledge_rag.core.metadata import CHUNK_ID, DOCUMENT_TYPE, SOURCE_FILE
from knowledge_rag.core.outcome import Status
from knowledge_rag.core.retrieval import MAX_SERVICE_RESULTS, Query
from knowledge_rag.orchestrator.held import HeldToItsWord
from knowledge_rag.orchestrator.queries import RESULTS
from knowledge_rag.orchestrator.retrieval import (
    MAX_BUDGET_SECONDS,
    Retrieval,  # noqa: TC001 - pydantic reads it at run time
)
from knowledge_rag.orchestrator.synchronously import ask
from knowledge_rag.orchestrator.wording import UNREACHABLE

if TYPE_CHECKING:
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )

    from knowledge_rag.core.outcome import Reason, RetrievalOutcome, RetrievalResult

_logger: Final = logging.getLogger(__name__)


class KnowledgeUnavailable(KnowledgeRagError):  # noqa: N818 - named for what it is, as core's errors are
    """The knowledge base could not be searched, which says nothing about what is documented.

    Args:
        reason: why.
    """

    def __init__(self, reason: Reason | None) -> None:
        super().__init__(f"{UNREACHABLE} Reason: {reason}.")
        self.reason = reason


class KnowledgeRetriever(BaseRetriever):
    """Gives each result as a document.

    ``page_content`` is the cited lines, byte for byte, and ``id`` the chunk's id. ``metadata`` has
    ``source_file``, ``start_line``, ``end_line``, ``section_header``, ``relevance_score`` where the
    search gave one, and what else is known of the passage: ``title``, ``document_type``,
    ``section_path`` and so on; ``notice`` where retrieval has something to tell.

    An empty list means that nothing is documented. An outage must not look so, and is therefore
    raised; ``on_degraded="empty"`` is for chains that would rather go on, and logs a warning.

    ``k``, ``document_type``, ``service`` and ``source_file`` may also be given to ``invoke`` and
    ``ainvoke``.

    Args:
        retrieval: the way to the knowledge base; its budget bounds each query.
        k: documents at most, 1..100.
        document_type: only of this type; ``""`` for all.
        service: only about this one; ``""`` for all.
        source_file: only of this document, in the order of its lines; ``""`` for all.
        on_degraded: what to do where the knowledge base could not be searched.
        seconds: how long to wait for a way that does not keep its budget.

    Raises:
        KnowledgeUnavailable: by ``invoke`` and ``ainvoke``: it could not be searched.
        ValueError: by the same: the question is blank or too long, ``k`` is outside, or
            ``source_file`` is not a path as in a citation.
    """

    retrieval: Annotated[Retrieval, SkipValidation] = Field(exclude=True, repr=False)
    k: int = Field(default=RESULTS, ge=1, le=MAX_SERVICE_RESULTS)
    document_type: str = ""
    service: str = ""
    source_file: str = ""
    on_degraded: Literal["raise", "empty"] = "raise"
    seconds: float = Field(default=MAX_BUDGET_SECONDS, gt=0)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain's signature
        **narrowed: Any,  # noqa: ANN401 - likewise
    ) -> list[Document]:
        return self._documents(ask(self.retrieval, self._query(query, **narrowed), self.seconds))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain's signature
        **narrowed: Any,  # noqa: ANN401 - likewise
    ) -> list[Document]:
        held = HeldToItsWord(self.retrieval, self.seconds)
        return self._documents(await held.retrieve(self._query(query, **narrowed)))

    def _query(
        self,
        text: str,
        *,
        k: int | None = None,
        document_type: str | None = None,
        service: str | None = None,
        source_file: str | None = None,
    ) -> Query:
        kind = self.document_type if document_type is None else document_type
        about = self.service if service is None else service
        document = self.source_file if source_file is None else source_file
        filters = {DOCUMENT_TYPE: kind, "service": about, SOURCE_FILE: document}
        return Query(
            text,
            self.k if k is None else k,
            {name: value for name, value in filters.items() if value},
        )

    def _documents(self, outcome: RetrievalOutcome) -> list[Document]:
        if outcome.status is Status.DEGRADED:
            if self.on_degraded == "raise":
                raise KnowledgeUnavailable(outcome.reason)
            _logger.warning("reason=%s | gave no documents, for the search failed", outcome.reason)
        return [_document(result, outcome.notice) for result in outcome.results]


def _document(result: RetrievalResult, notice: str | None) -> Document:
    metadata: dict[str, Any] = {**result.metadata, **result.citation.to_dict()}
    if result.relevance_score is not None:
        metadata["relevance_score"] = result.relevance_score
    if notice:
        metadata["notice"] = notice
    known = result.metadata.get(CHUNK_ID)
    return Document(
        page_content=result.content,
        metadata=metadata,
        id=known if isinstance(known, str) else None,
    )
