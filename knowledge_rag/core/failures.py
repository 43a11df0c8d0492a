"""Maps errors to the coarse reasons that callers see, in one table.

The codes are the service's (Retrieve's model) or those that any AWS service may return. Messages are
never passed on: they can quote the query.
"""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    ProxyConnectionError,
    ReadTimeoutError,
    SSLError,
)

from knowledge_rag.core.errors import RetrievalFailed
from knowledge_rag.core.net.deadline import ResponseTooLarge
from knowledge_rag.core.outcome import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_CODE_CHARACTERS: Final = 64
"""Longest code or request id; a longer one isn't one, and is cut before it is logged."""

PERMANENT: Final = frozenset({Reason.ACCESS_DENIED, Reason.CONFIGURATION})
"""Reasons that no retry fixes: the first one is worth an alarm."""

_CODES: Final[Mapping[str, Reason]] = {
    code: reason
    for reason, codes in {
        Reason.THROTTLED: "ThrottlingException TooManyRequestsException RequestLimitExceeded "
        "ServiceQuotaExceededException",
        Reason.UNAVAILABLE: "DependencyFailedException BadGatewayException ConflictException "
        "InternalServerException ServiceUnavailableException RequestTimeoutException",
        Reason.ACCESS_DENIED: "AccessDeniedException ExpiredTokenException ExpiredToken "
        "UnrecognizedClientException InvalidSignatureException",
        Reason.CONFIGURATION: "ResourceNotFoundException ValidationException",
    }.items()
    for code in codes.split()
}

_STATUSES: Final[Mapping[int, Reason]] = {
    401: Reason.ACCESS_DENIED,
    403: Reason.ACCESS_DENIED,
    408: Reason.UNAVAILABLE,
    409: Reason.UNAVAILABLE,
    424: Reason.UNAVAILABLE,
    429: Reason.THROTTLED,
}

_EXCEPTIONS: Final[tuple[tuple[tuple[type[Exception], ...], Reason], ...]] = (
    # Order matters: the first match wins.
    ((TimeoutError, ReadTimeoutError, ConnectTimeoutError), Reason.TIMEOUT),
    ((NoCredentialsError, PartialCredentialsError), Reason.ACCESS_DENIED),
    (
        (EndpointConnectionError, ProxyConnectionError, ConnectionClosedError, SSLError),
        Reason.UNAVAILABLE,
    ),
    ((HTTPClientError, CredentialRetrievalError), Reason.UNAVAILABLE),
    ((http.client.IncompleteRead, ResponseTooLarge), Reason.MALFORMED_RESPONSE),
    ((OSError, http.client.HTTPException), Reason.UNAVAILABLE),
    ((BotoCoreError,), Reason.CONFIGURATION),  # the rest of it fails before the network
)

FORESEEN: Final = (BotoCoreError, ClientError, OSError, http.client.HTTPException)
"""Exceptions that calling AWS can raise; any other is a bug, not a failure of the service."""


def as_failure(error: Exception) -> RetrievalFailed:
    """Return the failure for ``error``, one of :data:`FORESEEN`."""
    if isinstance(error, ClientError):
        return _answered(error)
    reason = next(reason for kinds, reason in _EXCEPTIONS if isinstance(error, kinds))
    return _failure(reason, type(error).__name__)


def _answered(error: ClientError) -> RetrievalFailed:
    response: Mapping[str, Any] = error.response
    code = str(response.get("Error", {}).get("Code", ""))
    metadata = response.get("ResponseMetadata", {})
    reason = _CODES.get(code) or by_status(metadata.get("HTTPStatusCode", 0))
    return _failure(reason, code, str(metadata.get("RequestId", "")))


def by_status(status: int) -> Reason:
    """Return the reason for an HTTP status of 400 or more."""
    # A redirect, or a 4xx that the service does not model, means a wrong address or a wrong call.
    return _STATUSES.get(status, Reason.UNAVAILABLE if status >= 500 else Reason.CONFIGURATION)


def _failure(reason: Reason, code: str, request_id: str = "") -> RetrievalFailed:
    return RetrievalFailed(
        reason,
        code=code[:MAX_CODE_CHARACTERS],
        request_id=request_id[:MAX_CODE_CHARACTERS],
        permanent=reason in PERMANENT,
    )
