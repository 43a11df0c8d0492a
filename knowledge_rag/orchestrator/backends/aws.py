"""Backends on AWS: the knowledge base itself by Bedrock's Retrieve, or the function by Lambda's Invoke."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.bedrock import check_error, create_client, leave_time_to_parse
from knowledge_rag.core.errors import InvalidSettings, RetrievalFailed, UnreadableResponse
from knowledge_rag.core.failures import MAX_CODE_CHARACTERS
from knowledge_rag.core.net.clients import create_client as create_aws_client
from knowledge_rag.core.outcome import Reason
from knowledge_rag.core.response import read_json, read_outcome
from knowledge_rag.core.retrieval import Retriever
from knowledge_rag.orchestrator.backends.bounded import Lazily
from knowledge_rag.orchestrator.retrieval import current_ids, to_arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from knowledge_rag.core.net.clients import AwsClient
    from knowledge_rag.core.net.deadline import Deadline
    from knowledge_rag.core.outcome import RetrievalOutcome
    from knowledge_rag.core.retrieval import Query, SearchSettings


class _Client:
    """A backend with one client, made on first use; see ``BlockingBackend``."""

    def __init__(self, make: Callable[[], AwsClient]) -> None:
        self._client: Lazily[AwsClient] = Lazily("AWS client", make)

    def prepare(self, deadline: Deadline) -> None:
        """Make the client and load its certificates."""
        self._client.get(deadline).prepare()

    def close(self) -> None:
        """Close every connection."""
        if client := self._client.made():
            client.close()


class BedrockRetrieve(_Client):
    """The core's own retriever; needs ``bedrock:Retrieve`` on the knowledge base."""

    name = "retrieve"

    def __init__(self, settings: SearchSettings, region: str) -> None:
        super().__init__(lambda: create_client(region))
        self._settings = settings

    def ask(self, query: Query, deadline: Deadline) -> RetrievalOutcome:
        """Search, and prove each result; see ``BlockingBackend``."""
        retriever = Retriever(self._client.get(deadline).api, self._settings)
        return retriever.retrieve(query, deadline).outcome


_FUNCTION: Final = re.compile(r"[a-zA-Z0-9:_-]{1,170}")
_TIMED_OUT: Final = "Sandbox.Timedout"
"""Lambda's name for a function that it stopped."""


class RetrievalFunction(_Client):
    """Invokes the retrieval function directly; needs ``lambda:InvokeFunction`` on its alias.

    Args:
        function: its name, or an ARN, with or without a qualifier.

    Raises:
        InvalidSettings: the name is invalid.
    """

    name = "function"

    def __init__(self, function: str, region: str) -> None:
        if not _FUNCTION.fullmatch(function):
            raise InvalidSettings(f"function {function[:80]!r} is neither a name nor an ARN")
        super().__init__(lambda: create_aws_client("lambda", "Invoke", region, check_error))
        self._target = {"FunctionName": function, "InvocationType": "RequestResponse"}

    def ask(self, query: Query, deadline: Deadline) -> RetrievalOutcome:
        """Invoke the function with the flat arguments of a direct caller; see ``BlockingBackend``."""
        payload = json.dumps({**to_arguments(query), **current_ids()}).encode()
        client = self._client.get(deadline)
        with deadline.applied():
            answer = client.api.invoke(**self._target, Payload=payload)
        data: bytes = answer["Payload"].read()  # in memory: the transport has read it to its end
        leave_time_to_parse(data, deadline)
        if "FunctionError" in answer:
            raise _function_error(data, answer)
        return read_outcome(read_json(data), max_results=query.max_results)


def _function_error(data: bytes, answer: dict[str, Any]) -> RetrievalFailed:
    body: object = None
    with suppress(UnreadableResponse):
        body = read_json(data)
    kind = body.get("errorType") if isinstance(body, dict) else None
    code = kind if isinstance(kind, str) else "FunctionError"
    reason = Reason.TIMEOUT if code == _TIMED_OUT else Reason.UNAVAILABLE
    request_id = str(answer.get("ResponseMetadata", {}).get("RequestId", ""))
    return RetrievalFailed(
        reason, code=code[:MAX_CODE_CHARACTERS], request_id=request_id[:MAX_CODE_CHARACTERS]
    )
