"""Where a function's log lines go: standard output, which Lambda collects."""

from __future__ import annotations

import logging
import sys
from typing import TextIO


class StandardOutput(logging.StreamHandler[TextIO]):
    """Writes to whatever ``sys.stdout`` is at the time, so that callers can redirect it."""

    @property
    def stream(self) -> TextIO:
        """The current standard output."""
        return sys.stdout

    @stream.setter
    def stream(self, _: TextIO) -> None: ...
