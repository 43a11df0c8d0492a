"""Verifies access tokens of an OAuth authorization server, with the keys that it publishes.

The server is a resource server only: it issues no tokens and knows no clients. It accepts signed JWTs (RFC 9068) from
one issuer, for one audience, its own address. The address of the issuer's keys is in its metadata (RFC 8414, OpenID
Connect).
"""

from __future__ import annotations

import logging
import re
import threading
import time
from dataclasses import dataclass
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import anyio.to_thread
import botocore.session
import jwt
from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError
from jwt.exceptions import PyJWTError
from mcp.server.auth.provider import AccessToken

from knowledge_rag.core.background import Background
from knowledge_rag.core.errors import InvalidSettings, KnowledgeRagError, UnreadableResponse
from knowledge_rag.core.net.clients import create_transport
from knowledge_rag.core.net.connect import Endpoint, is_loopback
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.response import read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from urllib.parse import SplitResult

    from jwt.types import Options

_logger = logging.getLogger(__name__)

ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
"""Signatures by a private key. With a shared secret, or none, anybody with the public keys could sign."""

TYPES: Final = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
"""Types of access tokens in lower case; others, such as ``logout+jwt``, are refused."""

MAX_TOKEN_CHARACTERS: Final = 16_384
LEEWAY_SECONDS: Final = 30
"""Maximum difference of the issuer's clock."""

LOAD_SECONDS: Final = 5.0
"""Maximum time for reading the issuer's metadata and keys, connections included."""
MAX_KEYS_BYTES: Final = 262_144
"""Maximum size of the metadata, and of the keys."""
MAX_KEYS: Final = 100
FRESH_SECONDS: Final = 600.0
"""Age at which keys are read again, while the old ones still count."""
KEPT_SECONDS: Final = 3_600.0
"""Maximum age of keys if the issuer can't be reached: most access tokens are valid for that long."""
RETRY_SECONDS: Final = 10.0
"""Minimum time between two attempts, so that tokens with invented key ids don't flood the issuer."""

_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")
"""RFC 6749."""


@dataclass(frozen=True, slots=True)
class Access:
    """The tokens to accept: those that an issuer made for this server.

    ``issuer`` is the authorization server's identifier, exactly as in its tokens; ``resource`` is this server's address
    as clients use it, their audience. A token must have all scopes.

    Raises:
        InvalidSettings: an address isn't ``https://``, or a scope is invalid.
    """

    issuer: str
    resource: str
    scopes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for option, value in (("--issuer", self.issuer), ("--resource", self.resource)):
            if _secure(value) is None:
                raise InvalidSettings(
                    f"{option}: must be https://host/path, without a user, query or fragment"
                )
        if wrong := [it for it in self.scopes if not _SCOPE.fullmatch(it)]:
            raise InvalidSettings(f"--scope {wrong[0][:40]!a}: a scope is one word")


def _secure(address: str) -> SplitResult | None:
    """Return the parts of an address that is encrypted or on this machine; ``None`` for any other."""
    try:
        parts = urlsplit(address)
        Endpoint.of(parts)
    except (InvalidSettings, ValueError):
        return None
    host = parts.hostname or ""
    encrypts = parts.scheme == "https" or is_loopback(host)
    plain = not (parts.query or parts.fragment or parts.username or parts.password)
    return parts if host and encrypts and plain and address.isascii() else None


class KeysUnavailable(KnowledgeRagError):  # noqa: N818 - named like those in core.errors
    """The issuer's keys can't be read, so tokens can't be verified."""


class IssuerKeys:
    """The public keys of an issuer, read when needed, within limits.

    Known keys are used at once. They are read again in the background when they are FRESH_SECONDS old. A token with an
    unknown key waits for that, at most LOAD_SECONDS + 1.
    """

    def __init__(self, issuer: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._clock = clock
        self._lock = threading.Lock()
        self._loading: Background[None] | None = None
        self._tried = float("-inf")
        self._keys: Sequence[Mapping[str, Any]] = ()
        self._read = float("-inf")

    def load(self) -> Background[None] | None:
        """Start to read the keys, or return the running attempt; ``None`` if the last was less than RETRY_SECONDS ago."""
        with self._lock:
            if self._loading is not None and not self._loading.over.is_set():
                return self._loading
            if self._clock() - self._tried < RETRY_SECONDS:
                return None
            self._tried = self._clock()
            self._loading = Background("issuer's keys", self._load)
            return self._loading

    async def of(self, key_id: str | None) -> Mapping[str, Any] | None:
        """Return the key with an id, or the only key if a token names none; ``None`` if there is none.

        Raises:
            KeysUnavailable: the issuer's keys can't be read.
        """
        found = self._known(key_id)
        if found is None or self._age() > FRESH_SECONDS:
            loading = self.load()
            if found is None:
                if loading is not None:
                    await anyio.to_thread.run_sync(loading.over.wait, LOAD_SECONDS + 1)
                found = self._known(key_id)
        if found is None and self._read < self._tried:
            raise KeysUnavailable
        return found

    def _age(self) -> float:
        return self._clock() - self._read

    def _known(self, key_id: str | None) -> Mapping[str, Any] | None:
        if self._age() > KEPT_SECONDS:
            return None
        keys = self._keys
        if key_id is None:
            return keys[0] if len(keys) == 1 else None
        return next((it for it in keys if it.get("kid") == key_id), None)

    def _load(self) -> None:
        try:
            self._keys = _keys_of(self._issuer, Deadline.after(LOAD_SECONDS))
            self._read = self._clock()
        except (OSError, HTTPException, KnowledgeRagError) as error:
            _logger.warning(
                "issuer=%s error=%s message=%s | its keys can't be read",
                self._issuer, type(error).__name__, str(error)[:200],
            )  # fmt: skip


def _keys_of(issuer: str, deadline: Deadline) -> list[dict[str, Any]]:
    failures = []
    for address in _metadata_addresses(issuer):
        try:
            metadata = _fetched(address, deadline)
        except UnreadableResponse as error:
            failures.append(f"{address}: {error}")
            continue
        if metadata.get("issuer") != issuer:
            failures.append(f"{address}: is another issuer's")
            continue
        keys_address = metadata.get("jwks_uri")
        if not isinstance(keys_address, str) or _secure(keys_address) is None:
            raise UnreadableResponse(f"{address}: its jwks_uri isn't https://host/path")
        found = _fetched(keys_address, deadline).get("keys")
        keys = [it for it in found if isinstance(it, dict)] if isinstance(found, list) else []
        if not keys or len(keys) > MAX_KEYS:
            raise UnreadableResponse(f"{keys_address}: has {len(keys)} keys, not 1 to {MAX_KEYS}")
        return [it for it in keys if it.get("use", "sig") == "sig"]
    raise UnreadableResponse("; ".join(failures))


def _metadata_addresses(issuer: str) -> Iterator[str]:
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    yield f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{path}"
    yield f"{issuer.rstrip('/')}/.well-known/openid-configuration"


def _fetched(address: str, deadline: Deadline) -> dict[str, Any]:
    """Return a JSON object from an address; redirects aren't followed.

    Raises:
        UnreadableResponse: the response is anything else.
        OSError: it can't be reached in time.
    """
    try:
        transport = create_transport(botocore.session.get_session())
    except (BotoCoreError, ValueError) as error:
        raise InvalidSettings(f"AWS settings: {error}") from error
    request = AWSRequest("GET", address, {"Accept": "application/json"})
    try:
        with deadline.applied():
            response = transport.send(request.prepare())
    finally:
        transport.close()
    if response.status_code != 200:
        raise UnreadableResponse(f"status {response.status_code}")
    if len(response.content) > MAX_KEYS_BYTES:
        raise UnreadableResponse(f"more than {MAX_KEYS_BYTES} bytes")
    body = read_json(response.content)
    if not isinstance(body, dict):
        raise UnreadableResponse("not a JSON object")
    return body


_CHECKED: Final = cast(
    "Options", {"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True}
)


class AccessTokens:
    """Verifies tokens; the SDK's ``TokenVerifier``."""

    def __init__(self, access: Access, keys: IssuerKeys) -> None:
        self._access = access
        self._keys = keys

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return the contents of a valid token; ``None`` for any other.

        Raises:
            KeysUnavailable: the token can't be verified.
        """
        try:
            return await self._verified(token)
        except (PyJWTError, ValueError, TypeError, RecursionError) as error:
            _logger.info("error=%s | a token was refused", type(error).__name__)
            return None

    async def _verified(self, token: str) -> AccessToken | None:
        if len(token) > MAX_TOKEN_CHARACTERS:
            return None
        header = jwt.get_unverified_header(token)
        algorithm, key_id = header.get("alg"), header.get("kid")
        kind = header.get("typ", "")
        if algorithm not in ALGORITHMS or not isinstance(kind, str) or kind.lower() not in TYPES:
            return None
        found = await self._keys.of(key_id)
        if found is None or found.get("alg", algorithm) != algorithm:
            return None
        claims = jwt.decode(
            token,
            jwt.PyJWK(dict(found), algorithm),
            algorithms=[algorithm],
            audience=self._access.resource,
            issuer=self._access.issuer,
            leeway=LEEWAY_SECONDS,
            options=_CHECKED,
        )
        return AccessToken(
            token=token,
            client_id=_first_text(claims, "client_id", "azp", "sub"),
            scopes=_scopes(claims),
            resource=self._access.resource,
            subject=_first_text(claims, "sub") or None,
            claims={"iss": self._access.issuer},
        )


def _first_text(claims: Mapping[str, Any], *names: str) -> str:
    return next((it for name in names if isinstance(it := claims.get(name), str)), "")


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    """Return the scopes: ``scope`` in RFC 9068, ``scp`` in tokens of Okta (a list) and Entra ID (a text)."""
    given = claims.get("scope", claims.get("scp"))
    if isinstance(given, str):
        return given.split(" ")
    return [it for it in given if isinstance(it, str)] if isinstance(given, list) else []
