"""The token for a gateway that wants one: from a file, or from the environment."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument

if TYPE_CHECKING:
    from pathlib import Path

TOKEN_VARIABLE: Final = "KNOWLEDGE_RAG_GATEWAY_TOKEN"  # noqa: S105 - the name of a variable


def gateway_token(path: Path | None) -> str:
    """Give the token; ``""`` where none is set.

    Args:
        path: file that holds nothing else; ``None`` for the environment variable.

    Raises:
        UnreadableDocument: the file can't be read, or holds no token.
        InvalidRequest: what is set can't be a token.
    """
    try:
        text = path.read_text(encoding="ascii") if path else os.environ.get(TOKEN_VARIABLE, "")
    except OSError as error:
        raise UnreadableDocument(str(path), error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise UnreadableDocument(str(path), "a token is ASCII") from error
    token = text.strip()
    if not token.isprintable() or " " in token:
        raise InvalidRequest("the gateway's token is one word without spaces or line breaks")
    if path and not token:
        raise UnreadableDocument(str(path), "there is no token in it")
    return token
