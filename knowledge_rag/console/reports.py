"""Reports of wrong citations: lines of a file on this machine, for a person; nothing learns from them."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

from knowledge_rag.console.errors import Refused
from knowledge_rag.console.limits import MAX_REPORTS, MAX_REPORTS_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_INSUFFICIENT_STORAGE = 507


class Reports:
    """The file; safe to use from several threads.

    Args:
        path: of the file, which is made when the first report comes, for its owner's eyes alone;
            ``None`` if there is no place for one.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()

    def add(self, report: Mapping[str, Any]) -> Path:
        """Write a report as a line of JSON; give where it stands.

        Raises:
            Refused: the file is full or can't be written.
        """
        line = json.dumps(report, allow_nan=False).encode() + b"\n"
        if self._path is None:
            raise Refused(_INSUFFICIENT_STORAGE, "this console keeps no reports")
        with self._lock:
            try:
                self._append(self._path, line)
            except OSError as error:
                reason = error.strerror or type(error).__name__
                raise Refused(
                    _INSUFFICIENT_STORAGE, f"the report could not be written: {reason}"
                ) from error
        return self._path

    def _append(self, path: Path, line: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        known = path.read_bytes() if path.exists() else b""
        if known.count(b"\n") >= MAX_REPORTS or len(known) + len(line) > MAX_REPORTS_BYTES:
            raise Refused(
                _INSUFFICIENT_STORAGE,
                f"{path} is full: read it and move it away, then report again",
            )
        whole = known.endswith(b"\n") or not known
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(handle, "ab") as opened:
            opened.write(line if whole else b"\n" + line)  # one that was cut off stays one line
