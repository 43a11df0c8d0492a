"""``check_release``: asks a new version of the retrieval function before callers reach it.

CodeDeploy calls it with ``release=canary``. The new version is fit if it answers the question at least as
well as the version that callers have: with results is better than with none, and that is better than
``degraded``, and that is better than a crash. So a knowledge base that is empty or down holds up no release.

=================== ====================================================== ==========
variable            value                                                  default
=================== ====================================================== ==========
NEW_VERSION         ARN of the version to ask                              (required)
LIVE_ALIAS          ARN of the alias that callers invoke                   (required)
QUESTION            what both are asked                                    (required)
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
"""Of the new version: its first call may restore a snapshot and connect for longer than a query may take."""
PAUSE_SECONDS: Final = 5.0
_CALLS: Final = Config(
    connect_timeout=3, read_timeout=10, retries={"mode": "standard", "max_attempts": 2}
)
_RANKS: Final = {Status.OK.value: 3, Status.NO_MATCH.value: 2, Status.DEGRADED.value: 1}


def lambda_handler(event: object, _context: object) -> None:
    """Report to CodeDeploy whether the new version is fit.

    Raises:
        InvalidRequest: the event is none of CodeDeploy's.
        botocore.exceptions.ClientError: CodeDeploy can't be told; it gives up by itself later.
    """
    begin()
    hook = _hook(event)
    client = boto3.client("lambda", config=_CALLS)
    try:
        fit = is_fit(client, time.sleep)
    except Exception:  # noqa: BLE001 - CodeDeploy waits an hour for what is not answered
        logger.exception("the new version could not be asked")
        fit = False
    boto3.client("codedeploy", config=_CALLS).put_lifecycle_event_hook_execution_status(
        **hook, status="Succeeded" if fit else "Failed"
    )


def _hook(event: object) -> dict[str, str]:
    try:
        return {
            "deploymentId": str(event["DeploymentId"]),  # type: ignore[index] # whatever it is
            "lifecycleEventHookExecutionId": str(event["LifecycleEventHookExecutionId"]),  # type: ignore[index]
        }
    except (KeyError, TypeError) as error:
        raise InvalidRequest(f"this is no lifecycle event of CodeDeploy's: {error!r}") from error


def is_fit(client: Any, sleep: Callable[[float], None]) -> bool:  # noqa: ANN401 - boto3's client
    """Ask both versions and compare.

    Args:
        client: of Lambda.
        sleep: waits between two tries, seconds.

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
    """Return the status of an answer, or what a crash was."""
    payload = json.dumps({"query": question, "max_results": 1, "canary": True})
    answer = client.invoke(FunctionName=function, Payload=payload.encode())
    body = json.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        return f"crashed: {body.get('errorType')}"
    return str(body.get("status"))


def _rank(answer: str) -> int:
    return _RANKS.get(answer, 0)
