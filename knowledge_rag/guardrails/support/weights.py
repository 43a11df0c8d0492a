"""Weights of the score, written by ``python -m benchmarks train-claims``; don't edit."""

from typing import Final

BIAS: Final = 1.504
WEIGHTS: Final = {
    "content words": -1.909,
    "near pairs": -0.859,
    "triples": -1.298,
    "missing names": 1.359,
    "missing numbers": 1.561,
    "speaks as a writer": 2.108,
    "speaks to a reader": 1.519,
    "asks": 2.115,
}
