"""An OAuth authorization server on loopback: metadata, keys, and tokens of every kind."""

from __future__ import annotations

import base64
import hmac
import json
import time
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt import api_jws
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.support.loopback import Loopback, Raw

CLIENT, SECRET = "agent", "not a secret"


def key_of(kind: str) -> Any:
    """Make a private key for an algorithm."""
    if kind[:2] in ("RS", "PS"):
        return rsa.generate_private_key(65537, 2048)
    if kind[:2] == "ES":
        return ec.generate_private_key({"256": ec.SECP256R1, "384": ec.SECP384R1}[kind[2:]]())
    return ed25519.Ed25519PrivateKey.generate()


def public(key: Any, **members: Any) -> dict[str, Any]:
    """Return a key's public half as a JWK."""
    makers: dict[str, Any] = {"RSA": RSAAlgorithm, "EC": ECAlgorithm, "Ed25519": OKPAlgorithm}
    kind = next(it for name, it in makers.items() if name in type(key).__name__)
    return {**kind.to_jwk(key.public_key(), as_dict=True), **members}


def unsigned(header: dict[str, Any], claims: dict[str, Any]) -> str:
    """Return a token without a signature."""
    parts = (json.dumps(it).encode() for it in (header, claims))
    return ".".join((*(base64.urlsafe_b64encode(it).rstrip(b"=").decode() for it in parts), ""))


def with_secret(secret: bytes, claims: dict[str, Any]) -> str:
    """Sign a token by HS256, with whatever secret."""
    start = unsigned({"alg": "HS256", "kid": "one"}, claims).removesuffix(".")
    signature = hmac.digest(secret, start.encode(), "sha256")
    return f"{start}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


class Issuer(Loopback):
    """Issues tokens by client credentials; ``answers`` replaces what a path gives."""

    def __init__(self, algorithm: str = "RS256") -> None:
        self.algorithm = algorithm
        self.key = key_of(algorithm)
        self.keys = [public(self.key, kid="one", use="sig")]
        self.answers: dict[str, Raw] = {}
        self.asked: list[str] = []
        super().__init__()

    def respond(self, method: str, path: str, headers: Any, body: bytes) -> Raw:  # noqa: ARG002 - its base's signature
        self.asked.append(path)
        if path in self.answers:
            return self.answers[path]
        if path == "/.well-known/oauth-authorization-server":
            return self.json(
                {
                    "issuer": self.url,
                    "authorization_endpoint": f"{self.url}/authorize",
                    "token_endpoint": f"{self.url}/token",
                    "jwks_uri": f"{self.url}/keys",
                    "response_types_supported": ["code"],
                    "grant_types_supported": ["client_credentials"],
                    "code_challenge_methods_supported": ["S256"],
                }
            )
        if path == "/keys":
            return self.json({"keys": self.keys})
        if path == "/token" and method == "POST":
            asked = {name: value[0] for name, value in parse_qs(body.decode()).items()}
            token = self.token(asked.get("resource", ""), scope=asked.get("scope", ""))
            return self.json({"access_token": token, "token_type": "Bearer", "expires_in": 600})
        return Raw(b"{}", status=404)

    @staticmethod
    def json(value: Any) -> Raw:
        return Raw(json.dumps(value).encode())

    def claims(self, audience: Any, **changed: Any) -> dict[str, Any]:
        """Return claims that are accepted, with changes; ``None`` leaves one out."""
        now = int(time.time())
        usual = {
            "iss": self.url, "aud": audience, "exp": now + 600, "iat": now, "sub": CLIENT,
            "client_id": CLIENT, "scope": "",
        }  # fmt: skip
        return {name: it for name, it in (usual | changed).items() if it is not None}

    def token(
        self, audience: Any, headers: dict[str, Any] | None = None, key: Any = None, **changed: Any
    ) -> str:
        """Sign a token."""
        given = {"kid": "one", "typ": "at+jwt"} | (headers or {})
        given = {name: it for name, it in given.items() if it is not None}
        claims = json.dumps(self.claims(audience, **changed)).encode()  # whatever their types
        return api_jws.encode(claims, key or self.key, self.algorithm, headers=given)
