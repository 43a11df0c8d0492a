"""JSON requests and responses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

from knowledge_rag.channel.json_requests import Refused, decoded, read_body
from knowledge_rag.console.limits import MAX_BODY_BYTES

if TYPE_CHECKING:
    from starlette.requests import Request


class Json(JSONResponse):
    """A response of JSON in ASCII: so half a character in a model's text causes no error."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - any JSON
        """Return the JSON, in ASCII."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def base_of(request: Request) -> str:
    """Return the server's address as the client uses it, without a path or a trailing slash."""
    return str(request.base_url).rstrip("/")


def check_type(request: Request) -> None:
    """Check that a body's type is JSON: pages of other sites can't send that type without a preflight.

    Raises:
        Refused: it has another type.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "the body must be application/json")


async def read_object(request: Request, most: int = MAX_BODY_BYTES) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        Refused: it has another type, is too large, or isn't a JSON object.
    """
    check_type(request)
    body = decoded(await read_body(request, most))
    if not isinstance(body, dict):
        raise Refused(400, "the body is not a JSON object")
    return body


def text_in(body: dict[str, Any], name: str, most: int, *, required: bool = False) -> str:
    """Return a text of the body, stripped; ``""`` if it is absent or null."""
    value = body.get(name)
    if value is None:
        value = ""
    if not isinstance(value, str):
        raise Refused(400, f"{name} must be text")
    if len(value) > most:
        raise Refused(400, f"{name} has {len(value)} characters, allowed: {most}")
    if required and not value.strip():
        raise Refused(400, f"{name} is missing or blank")
    return value.strip()


def whole_in(body: dict[str, Any], name: str, most: int) -> int:
    """Return a whole number of the body, 0 if it is absent."""
    value = body.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise Refused(400, f"{name} must be a whole number up to {most}")
    return value


def only(body: dict[str, Any], *names: str) -> None:
    """Refuse any other members: a misspelt filter must not be ignored."""
    if unknown := sorted(set(body) - set(names)):
        raise Refused(400, f"unknown member {unknown[0][:80]!r}; known members: {', '.join(names)}")
