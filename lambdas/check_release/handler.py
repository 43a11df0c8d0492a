"""``check_release``: queries a new version of the retrieval function before callers reach it.

CodeDeploy calls it with ``release=canary``. The new version is fit if it answers the question at least as
well as the live version: results rank above no results, no results above ``degraded``, and ``degraded`` above
a crash. So an empty or unavailable knowledge base doesn't block a release.

=================== ====================================================== ==========
variable            value                                                  default
=================== ====================================================== ==========
NEW_VERSION         ARN of the version to ask                              (required)
LIVE_ALIAS          ARN of the alias that callers invoke                   (required)
QUESTION            the test query for both                                (required)
=================== ====================================================== ==========
"""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.core.outcome import Status
from lambdas.reporting import begin, logger

if TYPE_CHECKING:
    from collections.abc import Callable

TRIES: Final = 3
"""Attempts with the new version: its first call may restore a snapshot and connect, which can exceed a query's time."""
PAUSE_SECONDS: Final = 5.0
_CALLS: Final = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 2}
)
_RANKS: Final = {Status.OK.value: 3, Status.NO_MATCH.value: 2, Status.DEGRADED.value: 1}


def lambda_handler(event: object, _context: object) -> None:
    """Report to CodeDeploy whether the new version is fit.

    Raises:
        InvalidRequest: the event is not a CodeDeploy lifecycle event.
        botocore.exceptions.ClientError: CodeDeploy refuses the report; it times out by itself later.
    """
    begin()
    hook = _hook(event)
    client = boto3.client("lambda", config=_CALLS)
    try:
        fit = is_fit(client, time.sleep)
    except Exception:  # noqa: BLE001 - CodeDeploy would wait an hour for the answer
        logger.exception("the new version could not be queried")
        fit = False
    boto3.client("codedeploy", config=_CALLS).put_lifecycle_event_hook_execution_status(
        **hook, status="Succeeded" if fit else "Failed"
    )


def _hook(event: object) -> dict[str, str]:
    try:
        return {
            "deploymentId": str(event["DeploymentId"]),  # type: ignore[index] # of any type
            "lifecycleEventHookExecutionId": str(event["LifecycleEventHookExecutionId"]),  # type: ignore[index]
        }
    except (KeyError, TypeError) as error:
        raise InvalidRequest(f"not a CodeDeploy lifecycle event: {error!r}") from error


def is_fit(client: Any, sleep: Callable[[float], None]) -> bool:  # noqa: ANN401 - boto3's client
    """Return whether the new version answers at least as well as the live one.

    Args:
        client: boto3's client of Lambda.
        sleep: waits a number of seconds between attempts.

    Raises:
        KeyError: a variable is missing.
        botocore.exceptions.ClientError: a version can't be invoked.
    """
    question = os.environ["QUESTION"]
    before = _answer(client, os.environ["LIVE_ALIAS"], question)
    for attempt in range(TRIES):
        if attempt:
            sleep(PAUSE_SECONDS)
        now = _answer(client, os.environ["NEW_VERSION"], question)
        fit = _rank(now) >= _rank(before)
        logger.info("versions asked", new=now, live=before, fit=fit)
        if fit:
            return True
    return False


def _answer(client: Any, function: str, question: str) -> str:  # noqa: ANN401 - boto3's client
    """Return the status of an answer, or the type of the error if the function crashed."""
    payload = json.dumps({"query": question, "max_results": 1, "canary": True})
    answer = client.invoke(FunctionName=function, Payload=payload.encode())
    body = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        return f"crashed: {body.get('errorType')}"
    return str(body.get("status"))


def _rank(answer: str) -> int:
    return _RANKS.get(answer, 0)
