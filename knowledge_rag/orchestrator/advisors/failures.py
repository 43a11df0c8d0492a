"""What goes wrong with a model or an agent, as one failure with a coarse reason.

Only names of failures travel: a service's message can quote what it was asked.
"""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING, Any, Final

from botocore.eventstream import ParserError
from botocore.exceptions import ClientError, EventStreamError
from botocore.parsers import ResponseParserError

from knowledge_rag.core.errors import InvalidSettings, RetrievalFailed
from knowledge_rag.core.failures import FORESEEN, MAX_CODE_CHARACTERS, as_failure
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Reason
from knowledge_rag.orchestrator.errors import AdviceFailed
from knowledge_rag.orchestrator.findings import Findings

if TYPE_CHECKING:
    from collections.abc import Mapping

_MODEL_CODES: Final[Mapping[str, Reason]] = {
    "ModelErrorException": Reason.UNAVAILABLE,
    "ModelNotReadyException": Reason.UNAVAILABLE,
    "ModelStreamErrorException": Reason.UNAVAILABLE,
    "ModelTimeoutException": Reason.TIMEOUT,
}
"""Errors that only services with a model have."""

_UNKNOWN_IN_STREAM: Final = 500
"""Status of an error within a stream, which has none: botocore's own 400 would blame the request."""

_logger = logging.getLogger(__name__)


class ModelFailed(AdviceFailed):
    """A model or an agent wrote no answer that can be used.

    Args:
        cause: the coarse reason, as retrieval has it.
        detail: one clause for the log; quotes neither the incident nor the answer.
        found: the evidence that had been found until then.
    """

    def __init__(self, cause: Reason, detail: str, found: Findings | None = None) -> None:
        super().__init__(f"{cause}: {detail}")
        self.cause = cause
        self.detail = detail
        self.found = found or Findings()


def as_model_failure(error: Exception, found: Findings | None = None) -> ModelFailed:
    """Give the failure that whatever was raised amounts to.

    Args:
        error: of botocore, of this product, or a defect, which is logged without its message.
        found: the evidence that had been found until then.
    """
    if isinstance(error, ModelFailed):
        return error
    if isinstance(error, AdviceFailed):
        return ModelFailed(Reason.INTERNAL, error.reason, found)
    failure = _failure(error)
    detail = f"{failure.code} {failure.request_id}".rstrip()
    return ModelFailed(failure.reason, neutralise(detail), found)


def _failure(error: Exception) -> RetrievalFailed:
    code = type(error).__name__
    if isinstance(error, RetrievalFailed):
        return error
    if isinstance(error, ClientError):
        return _answered(error)
    if isinstance(error, FORESEEN):
        return as_failure(error)
    if isinstance(error, ParserError | ResponseParserError):
        return RetrievalFailed(Reason.MALFORMED_RESPONSE, code=code)
    if isinstance(error, InvalidSettings):
        return RetrievalFailed(Reason.CONFIGURATION, code=code)
    frames = [line.strip() for line in traceback.format_tb(error.__traceback__)]
    _logger.error("error=%s frames=%s | unforeseen error", code, frames)
    return RetrievalFailed(Reason.INTERNAL, code=code)


def _answered(error: ClientError) -> RetrievalFailed:
    """Read a service's error; within a stream its name begins with a small letter."""
    given: Mapping[str, Any] = error.response.get("Error", {})
    metadata: dict[str, Any] = {**error.response.get("ResponseMetadata", {})}
    code = str(given.get("Code", ""))
    code = code[:1].upper() + code[1:]
    if isinstance(error, EventStreamError):
        metadata["HTTPStatusCode"] = _UNKNOWN_IN_STREAM
    if code in _MODEL_CODES:
        request_id = str(metadata.get("RequestId", ""))[:MAX_CODE_CHARACTERS]
        return RetrievalFailed(_MODEL_CODES[code], code=code, request_id=request_id)
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": metadata}
    return as_failure(ClientError(response, error.operation_name))
