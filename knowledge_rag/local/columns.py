"""The metadata of all chunks by attribute: a filter checks each distinct value, not each chunk."""

from __future__ import annotations

import hashlib
import json
from math import inf
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from knowledge_rag.core.filters import Comparison

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from knowledge_rag.core.filters import Filter

    Array = np.ndarray[Any, np.dtype[Any]]

Mask = np.ndarray[Any, np.dtype[np.bool_]]
"""Shape (chunks,): true where the filter matches."""

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
    """Evaluates filters.

    Args:
        arrays: from :func:`column_arrays`, among others.
        size: number of chunks.
        rows: returns the metadata of all chunks, for an attribute without a column.
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
