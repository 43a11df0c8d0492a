"""The named errors of this product.

::

    KnowledgeRagError                 base of all below; the message says what, where and what to do
    ├── InvalidCitation               a citation that could not exist: bad path or lines
    ├── UnreadableDocument            a document that yields no chunks; has a name and a reason
    ├── InvalidSettings               a setting with a value that is not allowed
    ├── InvalidRequest                the caller's request is wrong: a 4xx, never a call to AWS
    ├── RequestRefused                the retrieval function refused the request; has its message
    ├── UnreadableResponse            a response that isn't the retrieval function's
    ├── DeadlineExceeded              the time for a call is up; a TimeoutError like a socket's own
    └── RetrievalFailed               retrieval could not be carried out; has a coarse reason
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowledge_rag.core.outcome import Reason


class KnowledgeRagError(Exception):
    """Base of every error that this product raises on purpose."""


class InvalidCitation(KnowledgeRagError, ValueError):  # noqa: N818 - named for what it is, as httpx does
    """A citation with a path or a line range that no real file can have."""


class UnreadableDocument(KnowledgeRagError):  # noqa: N818
    """A document that yields no chunks.

    Args:
        name: the document, relative to the corpus root.
        reason: one clause that a person can act on, e.g. ``"not UTF-8: byte 0xff at offset 12"``.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


class InvalidSettings(KnowledgeRagError, ValueError):  # noqa: N818
    """One or more settings with values that aren't allowed; the message names each."""


class InvalidRequest(KnowledgeRagError, ValueError):  # noqa: N818
    """A request that can't be served as it is.

    Args:
        message: what is wrong with the request, for the caller to read.
        status: the HTTP status to answer with, 400..499.
    """

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class RequestRefused(KnowledgeRagError):  # noqa: N818
    """The retrieval function refused the request; the message is its reason."""


class UnreadableResponse(KnowledgeRagError, ValueError):  # noqa: N818
    """A response isn't one of the retrieval function's; the message says why."""


class DeadlineExceeded(KnowledgeRagError, TimeoutError):  # noqa: N818
    """The time for a call is up."""


class RetrievalFailed(KnowledgeRagError):  # noqa: N818
    """Retrieval could not be carried out.

    Args:
        reason: the coarse reason that callers see.
        code: the service's or the library's own name for the failure, for the log.
        request_id: the service's id of the request, if there was one.
        permanent: true if a retry can't help (access, configuration).
    """

    def __init__(
        self, reason: Reason, *, code: str, request_id: str = "", permanent: bool = False
    ) -> None:
        super().__init__(f"{reason}: {code}")
        self.reason = reason
        self.code = code
        self.request_id = request_id
        self.permanent = permanent


def how_to_install(extra: str) -> str:
    """Return how to install an extra from a checkout or its wheel: it is in no package index.

    Args:
        extra: of pyproject.toml, such as ``console``.
    """
    return f"pip install '.[{extra}]' in a checkout, or 'runbook_rag-VERSION-py3-none-any.whl[{extra}]'"
