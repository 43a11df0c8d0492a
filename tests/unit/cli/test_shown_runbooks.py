"""What the terminal shows of whole runbooks: every step, command and prohibition of the recommendation."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from knowledge_rag.cli.recommendation import lines_of
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.governing import NEVER
from knowledge_rag.orchestrator.incident import Incident
from tests.support.runbooks import Search, question
from tests.unit.orchestrator.schema import VALIDATOR

POLARITY = Path(__file__).resolve().parents[2] / "data" / "polarity"
CASES = [json.loads(line) for line in (POLARITY / "cases.jsonl").read_text("utf-8").splitlines()]
COMMAND = re.compile(r"`[^`\n]+`")


@pytest.fixture(scope="module")
def search():
    files = sorted(it for it in (POLARITY / "docs").rglob("*") if it.is_file())
    return Search({it.name: it.read_text("utf-8") for it in files})


def given_for(case, search):
    incident = (
        Incident.from_state(case["incident"]) if "incident" in case else question(case["query"])
    )
    return asyncio.run(consult(incident, search)).recommendation


def shown(given, width):
    return ["".join(words for words, _ in line) for line in lines_of(given, width)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_all_of_a_runbook_is_shown_at_every_width_and_nothing_forbidden_as_a_step(case, search):
    given = given_for(case, search)
    VALIDATOR.validate(json.loads(json.dumps(given.to_dict())))
    for width in (80, 120, None):
        page = shown(given, width)
        text = "\n".join(page)
        for step in given.guidance:
            # a command is one line, so that it can be copied
            for code in step.commands:
                assert all(line.rstrip() in text for line in code.split("\n"))
            for part in (it for it in step.parts if not it.is_code and "\\|" not in it.text):
                assert all(span in text for span in COMMAND.findall(part.text)), part.text
            where = step.citations[0].citation
            assert any(it.startswith(f"{where.source_file}:") for it in text.split())
        # words fit; what doesn't is one command, file name or the like
        for line in page if width else ():
            assert cell_len(line) <= width or len(_atoms(line)) <= 2, line
        never = {it.text for step in given.guidance for it in step.guards if it.kind in NEVER}
        forbidden = {span for text in never for span in COMMAND.findall(text)}
        allowed = {span for step in given.guidance for span in COMMAND.findall(step.action)}
        for command in forbidden - allowed if width == 80 else ():
            lines = [it.strip() for it in page if command in it]
            assert lines
            assert all(it.startswith(("Do not:", "Obsolete, do not:", "x ")) for it in lines), lines


MARGIN = re.compile(r"^[x|\s]*(?:[-*+]|\w{1,3}[.)])?\s*")


def _atoms(line):
    """What of a line can't be broken: code, and words without it."""
    words = MARGIN.sub("", line)
    return COMMAND.sub("code", words).split() if "`" in words else [words]
