"""Asks the retrieval function itself, on the alias that callers use."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import BotoCoreError

from knowledge_rag.deployment.errors import call_failed
from knowledge_rag.deployment.smoke.answers import WayBroken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.deployment.aws import Aws

READ_SECONDS: Final = 10
"""Twice Lambda's own limit on the function."""

MAX_RESULTS: Final = 5


class FunctionWay:
    """A direct invocation.

    Args:
        aws: account and region.
        alias: ARN of the alias.
    """

    name = "function"
    seconds = 2.0 * READ_SECONDS

    def __init__(self, aws: Aws, alias: str) -> None:
        self._aws = aws
        self._alias = alias

    def ask(self, query: str) -> Mapping[str, Any]:
        """Invoke it with the flat arguments of a direct caller."""
        answer = self._aws.call(
            "lambda",
            "invoke",
            read_seconds=READ_SECONDS,
            FunctionName=self._alias,
            Payload=json.dumps({"query": query, "max_results": MAX_RESULTS}).encode(),
        )
        try:
            payload = answer["Payload"].read()
        except BotoCoreError as error:
            raise call_failed(error, "lambda:InvokeFunction") from error
        if "FunctionError" in answer:
            raise WayBroken(f"the function failed: {payload[:300].decode(errors='replace')}")
        return read_body(payload, "the function")


def read_body(data: bytes | str, who: str) -> Mapping[str, Any]:
    """Read the function's body.

    Raises:
        WayBroken: it is no JSON object.
    """
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WayBroken(f"{who} answers with what is no JSON") from error
    if not isinstance(body, dict):
        raise WayBroken(f"{who} answers with JSON that is no object")
    return body
