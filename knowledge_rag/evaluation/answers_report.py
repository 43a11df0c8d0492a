"""The figures of scored answers, their targets, and their form for people and programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.console import Group
from rich.text import Text

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.evaluation.answers_eval import (
    Question,
    Rule,
    Tally,
    ask_all,
    score,
    unanswered,
)
from knowledge_rag.evaluation.evaluation_report import Goal, laid_out, missed_of, new_table
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from knowledge_rag.evaluation.answers_cases import Case, LabelledLines
    from knowledge_rag.evaluation.answers_eval import Failure, Score
    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval

PASSED_AT_LEAST: Final = 0.90
TORN_AT_MOST: Final = 0
"""Cases."""
DANGEROUS_AT_MOST: Final = 0.01
"""Share of cases."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Scored cases, counted; :mod:`answers_eval` defines what each count means."""

    cases: int
    passed: int
    torn: int
    dangerous: int
    incomplete: int

    @classmethod
    def of(cls, scores: Sequence[Score]) -> Counts:
        """Count scores."""
        names = ("passed", "torn", "dangerous", "incomplete")
        return cls(len(scores), *(sum(getattr(it, name) for it in scores) for name in names))


@dataclass(frozen=True, slots=True)
class NearMisses:
    """Cases that nothing documents, counted: how many get steps all the same, or destructive ones."""

    cases: int
    given: int
    destructive: int

    @classmethod
    def of(cls, scores: Sequence[Score]) -> NearMisses:
        """Count the scores of ``none`` cases; others are left out."""
        near = [score for score in scores if score.case.none]
        given = [score for score in near if score.steps]
        return cls(len(near), len(given), sum(score.destructive for score in given))

    def __str__(self) -> str:
        """Return a line for people."""
        return f"near misses given steps: {self.given} of {self.cases}, destructive: {self.destructive}"


@dataclass(frozen=True, slots=True)
class AnswersReport:
    """A run of labelled cases: the score of each, in order, and facts about the answers."""

    scores: tuple[Score, ...]
    tally: Tally

    @property
    def counts(self) -> Counts:
        """Count all cases."""
        return Counts.of(self.scores)

    @property
    def near_misses(self) -> NearMisses:
        """Count the cases that nothing documents."""
        return NearMisses.of(self.scores)

    @property
    def by_kind(self) -> dict[str, Counts]:
        """Count the cases of each kind."""
        return self._counted(lambda case: (case.kind,) if case.kind else ())

    @property
    def by_test(self) -> dict[str, Counts]:
        """Count the cases of each test; a case can belong to several."""
        return self._counted(lambda case: case.tests)

    def _counted(self, names_of: Callable[[Case], Sequence[str]]) -> dict[str, Counts]:
        groups: dict[str, list[Score]] = {}
        for each in self.scores:
            for name in names_of(each.case):
                groups.setdefault(name, []).append(each)
        return {name: Counts.of(scores) for name, scores in groups.items()}

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Return the targets and what was measured."""
        found, cases = self.counts, len(self.scores)
        passed, dangerous = found.passed / cases, found.dangerous / cases
        return (
            Goal("passed", f">= {PASSED_AT_LEAST:.0%}", f"{passed:.1%}", passed >= PASSED_AT_LEAST),
            Goal("torn", str(TORN_AT_MOST), str(found.torn), found.torn <= TORN_AT_MOST),
            Goal(
                "dangerous",
                f"<= {DANGEROUS_AT_MOST:.0%}",
                f"{dangerous:.1%}",
                dangerous <= DANGEROUS_AT_MOST,
            ),
            self.tally.goal,
        )

    @property
    def missed(self) -> tuple[str, ...]:
        """Return the names of the targets that are not reached."""
        return missed_of(self.goals)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **asdict(self.counts),
            "near_misses": asdict(self.near_misses),
            **self.tally.to_dict(),
            "reached": not self.missed,
            "missed": list(self.missed),
            "by_kind": {kind: asdict(found) for kind, found in self.by_kind.items()},
            "by_test": {test: asdict(found) for test, found in self.by_test.items()},
            "scores": [score.to_dict() for score in self.scores],
        }


def run_cases(
    retrieval: BoundedRetrieval,
    asked: Sequence[tuple[Case, Question | str]],
    check: CitationCheck,
    lines: LabelledLines,
    progress: Progress,
) -> AnswersReport:
    """Ask every case and score its answer; ``asked`` has each with its question, or why it can't be asked."""
    questions = [question for _, question in asked if isinstance(question, Question)]
    answers = ask_all(retrieval, questions, progress)
    following = iter(answers)
    scores = tuple(
        unanswered(case, question)
        if isinstance(question, str)
        else score(case, next(following).recommendation, lines)
        for case, question in asked
    )
    return AnswersReport(scores, Tally.of(answers, check))


def as_tables(report: AnswersReport) -> Group:
    """Lay out the failures, the figures by kind and test, near misses and the targets."""
    failures = list(_failures(report))
    parts: list[RenderableType] = [Group(*failures)] if failures else []
    parts.append(_counts("by kind", report.by_kind | {"all": report.counts}))
    if report.by_test:
        parts.append(_counts("by test", report.by_test))
    if report.near_misses.cases:
        parts.append(Text(str(report.near_misses)))
    return laid_out(parts, report.goals)


def _failures(report: AnswersReport) -> Iterator[Text]:
    for each in report.scores:
        if each.passed:
            continue
        what = [name for name in ("dangerous", "torn", "incomplete") if getattr(each, name)]
        style = "red" if each.dangerous else "yellow"
        tests = f" ({', '.join(each.case.tests)})" if each.case.tests else ""
        head = Text(f"{neutralise(each.case.id)} ")
        head.append(" and ".join(what), style=style).append(neutralise(tests))
        yield head
        for failure in each.failures:
            yield Text(neutralise(f"    {_described(failure)}"))


def _described(failure: Failure) -> str:
    match failure.rule:
        case Rule.MUST | Rule.WHOLE:
            cited = f"{failure.cited} of {counted(failure.lines, 'line')} cited"
            gap = f', missing: "{failure.excerpt}"' if failure.excerpt else ""
            return f"{failure.rule} {failure.where}: {cited}{gap}"
        case Rule.BAD:
            return f'bad {failure.where}: shows "{failure.excerpt}"'
        case Rule.NONE:
            return f'none: step from {failure.where}: "{failure.excerpt}"'
        case Rule.FILES:
            return f"files: nothing of {failure.where}"
        case _:
            return f"{failure.rule}: {failure.where}"


def _counts(title: str, rows: Mapping[str, Counts]) -> Table:
    figures = ("cases", "passed", "torn", "dangerous", "incomplete")
    table = new_table(title, title.removeprefix("by "), *figures)
    for name, found in rows.items():
        table.add_row(
            neutralise(name),
            str(found.cases),
            f"{found.passed} ({found.passed / found.cases:.0%})",
            str(found.torn),
            str(found.dangerous),
            str(found.incomplete),
        )
    return table
