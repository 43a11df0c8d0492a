"""Turns any failure of a model or an agent into one with a coarse reason.

Only names of failures are passed on: a service's message can quote its request.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from botocore.eventstream import ParserError
from botocore.exceptions import ClientError, EventStreamError
from botocore.parsers import ResponseParserError

from knowledge_rag.core.errors import InvalidSettings, RetrievalFailed
from knowledge_rag.core.failures import MAX_CODE_CHARACTERS, as_failure
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Reason
from knowledge_rag.orchestrator.backends.bounded import (
    PREPARATION_SECONDS,
    Lazily,
    WorkerThreads,
    failure_of,
)
from knowledge_rag.orchestrator.errors import AdviceFailed, ModelFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knowledge_rag.core.net.clients import AwsClient
    from knowledge_rag.orchestrator.retrieval import Findings

_MODEL_CODES: Final[Mapping[str, Reason]] = {
    "ModelErrorException": Reason.UNAVAILABLE,
    "ModelNotReadyException": Reason.UNAVAILABLE,
    "ModelStreamErrorException": Reason.UNAVAILABLE,
    "ModelTimeoutException": Reason.TIMEOUT,
}
"""Errors that only services with a model have."""

_UNKNOWN_IN_STREAM: Final = 500
"""Status for an error within a stream, which has none: botocore's own 400 would blame the request."""


def as_model_failure(error: Exception, found: Findings | None = None) -> ModelFailed:
    """Return any error as a ModelFailed."""
    if isinstance(error, ModelFailed):
        return error
    if isinstance(error, AdviceFailed):
        return ModelFailed(Reason.INTERNAL, error.reason, found)
    failure = _failure(error)
    detail = f"{failure.code} {failure.request_id}".rstrip()
    return ModelFailed(failure.reason, neutralise(detail), found)


def _failure(error: Exception) -> RetrievalFailed:
    if isinstance(error, ClientError):
        return _answered(error)
    if isinstance(error, ParserError | ResponseParserError):
        return RetrievalFailed(Reason.MALFORMED_RESPONSE, code=type(error).__name__)
    return failure_of(error)


def _answered(error: ClientError) -> RetrievalFailed:
    """Return the failure of a service's error; within a stream, its name begins with a small letter."""
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


DEADLINE_SECONDS: Final = 30.0
"""Default time for an advisor. An agent's turn with three queries mostly ends within 10 to 20 s [?];
after a longer wait at 3 a.m., the retrieved lines themselves help more."""

MIN_DEADLINE_SECONDS: Final = 0.1
MAX_DEADLINE_SECONDS: Final = 300.0

MAX_THREADS: Final = 8
"""Maximum calls of one advisor at once; further ones wait, and their time runs meanwhile."""

_WORKING_SHARE: Final = 0.95
"""Share of a call's time for the work, so that it ends in time."""

_Result = TypeVar("_Result")


def check_deadline(seconds: float) -> None:
    """Raise InvalidSettings outside MIN_DEADLINE_SECONDS..MAX_DEADLINE_SECONDS."""
    if not MIN_DEADLINE_SECONDS <= seconds <= MAX_DEADLINE_SECONDS:  # a NaN is outside, too
        raise InvalidSettings(
            f"an advisor's deadline must be {MIN_DEADLINE_SECONDS} to {MAX_DEADLINE_SECONDS} "
            f"seconds, not {seconds}"
        )


class ModelCalls:
    """Calls one operation of one service, on its own threads since botocore blocks.

    A thread notices at the socket that its caller has left.
    """

    def __init__(self, name: str, make: Callable[[], AwsClient]) -> None:
        self._client: Lazily[AwsClient] = Lazily("AWS client", make)
        self._threads = WorkerThreads(name, MAX_THREADS)

    async def call(self, work: Callable[[Any], _Result], deadline: Deadline) -> _Result:
        """Return the result of ``work`` with the botocore client, by the deadline.

        A cancelled call ends its thread and its connection within a second; only one that is still
        connecting continues until the deadline.

        Raises:
            ModelFailed: on any failure. Only cancellation propagates.
        """
        return await self._bounded(lambda inner: self._work(work, inner), deadline)

    async def prepare(self, seconds: float = PREPARATION_SECONDS) -> None:
        """Make the client, credentials and certificates ready, within ``seconds``.

        A failure here is ignored: the first call reports it.
        """
        with suppress(ModelFailed):
            await self._bounded(
                lambda inner: self._client.get(inner).prepare(), Deadline.after(seconds)
            )

    def close(self) -> None:
        """Wait for calls under way, within their deadline, and close the client."""
        self._threads.close()
        if client := self._client.made():
            client.close()

    def _work(self, work: Callable[[Any], _Result], deadline: Deadline) -> _Result:
        client = self._client.get(deadline)
        with deadline.applied():
            return work(client.api)

    async def _bounded(self, work: Callable[[Deadline], _Result], deadline: Deadline) -> _Result:
        left_alone = threading.Event()
        try:
            left = deadline.remaining()
            inner = Deadline(
                time.monotonic() + left * _WORKING_SHARE, is_given_up=left_alone.is_set
            )
            return await self._threads.run(partial(work, inner), left)
        except Exception as error:  # the boundary: every fault becomes one failure
            raise as_model_failure(error) from error
        finally:
            left_alone.set()
