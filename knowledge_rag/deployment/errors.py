"""Failures of calls to AWS, by the action that a person can take."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

from botocore import exceptions as botocore

from knowledge_rag.core.errors import KnowledgeRagError


class Trouble(StrEnum):
    """Why a call failed."""

    NO_CREDENTIALS = "no_credentials"
    EXPIRED = "expired"
    """There are credentials, but they have expired."""
    INVALID = "invalid"
    """There are credentials, but AWS does not know them."""
    DENIED = "denied"
    UNREACHABLE = "unreachable"
    """No such address, no answer, or no trustworthy one."""
    TIMEOUT = "timeout"
    THROTTLED = "throttled"
    REFUSED = "refused"
    """The service returned another error; see its code."""


class CallFailed(KnowledgeRagError):  # noqa: N818 - named for what it is
    """A call to AWS failed.

    Args:
        trouble: the kind of failure.
        action: the IAM action that the call needs, e.g. ``bedrock:ListAgents``.
        code: the service's own name for the failure, or botocore's.
        detail: the message, one line.
    """

    def __init__(self, trouble: Trouble, action: str, code: str, detail: str) -> None:
        super().__init__(_sentence(trouble, action, code, detail))
        self.trouble = trouble
        self.action = action
        self.code = code
        self.detail = detail


_CODES: Final[dict[str, Trouble]] = {
    **dict.fromkeys(("ExpiredToken", "ExpiredTokenException", "RequestExpired"), Trouble.EXPIRED),
    **dict.fromkeys(
        (
            "AuthFailure",
            "IncompleteSignature",
            "InvalidClientTokenId",
            "InvalidSignatureException",
            "SignatureDoesNotMatch",
            "UnrecognizedClientException",
        ),
        Trouble.INVALID,
    ),
    **dict.fromkeys(
        ("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403"), Trouble.DENIED
    ),
    **dict.fromkeys(
        (
            "RequestLimitExceeded",
            "SlowDown",
            "Throttling",
            "ThrottlingException",
            "TooManyRequestsException",
        ),
        Trouble.THROTTLED,
    ),
}

_KINDS: Final[tuple[tuple[tuple[type[Exception], ...], Trouble], ...]] = (
    ((botocore.NoCredentialsError, botocore.PartialCredentialsError), Trouble.NO_CREDENTIALS),
    (
        (
            botocore.CredentialRetrievalError,
            botocore.SSOError,
            botocore.TokenRetrievalError,
            botocore.UnauthorizedSSOTokenError,
        ),
        Trouble.EXPIRED,
    ),
    ((botocore.ConnectTimeoutError, botocore.ReadTimeoutError), Trouble.TIMEOUT),
    ((botocore.HTTPClientError, botocore.ConnectionError), Trouble.UNREACHABLE),
)

_NEEDED: Final = re.compile(r"not authorized to perform: ([a-z0-9-]+:[A-Za-z]+)")


def call_failed(error: Exception, action: str) -> CallFailed:
    """Return the failure for an exception from botocore."""
    if isinstance(error, botocore.ClientError):
        code = str(error.response.get("Error", {}).get("Code", "Unknown"))
        detail = str(error.response.get("Error", {}).get("Message", ""))
        named = _NEEDED.search(detail)
        # an event stream has error names in lower case
        trouble = _CODES.get(code[:1].upper() + code[1:], Trouble.REFUSED)
        return CallFailed(trouble, named[1] if named else action, code, detail)
    for kinds, trouble in _KINDS:
        if isinstance(error, kinds):
            return CallFailed(trouble, action, type(error).__name__, str(error))
    return CallFailed(Trouble.REFUSED, action, type(error).__name__, str(error))


def _sentence(trouble: Trouble, action: str, code: str, detail: str) -> str:
    if trouble is Trouble.DENIED:
        return f"missing permission {action}"
    if trouble is Trouble.TIMEOUT:
        return f"{action}: no answer in time"
    text = " ".join(detail.split())[:200]
    return f"{action}: {code}{f': {text}' if text else ''}"
