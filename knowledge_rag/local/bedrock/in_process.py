"""Bedrock's Retrieve for a function in the same process: the wire's answers and errors, without the wire."""

from __future__ import annotations

import json
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from knowledge_rag.core.background import Background
from knowledge_rag.core.errors import DeadlineExceeded
from knowledge_rag.core.net.deadline import current_deadline
from knowledge_rag.local.bedrock.retrieve import found_in
from knowledge_rag.local.bedrock.validation import ServiceError
from knowledge_rag.local.errors import described

if TYPE_CHECKING:
    from knowledge_rag.local.knowledge_base import KnowledgeBase

_OPERATION: Final = "Retrieve"
_logger = logging.getLogger(__name__)


class InProcessBedrock:
    """Replaces the function's client of Bedrock.

    Args:
        knowledge_base: to search; the caller closes it.
    """

    def __init__(self, knowledge_base: KnowledgeBase) -> None:
        self._knowledge_base = knowledge_base

    @property
    def api(self) -> InProcessBedrock:
        """What has the operations of botocore's client."""
        return self

    def prepare(self) -> None:
        """Do nothing: there is no connection."""

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def retrieve(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401 - as botocore has it
        """Search before the current deadline.

        Raises:
            ClientError: the request can't be honoured, or the search failed.
            DeadlineExceeded: the search took too long.
        """
        # the process waits for it, as it can't stop inside the model
        search = Background(_OPERATION, partial(self._found, request), daemon=False)
        if not search.over.wait(current_deadline().remaining()):
            raise DeadlineExceeded("the search took too long")
        if isinstance(search.error, ServiceError):
            raise _as_botocore(search.error)
        return search.result or {}

    def _found(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            # through JSON, so that the function never sees what the wire could not have carried
            found: dict[str, Any] = json.loads(json.dumps(found_in(self._knowledge_base, request)))
        except ServiceError:
            raise
        except Exception as error:
            # the function has to answer, as the wire's server does
            _logger.error("local retrieve failed: %s", described(error))  # noqa: TRY400
            raise ServiceError("InternalServerException", 500, "Internal server error") from error
        return found


def _as_botocore(error: ServiceError) -> ClientError:
    response: Any = {
        "Error": {"Code": error.code, "Message": str(error)},
        "ResponseMetadata": {"HTTPStatusCode": error.status},
    }
    return ClientError(response, _OPERATION)
