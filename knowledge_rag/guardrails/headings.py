"""Titles and sections as shown beside citations."""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = re.compile(r"[\w :;,/|!'\"()>{}=+*^%@$~-]*", re.ASCII)
"""Matches text that can't contain a reference: without a square bracket there is no source, without a dot no
file, and without ``?`` or ``#`` no address of its lines."""


def heading_words(text: str) -> str:
    """Return a title or a section on one line, without anything that reads like a reference.

    The document's author chose it, and it is shown beside citations that retrieval returned.
    """
    words = " ".join(text.split())
    if _PLAIN.fullmatch(words):
        return words
    # most headings don't need these modules, which take longer to import than a search
    from knowledge_rag.guardrails.ledger import Ledger  # noqa: PLC0415
    from knowledge_rag.guardrails.mentions import AnswerScanner  # noqa: PLC0415

    return " ".join(AnswerScanner(Ledger()).close(words).split())
