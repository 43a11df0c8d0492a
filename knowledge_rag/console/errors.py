"""What the console refuses, as an HTTP status and a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core.errors import KnowledgeRagError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Refused(KnowledgeRagError):  # noqa: N818 - named for what it is, as in core.errors
    """A request that is not served.

    Args:
        status: 400..599.
        message: what is wrong, for a person.
        headers: that go with it.
    """

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
