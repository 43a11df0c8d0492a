"""Metadata by attribute, so that a filter costs one look at each distinct value, not at each chunk."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from knowledge_rag.local.filters import Comparison

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knowledge_rag.local.filters import Filter

Mask = np.ndarray[Any, np.dtype[np.bool_]]
"""Shape (chunks,): true where the filter passes."""

_CACHED_MASKS: Final = 64
_ABSENT: Final = 0


class MetadataColumns:
    """The metadata of all chunks, each attribute as codes into its distinct values.

    Args:
        rows: the metadata of each chunk.
    """

    def __init__(self, rows: Sequence[Mapping[str, object]]) -> None:
        self._size = len(rows)
        self._values: dict[str, list[object]] = {}
        self._codes: dict[str, np.ndarray[Any, np.dtype[np.int32]]] = {}
        self._masks: dict[bytes, Mask] = {}
        known: dict[str, dict[str, int]] = {}
        for row, metadata in enumerate(rows):
            for key, value in metadata.items():
                self._add(known, row, key, value)

    def _add(self, known: dict[str, dict[str, int]], row: int, key: str, value: object) -> None:
        if key not in known:
            known[key] = {}
            self._values[key] = [None]
            self._codes[key] = np.full(self._size, _ABSENT, dtype=np.int32)
        # 1, 1.0, true and "1" are different values, and lists are no dictionary keys: JSON is both
        code = known[key].setdefault(json.dumps(value), len(self._values[key]))
        if code == len(self._values[key]):
            self._values[key].append(value)
        self._codes[key][row] = code

    def mask(self, wanted: Filter) -> Mask:
        """Tell for each chunk whether the filter passes; recent answers are kept."""
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
        if wanted.key not in self._codes:
            return np.full(self._size, wanted.matches_absent)
        passes = [wanted.matches_value(value) for value in self._values[wanted.key]]
        passes[_ABSENT] = wanted.matches_absent
        mask: Mask = np.array(passes)[self._codes[wanted.key]]
        return mask
