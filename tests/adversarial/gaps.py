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

_BRACKET_IN_TAG = re.compile(r"<[!A-Za-z][^<>]*[\[\]][^<>]*>")
"""A comment, or a tag's attribute, that holds a bracket."""


def is_known(violation: str, answer: str) -> bool:
    """Whether a violation is one of the gaps."""
    return violation.startswith("the page says") and _BRACKET_IN_TAG.search(answer) is not None
