"""How a gateway knows its caller: a signature, or a token of the issuer that it trusts.

Neither shows in a log, an error or a ``repr``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol

import botocore.session
from botocore.auth import SigV4Auth
from botocore.exceptions import BotoCoreError

from knowledge_rag.core.background import Background
from knowledge_rag.core.errors import DeadlineExceeded, InvalidSettings, RetrievalFailed
from knowledge_rag.core.net.clients import TimelyCredentials
from knowledge_rag.core.outcome import Reason
from knowledge_rag.orchestrator.backends.lazily import Lazily

if TYPE_CHECKING:
    from collections.abc import Callable

    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials, ReadOnlyCredentials

    from knowledge_rag.core.net.deadline import Deadline

GATEWAY_SERVICE: Final = "bedrock-agentcore"
"""What a signature for an AgentCore gateway is made for."""

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]{1,16384}")
"""RFC 6750's characters; anything else could break out of the header."""


class Authorisation(Protocol):
    """Lets a gateway know who asks."""

    def apply(self, request: AWSRequest, deadline: Deadline) -> None:
        """Add the headers that say so.

        Raises:
            RetrievalFailed: there is nothing to say it with.
            DeadlineExceeded: it could not be had in time.
        """


class SigV4:
    """Signs each request as whoever the environment says.

    Args:
        region: of the gateway.
        service: that the signature is for.
        find: gives the credentials, ``None`` where there are none; botocore's usual chain.
    """

    def __init__(
        self,
        region: str,
        *,
        service: str = GATEWAY_SERVICE,
        find: Callable[[], Credentials | None] | None = None,
    ) -> None:
        self._region = region
        self._service = service
        self._found: Lazily[_Signer] = Lazily(
            "credentials", lambda: _Signer((find or _usual_credentials)())
        )

    def apply(self, request: AWSRequest, deadline: Deadline) -> None:
        """Sign the request; nothing may be added to it afterwards."""
        credentials = self._found.get(deadline).credentials(deadline)
        SigV4Auth(credentials, self._service, self._region).add_auth(request)


class Bearer:
    """Brings a token.

    Args:
        token: gives one that is still good, asked before each request; it may block, and what it
            raises counts as having none. A fixed token is checked at once.

    Raises:
        InvalidSettings: the fixed token is no token.
    """

    def __init__(self, token: str | Callable[[], str]) -> None:
        if isinstance(token, str):
            fixed = _checked(token)
            self._give: Callable[[], str] = lambda: fixed
        else:
            self._give = token

    def apply(self, request: AWSRequest, deadline: Deadline) -> None:
        """Add the token."""
        asking = Background("token", self._give)
        if not asking.over.wait(deadline.remaining()):
            raise DeadlineExceeded("the token took too long")
        if asking.result is None:
            code = type(asking.error).__name__ if asking.error else "NoToken"
            raise RetrievalFailed(Reason.ACCESS_DENIED, code=code, permanent=True)
        request.headers["Authorization"] = f"Bearer {_checked(asking.result)}"


class _Signer:
    """Credentials, renewed in time."""

    def __init__(self, credentials: Credentials | None) -> None:
        self._credentials = credentials
        self._timely = TimelyCredentials(credentials)

    def credentials(self, deadline: Deadline) -> Credentials | ReadOnlyCredentials:
        if self._credentials is None:
            raise RetrievalFailed(Reason.ACCESS_DENIED, code="NoCredentials", permanent=True)
        signing: dict[str, Credentials] = {}
        with deadline.applied():
            self._timely.renew({"signing": signing})
        renewed = signing.get("request_credentials")
        return renewed or self._credentials.get_frozen_credentials()


def _usual_credentials() -> Credentials | None:
    try:
        return botocore.session.get_session().get_credentials()
    except (BotoCoreError, OSError, ValueError) as error:
        raise InvalidSettings(f"AWS credentials: {error}") from error


def _checked(token: object) -> str:
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise InvalidSettings("the gateway's token is one word of a bearer token's characters")
    return token
