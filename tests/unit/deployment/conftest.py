"""The account on this machine, seen by an unmodified boto3 in this process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from knowledge_rag.deployment.aws import Aws
from knowledge_rag.deployment.doctor.finding import Patient
from knowledge_rag.deployment.doctor.models import DEFAULT_AGENT_MODEL, DEFAULT_EMBEDDING_MODEL
from tests.support.account import account_fixture, moto_fixture  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.account import Account


@pytest.fixture
def aws(
    account: Account,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[], Aws]:
    """Make a caller of the account, as it is when this is called."""

    def make() -> Aws:
        for name in [each for each in os.environ if each.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name, value in account.environment.items():
            monkeypatch.setenv(name, value)
        return Aws()

    return make


@pytest.fixture
def patient(aws: Callable[[], Aws]) -> Callable[..., Patient]:
    """Make a patient of the account."""

    def make(**options: object) -> Patient:
        values = {
            "name": "knowledge-rag-dev",
            "embedding_model": DEFAULT_EMBEDDING_MODEL,
            "agent_model": DEFAULT_AGENT_MODEL,
            **options,
        }
        return Patient(aws(), **values)

    return make
