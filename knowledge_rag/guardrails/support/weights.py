"""Weights of the score, written by ``python -m benchmarks train-claims``; don't edit."""

from typing import Final

BIAS: Final = 1.549
WEIGHTS: Final = {
    "content words": -1.944,
    "near pairs": -0.887,
    "triples": -1.32,
    "missing names": 1.36,
    "missing numbers": 1.855,
    "speaks as a writer": 2.099,
    "speaks to a reader": 1.549,
    "asks": 2.109,
}
