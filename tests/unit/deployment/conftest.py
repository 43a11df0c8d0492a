"""The account on this machine, seen by an unmodified boto3 in this process."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from knowledge_rag.deployment.aws import Aws
from knowledge_rag.deployment.doctor.checks import (
    DEFAULT_AGENT_MODEL,
    DEFAULT_EMBEDDING_MODEL,
    PlannedDeployment,
)
from tests.support.account import account_fixture, moto_fixture  # noqa: F401 - fixtures

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.account import Account


@pytest.fixture
def aws(account: Account, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Aws]:
    """Make a caller of the account, as it is when this is called."""

    def make() -> Aws:
        for name in [each for each in os.environ if each.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name, value in account.environment.items():
            monkeypatch.setenv(name, value)
        return Aws()

    return make


@pytest.fixture
def planned(aws: Callable[[], Aws]) -> Callable[..., PlannedDeployment]:
    """Make a planned of the account."""

    def make(**options: object) -> PlannedDeployment:
        values = {
            "name": "knowledge-rag-dev",
            "embedding_model": DEFAULT_EMBEDDING_MODEL,
            "agent_model": DEFAULT_AGENT_MODEL,
            **options,
        }
        return PlannedDeployment(aws(), **values)

    return make
