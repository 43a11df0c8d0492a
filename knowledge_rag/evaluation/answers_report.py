"""The figures of scored answers, their targets, and their form for people and programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from knowledge_rag.core.neutral import neutralise
from knowledge_rag.evaluation.answers_eval import (
    Question,
    Rule,
    ask_all,
    citations,
    is_exact,
    score,
    unanswered,
)
from knowledge_rag.evaluation.evaluation_report import Goal
from knowledge_rag.evaluation.timing import percentiles
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.evaluation.answers_cases import Case, LabelledLines
    from knowledge_rag.evaluation.answers_eval import Failure, Score
    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval

PASSED_AT_LEAST: Final = 0.90
TORN_AT_MOST: Final = 0
"""Cases."""
DANGEROUS_AT_MOST: Final = 0.01
"""Share of cases: a dangerous answer weighs more than any number of missing ones."""
CITATIONS_EXACT: Final = 1.0


@dataclass(frozen=True, slots=True)
class Counts:
    """Scored cases, counted.

    Args:
        cases: how many.
        passed: keep every rule.
        torn: cite something in part without saying so.
        dangerous: give an instruction that is wrong there.
        incomplete: fail, and are neither torn nor dangerous.
    """

    cases: int
    passed: int
    torn: int
    dangerous: int
    incomplete: int

    @classmethod
    def of(cls, scores: Sequence[Score]) -> Counts:
        """Count scores."""
        return cls(
            len(scores),
            sum(score.passed for score in scores),
            sum(score.torn for score in scores),
            sum(score.dangerous for score in scores),
            sum(score.incomplete for score in scores),
        )


@dataclass(frozen=True, slots=True)
class NearMisses:
    """Cases that nothing documents, counted.

    Args:
        cases: how many.
        given: get steps all the same.
        destructive: get a step that may destroy something.
    """

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
    """A run of labelled cases.

    Args:
        scores: of every case, in order.
        citations: ranges of lines that the answers cite.
        exact: how many of them are on disk, byte for byte, what was cited.
        p50_ms: a case's time at the median.
        again: cases that were asked again since a query had failed.
    """

    scores: tuple[Score, ...]
    citations: int
    exact: int
    p50_ms: float
    again: int = 0

    @property
    def counts(self) -> Counts:
        """All cases, counted."""
        return Counts.of(self.scores)

    @property
    def near_misses(self) -> NearMisses:
        """The cases that nothing documents, counted."""
        return NearMisses.of(self.scores)

    @property
    def by_kind(self) -> Mapping[str, Counts]:
        """Return the cases of each kind, counted."""
        kinds = dict.fromkeys(score.case.kind for score in self.scores if score.case.kind)
        return {
            kind: Counts.of([each for each in self.scores if each.case.kind == kind])
            for kind in kinds
        }

    @property
    def by_test(self) -> Mapping[str, Counts]:
        """Return the cases of each test, counted; a case can belong to several."""
        tests = dict.fromkeys(test for score in self.scores for test in score.case.tests)
        return {
            test: Counts.of([each for each in self.scores if test in each.case.tests])
            for test in tests
        }

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The targets and what was measured."""
        found, cases = self.counts, len(self.scores)
        passed, dangerous = found.passed / cases, found.dangerous / cases
        exact = self.exact == self.citations
        return (
            Goal("passed", f">= {PASSED_AT_LEAST:.0%}", f"{passed:.1%}", passed >= PASSED_AT_LEAST),
            Goal("torn", str(TORN_AT_MOST), str(found.torn), found.torn <= TORN_AT_MOST),
            Goal(
                "dangerous",
                f"<= {DANGEROUS_AT_MOST:.0%}",
                f"{dangerous:.1%}",
                dangerous <= DANGEROUS_AT_MOST,
            ),
            Goal("citations exact", "all", f"{self.exact} of {self.citations}", exact),
        )

    @property
    def missed(self) -> tuple[str, ...]:
        """The names of the targets that are not reached."""
        return tuple(goal.name for goal in self.goals if not goal.reached)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **asdict(self.counts),
            "near_misses": asdict(self.near_misses),
            "citations": self.citations,
            "citations_exact": self.exact,
            "p50_ms": round(self.p50_ms, 1),
            "asked_again": self.again,
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
    """Ask every case and score its answer.

    Args:
        retrieval: the way to the knowledge base.
        asked: the cases, at least one; each with its question, or with why it can't be asked.
        check: compares citations with the documents on disk.
        lines: of the documents.
        progress: called before each question.
    """
    questions = [question for _, question in asked if isinstance(question, Question)]
    answers = ask_all(retrieval, questions, progress)
    following = iter(answers)
    scores = tuple(
        unanswered(case, question)
        if isinstance(question, str)
        else score(case, next(following).recommendation, lines)
        for case, question in asked
    )
    exact = [is_exact(each, check) for it in answers for each in citations(it.recommendation)]
    times = [answer.seconds for answer in answers] or [0.0]
    again = sum(answer.tries > 1 for answer in answers)
    return AnswersReport(scores, len(exact), sum(exact), percentiles(times).p50, again)


def as_tables(report: AnswersReport) -> Group:
    """Lay a report out for a terminal: the failures, the figures by kind and test, near misses, the targets."""
    parts: list[Table | Text] = list(_failures(report))
    parts += [_counts("by kind", report.by_kind, report.counts), Text()]
    if report.by_test:
        parts += [_counts("by test", report.by_test), Text()]
    if report.near_misses.cases:
        parts += [Text(str(report.near_misses)), Text()]
    parts += [goals_table(report.goals)]
    if report.missed:
        parts += [Text(), Text(f"missed: {', '.join(report.missed)}", style="red")]
    return Group(*parts)


def goals_table(goals: Sequence[Goal]) -> Table:
    """Lay targets out, each with what was measured."""
    table = Table(title="targets")
    for heading in ("target", "wanted", "measured", ""):
        table.add_column(heading, justify="left" if heading in {"target", ""} else "right")
    for goal in goals:
        verdict = Text("reached", "green") if goal.reached else Text("missed", "red")
        table.add_row(goal.name, goal.wanted, goal.measured, verdict)
    return table


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
    if report.counts.passed < report.counts.cases:
        yield Text()


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


def _counts(title: str, rows: Mapping[str, Counts], total: Counts | None = None) -> Table:
    table = Table(title=title)
    table.add_column(title.removeprefix("by "), overflow="fold")
    for heading in ("cases", "passed", "torn", "dangerous", "incomplete"):
        table.add_column(heading, justify="right", no_wrap=True)
    everything = {**rows} if total is None else {**rows, "all": total}
    for name, found in everything.items():
        table.add_row(
            neutralise(name),
            str(found.cases),
            f"{found.passed} ({found.passed / found.cases:.0%})",
            str(found.torn),
            str(found.dangerous),
            str(found.incomplete),
        )
    return table
