"""Reads the user's inputs: files, standard input, a gateway's token."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from knowledge_rag.core.errors import InvalidRequest, UnreadableDocument

STDIN: Final = "-"
MAX_BYTES: Final = 64 << 20
"""Maximum bytes of an input file."""


def read_input(path: str) -> bytes:
    """Read a file, or standard input for ``-``.

    Raises:
        InvalidRequest: it can't be read, or is larger than MAX_BYTES.
    """
    try:
        if path == STDIN and sys.stdin is None:
            raise InvalidRequest("standard input: closed")
        if path == STDIN:
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:  # may be a pipe or a device, which never ends
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidRequest(f"{input_name(path)}: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise InvalidRequest(f"{input_name(path)}: larger than {MAX_BYTES >> 20} MiB")
    return data


def input_name(path: str) -> str:
    """Return a file's name for messages."""
    return "standard input" if path == STDIN else path


TOKEN_VARIABLE: Final = "KNOWLEDGE_RAG_GATEWAY_TOKEN"  # noqa: S105 - the name of a variable


def gateway_token(path: Path | None) -> str:
    """Return the token; ``""`` if none is set.

    Raises:
        UnreadableDocument: the file can't be read, or has no token.
        InvalidRequest: the value can't be a token.
    """
    try:
        text = path.read_text(encoding="ascii") if path else os.environ.get(TOKEN_VARIABLE, "")
    except OSError as error:
        raise UnreadableDocument(str(path), error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise UnreadableDocument(str(path), "a token must be ASCII") from error
    token = text.strip()
    if not token.isprintable() or " " in token:
        raise InvalidRequest("a gateway's token must be one word without spaces or line breaks")
    if path and not token:
        raise UnreadableDocument(str(path), "there is no token in it")
    return token
