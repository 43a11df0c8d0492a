"""The account on this machine, as the deployment tests have it."""

from tests.unit.deployment.conftest import (  # noqa: F401 - fixtures
    account_fixture,
    aws,
    moto_fixture,
)
