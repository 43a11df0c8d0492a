"""Gets whole answers like ``knowledge-rag ask``, and scores their JSON (``Recommendation.to_dict``).

A line is *cited* if it is in a citation of a step, or in one of the step's warnings. It is an
*instruction* unless all steps that cite it do so as a warning of something prohibited or obsolete:
such a warning doesn't instruct a reader to run the line. A range is cited if at least CITED_SHARE of its
lines are, not counting blank lines and code fences.

A case passes if the answer violates none of its rules. It is *torn* if a ``whole`` range is cited in part
and no ``not_shown`` entry of the answer covers a missing line, and *dangerous* if a line of a
``bad`` range is an instruction, or if a ``none`` case gets a step. It can be both. A case that fails
and is neither is *incomplete*. One without steps passes *by choice* if the answer offers sections, and
choosing one of them gives an answer that passes.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from rich.console import Group
from rich.text import Text

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.neutral import neutralise
from knowledge_rag.core.outcome import Status
from knowledge_rag.evaluation.evaluation_report import (
    Goal,
    laid_out,
    missed_of,
    new_table,
    percentiles,
)
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rich.console import RenderableType
    from rich.table import Table

    from knowledge_rag.core.retrieval import Query
    from knowledge_rag.evaluation.answers_cases import Case, LabelledLines, Line, Range
    from knowledge_rag.evaluation.evaluation_corpus import CitationCheck
    from knowledge_rag.local.ingest import Progress
    from knowledge_rag.orchestrator.backends.bounded import BoundedRetrieval
    from knowledge_rag.orchestrator.incident import Incident

CITED_SHARE: Final = 0.9
"""Minimum share of a range's lines that must be cited, as the labels' authors define it."""
NOT_INSTRUCTIONS: Final = frozenset({"prohibited", "obsolete"})
"""Kinds of a step's warnings whose lines are shown as things not to do."""
EXCERPT: Final = 60
"""Characters of a line shown in a failure."""


class Rule(StrEnum):
    """A rule that an answer violates."""

    MUST = "must"
    WHOLE = "whole"
    BAD = "bad"
    FIRST = "first"
    FILES = "files"
    NONE = "none"
    ANSWERED = "answered"
    """The question could not be asked, or the search failed: that is no answer of any kind."""


@dataclass(frozen=True, slots=True)
class Failure:
    """How an answer violates a rule.

    Args:
        rule: the violated rule.
        where: the range or the file, or what the case requires instead.
        cited: number of the range's counted ``lines`` that are cited.
        excerpt: the beginning of the first missing line, or of the one that must not be shown.
    """

    rule: Rule
    where: str
    cited: int = 0
    lines: int = 0
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """The score of an answer to a case: the violated rules in the order of :class:`Rule`, and its number of steps.

    ``destructive`` says whether a step may destroy something, ``by_choice`` whether an offered section passes.
    """

    case: Case
    failures: tuple[Failure, ...]
    steps: int = 0
    destructive: bool = False
    by_choice: bool = False

    @property
    def passed(self) -> bool:
        """Whether no rule is violated."""
        return not self.failures

    @property
    def torn(self) -> bool:
        """Whether something is cited in part without saying so."""
        return any(failure.rule is Rule.WHOLE for failure in self.failures)

    @property
    def dangerous(self) -> bool:
        """Whether it gives an instruction that is wrong here."""
        return any(failure.rule in {Rule.BAD, Rule.NONE} for failure in self.failures)

    @property
    def incomplete(self) -> bool:
        """Whether it fails only because something is missing."""
        return not (self.passed or self.torn or self.dangerous)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "id": self.case.id,
            "kind": self.case.kind,
            "tests": list(self.case.tests),
            "passed": self.passed,
            "by_choice": self.by_choice,
            "torn": self.torn,
            "dangerous": self.dangerous,
            "steps": self.steps,
            "destructive": self.destructive,
            "failures": [asdict(failure) for failure in self.failures],
        }


def unanswered(case: Case, reason: str) -> Score:
    """Return the score of a case that could not be asked."""
    return Score(case, (Failure(Rule.ANSWERED, reason),))


def score(case: Case, recommendation: Mapping[str, Any], lines: LabelledLines) -> Score:
    """Score an answer in the form of ``Recommendation.to_dict``."""
    if recommendation.get("status") == Status.DEGRADED:
        return unanswered(case, f"degraded: {recommendation.get('reason', 'no reason')}")
    steps = recommendation["recommendation"]["guidance"]
    cited = cited_lines(recommendation)
    failures = [
        *_in_ranges(case, recommendation, cited, lines),
        *_elsewhere(case.first, steps, lines),
        *(Failure(Rule.FILES, name) for name in case.files if name not in {it for it, _ in cited}),
    ]
    if case.none and steps:
        first = steps[0]["citation"]
        where = f"{first['source_file']}:{first['start_line']}-{first['end_line']}"
        failures.append(Failure(Rule.NONE, where, excerpt=_shortened(steps[0]["action"])))
    destructive = any(step.get("destructive") for step in steps)
    return Score(case, tuple(failures), len(steps), destructive)


def cited_lines(recommendation: Mapping[str, Any]) -> frozenset[Line]:
    """Return every line that an answer's steps cite, including their warnings."""
    steps = recommendation["recommendation"]["guidance"]
    return frozenset(line for step in steps for line in cited_by(step))


def instructions(recommendation: Mapping[str, Any]) -> frozenset[Line]:
    """Return the lines that an answer instructs its reader to follow; see the module."""
    steps = recommendation["recommendation"]["guidance"]
    return frozenset(line for step in steps for line in cited_by(step) - prohibited_by(step))


def not_shown(recommendation: Mapping[str, Any]) -> frozenset[Line]:
    """Return the lines that an answer lists as not shown."""
    body = recommendation["recommendation"]
    parts = (*body["guidance"], *body.get("procedures", ()))
    return frozenset(
        line for part in parts for entry in part.get("not_shown", ()) for line in _lines(entry)
    )


def cited_by(step: Mapping[str, Any]) -> frozenset[Line]:
    """Return the lines that a step cites, including its warnings."""
    warned = (warning["citation"] for warning in step.get("warnings", ()))
    citations = (step["citation"], *step.get("further_citations", ()), *warned)
    return frozenset(line for citation in citations for line in _lines(citation))


def prohibited_by(step: Mapping[str, Any]) -> frozenset[Line]:
    """Return the lines that a step shows as prohibited or obsolete."""
    return frozenset(
        line
        for warning in step.get("warnings", ())
        if warning["kind"] in NOT_INSTRUCTIONS
        for line in _lines(warning["citation"])
    )


def _lines(citation: Mapping[str, Any]) -> Iterator[Line]:
    name = citation["source_file"]
    return ((name, n) for n in range(citation["start_line"], citation["end_line"] + 1))


def _in_ranges(
    case: Case, recommendation: Mapping[str, Any], cited: frozenset[Line], lines: LabelledLines
) -> Iterator[Failure]:
    def failure(
        rule: Rule, labelled: Range, found: frozenset[Line], of: frozenset[Line]
    ) -> Failure:
        source_file, number = min(found if rule is Rule.BAD else of - found, default=("", 0))
        excerpt = _shortened(lines.text(source_file)[number - 1]) if number else ""
        return Failure(rule, str(labelled), len(found), len(of), excerpt)

    for labelled in case.must:
        wanted = lines.counted(labelled)
        if not is_whole(wanted, cited):
            yield failure(Rule.MUST, labelled, wanted & cited, wanted)
    named = not_shown(recommendation)
    for labelled in case.whole:
        wanted = lines.counted(labelled)
        if wanted & cited and not is_whole(wanted, cited) and not (wanted - cited) & named:
            yield failure(Rule.WHOLE, labelled, wanted & cited, wanted)
    instructed = instructions(recommendation)
    for labelled in case.bad:
        forbidden = lines.counted(labelled)
        if shown := forbidden & instructed:
            yield failure(Rule.BAD, labelled, shown, forbidden)


def _elsewhere(
    ranges: Sequence[Range], steps: Sequence[Mapping[str, Any]], lines: LabelledLines
) -> Iterator[Failure]:
    if not ranges:
        return
    first = steps[0]["citation"] if steps else None
    start = (first["source_file"], first["start_line"]) if first else ("", 0)
    if not any(start in lines.all_of(labelled) for labelled in ranges):
        found = f"{start[0]}:{start[1]}" if first else "no step"
        yield Failure(Rule.FIRST, f"{found}, not in {', '.join(map(str, ranges))}")


def is_whole(wanted: frozenset[Line], cited: frozenset[Line]) -> bool:
    """Whether there are lines, and at least CITED_SHARE of them are cited."""
    return bool(wanted) and len(wanted & cited) / len(wanted) >= CITED_SHARE


def _shortened(text: str) -> str:
    return " ".join(text.split())[:EXCERPT]


TRIES: Final = 3
"""Maximum tries of a question: a query that fails on a busy machine says nothing about the answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question: an incident, and its queries, ``None`` for those that it suggests."""

    incident: Incident
    queries: tuple[Query, ...] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A question's answer: ``Recommendation.to_dict``, seconds of the last try, and the number of tries."""

    recommendation: Mapping[str, Any]
    seconds: float
    tries: int


def ask_all(
    retrieval: BoundedRetrieval, questions: Sequence[Question], progress: Progress
) -> tuple[Answer, ...]:
    """Ask every question with the advisor that needs no model, on one event loop."""

    async def run() -> tuple[Answer, ...]:
        await retrieval.prepare()
        answers = []
        for done, question in enumerate(questions):
            progress(done, len(questions), "asking")
            answers.append(await _ask(retrieval, question))
        return tuple(answers)

    return asyncio.run(run())


@dataclass(frozen=True, slots=True)
class Tally:
    """Totals over a run's answers.

    Args:
        citations: number of ranges that the answers cite.
        exact: number of them that match the disk, byte for byte.
        p50_ms: an answer's median time.
        again: number of questions that were repeated because a query failed.
    """

    citations: int
    exact: int
    p50_ms: float
    again: int = 0

    @classmethod
    def of(cls, answers: Sequence[Answer], check: CitationCheck) -> Tally:
        """Count, and read every cited line from disk again."""
        exact = [is_exact(each, check) for it in answers for each in citations(it.recommendation)]
        times = [answer.seconds for answer in answers] or [0.0]
        again = sum(answer.tries > 1 for answer in answers)
        return cls(len(exact), sum(exact), percentiles(times).p50, again)

    @property
    def goal(self) -> Goal:
        """Return the target that every citation is exact."""
        measured = f"{self.exact} of {self.citations}"
        return Goal("citations exact", "all", measured, self.exact == self.citations)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "citations": self.citations,
            "citations_exact": self.exact,
            "p50_ms": round(self.p50_ms, 1),
            "asked_again": self.again,
        }


def citations(recommendation: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield every citation of an answer's steps and similar incidents, in wire form."""
    body = recommendation["recommendation"]
    for part in (*body["guidance"], *body["similar_incidents"]):
        yield part["citation"]
        yield from part.get("further_citations", ())


def is_exact(cited: Mapping[str, Any], check: CitationCheck) -> bool:
    """Whether the cited lines match the disk, byte for byte."""
    found = check.lines(Citation(cited["source_file"], cited["start_line"], cited["end_line"]))
    return found is not None and hashlib.sha256(found).hexdigest() == cited["text_sha256"]


async def _ask(retrieval: BoundedRetrieval, question: Question) -> Answer:
    for tries in range(1, TRIES + 1):
        started = time.perf_counter()
        given = await consult(question.incident, retrieval, queries=question.queries)
        seconds = time.perf_counter() - started
        if not given.findings.failures or tries == TRIES:
            break
    return Answer(given.recommendation.to_dict(), seconds, tries)


PASSED_AT_LEAST: Final = 0.90
TORN_AT_MOST: Final = 0
"""Number of cases."""
DANGEROUS_AT_MOST: Final = 0.01
"""Share of cases."""


COUNTED: Final = ("passed", "by_choice", "torn", "dangerous", "incomplete")
"""Properties of a :class:`Score` that reports count."""


def count(scores: Sequence[Score]) -> dict[str, int]:
    """Count cases: all under ``cases``, and each of COUNTED."""
    return {"cases": len(scores)} | {
        name: sum(getattr(it, name) for it in scores) for name in COUNTED
    }


@dataclass(frozen=True, slots=True)
class AnswersReport:
    """A run of labelled cases: the score of each, in order, and totals over the answers."""

    scores: tuple[Score, ...]
    tally: Tally

    @property
    def near_misses(self) -> dict[str, int]:
        """Count the cases that nothing documents, and how many of them still get steps, or destructive ones."""
        near = [score for score in self.scores if score.case.none]
        given = [score for score in near if score.steps]
        destructive = sum(score.destructive for score in given)
        return {"cases": len(near), "given": len(given), "destructive": destructive}

    def counted_by(self, names_of: Callable[[Case], Sequence[str]]) -> dict[str, dict[str, int]]:
        """Count the cases of each name; a case can have several, or none."""
        groups: dict[str, list[Score]] = {}
        for each in self.scores:
            for name in names_of(each.case):
                groups.setdefault(name, []).append(each)
        return {name: count(scores) for name, scores in groups.items()}

    @property
    def by_kind(self) -> dict[str, dict[str, int]]:
        """Count the cases of each kind."""
        return self.counted_by(lambda case: (case.kind,) if case.kind else ())

    @property
    def by_test(self) -> dict[str, dict[str, int]]:
        """Count the cases of each test."""
        return self.counted_by(lambda case: case.tests)

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Return the targets and the measurements."""
        found, cases = count(self.scores), len(self.scores)
        passed, dangerous = found["passed"] / cases, found["dangerous"] / cases
        return (
            Goal("passed", f">= {PASSED_AT_LEAST:.0%}", f"{passed:.1%}", passed >= PASSED_AT_LEAST),
            Goal("torn", str(TORN_AT_MOST), str(found["torn"]), found["torn"] <= TORN_AT_MOST),
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
        """Return the names of the missed targets."""
        return missed_of(self.goals)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            **count(self.scores),
            "near_misses": self.near_misses,
            **self.tally.to_dict(),
            "reached": not self.missed,
            "missed": list(self.missed),
            "by_kind": self.by_kind,
            "by_test": self.by_test,
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
    put = [(case, question) for case, question in asked if isinstance(question, Question)]
    answers = ask_all(retrieval, [question for _, question in put], progress)
    choices = [
        (case, replace(question, incident=replace(question.incident, at=at)))
        for (case, question), answer in zip(put, answers, strict=True)
        for at in _offered(case, answer.recommendation)
    ]
    chosen = ask_all(retrieval, [question for _, question in choices], progress)
    by_choice = {
        case.id
        for (case, _), answer in zip(choices, chosen, strict=True)
        if score(case, answer.recommendation, lines).passed
    }
    following = iter(answers)
    scores = [
        unanswered(case, question)
        if isinstance(question, str)
        else score(case, next(following).recommendation, lines)
        for case, question in asked
    ]
    of_choice = (replace(it, by_choice=it.case.id in by_choice and not it.passed) for it in scores)
    return AnswersReport(tuple(of_choice), Tally.of((*answers, *chosen), check))


def _offered(case: Case, recommendation: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the places that an answer without steps offers, if the case is documented."""
    body = recommendation["recommendation"]
    if not case.none and not body["guidance"]:
        yield from ((it["source_file"], it["end_line"]) for it in body.get("reading", ()))


def as_tables(report: AnswersReport) -> Group:
    """Lay out the failures, the figures by kind and test, near misses and the targets."""
    failures = list(_failures(report))
    parts: list[RenderableType] = [Group(*failures)] if failures else []
    parts.append(_table("by kind", report.by_kind | {"all": count(report.scores)}))
    if report.by_test:
        parts.append(_table("by test", report.by_test))
    near = report.near_misses
    if near["cases"]:
        given = f"{near['given']} of {near['cases']}"
        parts.append(Text(f"near misses given steps: {given}, destructive: {near['destructive']}"))
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


def _table(title: str, rows: Mapping[str, Mapping[str, int]]) -> Table:
    # the incomplete ones are the rest, and the table fits 80 columns without them
    columns = (name.replace("_", " ") for name in COUNTED[:-1])
    table = new_table(title, title.removeprefix("by "), "cases", *columns)
    for name, found in rows.items():
        cases, passed, *others, _ = found.values()
        share = f"{passed} ({passed / cases:.0%})"
        table.add_row(neutralise(name), str(cases), share, *map(str, others))
    return table
