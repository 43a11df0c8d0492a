"""``python -m tests.support.dying_ingest DIR KB N``: an ingest that is killed before its statement N.

One that survives prints how many statements it had.
"""

from __future__ import annotations

import itertools
import os
import signal
import sqlite3
import sys
from pathlib import Path
from unittest.mock import patch

from knowledge_rag.local.ingest import ingest
from tests.support.local import WordHashes


def main(corpus: str, kb: str, killed_at: str) -> None:
    """Ingest until the statement comes."""
    statements = itertools.count()
    connect = sqlite3.connect

    def count(_statement: str) -> None:
        if next(statements) == int(killed_at):
            os.kill(os.getpid(), signal.SIGKILL)

    def traced(*arguments: object, **named: object) -> sqlite3.Connection:
        connection = connect(*arguments, **named)  # type: ignore[arg-type,call-overload]
        connection.set_trace_callback(count)
        return connection

    with patch("sqlite3.connect", traced):
        ingest(Path(corpus), Path(kb), embedder=WordHashes())
    print(next(statements))  # noqa: T201 - as the docstring says


if __name__ == "__main__":
    main(*sys.argv[1:])
