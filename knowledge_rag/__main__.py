"""The ``knowledge-rag`` command's way in, which has to work before anything is installed."""

from __future__ import annotations

import gc
import os
import sys
from typing import Final

from knowledge_rag.core.errors import how_to_install

MANY_OBJECTS: Final = 50_000
"""New objects after which garbage is looked for. Modules make many that stay: Python's own 700 costs a
sixth of the time of a command that answers one question."""


def main() -> None:
    """Run the command line; Ctrl-C ends it in one line, also while it loads."""
    gc.set_threshold(MANY_OBJECTS)
    # NumPy's threads wait by spinning, and where something else runs a matrix product takes ten times as long
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        _run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)


def _run() -> None:
    try:
        from knowledge_rag.cli.app import main as run  # noqa: PLC0415 - it may not be importable
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", "knowledge_rag", "lambdas"):
            raise
        sys.stderr.write(
            f"error: {missing} is not installed: the command line comes with an extra: "
            f"{how_to_install('local')}\n"
        )
        sys.exit(4)
    run()


if __name__ == "__main__":
    main()
