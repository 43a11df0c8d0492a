"""Embeds text with all-MiniLM-L6-v2, on the CPU, in 32-bit floats.

Each text runs alone. That is as fast as a batch here (a batch pays for padding and for losing
the caches: 61 texts/s alone, 55 in batches of 8, 36 in batches of 32), and a text's vector then
never depends on its neighbours: the same text gives the same bits, whether the ingest covers a
whole corpus or one changed file.
"""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
from tokenizers import Tokenizer

from knowledge_rag.local.errors import ModelUnavailable
from knowledge_rag.local.model_files import (
    GRAPH_VERSION,
    TOKENIZER_SHA256,
    WEIGHTS_SHA256,
    cached_graph,
    read_tokenizer,
    rebuilt_graph,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.local.settings import LocalSettings


os.environ["ORT_DISABLE_TELEMETRY"] = "1"


@contextmanager
def _interrupted_afterwards() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # not the main thread: nothing to interrupt
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


with _interrupted_afterwards():
    import onnxruntime

CONTEXT_SHARE: Final = 0.5
"""Weight of the context's vector relative to that of the whole text."""

_BLANK_LINE: Final = "\n\n"


def context_of(text: str) -> str:
    """Return a stored text's context prefix, which ends at the first blank line; ``""`` if it has none."""
    context, found, _ = text.partition(_BLANK_LINE)
    return context if found else ""


def placed(text: Vector, context: Vector) -> Vector:
    """Combine the vectors of a text and of its context; all of one shape and of unit length.

    In a vector from two models, only MiniLM's part is combined: the other model finds less with the context.
    """
    own, others = text[:DIMENSIONS], text[DIMENSIONS:]
    joined = own + np.float32(CONTEXT_SHARE) * context[:DIMENSIONS]
    vector: Vector = joined / np.linalg.norm(joined)
    return np.concatenate([np.linalg.norm(own) * vector, others]) if others.size else vector


DIMENSIONS: Final = 384
MAX_TOKENS: Final = 256
"""The window that the model was trained for, including its two special tokens; the rest is cut."""
_MOST_CHARACTERS: Final = 128 * MAX_TOKENS
"""Characters of a text that are used: a tokenizer needs 300 bytes for each."""

MAX_THREADS: Final = 4
"""More threads than this gain nothing on matrices of this size."""

Vector = np.ndarray[Any, np.dtype[np.float32]]
"""Shape (384,), unit length."""
Matrix = np.ndarray[Any, np.dtype[np.float32]]
"""Shape (n, 384), rows of unit length."""


class Embedder(Protocol):
    """The interface of an embedding model for ingest and search."""

    @property
    def fingerprint(self) -> str:
        """Identifies the model: equal fingerprints mean comparable vectors."""

    @property
    def dimensions(self) -> int:
        """Number of a vector's dimensions."""

    def embed(self, text: str) -> Vector:
        """Embed one text."""

    def embed_question(self, text: str, *, in_english: bool) -> Vector:
        """Embed a question, so that its product with a text's vector is their cosine.

        ``in_english`` says whether it and most documents are in English.
        """

    def knows(self, word: str) -> bool:
        """Return whether a lower-case word is common: the model has learnt it as a whole."""


class MiniLm:
    """The real model; loaded on first use, and thread-safe.

    By default it uses all CPU threads, at most ``MAX_THREADS``.
    """

    def __init__(self, settings: LocalSettings, *, threads: int | None = None) -> None:
        self._settings = settings
        self._threads = threads or min(os.cpu_count() or 1, MAX_THREADS)
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def fingerprint(self) -> str:
        """Changes with the weights, the vocabulary, the graph, the truncation and the use of the context."""
        parts = f"{WEIGHTS_SHA256} {TOKENIZER_SHA256} {GRAPH_VERSION} {MAX_TOKENS} {CONTEXT_SHARE}"
        return "all-MiniLM-L6-v2-" + hashlib.sha256(parts.encode()).hexdigest()[:16]

    @property
    def dimensions(self) -> int:
        """Number of a vector's dimensions."""
        return DIMENSIONS

    def embed(self, text: str) -> Vector:
        """Embed one text; see ``Embedder``. It is cut at ``MAX_TOKENS``.

        Raises:
            ModelUnavailable: the model isn't available; the message says what is missing.
        """
        loaded = self.load()
        readable = text[:_MOST_CHARACTERS].encode(errors="replace").decode()
        ids = np.array([loaded.tokenizer.encode(readable).ids], dtype=np.int32)
        (vectors,) = loaded.session.run(None, {"ids": ids, "mask": np.ones_like(ids)})
        vector: Vector = vectors[0]
        return vector

    def embed_question(self, text: str, *, in_english: bool) -> Vector:  # noqa: ARG002 - it knows English alone
        """Embed a question like any text."""
        return self.embed(text)

    def knows(self, word: str) -> bool:
        """Return whether a lower-case word is one of some 20,000 that the model has learnt as a whole."""
        return self.load().tokenizer.token_to_id(word) is not None

    def load(self) -> _Loaded:
        """Load the model now rather than on first use (about half a second)."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._settings, self._threads)
            return self._loaded


class _Loaded(NamedTuple):
    session: Any  # onnxruntime has no types
    tokenizer: Tokenizer


def _load(settings: LocalSettings, threads: int) -> _Loaded:
    graph = cached_graph(settings)
    tokenizer = Tokenizer.from_buffer(read_tokenizer(settings))
    # the published file cuts at 128 tokens and pads to 128
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    try:
        session = _session(graph, threads)
    except Exception:  # noqa: BLE001 - onnxruntime's own exceptions share no base
        # a damaged cache is no reason to fail: its source is at hand, and proven
        session = _rebuilt_session(settings, threads)
    return _Loaded(session, tokenizer)


def _rebuilt_session(settings: LocalSettings, threads: int) -> Any:  # noqa: ANN401
    graph = rebuilt_graph(settings)
    try:
        return _session(graph, threads)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise ModelUnavailable(f"onnxruntime can't run the embedding model: {reason}") from error


def _session(graph: Path | bytes, threads: int) -> Any:  # noqa: ANN401 - onnxruntime has no types
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # it is already optimised: looking for further fusions gains nothing, and copies all weights
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    # threads that wait by spinning save half a millisecond per query if nothing else runs, and cost a
    # multiple of it otherwise: 15 to 30 ms against 4 to 6, and half the ingest's speed
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    source = str(graph) if isinstance(graph, Path) else graph
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
