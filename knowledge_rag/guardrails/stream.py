"""Verifies an answer while it is written: nothing unverified is ever given out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.guardrails.mentions import AnswerScanner
from knowledge_rag.guardrails.verify import DEFAULTS, conclude

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.guardrails.ledger import Ledger
    from knowledge_rag.guardrails.resolve import Kept
    from knowledge_rag.guardrails.verify import Settings, Verified


class VerifiedStream:
    """Takes the fragments of an answer and gives what may be shown of it.

    What it gives, put together, is what :func:`~knowledge_rag.guardrails.verify.verify` gives for
    the whole. Text comes out word by word; an opening bracket is held back until it is closed, its
    paragraph ends, or MAX_REFERENCE characters have come, and a document's name until AHEAD more have.

    Args:
        ledger: all that retrieval returned for this request.
        settings: what to do with what is wrong.
    """

    def __init__(self, ledger: Ledger, settings: Settings | None = None) -> None:
        self._ledger = ledger
        self._settings = settings or DEFAULTS
        self._scanner = AnswerScanner(ledger, mark=self._settings.mark)
        self._sent: list[str] = []

    def feed(self, fragment: str) -> str:
        """Take the next fragment, of any length; give what may be shown now."""
        return self._show(self._scanner.feed(fragment))

    @property
    def kept(self) -> Sequence[Kept]:
        """The references that stay so far, in their order."""
        return self._scanner.found.kept

    def close(self) -> tuple[str, Verified]:
        """End the answer; give the rest of what may be shown, and the result for the whole."""
        rest = self._show(self._scanner.close())
        return rest, conclude(
            "".join(self._sent), self._scanner.found, self._ledger, self._settings
        )

    def _show(self, text: str) -> str:
        self._sent.append(text)
        return text
