"""A loopback server in the place of AWS operations that moto does not play.

It knows botocore's models, so that it tells which operation an unmodified client asks for, and takes
no answer that the operation's output shape does not describe.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from botocore.loaders import create_loader
from botocore.model import ServiceModel

from tests.support.loopback import Loopback, Raw

if TYPE_CHECKING:
    from collections.abc import Callable

ENDPOINT_NAMES = {
    "bedrock": "BEDROCK",
    "bedrock-agent": "BEDROCK_AGENT",
    "bedrock-agent-runtime": "BEDROCK_AGENT_RUNTIME",
    "bedrock-agentcore": "BEDROCK_AGENTCORE",
    "bedrock-agentcore-control": "BEDROCK_AGENTCORE_CONTROL",
    "cloudformation": "CLOUDFORMATION",
    "codedeploy": "CODEDEPLOY",
    "lambda": "LAMBDA",
    "opensearchserverless": "OPENSEARCHSERVERLESS",
    "s3": "S3",
    "secretsmanager": "SECRETS_MANAGER",
    "s3vectors": "S3VECTORS",
    "service-quotas": "SERVICE_QUOTAS",
    "ssm": "SSM",
    "sts": "STS",
}


@dataclass(frozen=True)
class Fault:
    """An error that the service answers with."""

    code: str
    message: str = "played"
    status: int = 400


DENIED = Fault("AccessDeniedException", "User: arn:aws:sts::1:a/b is not allowed", 403)


class PlayedAws(Loopback):
    """Answers operations as it is told.

    Attributes:
        answers: ``(service, operation)`` -> an answer, a :class:`Fault`, a :class:`Raw`, or what makes
            one of the request's path and body.
        calls: operations in the order of their arrival.
    """

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], Any] = {}
        self.calls: list[str] = []
        super().__init__()

    def respond(self, method: str, path: str, headers: Any, body: bytes) -> Raw:
        service, path = _split(path)
        operation = _operation(service, method, path, headers, body)
        self.calls.append(f"{service}:{operation}")
        return self.answer(service, operation, path, body)

    def endpoint(self, service: str) -> dict[str, str]:
        """Give the environment variable that sends a service's clients here."""
        address = f"{self.url}/{service}"
        return {f"AWS_ENDPOINT_URL_{ENDPOINT_NAMES[service]}": address}

    def play(self, service: str, operation: str, answer: Any) -> None:
        """Set the answer of an operation; its members have to be known to its model."""
        if isinstance(answer, dict):
            shape = _model(service).operation_model(operation).output_shape
            assert set(answer) <= set(shape.members), set(answer) - set(shape.members)
        else:
            assert operation in _model(service).operation_names
        self.answers[service, operation] = answer

    def answer(self, service: str, operation: str, path: str, body: bytes) -> Raw:
        """Give the response for one request."""
        answer: Any = self.answers.get(
            (service, operation), Fault("NotPlayed", f"{service}:{operation} is not played", 501)
        )
        if callable(answer):
            make: Callable[[str, bytes], Any] = answer
            answer = make(path, body)
        if isinstance(answer, Raw):
            return answer
        if isinstance(answer, Fault):
            return _error(answer, _model(service).metadata["protocol"])
        return Raw(json.dumps(answer).encode(), "application/json")


def _error(fault: Fault, protocol: str) -> Raw:
    if protocol in {"query", "rest-xml"}:
        inner = f"<Code>{fault.code}</Code><Message>{escape(fault.message)}</Message>"
        error = f"<Error>{inner}</Error>"
        text = error if protocol == "rest-xml" else f"<ErrorResponse>{error}</ErrorResponse>"
        return Raw(text.encode(), "text/xml", fault.status)
    body = json.dumps({"message": fault.message, "__type": fault.code}).encode()
    header = (("x-amzn-ErrorType", fault.code),)
    return Raw(body, "application/json", fault.status, header)


def _split(path: str) -> tuple[str, str]:
    service, _, rest = urlsplit(path).path.lstrip("/").partition("/")
    return service, f"/{rest}"


def _operation(service: str, method: str, path: str, headers: Any, body: bytes) -> str:
    if target := headers.get("X-Amz-Target"):
        return target.rpartition(".")[2]
    model = _model(service)
    if model.metadata["protocol"] == "query":
        return parse_qs(body.decode())["Action"][0]
    for name, pattern in _paths(service):
        if pattern.fullmatch(f"{method} {unquote(path)}"):
            return name
    return f"{method} {path}"


@lru_cache
def _model(service: str) -> Any:
    # read for itself: a client rewrites the paths of the description that it has
    return ServiceModel(create_loader().load_service_model(service, "service-2"), service)


@lru_cache
def _paths(service: str) -> list[tuple[str, re.Pattern[str]]]:
    found = []
    for name in _model(service).operation_names:
        http = _model(service).operation_model(name).http
        if "?" in http["requestUri"]:  # S3's sub-resources, of which none is asked for here
            continue
        path = re.escape(http["requestUri"])
        pattern = re.sub(r"\\\{\w+\\\+\\\}|\\\{\w+\\\}", "[^?]+", path)
        found.append((name, re.compile(f"{http['method']} {pattern}")))
    return sorted(found, key=lambda each: -len(each[1].pattern))


def stack_in(state: str, **outputs: str) -> Raw:
    """Give DescribeStacks' answer for a stack in a state that moto's stacks never are in."""
    told = "".join(
        f"<member><OutputKey>{key}</OutputKey><OutputValue>{value}</OutputValue></member>"
        for key, value in outputs.items()
    )
    stack = (
        f"<member><StackName>knowledge-rag-dev-data</StackName><StackStatus>{state}</StackStatus>"
        f"<Outputs>{told}</Outputs><CreationTime>2026-11-21T09:00:00Z</CreationTime></member>"
    )
    result = f"<DescribeStacksResult><Stacks>{stack}</Stacks></DescribeStacksResult>"
    text = f"<DescribeStacksResponse>{result}</DescribeStacksResponse>"
    return Raw(text.encode(), "text/xml")
