"""What the oracle finds and the verifier does not yet: each with its smallest example.

``test_gaps.py`` holds that each example still fails, so that a gap which is closed is taken off
here; until then the hostile answers do not count it.
"""

from __future__ import annotations

import re

EXAMPLES = {
    "a comment that holds a bracket": "x [9<!-- [ -->9] y",
}
"""What it is, and an answer that shows it with no evidence at all."""

_NESTED = re.compile(r"[\[［﹇【〔〖〘〚⁅⟦❲⦋⦗⟬⹕⹗;][^\[\]]*\[[^\[\]]*\][(`]")
"""A link, or what else ends where code does, behind another bracket that opened."""


def is_known(violation: str, answer: str) -> bool:
    """Whether a violation is one of the gaps."""
    return violation.startswith("the page says") and _NESTED.search(answer) is not None
