"""An answer as it is told while somebody writes it: verified, and only once it cites anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core.outcome import Status
from knowledge_rag.guardrails.pieces import Piece, PieceStream, pieces_of
from knowledge_rag.orchestrator import showing

if TYPE_CHECKING:
    from knowledge_rag.guardrails.verify import Verified
    from knowledge_rag.orchestrator.findings import Findings
    from knowledge_rag.orchestrator.recommendation import Recommendation
    from knowledge_rag.orchestrator.telling import Teller


class Followed:
    """Hears an answer in the making and tells what may be shown of it; see ``live.Listener``.

    Nothing is told before the first reference that stands for retrieved lines, so that an answer
    which cites nothing is not shown even for a moment. In the end, what was told is what the
    recommendation was made of, character by character, or it is taken back.

    Args:
        teller: tells it.
        findings: the evidence that was told already.
    """

    def __init__(self, teller: Teller, findings: Findings) -> None:
        self._teller = teller
        self._findings = findings
        self._written = ""
        self._stream = PieceStream(findings.ledger)
        self._held: tuple[Piece, ...] = ()
        self._told = False

    def wrote(self, text: str, findings: Findings) -> None:
        """Take more of the answer."""
        written = self._written + text
        if findings.ledger != self._findings.ledger:
            self._take_back()
            self._now_with(findings)
            text = written
        self._written = written
        self._show(self._stream.feed(text))

    def settle(
        self, findings: Findings, recommendation: Recommendation, verified: Verified | None
    ) -> None:
        """Tell what is left to tell, or take back what was told and tell what it came to instead.

        Args:
            findings: that the recommendation rests on.
            recommendation: what the answer came to. Where it recommends nothing, its summary is all
                there is to show.
            verified: the answer; ``None`` where nobody wrote one.
        """
        if verified is None or recommendation.status is not Status.OK:
            self._take_back()
            self._now_with(findings)
            shown = showing.pieces_of(recommendation, findings.ledger)
            self._teller.text(shown or [Piece(recommendation.summary)], by_model=False)
            return
        same = findings.ledger == self._findings.ledger
        rest, told = self._stream.close()
        if self._told and same and told == verified:
            self._teller.text(rest, by_model=True)
            return
        self._take_back()
        self._now_with(findings)
        self._teller.text(pieces_of(verified), by_model=True)

    def _show(self, pieces: tuple[Piece, ...]) -> None:
        self._held += pieces
        if self._told or any(piece.cited for piece in pieces):
            self._teller.text(self._held, by_model=True)
            self._held, self._told = (), True

    def _take_back(self) -> None:
        if self._told:
            self._teller.restarted()
        self._restart()

    def _restart(self) -> None:
        self._written = ""
        self._stream = PieceStream(self._findings.ledger)
        self._held = ()
        self._told = False

    def _now_with(self, findings: Findings) -> None:
        if findings.ledger != self._findings.ledger:
            self._teller.evidence(findings)
        self._findings = findings
        self._restart()
