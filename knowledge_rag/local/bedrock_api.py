"""Bedrock's wire API on this machine: what an unmodified boto3 client can talk to."""

from __future__ import annotations

import json
import logging
import re
import uuid
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.local.retrieve_operation import ServiceError, retrieve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

    from knowledge_rag.local.knowledge_base import KnowledgeBase

LOOPBACK_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")
"""``Host`` headers that are answered by default: a web page whose name was made to point here
(DNS rebinding) sends its own name."""

MAX_BODY_BYTES: Final = 1024 * 1024
"""Several times the largest request of text: 20,000 characters, escaped, and a filter."""

_RETRIEVE = re.compile(r"/knowledgebases/([^/]*)/retrieve")
_HOST = re.compile(r"(.*?)(?::[0-9]*)?")
_ORIGIN = re.compile(r"https?://(.*)")
_SHOWN_MESSAGE: Final = 4096
_SHOWN_DEFECT: Final = 300
_logger = logging.getLogger(__name__)


def create_app(knowledge_base: KnowledgeBase, hosts: Sequence[str] = LOOPBACK_HOSTS) -> ASGIApp:
    """Make the application.

    Args:
        knowledge_base: the one that it serves, under ``KNOWLEDGE_BASE_ID``.
        hosts: ``Host`` header values that it answers to, and whose pages may ask it.
    """
    allowed = frozenset(host.lower() for host in hosts)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            _refuse_strangers(request, allowed)
            response = _response(200, await _answer(knowledge_base, request))
        except ServiceError as error:
            response = _failure(error)
        except ClientDisconnect:
            return  # nobody is left to answer
        except Exception as error:  # noqa: BLE001 - told in one line; the client learns nothing
            _logger.error("local retrieve failed: %s", _described(error))  # noqa: TRY400
            response = _failure(
                ServiceError("InternalServerException", 500, "Internal server error")
            )
        await response(scope, receive, send)

    return app


def _refuse_strangers(request: Request, hosts: frozenset[str]) -> None:
    """Answer no web page: it can send requests here, though nobody asked it to."""
    if not _is_named(request.headers.get("host", ""), hosts):
        raise ServiceError("AccessDeniedException", 403, "This Host is not answered")
    origin = request.headers.get("origin")
    if origin is not None:
        page = _ORIGIN.fullmatch(origin.lower())
        if page is None or not _is_named(page[1], hosts):
            raise ServiceError(
                "AccessDeniedException", 403, "Pages of this Origin are not answered"
            )


def _is_named(authority: str, hosts: frozenset[str]) -> bool:
    host = _HOST.fullmatch(authority.lower())
    return host is not None and host[1] in hosts


def _described(error: Exception) -> str:
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    frame = f" ({where.tb_frame.f_code.co_name}, line {where.tb_lineno})" if where else ""
    text = " ".join(str(error).split())[:_SHOWN_DEFECT]
    return neutralise(f"{type(error).__name__}: {text}{frame}")


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
        body = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ServiceError("ValidationException", 400, "Request body is not valid JSON") from error
    if not isinstance(body, dict):
        raise ServiceError("ValidationException", 400, "Request body is not a JSON object")
    return body


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _failure(error: ServiceError) -> Response:
    message = str(error)[:_SHOWN_MESSAGE]
    return _response(error.status, {"message": message}, {"x-amzn-ErrorType": error.code})


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
