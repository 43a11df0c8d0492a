"""Reads what a person is shown, so that :mod:`tests.support.answer_checks` can check it like an answer's JSON.

A surface passes those checks if nothing that is prohibited or obsolete stands outside the blocks that say so,
and if the words that govern a step stand in what is shown.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.evaluation.answers_cases import Range
from knowledge_rag.orchestrator.governing import NEVER
from knowledge_rag.orchestrator.showing import LABELS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.answer_checks import Documents

_QUOTED: Final = tuple(f"> **{LABELS[kind]}:**" for kind in NEVER)
_LABELLED: Final = tuple(f"{LABELS[kind]}:" for kind in NEVER)
_WORD: Final = re.compile(r"\w+")
_MARK: Final = re.compile(r"\A\s*(?:[-*+]|\d{1,3}[.)])\s+")
_CROSSED: Final = re.compile(r"\s*x(?: |$)")
"""A further line below such a label in the terminal."""


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
    """Return a page that a person is shown as an answer of one step, which cites all that the page does.

    Args:
        recommendation: that is shown, as JSON.
        text: the part of the page to check.
    """
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
    """Return the words that govern lines and stand behind them on a page, though their author put them in front.

    Args:
        case: its ``governed`` names the lines.
        text: the page.
        documents: that the case names.
    """
    page = _joined(text)
    late = []
    for rule in case.get("governed", ()):
        governed, governing = Range.parse(rule["lines"]), Range.parse(rule["by"])
        line = documents.text(governed.source_file)[governed.first - 1]
        given, said = page.find(_joined(_MARK.sub("", line))), page.find(_joined(rule["says"]))
        if governing.last < governed.first and given >= 0 and not 0 <= said < given:
            late.append(rule["says"])
    return late


def _joined(text: str) -> str:
    words = " ".join(_WORD.findall(text.casefold()))
    return f" {words} "
