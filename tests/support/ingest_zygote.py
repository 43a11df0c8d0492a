"""Ingests in a process of its own each time and kills it on request, without loading the model anew.

A line of JSON on standard input asks for one ingest; a line on standard output says how it ended.
The model is loaded once, on one thread, and each ingest runs in a fork of this process.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import TYPE_CHECKING, Any

from knowledge_rag.local.embeddings import MiniLm
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.settings import LocalSettings
from tests.support.local import PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def ingest_zygote() -> Iterator[Callable[..., bool]]:
    """Start the process; gives what asks it for an ingest and tells whether that was killed."""
    command = [sys.executable, "-m", "tests.support.ingest_zygote"]
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    with Popen(command, cwd=PROJECT, env=environment, stdin=PIPE, stdout=PIPE, text=True) as zygote:

        def run(corpus: Path, kb_path: Path, *, after: str, seconds: float) -> bool:
            """Ingest, and kill that so many seconds ``after`` it has begun ``start`` or ``writing``."""
            order = [str(corpus), str(kb_path), after, seconds]
            zygote.stdin.write(json.dumps(order) + "\n")
            zygote.stdin.flush()
            return bool(json.loads(zygote.stdout.readline()))

        yield run


def _serve() -> None:
    model = MiniLm(LocalSettings.from_environment(), threads=1)
    model.embed("load it now")
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_killed(model, *json.loads(line))) + "\n")
        sys.stdout.flush()


def _killed(model: MiniLm, corpus: str, kb_path: str, after: str, seconds: float) -> bool:
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        _ingest_and_exit(model, Path(corpus), Path(kb_path), theirs)
    os.close(theirs)
    while after == "writing" and os.read(ours, 1) not in (b"w", b""):
        continue
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)  # it is ours until it has been waited for
    os.close(ours)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        sys.exit("an ingest failed by itself")
    return os.WIFSIGNALED(status)


def _ingest_and_exit(model: MiniLm, corpus: Path, kb_path: Path, pipe: int) -> Any:
    code = 1

    def progress(_done: int, _total: int, phase: str) -> None:
        if phase == "writing":
            os.write(pipe, b"w")

    try:
        ingest(corpus, kb_path, embedder=model, progress=progress)
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    _serve()
