"""Bedrock's Retrieve for a function in the same process: the wire's answers and errors, without the wire."""

from __future__ import annotations

import json
import logging
import threading
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

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
        search = _Search(self._knowledge_base, request)
        if not search.over.wait(current_deadline().remaining()):
            raise DeadlineExceeded("the search took too long")
        if isinstance(search.found, ServiceError):
            raise _as_botocore(search.found)
        return search.found


class _Search:
    """One search, on a thread that nobody ends: the process waits for it, as it can't stop inside the model."""

    def __init__(self, knowledge_base: KnowledgeBase, request: dict[str, Any]) -> None:
        self._knowledge_base = knowledge_base
        self._request = request
        self.over = threading.Event()
        self.found: dict[str, Any] | ServiceError = {}
        threading.Thread(target=self._run, name=_OPERATION).start()

    def _run(self) -> None:
        try:
            # through JSON, so that the function never sees what the wire could not have carried
            self.found = json.loads(json.dumps(found_in(self._knowledge_base, self._request)))
        except ServiceError as error:
            self.found = error
        except Exception as error:  # noqa: BLE001 - the function has to answer, as the wire's server does
            _logger.error("local retrieve failed: %s", described(error))  # noqa: TRY400
            self.found = ServiceError("InternalServerException", 500, "Internal server error")
        self.over.set()


def _as_botocore(error: ServiceError) -> ClientError:
    response: Any = {
        "Error": {"Code": error.code, "Message": str(error)},
        "ResponseMetadata": {"HTTPStatusCode": error.status},
    }
    return ClientError(response, _OPERATION)
