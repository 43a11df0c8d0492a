"""The Bedrock runtime client: botocore's own, with a safe exchange and response.

:mod:`clients` enforces the deadline. The response is read here, because botocore treats a truncated, empty
or foreign 200 as a success without results.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import DeadlineExceeded, RetrievalFailed
from knowledge_rag.core.failures import MAX_CODE_CHARACTERS
from knowledge_rag.core.net import clients
from knowledge_rag.core.net.deadline import current_deadline
from knowledge_rag.core.outcome import Reason

if TYPE_CHECKING:
    from knowledge_rag.core.net.clients import AwsClient
    from knowledge_rag.core.net.deadline import Deadline

SERVICE_NAME: Final = "bedrock-agent-runtime"

PARSE_SECONDS_PER_BYTE: Final = 0.2e-6
PARSE_SECONDS_PER_BRACKET: Final = 3e-6
"""Time reserved for parsing and proving: at least three times the worst measured on two shared cores.

Lists and objects cost most (up to 1 us each, garbage collection included), everything else little: a
hundred results of usual size reserve 0.06 s."""

MAX_ERROR_BODY_BYTES: Final = 65_536
"""An error's body is a code and a sentence; if it is longer, only the status counts."""

_ERROR_KEYS: Final = ("__type", "code", "Code", "message", "Message")
"""Fields of an error's body that botocore reads, each as text."""

_RESPONSE_KEYS: Final = ("retrievalResults", "guardrailAction", "nextToken")


def create_client(region: str) -> AwsClient:
    """Create a client whose Retrieve enforces deadlines; nothing is sent.

    Raises:
        InvalidSettings: the AWS settings in the environment (endpoint URL, profile, config file) are wrong.
    """
    return clients.create_client(SERVICE_NAME, "Retrieve", region, check_response)


def check_response(
    response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: object
) -> None:
    """Read the body of a Retrieve response; a ``before-parse`` handler.

    A 200 is read here and not by botocore, so that one garbled item costs only that item. The body
    of an error is kept only if botocore can read it; otherwise the status becomes the code.

    Raises:
        RetrievalFailed: ``malformed_response``, when a 200 has no list of results.
        DeadlineExceeded: too little time is left to parse it.
    """
    data = response_dict["body"]
    if response_dict["status_code"] >= 300:
        check_error(response_dict)
        return
    leave_time_to_parse(data, current_deadline())
    body = _json_object(data)
    if body is None or not isinstance(body.get("retrievalResults"), list):
        request_id = response_dict["headers"].get("x-amzn-requestid", "")[:MAX_CODE_CHARACTERS]
        code = "NotJson" if body is None else "NoRetrievalResults"
        raise RetrievalFailed(Reason.MALFORMED_RESPONSE, code=code, request_id=request_id)
    customized_response_dict.update({key: body[key] for key in _RESPONSE_KEYS if key in body})
    response_dict["body"] = b"{}"


def check_error(response_dict: dict[str, Any], **_: object) -> None:
    """Keep the body of an error only if botocore can read it; a ``before-parse`` handler.

    Otherwise the status becomes the code. A 2xx is left alone.
    """
    if response_dict["status_code"] < 300:
        return
    data = response_dict["body"]
    if len(data) > MAX_ERROR_BODY_BYTES or not _is_error_body(_json_object(data)):
        response_dict["body"] = b"{}"


def leave_time_to_parse(data: bytes, deadline: Deadline) -> None:
    """Give up on a body that can't be parsed and proven before the deadline.

    Raises:
        DeadlineExceeded: too little time is left.
    """
    brackets = data.count(b"[") + data.count(b"{")
    needed = len(data) * PARSE_SECONDS_PER_BYTE + brackets * PARSE_SECONDS_PER_BRACKET
    if deadline.remaining() < needed:
        raise DeadlineExceeded("the response came too late to be parsed in time")


def _is_error_body(body: dict[str, Any] | None) -> bool:
    return body is not None and all(isinstance(body.get(key, ""), str) for key in _ERROR_KEYS)


def _json_object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
