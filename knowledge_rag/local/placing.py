"""The vector of a chunk: of its text, and of the place where it stands.

Among two hundred words of a chunk the few of its context prefix hardly move its vector, though folder,
file and heading often say best what it is about. So the prefix is embedded by itself, too, and its
vector is added. To repeat the prefix in the text instead was tried: that made the vectors worse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from knowledge_rag.local.embeddings import Vector

CONTEXT_SHARE: Final = 0.5
"""How much the vector of the context counts beside that of the whole text."""

_BLANK_LINE: Final = "\n\n"


def context_of(text: str) -> str:
    """Give what stands before the first blank line of a stored text: its context prefix.

    A text that has no prefix gives its first paragraph, and none if it has but one.
    """
    context, found, _ = text.partition(_BLANK_LINE)
    return context if found else ""


def placed(text: Vector, context: Vector) -> Vector:
    """Join the vectors of a text and of its context; all of shape (384,) and unit length."""
    joined = text + np.float32(CONTEXT_SHARE) * context
    vector: Vector = joined / np.linalg.norm(joined)
    return vector
