"""Reads JSON requests to a server on this machine: checks their size and validity."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import KnowledgeRagError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request


MAX_DEPTH: Final = 100
"""Maximum levels of lists and objects; Python supports about 1,000, fewer the deeper it is called."""


class Refused(KnowledgeRagError):  # noqa: N818 - named for what it is, as in core.errors
    """A request that is not served."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})


async def read_body(request: Request, most: int) -> bytes:
    """Read a body of at most ``most`` bytes.

    Raises:
        Refused: it is larger.
    """
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise Refused(413, f"the body has more than {most} bytes")
    return bytes(data)


def decoded(body: bytes) -> Any:  # noqa: ANN401 - JSON is of any type
    """Decode JSON, refusing NaN, Infinity, lone surrogates, numbers that are too large and more than MAX_DEPTH levels.

    Raises:
        Refused: it is not such JSON.
    """
    try:
        value = json.loads(body, parse_constant=_refuse_constant, parse_float=_finite)
        _check_depth(value)
        json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate is not text
    except (ValueError, RecursionError) as error:
        raise Refused(400, "the body is not valid JSON") from error
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):  # 1e999, which can't be encoded again
        raise ValueError("a number is too large")
    return number


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        inner = [
            it.values() if isinstance(it, dict) else it
            for it in level
            if isinstance(it, dict | list)
        ]
        if not inner:
            return
        level = [it for members in inner for it in members]
    raise ValueError("nested too deeply")
