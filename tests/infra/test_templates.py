"""Both stacks as a security review would look at them."""

import json

import pytest
from cfnlint.api import ManualArgs, lint_file

from tests.infra.synthesis import DEPLOYMENTS, synthesized


@pytest.mark.parametrize("settings", DEPLOYMENTS, ids=json.dumps)
def test_cfn_lint_finds_no_error(settings):
    # W3005: CDK's own, it names dependencies that a reference implies; a warning and no error
    arguments = ManualArgs(regions=["us-east-1"], ignore_checks=["W3005"])
    paths = sorted(synthesized(**settings).folder.glob("*.template.json"))
    data, advice = "knowledge_base_id" not in settings, "advice_destinations" in settings
    assert len(paths) == 1 + data + advice
    assert [str(found) for path in paths for found in lint_file(path, arguments)] == []


@pytest.mark.parametrize("settings", DEPLOYMENTS, ids=json.dumps)
def test_cdk_nag_found_nothing_that_is_not_acknowledged_with_a_reason(settings):
    # a finding would have raised at synth already; test_app.py shows that it does
    report = json.loads((synthesized(**settings).folder / "validation-report.json").read_text())
    assert {each["conclusion"] for each in report["pluginReports"]} <= {"success"}
