"""Files that a user names, or pipes in: read to a bound, whatever they are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from knowledge_rag.core.errors import InvalidRequest

STDIN: Final = "-"
MAX_BYTES: Final = 64 << 20
"""Of a file that is read; what is larger is no answer, no evidence and no incident."""


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
            with Path(path).open("rb") as file:  # also of a pipe or a device, which may never end
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidRequest(f"{input_name(path)}: {error.strerror or error}") from error
    if len(data) > MAX_BYTES:
        raise InvalidRequest(f"{input_name(path)}: larger than {MAX_BYTES >> 20} MiB")
    return data


def input_name(path: str) -> str:
    """Give what a file is called where people read it."""
    return "standard input" if path == STDIN else path
