"""The searchable form of a knowledge base: immutable arrays in one memory-mapped file.

An ingest writes one beside the knowledge base, with a new name for each state. So readers share its
pages, opening it reads little more than its last bytes, and a later ingest changes nothing that a reader
has mapped. It contains only data derived from the knowledge base: if it is missing or damaged, it is
rebuilt.

The file contains the arrays in sequence, a JSON object with their offsets, and a tail: the object's length
and sha256, and the magic bytes with which the file also begins.
"""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
import os
import re
import struct
from array import array
from bisect import bisect_left
from collections import Counter
from contextlib import suppress
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from knowledge_rag.core.files import written_atomically
from knowledge_rag.core.filters import Comparison
from knowledge_rag.core.languages import ENGLISH, language_of
from knowledge_rag.core.metadata import CHUNK_ID, SOURCE_FILE
from knowledge_rag.local.embeddings import DIMENSIONS
from knowledge_rag.local.errors import Damage
from knowledge_rag.local.keywords import ENTRY, KeywordIndex, Postings
from knowledge_rag.local.spelling import Spelling, from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from knowledge_rag.core.filters import Filter
    from knowledge_rag.core.outcome import MetadataValue
    from knowledge_rag.local.embeddings import Matrix


INDEX_SUFFIX: Final = ".index"
CHECKED_BYTES: Final = 64 * 1024 * 1024
"""Up to this size (some 15,000 chunks) the whole file is verified when it is opened, in 50 ms at most; in a
larger one the tail, the sizes and, by its own sha256, each passage that is found."""

_MAGIC: Final = b"KRAGIDX1"
TAIL: Final = struct.Struct("<Q32s8s")
_ALIGNED: Final = 64
_SAMPLE: Final = 64
"""Texts sampled to find the most common language."""
_UNIT: Final = 1e-3
"""Maximum deviation of a vector's length from 1."""

Array = np.ndarray[Any, np.dtype[Any]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
"""Shape (chunks,): true where the filter matches."""


class Strings:
    """Texts in sequence as UTF-8; ``starts`` has the start of each, and the end of the last."""

    def __init__(self, data: Array, starts: Array) -> None:
        self._data = data
        self._starts = starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        return self.encoded(number).decode()

    def __iter__(self) -> Iterator[str]:
        return (self[number] for number in range(len(self)))

    def encoded(self, number: int) -> bytes:
        """Return one text as stored."""
        return self._data[self._starts[number] : self._starts[number + 1]].tobytes()


class Parts:
    """Byte strings in sequence, and the start of each; the last start is the end."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._starts = array("q", [0])

    def add(self, part: bytes) -> None:
        """Append one."""
        self._data += part
        self._starts.append(len(self._data))

    @property
    def data(self) -> Array:
        """Shape (bytes,), uint8."""
        return np.frombuffer(self._data, dtype=np.uint8)

    @property
    def starts(self) -> Array:
        """Shape (parts + 1,), int64."""
        return np.frombuffer(self._starts, dtype=np.int64)

    @property
    def sizes(self) -> Array:
        """Shape (parts,)."""
        return np.diff(self.starts)


class SortedTerms:
    """The number of each term, by binary search: of a large vocabulary, only the requested terms are read."""

    def __init__(self, terms: Strings) -> None:
        self._terms = terms

    def __len__(self) -> int:
        return len(self._terms)

    def get(self, term: str) -> int | None:
        """Return a term's number; ``None`` if it is unknown."""
        wanted = term.encode(errors="surrogatepass")
        number = bisect_left(range(len(self._terms)), wanted, key=self._terms.encoded)
        found = number < len(self._terms) and self._terms.encoded(number) == wanted
        return number if found else None


class Index:
    """All chunks of one state, ordered by file and line.

    Raises:
        Damage: an array is missing or of the wrong size.
    """

    def __init__(self, model: str, arrays: Mapping[str, Array]) -> None:
        self.model = model
        self._arrays = arrays
        try:
            self.vectors: Matrix = arrays["vectors"]
            self.documents: Numbers = arrays["documents"]
            self.texts = Strings(arrays["texts"], arrays["text_starts"])
            self._metadata = Strings(arrays["metadata"], arrays["metadata_starts"])
            terms = SortedTerms(Strings(arrays["terms"], arrays["term_starts"]))
            postings = Postings(*(arrays[name] for name in Postings._fields))
        except KeyError as error:
            raise Damage("a part of its index is missing") from error
        if len({len(self.vectors), len(self.documents), len(self.texts), len(self._metadata)}) > 1:
            raise Damage("the parts of its index have different sizes")
        self.keywords = KeywordIndex(terms, postings, chunks=len(self))

    def __len__(self) -> int:
        return len(self.texts)

    def metadata(self, row: int) -> dict[str, MetadataValue]:
        """Return one chunk's metadata.

        Raises:
            Damage: it is not a JSON object that names its file and chunk.
        """
        return read_metadata(self._metadata[row])

    @cached_property
    def columns(self) -> MetadataColumns:
        """The metadata by attribute, for filters."""
        return MetadataColumns(
            self._arrays, len(self), lambda: map(self.metadata, range(len(self)))
        )

    @cached_property
    def language(self) -> str:
        """The most common language of its texts, by a sample."""
        sample = range(0, len(self), max(1, len(self) // _SAMPLE))
        found = Counter(language_of(self.texts[row]) for row in sample)
        return found.most_common(1)[0][0] if found else ENGLISH

    @cached_property
    def spelling(self) -> Spelling:
        """The words as written, for correcting questions; read on first use."""
        return Spelling(from_json(self._arrays["words"].tobytes().decode()))


def read_metadata(stored: str) -> dict[str, MetadataValue]:
    """Read a chunk's metadata from its stored form.

    Raises:
        Damage: it is not a JSON object that names its file and chunk.
    """
    try:
        decoded: Any = json.loads(stored)
    except (ValueError, RecursionError) as error:
        raise Damage("metadata are not JSON") from error
    if not isinstance(decoded, dict):
        raise Damage("metadata are not a JSON object")
    if not all(isinstance(decoded.get(name), str) for name in (SOURCE_FILE, CHUNK_ID)):
        raise Damage("metadata name no file or no chunk")
    return decoded


Row = tuple[Any, ...]


def build(rows: Iterable[Row], terms: Sequence[str], words: str) -> dict[str, Array]:
    """Build the arrays of an index.

    Args:
        rows: of each chunk, ordered by file and line: its document's number, three unused values, its
        metadata as JSON, its text, its vector (little-endian float32, of the model's dimensions) and its
        terms (dtype ``ENTRY``).
        terms: by their numbers.
        words: in their stored form.

    Raises:
        Damage: some data are not what an ingest stores.
    """
    documents: list[int] = []
    texts, metadata, vectors, entries = Parts(), Parts(), Parts(), Parts()
    for document, _, _, _, *values in rows:  # one at a time: all would be several times the arrays
        if [type(document), *map(type, values)] != [int, str, str, bytes, bytes]:
            raise Damage("a value has the wrong type")
        documents.append(document)
        for part, value in zip((metadata, texts, vectors, entries), values, strict=True):
            part.add(value if isinstance(value, bytes) else value.encode())
    order = sorted(range(len(terms)), key=lambda number: terms[number].encode())
    sorted_terms = Parts()
    for number in order:
        sorted_terms.add(terms[number].encode())
    return {
        "documents": np.array(documents, dtype=np.int64),
        "texts": texts.data,
        "text_starts": texts.starts,
        "metadata": metadata.data,
        "metadata_starts": metadata.starts,
        "vectors": _matrix(vectors),
        "terms": sorted_terms.data,
        "term_starts": sorted_terms.starts,
        **Postings.of(*_numbered(entries, order), len(terms))._asdict(),
        **column_arrays(
            map(read_metadata, Strings(metadata.data, metadata.starts)), len(documents)
        ),
        "words": np.frombuffer(words.encode(), dtype=np.uint8),
    }


def _matrix(vectors: Parts) -> Matrix:
    sizes = set(vectors.sizes.tolist()) or {4 * DIMENSIONS}
    if len(sizes) > 1 or 0 in sizes or any(size % 4 for size in sizes):
        raise Damage("a vector has the wrong size")
    matrix = vectors.data.view("<f4").reshape(-1, sizes.pop() // 4)
    lengths = np.einsum("ij,ij->i", matrix, matrix)
    if not np.all(np.abs(lengths - 1.0) < _UNIT):  # not-a-number is not near 1 either
        raise Damage("a vector is not of unit length")
    return matrix


def _numbered(entries: Parts, order: Sequence[int]) -> tuple[Array, Array]:
    """Return all chunks' terms, numbered alphabetically, and each chunk's number of terms."""
    if np.any(entries.sizes % ENTRY.itemsize):
        raise Damage("a list of terms is cut short")
    flat = entries.data.view(ENTRY)
    if flat.size and int(flat["term"].max()) >= len(order):
        raise Damage("a term is not in its vocabulary")
    places = np.empty(len(order), dtype=np.uint32)
    places[order] = np.arange(len(order), dtype=np.uint32)
    flat["term"] = places[flat["term"]]
    return flat, entries.sizes // ENTRY.itemsize


_CACHED_MASKS: Final = 64
_ABSENT: Final = 0
_CODES: Final = "codes:"
_VALUES: Final = "values:"
_MOSTLY_DISTINCT: Final = 0.5
"""An attribute with more distinct values than this share of the chunks (hashes, ids) gets no column."""


def column_arrays(rows: Iterable[Mapping[str, object]], size: int) -> dict[str, Array]:
    """Return, for each suitable attribute, its codes, shape (chunks,), and its values as JSON."""
    columns = _coded(rows, size, most=max(1, _MOSTLY_DISTINCT * size))
    arrays: dict[str, Array] = {}
    for key, (codes, values) in columns.items():
        if values:
            arrays[f"{_CODES}{key}"] = codes
            arrays[f"{_VALUES}{key}"] = np.frombuffer(json.dumps(values).encode(), dtype=np.uint8)
    kept = json.dumps(sorted(columns)).encode()
    return {**arrays, "attributes": np.frombuffer(kept, dtype=np.uint8)}


def _coded(
    rows: Iterable[Mapping[str, object]], size: int, most: float = inf
) -> dict[str, tuple[Array, list[object]]]:
    """Return codes and values of each attribute; no values if there are more than ``most``."""
    columns: dict[str, tuple[Array, list[object]]] = {}
    known: dict[str, dict[object, int]] = {}
    for row, metadata in enumerate(rows):
        for key, value in metadata.items():
            if key not in columns:
                columns[key] = np.full(size, _ABSENT, dtype=np.int32), [None]
                known[key] = {}
            codes, values = columns[key]
            if not values:
                continue
            # 1, 1.0, true and "1" are different values, and lists can't be dictionary keys
            same = json.dumps(value) if isinstance(value, list | dict) else (type(value), value)
            code = known[key].setdefault(same, len(values))
            if code == len(values):
                values.append(value)
                if code > most:  # free its values early
                    values.clear()
                    known[key].clear()
            codes[row] = code
    return columns


class MetadataColumns:
    """Evaluates filters: checks each distinct value of an attribute, not each chunk.

    ``rows`` returns the metadata of all chunks, for an attribute without a column.
    """

    def __init__(
        self,
        arrays: Mapping[str, Array],
        size: int,
        rows: Callable[[], Iterable[Mapping[str, object]]],
    ) -> None:
        self._arrays = arrays
        self._size = size
        self._rows = rows
        self._attributes = frozenset(json.loads(arrays["attributes"].tobytes()))
        self._columns: dict[str, tuple[Array, list[object]]] = {}
        self._masks: dict[bytes, Mask] = {}

    def mask(self, wanted: Filter) -> Mask:
        """Return for each chunk whether the filter matches; recent results are cached."""
        key = hashlib.sha256(repr(wanted).encode(errors="surrogatepass")).digest()
        mask = self._masks.get(key)
        if mask is None:
            mask = self._evaluate(wanted)
            if len(self._masks) >= _CACHED_MASKS:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    def _evaluate(self, wanted: Filter) -> Mask:
        if isinstance(wanted, Comparison):
            return self._compare(wanted)
        masks = [self._evaluate(member) for member in wanted.members]
        joined = np.logical_and.reduce(masks) if wanted.every else np.logical_or.reduce(masks)
        result: Mask = joined
        return result

    def _compare(self, wanted: Comparison) -> Mask:
        if wanted.key not in self._attributes:
            return np.full(self._size, wanted.matches_absent)
        codes, values = self._column(wanted.key)
        passes = [wanted.matches_value(value) for value in values]
        passes[_ABSENT] = wanted.matches_absent
        mask: Mask = np.array(passes)[codes]
        return mask

    def _column(self, key: str) -> tuple[Array, list[object]]:
        if key not in self._columns:
            codes = self._arrays.get(f"{_CODES}{key}")
            if codes is None:
                one = ({key: row[key]} if key in row else {} for row in self._rows())
                self._columns[key] = _coded(one, self._size)[key]
            else:
                values = json.loads(self._arrays[f"{_VALUES}{key}"].tobytes())
                self._columns[key] = codes, values
        return self._columns[key]


def index_path(kb_path: Path, seal: str) -> Path:
    """Return the path of the index for one state of a knowledge base."""
    return kb_path.with_name(f"{kb_path.name}.{seal[:16]}{INDEX_SUFFIX}")


def write_index(path: Path, model: str, arrays: Mapping[str, Array]) -> None:
    """Write an index atomically.

    Raises:
        OSError: it can't be written.
    """
    digest = hashlib.sha256()
    places = {}
    with written_atomically(path) as file:
        file.write(_MAGIC.ljust(_ALIGNED, b"\0"))
        for part, array in arrays.items():
            contents = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            places[part] = (file.tell(), array.dtype.str, array.shape)
            for data in (contents.data, bytes(-contents.nbytes % _ALIGNED)):
                file.write(data)
                digest.update(data)
        head = {"model": model, "sha256": digest.hexdigest(), "parts": places}
        encoded = json.dumps(head).encode()
        file.write(encoded)
        file.write(TAIL.pack(len(encoded), hashlib.sha256(encoded).digest(), _MAGIC))


def open_index(path: Path) -> Index:
    """Map an index into memory.

    Raises:
        OSError: it is missing, or can't be read.
        Damage: it has changed since it was written.
    """
    if not path.is_file():  # opening a named pipe would block
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < _ALIGNED + TAIL.size:
            raise Damage("its index is cut short")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    length, digest, magic = TAIL.unpack(mapped[-TAIL.size :])
    end = size - TAIL.size - length
    encoded = mapped[max(end, 0) : size - TAIL.size]
    if not magic == mapped[: len(_MAGIC)] == _MAGIC or hashlib.sha256(encoded).digest() != digest:
        raise Damage("its index is not as it was written")
    head = json.loads(encoded)
    if size <= CHECKED_BYTES and _digest(mapped, end) != head["sha256"]:
        raise Damage("its index is not as it was written")
    try:
        arrays = {
            part: np.frombuffer(mapped, dtype, int(np.prod(shape)), offset).reshape(shape)
            for part, (offset, dtype, shape) in head["parts"].items()
        }
    except (ValueError, TypeError) as error:  # another program's, with a matching sha256
        raise Damage("its index is not as an ingest writes it") from error
    return Index(head["model"], arrays)


def remove_other_indexes(kb_path: Path, seal: str) -> None:
    """Delete the indexes of all states but one, and leftovers of a killed ingest; all stay if the seal is empty."""
    if not seal:
        return
    kept = index_path(kb_path, seal)
    named = re.compile(
        rf"{re.escape(kb_path.name)}\.[0-9a-f]{{16}}{re.escape(INDEX_SUFFIX)}(.*\.part)?"
    )
    for other in kb_path.parent.iterdir():
        if named.fullmatch(other.name) and other != kept:
            with suppress(OSError):
                other.unlink()


def _digest(mapped: mmap.mmap, end: int) -> str:
    with memoryview(mapped) as view, view[_ALIGNED:end] as body:
        return hashlib.sha256(body).hexdigest()
