"""A gateway on loopback that finds nothing, for whoever asks in its terms."""

from __future__ import annotations

import pytest

from tests.support.mcp_gateway import McpGateway


@pytest.fixture
def gateway(aws_environment):  # noqa: ARG001 - the machine's own proxies are none of ours
    made = McpGateway(lambda _: {"status": "no_match", "results": []})
    yield made
    made.close()
