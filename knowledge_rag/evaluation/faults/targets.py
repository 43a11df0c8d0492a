"""Whom a fault is played to: the function itself, or a client as others write it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.evaluation.faults.errors import NotPlayable
from knowledge_rag.evaluation.faults.events import QUERY
from knowledge_rag.evaluation.faults.stage import KNOWLEDGE_BASE_ID
from lambdas.retrieve_knowledge.handler import lambda_handler

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowledge_rag.evaluation.faults.model import Fault
    from knowledge_rag.evaluation.faults.stage import Stage

_INIT_SECONDS: Final = 30


class Target(StrEnum):
    """Whom the faults are played to."""

    FUNCTION = "function"
    """``retrieve_knowledge``: the real handler, unmodified botocore, real sockets."""
    PLAIN_BOTO3 = "plain-boto3"
    """A default client, and ``.get("retrievalResults", [])``, as most code has it."""
    LANGCHAIN_AWS = "langchain-aws"
    """``AmazonKnowledgeBasesRetriever`` with its defaults."""

    @property
    def packages(self) -> tuple[str, ...]:
        """What it takes beyond this product."""
        own = {Target.PLAIN_BOTO3: ("boto3",), Target.LANGCHAIN_AWS: ("langchain_aws.retrievers",)}
        return own.get(self, ())

    @property
    def promises(self) -> bool:
        """Whether it is ours, so that a fault which it does not survive is a finding."""
        return self is Target.FUNCTION


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of one call of the function.

    Args:
        seconds: that it took, to the answer.
        answer: as it was given.
        raised: the exception's name and message, ``""`` for none.
        output: what it wrote to standard output.
    """

    seconds: float
    answer: Any = None
    raised: str = ""
    output: str = ""


@dataclass(frozen=True, slots=True)
class Passages:
    """What came of one call of another client.

    Args:
        seconds: that it took.
        texts: of what it gave for evidence.
        raised: the exception's name, ``""`` for none.
    """

    seconds: float
    texts: tuple[object, ...] = ()
    raised: str = ""


def ask_function(fault: Fault, stage: Stage) -> Heard:
    """Make one call of the function, in this process or as its own start-up wants it."""
    if stage.command:
        return _start(fault, stage)
    output, answer, raised = io.StringIO(), None, ""
    started = time.perf_counter()
    with contextlib.redirect_stdout(output):
        try:
            answer = lambda_handler(fault.event, fault.context)
        except Exception as error:  # noqa: BLE001 - that nothing is raised is what is tried
            raised = f"{type(error).__name__}: {error}"
    return Heard(time.perf_counter() - started, answer, raised, output.getvalue())


def _start(fault: Fault, stage: Stage) -> Heard:
    done = subprocess.run(  # noqa: S603 - a row's own command
        stage.command,
        input=json.dumps(fault.event).encode(),
        capture_output=True,
        env=os.environ,
        timeout=_INIT_SECONDS,
        check=False,
    )
    if done.returncode:
        cause = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        return Heard(0.0, raised=cause, output=done.stdout.decode())
    written, _, last = done.stdout.decode().rstrip("\n").rpartition("\n")
    told = json.loads(last)
    return Heard(told["seconds"], told["answer"], "", written)


def other_client(target: Target) -> Callable[[], tuple[object, ...]]:
    """Make a client as people do; calling it gives the texts that it found.

    Raises:
        NotPlayable: its package is not installed.
    """
    try:
        return _langchain() if target is Target.LANGCHAIN_AWS else _boto3()
    except ImportError as error:
        raise NotPlayable(f"{target} is not installed: {error.name}") from error


def ask_other(client: Callable[[], tuple[object, ...]]) -> Passages:
    """Make one call of another client."""
    started = time.perf_counter()
    try:
        texts, raised = client(), ""
    except Exception as error:  # noqa: BLE001 - which one it is, is what is shown
        texts, raised = (), type(error).__name__
    return Passages(time.perf_counter() - started, texts, raised)


def _boto3() -> Callable[[], tuple[object, ...]]:
    import boto3  # noqa: PLC0415 - not for whom only the function is tried

    client = boto3.client("bedrock-agent-runtime")

    def ask() -> tuple[object, ...]:
        response = client.retrieve(
            knowledgeBaseId=KNOWLEDGE_BASE_ID, retrievalQuery={"text": QUERY}
        )
        results = response.get("retrievalResults", [])
        return tuple(result["content"]["text"] for result in results)

    return ask


def _langchain() -> Callable[[], tuple[object, ...]]:
    from langchain_aws.retrievers import (  # noqa: PLC0415 - need not be installed
        AmazonKnowledgeBasesRetriever,
    )

    retriever = AmazonKnowledgeBasesRetriever(
        knowledge_base_id=KNOWLEDGE_BASE_ID,
        retrieval_config={"vectorSearchConfiguration": {"numberOfResults": 5}},
        min_score_confidence=None,
    )
    return lambda: tuple(document.page_content for document in retriever.invoke(QUERY))
