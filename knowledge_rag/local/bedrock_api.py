"""Bedrock's wire API on this machine: what an unmodified boto3 client can talk to."""

from __future__ import annotations

import json
import logging
import re
import uuid
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response
from starlette.routing import Route

from knowledge_rag.local.retrieve_operation import ServiceError, retrieve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from knowledge_rag.local.knowledge_base import KnowledgeBase

LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")
"""``Host`` headers that are answered by default: a web page whose name was made to point here
(DNS rebinding) sends its own name."""

MAX_BODY_BYTES: Final = 8 * 1024 * 1024
"""More than the largest valid request: an image of 5 MiB in base64."""

_RETRIEVE = re.compile(r"/knowledgebases/([^/]*)/retrieve")
_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_logger = logging.getLogger(__name__)


def create_app(knowledge_base: KnowledgeBase, hosts: Sequence[str] = LOOPBACK_HOSTS) -> Starlette:
    """Make the application.

    Args:
        knowledge_base: the one that it serves, under ``KNOWLEDGE_BASE_ID``.
        hosts: ``Host`` header values that it answers to.
    """

    async def endpoint(request: Request) -> Response:
        try:
            body = await _answer(knowledge_base, request)
        except ServiceError as error:
            return _failure(error)
        except Exception:
            _logger.exception("local retrieve failed")
            return _failure(ServiceError("InternalServerException", 500, "Internal server error"))
        return _response(200, body)

    return Starlette(
        routes=[Route("/{path:path}", endpoint, methods=_METHODS)],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
    )


async def _answer(knowledge_base: KnowledgeBase, request: Request) -> dict[str, object]:
    # the raw path: a knowledge base may be named by an ARN, whose slash arrives as %2F
    path = request.scope.get("raw_path", b"").decode("latin-1")
    found = _RETRIEVE.fullmatch(path)
    if request.method != "POST" or not found:
        raise ServiceError(
            "UnknownOperationException", 404, f"Unknown operation: {request.method} {path[:200]}"
        )
    body = _decode(await _read(request))
    return await run_in_threadpool(retrieve, knowledge_base, unquote(found[1]), body)


async def _read(request: Request) -> bytes:
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > MAX_BODY_BYTES:
            raise ServiceError(
                "ValidationException", 400, f"Request body exceeds {MAX_BODY_BYTES} bytes"
            )
    return bytes(data)


def _decode(data: bytes) -> dict[str, Any]:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ServiceError("ValidationException", 400, "Request body is not valid JSON") from error
    if not isinstance(body, dict):
        raise ServiceError("ValidationException", 400, "Request body is not a JSON object")
    return body


def _failure(error: ServiceError) -> Response:
    return _response(error.status, {"message": str(error)}, {"x-amzn-ErrorType": error.code})


def _response(
    status: int, body: dict[str, object], headers: dict[str, str] | None = None
) -> Response:
    # escaped to ASCII: a lone surrogate in a message then travels, and can't break the response
    return Response(
        json.dumps(body),
        status_code=status,
        media_type="application/json",
        headers={"x-amzn-RequestId": str(uuid.uuid4()), **(headers or {})},
    )
