"""The review of an answer: verified, each claim judged, and everything that is wrong in one list."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knowledge_rag.guardrails.audit import audit, false_no_match
from knowledge_rag.guardrails.backing import judge
from knowledge_rag.guardrails.log import log_findings
from knowledge_rag.guardrails.rules import Level, in_order
from knowledge_rag.guardrails.support.report import SupportSettings
from knowledge_rag.guardrails.verify import Settings, verify

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowledge_rag.core.outcome import Reason
    from knowledge_rag.guardrails.backing import Backing
    from knowledge_rag.guardrails.ledger import Ledger
    from knowledge_rag.guardrails.rules import Finding
    from knowledge_rag.guardrails.verify import Verified


@dataclass(frozen=True, slots=True)
class ReviewSettings:
    """How strictly to review.

    Args:
        verifying: what to do with references, and the thresholds of the checks of wording.
        support: how strictly claims are held against the cited lines.
    """

    verifying: Settings = field(default_factory=Settings)
    support: SupportSettings = field(default_factory=SupportSettings)


@dataclass(frozen=True, slots=True)
class Review:
    """What came of an answer.

    Args:
        answer: as it was written.
        ledger: the evidence that it was held against.
        verified: what may be shown of it, its citations and figures.
        backing: its claims, and whether the cited lines back them.
        findings: all that is wrong, in the order of the answer as written.
    """

    answer: str
    ledger: Ledger
    verified: Verified
    backing: Backing
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings for which the answer must not be relied on as it is."""
        return tuple(one for one in self.findings if one.rule.level is Level.ERROR)


def review(
    answer: str,
    ledger: Ledger,
    settings: ReviewSettings | None = None,
    *,
    failed: Sequence[Reason] = (),
) -> Review:
    """Review an answer against the evidence of its request; each finding is logged, without text.

    Args:
        answer: as it was written.
        ledger: all that retrieval returned for this request.
        settings: how strictly.
        failed: why searches of this request failed, if any did.
    """
    settings = settings or ReviewSettings()
    verified = verify(answer, ledger, settings.verifying)
    backing = judge(verified, ledger, settings.support)
    findings = in_order((*audit(verified, backing, ledger), *false_no_match(answer, failed)))
    log_findings(findings)
    return Review(answer, ledger, verified, backing, findings)
