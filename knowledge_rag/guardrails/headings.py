"""A document's own words where they stand beside citations: none of them may pass for one."""

from __future__ import annotations

from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.mentions import AnswerScanner

_NOTHING = Ledger()


def heading_words(text: str) -> str:
    """Give a title or a section on one line, without what reads like a reference.

    Whoever wrote the document chose it, and it is shown beside citations that retrieval returned.
    """
    return " ".join(AnswerScanner(_NOTHING).close(" ".join(text.split())).split())
