"""all-MiniLM-L6-v2 written out in NumPy, in 64-bit floats, from the published description.

Shares no code with the product: BERT as in Devlin et al. 2018 (post-norm, exact GELU), then the
mean over the tokens and unit length, as the model's card says.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load_file

if TYPE_CHECKING:
    from pathlib import Path

Array = np.ndarray[Any, np.dtype[np.float64]]
_PLACES = np.linspace(-6.0, 6.0, 200_001)
_VALUES = np.fromiter(map(math.erf, _PLACES), float)


def _erf(x: Array) -> Array:
    """Return the error function to nine decimals: straight lines between values 0.00006 apart."""
    result: Array = np.interp(x, _PLACES, _VALUES)
    return result


class Reference:
    def __init__(self, weights: Path) -> None:
        self._weights = {
            name: array.astype(np.float64) for name, array in load_file(weights).items()
        }

    def embed(self, ids: list[int]) -> Array:
        w = self._weights
        hidden = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][: len(ids)]
            + w["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self._norm(hidden, "embeddings.LayerNorm")
        for layer in range(6):
            hidden = self._layer(hidden, f"encoder.layer.{layer}.")
        mean = hidden.mean(axis=0)
        unit: Array = mean / math.sqrt(float(mean @ mean))
        return unit

    def _layer(self, hidden: Array, name: str) -> Array:
        query, key, value = (
            self._heads(self._linear(hidden, f"{name}attention.self.{part}"))
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(32)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        mixed = (weights @ value).transpose(1, 0, 2).reshape(hidden.shape)
        attended = self._linear(mixed, f"{name}attention.output.dense")
        hidden = self._norm(hidden + attended, f"{name}attention.output.LayerNorm")
        wide = self._linear(hidden, f"{name}intermediate.dense")
        wide = 0.5 * wide * (1.0 + _erf(wide / math.sqrt(2.0)))
        narrow = self._linear(wide, f"{name}output.dense")
        return self._norm(hidden + narrow, f"{name}output.LayerNorm")

    def _heads(self, projected: Array) -> Array:
        return projected.reshape(len(projected), 12, 32).transpose(1, 0, 2)

    def _linear(self, hidden: Array, name: str) -> Array:
        result: Array = hidden @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return result

    def _norm(self, hidden: Array, name: str) -> Array:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        result: Array = scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return result
