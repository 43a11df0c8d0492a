"""The score: a logistic regression over what the checks found, as a probability.

The weights are in :mod:`.weights`, which ``python -m benchmarks train-claims`` writes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.support.features import FEATURES
from knowledge_rag.guardrails.support.weights import BIAS, WEIGHTS

if TYPE_CHECKING:
    from knowledge_rag.guardrails.support.features import Claimed

_WEIGHED: Final = [(FEATURES[name], weight) for name, weight in WEIGHTS.items()]


def doubt_of(claimed: Claimed) -> float:
    """Return how likely it is that the lines don't support a claim, 0..1."""
    log_odds = BIAS + sum(weight * feature(claimed) for feature, weight in _WEIGHED)
    return 1 / (1 + math.exp(-log_odds))
