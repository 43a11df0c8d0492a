"""The promises name tests that exist, and figures are those of the code."""

from __future__ import annotations

import re
import tomllib

import pytest

from knowledge_rag.core.alarms import (
    canary_alarms,
    gateway_alarms,
    ingestion_alarms,
    retrieval_alarms,
)
from knowledge_rag.core.net.deadline import DEFAULT_DEADLINE_SECONDS, RETRIEVAL_BUDGET_SECONDS
from knowledge_rag.evaluation.faults.run import CATALOGUE
from tests.adversarial import trial
from tests.docs.site import Page, on_pages
from tests.docs.test_commands import ROOT
from tests.docs.test_links import names_in
from tests.support.local import CORPUS, PROJECT
from tools.reference.commands import NAME, commands, context

README = Page(PROJECT / "README.md")
PROMISES = Page(PROJECT / "docs" / "promise.md")
STATING = [
    PROMISES,
    *(
        Page(PROJECT / name)
        for name in ("CHANGELOG.md", "docs/gameday.md", "docs/operations/alarms.md")
    ),
]
FIGURES = {
    r"(\d+) alarms": len(
        [*retrieval_alarms(), *canary_alarms(), *gateway_alarms(), *ingestion_alarms()]
    ),
    r"(\d+) faults": len(CATALOGUE),
    r"(\d+) runbooks and \d+ postmortems": len(list((CORPUS / "runbooks").iterdir())),
    r"\d+ runbooks and (\d+) postmortems": len(list((CORPUS / "postmortems").iterdir())),
    r"(\d[\d,]*) hostile": 10_000,
    r"(\d[\d,]*) honest": 10_000,
    r"[Ww]ithin (\d) seconds": RETRIEVAL_BUDGET_SECONDS,
    r"given up after ([\d.]+) s": DEFAULT_DEADLINE_SECONDS,
}


def promises():
    rows = [row.strip("| ").split(" | ") for row in PROMISES.text.splitlines() if row[:2] == "| "]
    return rows[1:]


@pytest.mark.parametrize("row", promises(), ids=lambda row: row[0][:40])
def test_a_promise_names_a_command_and_a_test(row, tmp_path):
    promise, see, held_by = row
    assert promise
    assert re.search(r"`|exit codes", see)
    page = Page(tmp_path / "row.md")
    page.path.write_text(held_by.replace("](../", f"]({PROJECT}/"), encoding="utf-8")
    tests = [link.path for link in page.links if link.path.name.startswith("test_")]
    assert tests
    assert all(names_in(path) for path in tests)


def test_there_are_promises():
    assert len(promises()) == 8


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_matches_the_code(figure):
    found = [number for page in STATING for number in re.findall(figure, page.text)]
    assert found
    assert {float(number.replace(",", "")) for number in found} == {FIGURES[figure]}


def test_ten_thousand_answers_are_the_default():
    source = (PROJECT / "tests" / "adversarial" / "trial.py").read_text(encoding="utf-8")
    assert trial.ANSWERS > 0
    assert 'os.environ.get("ADVERSARIAL_ANSWERS", "10000")' in source


def test_an_extra_that_is_named_exists():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def named(page):
        installs = re.findall(r"pip install '\.\[([\w,]+)\]'", page.text)
        return {extra for names in installs for extra in names.split(",")}

    assert named(README)
    assert on_pages(lambda page: named(page) - {*project["optional-dependencies"]}) == {}


def test_every_command_takes_json():
    without = [
        at.command_path
        for at in commands(context(NAME, ROOT, None))
        if not hasattr(at.command, "commands")
        and not any("--json" in parameter.opts for parameter in at.command.params)
    ]
    assert without == []
