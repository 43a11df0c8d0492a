"""The sample rules against the sample runbooks, with the real model: what the page shows is true."""

from __future__ import annotations

import re

import pytest
from rich.console import Console

from knowledge_rag.cli.coverage import show
from knowledge_rag.evaluation.coverage_check import check_all, summarise
from knowledge_rag.evaluation.coverage_rules import read_rules
from knowledge_rag.evaluation.coverage_runbooks import NamedBy, Runbooks, read_map
from knowledge_rag.evaluation.coverage_wanted import Wanted
from knowledge_rag.evaluation.evaluation_corpus import Documents
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator.budget import Budget
from tests.support.local import CORPUS, PROJECT, minilm
from tests.support.patience import PATIENT_SECONDS, patient_function
from tests.support.sample import sample_copy

WANTED = Wanted(5)
RULES = PROJECT / "tests/data/rules"
INSTEAD = re.compile(r"; (?:found instead: .*|found nothing instead)(?= \[)")


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    """Check a folder of sample rules."""
    path = sample_copy(tmp_path_factory, tmp_path_factory.mktemp("coverage"))
    documents = Documents.of(CORPUS)
    with (
        patient_function(),
        KnowledgeBase(path, minilm()) as opened,
        local_retrieval(opened, budget=Budget(PATIENT_SECONDS)) as way,
    ):

        def run(folder, mapping=None):
            rules = read_rules([str(RULES / folder)])
            checked = check_all(rules.alerts, Runbooks(documents, mapping), way, WANTED)
            return summarise(checked, rules, WANTED)

        yield run


def test_rules_of_every_kind_find_their_runbooks(check):
    report = check("green")
    assert [each.message for each in report.gaps] == []
    assert sum(each.steps.own > 0 for each in report.checked) >= len(report.checked) - 1
    assert (report.covered, len(report.checked), report.passed) == (10, 10, True)
    assert {each.runbook.by for each in report.checked} == {NamedBy.LINK, NamedBy.NAME}


def test_the_page_shows_what_is_printed_but_for_what_else_is_found(check, capsys):
    report = check("red")
    show(Console(soft_wrap=True, highlight=False, markup=False, emoji=False), report)
    page = (PROJECT / "docs/coverage.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"--docs knowledge-corpus\n(.*?)```", page, re.DOTALL)
    printed = capsys.readouterr().out.replace(str(CORPUS), "knowledge-corpus")
    assert INSTEAD.sub("", printed) == INSTEAD.sub("", shown)
    assert len(INSTEAD.findall(shown)) == 1


def test_a_map_gives_an_alert_its_runbook(check):
    report = check("red", read_map(RULES / "map.yaml"))
    assert [each.alert.name for each in report.checked if each.hit] == ["PaymentsFailOver"]
    assert report.checked[0].runbook.by is NamedBy.MAP
