"""Access tokens: which are accepted, and what happens when the issuer's keys change, hang or are too many."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from contextlib import closing
from urllib.parse import urlsplit

import anyio
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from httpx2 import AsyncClient
from mcp import Client
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.evaluation.faults.server import dripping, resetting, serving, silent
from knowledge_rag.mcp_server import tokens
from knowledge_rag.mcp_server.asking import Asking
from knowledge_rag.mcp_server.server import create_server
from knowledge_rag.mcp_server.serving import http_app
from knowledge_rag.mcp_server.tokens import Access, AccessTokens, IssuerKeys, KeysUnavailable
from tests.support.issuer import CLIENT, SECRET, Issuer, Raw, key_of, public, unsigned, with_secret
from tests.support.mcp_served import served
from tests.support.runbooks import Search

RESOURCE = "https://runbooks.example.com/mcp"
SCOPE = "runbooks:read"
TEXTS = {"runbooks/queue.md": "# QueueDepthTooHigh\n\n## Resolution\n\n1. Add two consumers.\n"}


@pytest.fixture(autouse=True, scope="module")
def patient():
    """A busy machine isn't an issuer that hangs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "LOAD_SECONDS", 120.0)
        yield


@pytest.fixture(scope="module")
def issuer():
    with closing(Issuer()) as running:
        yield running


@pytest.fixture
def fresh():
    with closing(Issuer()) as running:
        yield running


def verified(issuer, token, keys=None):
    verifier = AccessTokens(Access(issuer.url, RESOURCE), keys or IssuerKeys(issuer.url))
    return asyncio.run(verifier.verify_token(token))


@pytest.mark.parametrize("algorithm", ["RS256", "PS384", "ES256", "ES384", "EdDSA"])
def test_a_token_that_the_issuer_signed_for_this_server_is_accepted(algorithm):
    with closing(Issuer(algorithm)) as issuer:
        given = verified(issuer, issuer.token(RESOURCE, scope=f"{SCOPE} other"))
    assert (given.client_id, given.subject, given.scopes) == (CLIENT, CLIENT, [SCOPE, "other"])
    assert given.claims == {"iss": issuer.url}


@pytest.mark.parametrize(
    ("changed", "scopes"),
    [
        ({"aud": ["https://other.example", RESOURCE]}, [""]),
        ({"scope": None, "scp": ["a", "b", 7]}, ["a", "b"]),  # Okta
        ({"scope": None, "scp": "a b"}, ["a", "b"]),  # Entra ID
        ({"scope": None}, []),
        ({"client_id": None, "azp": "desk"}, [""]),
    ],
)
def test_what_providers_write_differently_is_read(issuer, changed, scopes):
    given = verified(issuer, issuer.token(RESOURCE, **changed))
    assert given.scopes == scopes
    assert given.client_id == changed.get("azp", CLIENT)


def test_clocks_may_differ_a_little(issuer, monkeypatch):
    monkeypatch.setattr(tokens, "LEEWAY_SECONDS", 3_600)
    assert verified(issuer, issuer.token(RESOURCE, exp=int(time.time()) - 600))


NOW = int(time.time())


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": NOW - tokens.LEEWAY_SECONDS - 1},
        {"exp": None},
        {"exp": "soon"},
        {"exp": float("inf")},
        {"nbf": NOW + 3600},
        {"iat": NOW + 3600},
        {"aud": "https://other.example/mcp"},
        {"aud": RESOURCE + "/"},
        {"aud": RESOURCE.upper()},
        {"aud": None},
        {"aud": []},
        {"aud": {"a": RESOURCE}},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"iss": ["x"]},
        {"sub": 7},
    ],
    ids=str,
)
def test_a_token_that_is_late_or_for_somebody_else_is_refused(issuer, changed):
    assert verified(issuer, issuer.token(RESOURCE, **changed)) is None


@pytest.mark.parametrize(
    "headers",
    [{"typ": "logout+jwt"}, {"kid": "other"}, {"crit": ["x"], "x": 1}, {"typ": "dpop+jwt"}],
    ids=str,
)
def test_a_token_of_another_type_or_key_is_refused(issuer, headers):
    assert verified(issuer, issuer.token(RESOURCE, headers)) is None


def test_a_token_that_the_issuer_did_not_sign_is_refused(issuer):
    claims = issuer.claims(RESOURCE)
    good = issuer.token(RESOURCE)
    head, body, signature = good.split(".")
    pem = issuer.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    secrets = (pem, json.dumps(issuer.keys[0]).encode(), issuer.keys[0]["n"].encode(), b"")
    for wrong in (
        issuer.token(RESOURCE, key=key_of("RS256")),
        unsigned({"alg": "none", "kid": "one"}, claims),
        unsigned({"alg": "None", "kid": "one"}, claims),
        unsigned({"alg": "RS256", "kid": "one"}, claims),
        unsigned({"alg": ["RS256"], "kid": "one"}, claims),
        unsigned({"alg": "RS256", "kid": {"a": 1}}, claims),
        # by the public key as if it were a shared secret
        *(with_secret(secret, claims) for secret in secrets),
        # with the signer's own key beside it
        issuer.token(RESOURCE, {"jwk": public(key := key_of("RS256")), "kid": None}, key=key),
        f"{head}.{body}.{signature[:-4]}AAAA",
        f"{head}.{body}",
        f"{head}.{body}.{signature}.",
        "",
        "x" * (tokens.MAX_TOKEN_CHARACTERS + 1),
        "\u00e9.\u00e9.\u00e9",
        ".".join(("[" * 3000, "[" * 3000, "x")),
    ):
        assert verified(issuer, wrong) is None, wrong[:60]
    assert verified(issuer, good) is not None


@pytest.mark.parametrize(
    "keys",
    [
        [{"kty": "oct", "k": "AAAA", "kid": "one"}],
        [{"kty": "RSA", "kid": "one"}],
        [{"kty": "RSA", "n": "!", "e": "!", "kid": "one"}],
        [{"kid": "one"}],
        [{"use": "enc", "kid": "one"}],
        [{"alg": "RS512", "kid": "one"}],
    ],
    ids=str,
)
def test_a_key_that_is_none_or_is_for_something_else_verifies_nothing(fresh, keys):
    (own,) = fresh.keys
    fresh.keys = [it if "kty" in it else {**own, **it} for it in keys]
    if keys == [{"kid": "one"}]:
        fresh.keys = [{"kid": "one"}]
    assert verified(fresh, fresh.token(RESOURCE)) is None


def test_a_key_that_is_too_short_verifies_nothing(fresh):
    fresh.key = rsa.generate_private_key(65537, 1024)
    fresh.keys = [public(fresh.key, kid="one")]
    with pytest.warns(jwt.warnings.InsecureKeyLengthWarning):
        token = fresh.token(RESOURCE)
    assert verified(fresh, token) is None


def test_a_token_without_a_key_id_needs_that_there_is_one_key_only(fresh):
    token = fresh.token(RESOURCE, {"kid": None})
    assert verified(fresh, token) is not None
    fresh.keys.append(public(key_of("RS256"), kid="two"))
    assert verified(fresh, token) is None


class Clock:
    now = 1_000.0

    def __call__(self):
        return self.now


def test_a_new_key_is_read_when_its_first_token_comes_and_invented_ones_don_t_flood(fresh):
    clock = Clock()
    keys = IssuerKeys(fresh.url, clock)
    assert verified(fresh, fresh.token(RESOURCE), keys)
    for number in range(20):
        assert verified(fresh, fresh.token(RESOURCE, {"kid": f"invented {number}"}), keys) is None
    assert fresh.asked.count("/keys") == 1
    fresh.keys.append(public(second := key_of("RS256"), kid="two"))
    clock.now += tokens.RETRY_SECONDS
    assert verified(fresh, fresh.token(RESOURCE, {"kid": "two"}, key=second), keys)
    assert fresh.asked.count("/keys") == 2


def test_known_keys_count_for_an_hour_after_the_issuer_has_gone(fresh):
    clock = Clock()
    keys = IssuerKeys(fresh.url, clock)
    token = fresh.token(RESOURCE)
    assert verified(fresh, token, keys)
    fresh.answers["/.well-known/oauth-authorization-server"] = Raw(b"", status=500)
    clock.now += tokens.KEPT_SECONDS - 1
    assert verified(fresh, token, keys)
    clock.now += 2 + tokens.RETRY_SECONDS
    with pytest.raises(KeysUnavailable):
        verified(fresh, token, keys)
    del fresh.answers["/.well-known/oauth-authorization-server"]
    clock.now += tokens.RETRY_SECONDS
    assert verified(fresh, token, keys)


def test_a_key_that_the_issuer_withdrew_counts_no_more_once_keys_are_read_again(fresh):
    clock = Clock()
    keys = IssuerKeys(fresh.url, clock)
    token = fresh.token(RESOURCE)
    assert verified(fresh, token, keys)
    fresh.keys = [public(key_of("RS256"), kid="two")]
    clock.now += tokens.FRESH_SECONDS + 1
    assert verified(fresh, token, keys)  # known keys are used at once, and read meanwhile
    keys.load()
    deadline = time.monotonic() + 30
    while fresh.asked.count("/keys") < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    clock.now += 1
    while verified(fresh, token, keys) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert verified(fresh, token, keys) is None


METADATA = "/.well-known/oauth-authorization-server"


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        (METADATA, Raw(b"", status=302, headers=(("Location", "/keys"),))),
        (METADATA, Raw(b"not json")),
        (METADATA, Raw(b"[]")),
        (METADATA, Raw(b"[" * 100_000)),
        (METADATA, Raw(b'{"issuer": "https://evil.example", "jwks_uri": "https://evil.example"}')),
        (METADATA, Raw(b'{"issuer": "URL"}')),
        (METADATA, Raw(b'{"issuer": "URL", "jwks_uri": "http://evil.example/keys"}')),
        (METADATA, Raw(b'{"issuer": "URL", "jwks_uri": "file:///etc/passwd"}')),
        ("/keys", Raw(b"", status=404)),
        ("/keys", Raw(b'{"keys": []}')),
        ("/keys", Raw(b'{"keys": 7}')),
        ("/keys", Raw(b'{"keys": [' + b",".join([b'{"kid": "a"}'] * 101) + b"]}")),
        ("/keys", Raw(b" " * (tokens.MAX_KEYS_BYTES + 1))),
        ("/keys", Raw(b" " * 5_000_000)),
    ],
    ids=lambda it: it if isinstance(it, str) else f"{it.status} {it.body[:40]!r} {len(it.body)}",
)
def test_an_issuer_that_answers_something_else_leaves_it_open_whether_a_token_is_valid(
    fresh, path, answer
):
    body = answer.body.replace(b"URL", fresh.url.encode())
    fresh.answers[path] = Raw(body, status=answer.status, headers=answer.headers)
    with pytest.raises(KeysUnavailable):
        verified(fresh, fresh.token(RESOURCE))


@pytest.mark.parametrize("fault", [silent, dripping(b"HTTP/1.1 200 OK\r\n", at_once=5), resetting])
def test_an_issuer_that_hangs_is_waited_for_within_a_limit(issuer, monkeypatch, fault):
    monkeypatch.setattr(tokens, "LOAD_SECONDS", 0.5)
    with serving(fault) as server:
        verifier = AccessTokens(Access(server.url, RESOURCE), IssuerKeys(server.url))
        with pytest.raises(KeysUnavailable):
            asyncio.run(verifier.verify_token(issuer.token(RESOURCE)))


@pytest.mark.parametrize(
    ("issuer", "resource", "scope"),
    [
        ("http://issuer.example", RESOURCE, "a"),
        ("https://issuer.example?x=1", RESOURCE, "a"),
        ("https://user:pass@issuer.example", RESOURCE, "a"),
        ("https://", RESOURCE, "a"),
        ("https://issuer.example:x", RESOURCE, "a"),
        ("ftp://issuer.example", RESOURCE, "a"),
        ("https://issuer.example", "http://runbooks.example.com/mcp", "a"),
        ("https://issuer.example", "https://runbooks.example.com/mcp#a", "a"),
        ("https://issuer.example", RESOURCE, 'a" b'),
        ("https://issuer.example", RESOURCE, ""),
    ],
)
def test_addresses_that_do_not_encrypt_are_refused(issuer, resource, scope):
    with pytest.raises(InvalidSettings):
        Access(issuer, resource, (scope,))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "runbooks.example.com"])
def test_nothing_is_served_beyond_this_machine_without_tokens(host):
    with pytest.raises(InvalidSettings, match="access tokens are needed"):
        http_app(create_server(Asking(Search(TEXTS))), 80, host)


@pytest.fixture(scope="module")
def url(issuer):
    server = create_server(Asking(Search(TEXTS)))
    with served(server, lambda address: Access(issuer.url, address, (SCOPE,))) as address:
        yield address


def asked(url, path="", method="POST", **headers):
    address = urlsplit(url)
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with closing(http.client.HTTPConnection(address.hostname, address.port, timeout=30)) as made:
        made.request(method, path or address.path, b"{}", usual | headers)
        answer = made.getresponse()
        return answer.status, answer.headers, answer.read()


def test_without_a_token_clients_are_told_where_to_get_one(url, issuer):
    status, headers, _ = asked(url)
    where = url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
    assert status == 401
    assert f'resource_metadata="{where}"' in headers["WWW-Authenticate"]
    status, _, body = asked(url, urlsplit(where).path, "GET")
    given = json.loads(body)
    assert status == 200
    assert (given["resource"], given["scopes_supported"]) == (url, [SCOPE])
    assert given["authorization_servers"] == [issuer.url]


def test_what_a_token_is_short_of_is_told_apart(url, issuer):
    for token, expected in (
        (issuer.token(url, scope=SCOPE), 400),  # no message: the token has let it through
        (issuer.token(url, scope="other"), 403),
        (issuer.token("https://other.example/mcp", scope=SCOPE), 401),
        (unsigned({"alg": "none", "kid": "one"}, issuer.claims(url, scope=SCOPE)), 401),
    ):
        status, headers, body = asked(url, Authorization=f"Bearer {token}")
        assert status == expected
        for text in (body.decode(), str(headers)):
            assert token not in text
    assert asked(url, f"/mcp?access_token={issuer.token(url, scope=SCOPE)}")[0] == 401
    assert asked(url, Authorization="Basic YTpi")[0] == 401


def test_where_keys_are_unavailable_clients_are_told_to_come_back(fresh):
    fresh.answers["/keys"] = Raw(b"", status=503)
    server = create_server(Asking(Search(TEXTS)))
    with served(server, lambda address: Access(fresh.url, address)) as url:
        token = fresh.token(url)
        status, headers, body = asked(url, Authorization=f"Bearer {token}")
        assert (status, headers["Retry-After"]) == (503, "10")
        assert json.loads(body)["error"] == "temporarily_unavailable"
        assert asked(url)[0] == 401


class Storage:
    tokens = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return None

    async def set_client_info(self, client_info):
        pass


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdk_s_client_finds_the_issuer_gets_a_token_and_asks(url, issuer, mode):
    async def run():
        auth = ClientCredentialsOAuthProvider(
            url, Storage(), CLIENT, SECRET, scope=SCOPE, issuer=issuer.url
        )
        async with AsyncClient(auth=auth) as http_client:
            transport = streamable_http_client(url, http_client=http_client)
            async with Client(transport, mode=mode) as client:
                with anyio.fail_after(60):
                    return await client.call_tool("ask", {"question": "QueueDepthTooHigh"})

    result = anyio.run(run)
    assert result.structured_content["status"] == "ok"
    assert issuer.asked.count("/token") >= 1


def test_a_session_is_its_owner_s_whoever_else_has_a_token(url, issuer):
    body = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "by hand", "version": "1"},
        },
    }  # fmt: skip

    def sent(body, token, **headers):
        address = urlsplit(url)
        usual = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        with closing(http.client.HTTPConnection(address.hostname, address.port, timeout=30)) as it:
            headers = usual | headers | {"Authorization": f"Bearer {token}"}
            it.request("POST", address.path, json.dumps(body), headers)
            answer = it.getresponse()
            answer.read()
            return answer

    mine = issuer.token(url, scope=SCOPE)
    other = issuer.token(url, scope=SCOPE, sub="other", client_id="other")
    session = {"Mcp-Session-Id": sent(body, mine).headers["Mcp-Session-Id"]}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    assert sent(ping, mine, **session).status == 200
    assert sent(ping, other, **session).status == 404
