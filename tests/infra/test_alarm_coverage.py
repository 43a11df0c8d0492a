"""Each alarm of a deployment finds its own section of the handbook, by what an agent would ask."""

from __future__ import annotations

import json

import pytest

from knowledge_rag.evaluation.coverage_check import check_all
from knowledge_rag.evaluation.coverage_rules import read_rules
from knowledge_rag.evaluation.coverage_runbooks import Gap, NamedBy, Runbooks
from knowledge_rag.evaluation.evaluation_corpus import Documents, ingested
from knowledge_rag.local.local_retrieval import local_retrieval
from knowledge_rag.orchestrator.budget import Budget
from tests.infra.synthesis import ADVISED, DISPOSABLE, EVERYTHING, PROJECT, synthesized
from tests.support.local import minilm
from tests.support.patience import PATIENT_SECONDS, patient_function

HANDBOOK = "alarms.md"
SETTINGS = (EVERYTHING, DISPOSABLE, ADVISED)


@pytest.fixture(scope="module")
def documents():
    return Documents.of(PROJECT / "docs/operations")


@pytest.fixture(scope="module")
def templates():
    return [synthesized(**settings).templates for settings in SETTINGS]


@pytest.fixture(scope="module")
def retrieval(documents, templates, tmp_path_factory):
    """A way to the handbook; made last, since it hides the environment that a bundle is built in."""
    assert len(templates) == len(SETTINGS)
    cache = tmp_path_factory.mktemp("cache")
    with (
        patient_function(),
        ingested(documents, cache, minilm()) as opened,
        local_retrieval(opened, budget=Budget(PATIENT_SECONDS)) as way,
    ):
        yield way


def alarms_of(templates, folder):
    for number, template in enumerate(templates):
        path = folder / f"{number}.template.json"
        path.write_text(json.dumps(template, indent=1), encoding="utf-8")
    return read_rules([str(folder / "*.template.json")]).alerts


@pytest.mark.parametrize("case", range(len(SETTINGS)))
def test_every_alarm_of_the_templates_finds_its_section(
    case, documents, templates, retrieval, tmp_path
):
    alarms = alarms_of(templates[case], tmp_path)
    described = json.dumps(templates[case]).count('"AlarmDescription": "')
    assert (
        len(alarms) == described == (30, 29, 35)[case]
    )  # the second has no canary, the third advice
    checked = check_all(alarms, Runbooks(documents), retrieval)
    assert [each.message or each.reason for each in checked if each.hit is None] == []
    assert {each.runbook.by for each in checked} == {NamedBy.LINK}
    sections = {target for each in checked for target in each.runbook.targets}
    assert {target.source_file for target in sections} == {HANDBOOK}
    assert len({target.lines for target in sections}) == len(alarms)


def test_an_alarm_whose_section_is_gone_is_a_gap(documents, retrieval, tmp_path):
    template = {
        "Resources": {
            "New": {
                "Type": "AWS::CloudWatch::Alarm",
                "Properties": {
                    "AlarmName": "knowledge-rag-dev-new",
                    "AlarmDescription": "ALARM: New. docs/operations/alarms.md#new",
                },
            }
        }
    }
    (checked,) = check_all(alarms_of([template], tmp_path), Runbooks(documents), retrieval)
    assert checked.gap is Gap.MISSING
    assert "alarms.md has no heading of that name" in checked.message
