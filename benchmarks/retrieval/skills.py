"""Measures skills for labelled alerts: whether the right one is named, its tokens, and reproducible bytes."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from knowledge_rag.channel.skills import MAX_TOKENS, Skills, find_skill, in_words, listing
from knowledge_rag.core.outcome import Status
from knowledge_rag.local.knowledge_base import KnowledgeBaseDocuments
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.queries import queries_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tokenizers import Tokenizer

    from knowledge_rag.channel.skills import Found, Skill
    from knowledge_rag.evaluation.datasets import Row
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval

LISTED: Final = 2_000
"""Maximum tokens of a list."""


@dataclass(frozen=True, slots=True)
class SkillsReport:
    """Figures of skills. Shares are 0..1, tokens by the embedding model's tokenizer.

    Args:
        alerts: number of alerts.
        first: share whose first skill is right: a step of it is on a labelled line.
        first_with_name: the same, asked with the alert's name before its text.
        named: share with a right skill among the named ones.
        loaded: share whose answer says to load one skill.
        loaded_right: share of these whose skill is right.
        tokens: median tokens of an answer.
        most_tokens: tokens of the longest answer.
        skills: number of skills in the knowledge base.
        flagged: number of them in which lint found text aimed at a model.
        same_bytes: number of them whose digest is the same when they are made again.
        listed: number of names in a list.
        list_tokens: tokens of that list.
    """

    alerts: int
    first: float
    first_with_name: float
    named: float
    loaded: float
    loaded_right: float
    tokens: float
    most_tokens: int
    skills: int
    flagged: int
    same_bytes: int
    listed: int
    list_tokens: int

    @property
    def reached(self) -> bool:
        """Whether answers and list are within their limits, and all skills are reproducible."""
        fits = self.most_tokens <= MAX_TOKENS and self.list_tokens <= LISTED
        return fits and self.same_bytes == self.skills

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"reached": self.reached}


def run_skills_bench(
    retrieval: BoundedRetrieval,
    path: Path,
    rows: Sequence[Row],
    tokenizer: Tokenizer,
    progress: Progress,
) -> SkillsReport:
    """Ask for the skill of each alert by its text, without and with its name; then make all skills twice.

    All figures but ``first_with_name`` are without the name.

    Args:
        retrieval: retrieval from the knowledge base.
        path: the knowledge base's file.
        rows: labelled alerts, at least one.
        tokenizer: counts tokens, without truncation.
        progress: called before each question.
    """

    def tokens(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    skills = Skills(KnowledgeBaseDocuments(path))
    answers, named = (
        _answers(retrieval, skills, [it.question(with_alert=asked) for it in rows], progress)
        for asked in (False, True)
    )
    right = _are_right(answers, rows)
    loaded = [
        it[0] for it, answer in zip(right, answers, strict=True) if answer.status is Status.OK
    ]
    spent = [tokens(in_words(it)) for it in answers]
    made, again = ([*Skills(KnowledgeBaseDocuments(path))] for _ in range(2))
    listed = listing(made, LISTED)
    return SkillsReport(
        alerts=len(rows),
        first=_share(any(it[:1]) for it in right),
        first_with_name=_share(any(it[:1]) for it in _are_right(named, rows)),
        named=_share(map(any, right)),
        loaded=len(loaded) / len(rows),
        loaded_right=_share(loaded),
        tokens=median(spent),
        most_tokens=max(spent),
        skills=len(made),
        flagged=sum(bool(it.flagged) for it in made),
        same_bytes=sum(
            it.digest == hashlib.sha256(other.data).hexdigest()
            for it, other in zip(made, again, strict=True)
        ),
        listed=len(listed.lines),
        list_tokens=tokens(listed.text),
    )


def _answers(
    retrieval: BoundedRetrieval, skills: Skills, texts: Sequence[str], progress: Progress
) -> list[Found]:
    async def run() -> list[Found]:
        await retrieval.prepare()
        answers = []
        for done, text in enumerate(texts):
            progress(done, len(texts), "asking")
            # the same as `skills find` with a text
            asked = " ".join(text.split())
            consultation = await consult(
                Incident.asked(asked), retrieval, queries=queries_for(asked)
            )
            answers.append(find_skill(consultation, skills))
        return answers

    return asyncio.run(run())


def _are_right(answers: Sequence[Found], rows: Sequence[Row]) -> list[list[bool]]:
    return [
        [_is_right(skill, row) for skill in it.skills]
        for it, row in zip(answers, rows, strict=True)
    ]


def _is_right(skill: Skill, row: Row) -> bool:
    if not skill.lines:
        return False
    return skill.source_file in row.also_acceptable or any(
        it.source_file == skill.source_file
        and (it.lines is None or any(it.lines[0] <= n <= it.lines[1] for n in skill.lines))
        for it in row.targets
    )


def _share(of: Iterable[bool]) -> float:
    counted = [*of]
    return fmean(counted) if counted else 0.0


def as_table(report: SkillsReport) -> Table:
    """Return the figures as a table."""
    table = Table(
        "figure", "value", title=f"skills for {report.alerts} alerts, without their names"
    )
    for name, value in (
        ("right skill first", f"{report.first:.3f}"),
        ("... with the alert's name", f"{report.first_with_name:.3f}"),
        ("right skill named", f"{report.named:.3f}"),
        ("told to load one", f"{report.loaded:.0%}"),
        ("of these, right", f"{report.loaded_right:.0%}"),
        ("tokens of an answer, median and most", f"{report.tokens:.0f}, {report.most_tokens}"),
        ("skills, flagged by lint", f"{report.skills}, {report.flagged}"),
        ("digest equal when made again", f"{report.same_bytes} of {report.skills}"),
        ("names in a list, and its tokens", f"{report.listed}, {report.list_tokens}"),
    ):
        table.add_row(name, value)
    return table
