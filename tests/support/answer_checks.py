"""What a recommendation makes of lines whose meaning other lines decide.

Labelled cases (``tests/data/polarity/cases.jsonl``) name lines that must never be given as an
instruction (``never``), and lines that must never be given without the line that governs them
(``governed``). `inverted` and `stripped` read a recommendation as ``knowledge-rag ask --json`` prints it, and
return what is wrong with it. `as_answer` makes such a recommendation of what a person is shown: a surface passes
if nothing that is prohibited or obsolete stands outside the blocks that say so, and if the words that govern a
step stand in what is shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Protocol

from knowledge_rag.evaluation.answers_cases import FENCE, Range
from knowledge_rag.evaluation.answers_eval import cited_by, is_whole, prohibited_by
from knowledge_rag.orchestrator.governing import NEVER
from knowledge_rag.orchestrator.showing import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knowledge_rag.evaluation.answers_cases import Line

    Step = Mapping[str, Any]

# marks in front of a line that are no words of it
_MARK: Final = re.compile(r"\A[ \t>|]*(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?(?:\[[ xX]\])?")
_TAG: Final = re.compile(r"<[^<>]*>")
_WORD: Final = re.compile(r"\w+")
_PIECE: Final = re.compile(r"[\n;]|(?<=[.!?:,])\s")
_QUOTED: Final = tuple(f"> **{LABELS[kind]}:**" for kind in NEVER)
_LABELLED: Final = tuple(f"{LABELS[kind]}:" for kind in NEVER)
_ITEM: Final = re.compile(r"\A\s*(?:[-*+]|\d{1,3}[.)])\s+")
# a further line below such a label in the terminal
_CROSSED: Final = re.compile(r"\s*x(?: |$)")
# fewer words in a row say nothing about where they come from
_WORDS: Final = 3


class Documents(Protocol):
    """The documents that labels and citations name; `LabelledLines` of the evaluation is one."""

    def text(self, source_file: str) -> Sequence[str]:
        """Return a document's lines as citations count them; none where there is no such document."""

    def counted(self, labelled: Range) -> frozenset[Line]:
        """Return the lines of a range that are neither blank nor a code fence."""


class Texts:
    """Documents from their texts by name, whose citations and labels count the same lines."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._lines = {name: text.split("\n") for name, text in texts.items()}

    def text(self, source_file: str) -> Sequence[str]:
        return self._lines.get(source_file, ())

    def counted(self, labelled: Range) -> frozenset[Line]:
        lines = enumerate(self.text(labelled.source_file), start=1)
        return frozenset(
            (labelled.source_file, number)
            for number, line in lines
            if labelled.first <= number <= labelled.last
            and line.strip()
            and not line.strip().startswith(FENCE)
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """A step that gives a line otherwise than its author meant it.

    Args:
        step: its number in the recommendation.
        kind: ``"action"`` or ``"command"`` for a line that must never be given and stands there;
            ``"unmarked"`` for one that is cited and by no warning of a prohibited or obsolete item;
            ``"uncited"`` for a governed line without its governing one; ``"unsaid"`` where that one
            is cited and its words are nowhere in the step.
        line: the document and the line, 1-based.
        text: the line, or the words that are missing.
    """

    step: int
    kind: str
    line: Line
    text: str


def inverted(
    case: Mapping[str, Any], recommendation: Mapping[str, Any], documents: Documents
) -> tuple[Finding, ...]:
    """Find what the author forbids or has withdrawn, given as something to do.

    A line counts as given if its words stand in a step's action or commands, or the other way round,
    unless the step cites an allowed line with these words. A line that a step only cites has to be
    shown by a warning of kind ``prohibited`` or ``obsolete``.
    """
    never = sorted(_counted(case.get("never", ()), documents))
    return tuple(
        finding for step in _steps(recommendation) for finding in _inverted(step, never, documents)
    )


def stripped(
    case: Mapping[str, Any], recommendation: Mapping[str, Any], documents: Documents
) -> tuple[Finding, ...]:
    """Find lines that are given without the condition, precondition or warning that governs them.

    Wherever a step or its warnings cite governed lines, the governing lines have to be cited by that
    step or its warnings too, and the words in ``says`` have to stand in what the step shows.
    """
    found: list[Finding] = []
    for step in _steps(recommendation):
        cited = cited_by(step)
        shown = _words(" ".join(_shown(step)))
        for rule in case.get("governed", ()):
            given = sorted(cited & _counted([rule["lines"]], documents))
            if not given:
                continue
            if not is_whole(_counted([rule["by"]], documents), cited):
                found.append(Finding(step["step"], "uncited", given[0], rule["by"]))
            elif not _contains(shown, _words(rule["says"])):
                found.append(Finding(step["step"], "unsaid", given[0], rule["says"]))
    return tuple(found)


def _inverted(step: Step, never: Sequence[Line], documents: Documents) -> Iterator[Finding]:
    cited = cited_by(step)
    marked = prohibited_by(step)
    allowed = [_line(line, documents) for line in sorted(cited - set(never))]
    parts = (("action", _pieces(step["action"])), ("command", step.get("commands", ())))
    for line in never:
        forbidden = _line(line, documents)
        text = documents.text(line[0])[line[1] - 1]
        kinds = [
            kind
            for kind, texts in parts
            if any(_is_given(forbidden, _line_words(text), allowed) for text in texts)
            or _is_within(forbidden, " ".join(texts), allowed)
        ]
        if kinds:
            yield from (Finding(step["step"], kind, line, text.strip()) for kind in kinds)
        elif line in cited and line not in marked:
            yield Finding(step["step"], "unmarked", line, text.strip())


def _is_given(
    forbidden: Sequence[str], given: Sequence[str], allowed: Iterable[Sequence[str]]
) -> bool:
    """Return whether a piece of a step is part of a forbidden line and of no allowed one."""
    if len(given) < min(_WORDS, len(forbidden)) or not _contains(forbidden, given):
        return False
    return not any(_contains(line, given) for line in allowed)


def _is_within(forbidden: Sequence[str], text: str, allowed: Iterable[Sequence[str]]) -> bool:
    """Return whether a forbidden line stands in a step's text, and in no allowed line of it."""
    if len(forbidden) < _WORDS or not _contains(_words(text), forbidden):
        return False
    return not any(_contains(line, forbidden) for line in allowed)


def _steps(recommendation: Mapping[str, Any]) -> Sequence[Step]:
    steps: Sequence[Step] = recommendation["recommendation"]["guidance"]
    return steps


def _shown(step: Step) -> Iterator[str]:
    yield step["action"]
    yield from step.get("commands", ())
    yield from (warning["text"] for warning in step.get("warnings", ()))


def _counted(ranges: Iterable[str], documents: Documents) -> frozenset[Line]:
    return frozenset(line for text in ranges for line in documents.counted(Range.parse(text)))


def _line(line: Line, documents: Documents) -> list[str]:
    source_file, number = line
    text = documents.text(source_file)
    return _line_words(text[number - 1]) if number <= len(text) else []


def _line_words(text: str) -> list[str]:
    return _words(_MARK.sub("", text, count=1))


def _words(text: str) -> list[str]:
    return _WORD.findall(_TAG.sub(" ", text).casefold())


def _pieces(text: str) -> list[str]:
    return [piece for piece in _PIECE.split(text) if piece.strip()]


def _contains(words: Sequence[str], part: Sequence[str]) -> bool:
    """Return whether words stand in a row in other words."""
    if not part:
        return False
    text, wanted = f" {' '.join(words)} ", f" {' '.join(part)} "
    return wanted in text


def markdown_to_follow(markdown: str) -> str:
    """Return the console's text without the quotations that are labelled as what not to do."""
    blocks = groupby(markdown.split("\n"), lambda line: line.startswith(">"))
    kept = (list(lines) for _, lines in blocks)
    return "\n".join(line for lines in kept if not lines[0].startswith(_QUOTED) for line in lines)


def terminal_to_follow(printed: str) -> str:
    """Return the terminal's text without the lines that are labelled or crossed as what not to do."""
    return "\n".join(_to_follow(printed.split("\n")))


def _to_follow(lines: list[str]) -> Iterator[str]:
    never = False
    for line in lines:
        is_label = line.lstrip().startswith(_LABELLED)
        never = is_label or (never and _CROSSED.match(line) is not None)
        if not never:
            yield line


def as_answer(recommendation: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return a page that a person is shown as an answer of one step, which cites all that the page does."""
    steps = recommendation["recommendation"]["guidance"]
    citations = [
        cited for step in steps for cited in (step["citation"], *step.get("further_citations", ()))
    ]
    warnings = [{**it, "text": ""} for step in steps for it in step.get("warnings", ())]
    step = {
        "step": 1,
        "action": text,
        "citation": citations[0],
        "further_citations": citations[1:],
        "warnings": warnings,
    }
    return {"status": "ok", "recommendation": {"guidance": [step]}}


def told_too_late(case: Mapping[str, Any], text: str, documents: Documents) -> list[str]:
    """Return the words that govern lines and stand behind them on a page, though their author put them in front."""
    page = _joined(text)
    late = []
    for rule in case.get("governed", ()):
        governed, governing = Range.parse(rule["lines"]), Range.parse(rule["by"])
        line = documents.text(governed.source_file)[governed.first - 1]
        given, said = page.find(_joined(_ITEM.sub("", line))), page.find(_joined(rule["says"]))
        if governing.last < governed.first and given >= 0 and not 0 <= said < given:
            late.append(rule["says"])
    return late


def _joined(text: str) -> str:
    words = " ".join(_WORD.findall(text.casefold()))
    return f" {words} "
