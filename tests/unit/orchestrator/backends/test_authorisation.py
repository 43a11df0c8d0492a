"""Who asks a gateway: a signature or a token, had in time and never shown."""

from __future__ import annotations

import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from botocore.credentials import RefreshableCredentials

from knowledge_rag.core.errors import (
    DeadlineExceeded,
    InvalidSettings,
    RetrievalFailed,
)
from knowledge_rag.core.net.deadline import Deadline
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.orchestrator.backends.gateway import Bearer, KnowledgeGateway, SigV4
from tests.support.mcp_gateway import TOKEN


def after(seconds=30.0):
    return Deadline.after(seconds)


def signed(find):
    return SigV4("eu-west-1", find=find)


def ask(way):
    return way.ask(Query("q"), after())


def test_a_token_of_the_moment_is_brought_with_each_request(gateway):
    gateway.wants_token = True
    tokens = []

    def token():
        tokens.append(TOKEN)
        return TOKEN

    with closing(KnowledgeGateway(gateway.url, Bearer(token))) as way:
        assert ask(way).status is Status.NO_MATCH
    assert len(tokens) == 4


@pytest.mark.parametrize("token", ["", "two words", "a\r\nX: y", "caf\u00e9", "x" * 20_000])
def test_a_token_that_could_break_out_of_its_header_is_refused_without_naming_it(token):
    with pytest.raises(InvalidSettings, match=r"one word of a bearer token's characters$"):
        Bearer(token)


def test_a_token_that_can_not_be_had_is_a_lack_of_access(gateway):
    def expired():
        raise PermissionError("secret")

    for give, code in ((expired, "PermissionError"), (lambda: None, "NoToken")):
        with closing(KnowledgeGateway(gateway.url, Bearer(give))) as way:
            with pytest.raises(RetrievalFailed) as raised:
                ask(way)
            assert (raised.value.reason, raised.value.code) == (Reason.ACCESS_DENIED, code)
            assert "secret" not in str(raised.value)


def test_a_token_that_takes_too_long_is_a_timeout(gateway):
    over = threading.Event()
    with closing(KnowledgeGateway(gateway.url, Bearer(lambda: over.wait(30) and TOKEN))) as way:
        with pytest.raises(DeadlineExceeded, match="the token took too long"):
            way.ask(Query("q"), after(0.2))
        over.set()


def test_without_credentials_there_is_no_access(gateway):
    way = KnowledgeGateway(gateway.url, signed(lambda: None))
    with closing(way), pytest.raises(RetrievalFailed) as raised:
        ask(way)
    assert (raised.value.reason, raised.value.code) == (Reason.ACCESS_DENIED, "NoCredentials")
    assert gateway.methods == []


def test_credentials_that_expire_are_renewed_before_they_sign(gateway):
    def soon(seconds, key):
        expiry = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
        return {"access_key": key, "secret_key": key, "token": None, "expiry_time": expiry}

    renewals = []

    def renew():
        renewals.append(soon(700, "testing"))  # so short that each request renews them again
        return renewals[-1]

    def expiring():
        return RefreshableCredentials.create_from_metadata(soon(60, "old"), renew, "played")

    with closing(KnowledgeGateway(gateway.url, signed(expiring))) as way:
        assert ask(way).status is Status.NO_MATCH
    assert len(renewals) == len(gateway.methods)


def test_the_usual_credentials_are_the_environments(gateway):
    with closing(KnowledgeGateway(gateway.url, SigV4("eu-west-1"))) as way:
        assert ask(way).status is Status.NO_MATCH


def test_wrong_surroundings_are_wrong_settings(gateway, aws_environment):
    aws_environment.setenv("AWS_PROFILE", "absent")
    way = KnowledgeGateway(gateway.url, SigV4("eu-west-1"))
    with closing(way), pytest.raises(InvalidSettings, match="absent"):
        ask(way)
