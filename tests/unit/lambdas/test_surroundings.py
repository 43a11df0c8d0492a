"""In a process of its own, as Lambda starts it: what a handler takes from the environment when imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from knowledge_rag.core import telemetry

ROOT = Path(__file__).parents[3]
CALLS = {
    "retrieve_knowledge": "for _ in range(2): handler.lambda_handler({'query': 'x'}, None)",
    "chunk_documents": """for _ in range(2): handler.lambda_handler({'bucketName': 'b', 'inputFiles': [
        {'originalFileLocation': {'type': 'WEB'}, 'contentBatches': []}]}, None)""",
}


def records_of(function, **environ):
    path = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    result = subprocess.run(
        [sys.executable, "-c", f"from lambdas.{function} import handler\n{CALLS[function]}"],
        env={**path, "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1", **environ},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return [json.loads(line) for line in result.stdout.splitlines()]


def by_one_and_by_both(*values):
    """What one shared function decides is tried on one handler, and that both ask it on both."""
    pairs = [("retrieve_knowledge", value) for value in values]
    return [*pairs, ("chunk_documents", values[0])]


def told(records, message):
    return [record for record in records if record.get("message") == message]


@pytest.mark.parametrize(
    ("function", "variable"), by_one_and_by_both("LOG_LEVEL", "POWERTOOLS_LOG_LEVEL")
)
def test_a_level_that_does_not_exist_is_info_and_is_told_once(function, variable):
    (problem,) = told(records_of(function, **{variable: "bogus"}), "log level is wrong")
    assert problem["level"] == "WARNING"
    assert problem["problems"] == f"{variable}='bogus' is not a log level; INFO is used"


@pytest.mark.parametrize(("function", "level"), by_one_and_by_both("CRITICAL", "", "info"))
def test_of_a_level_that_exists_nothing_is_told(function, level):
    records = records_of(function, LOG_LEVEL=level)
    assert not told(records, "log level is wrong")
    assert level != "CRITICAL" or not [record for record in records if "level" in record]


@pytest.mark.parametrize(
    ("function", "variable"),
    by_one_and_by_both(
        "POWERTOOLS_DEV",
        "POWERTOOLS_DEBUG",
        "POWERTOOLS_LOG_DEDUPLICATION_DISABLED",
        "POWERTOOLS_LOGGER_SAMPLE_RATE",
    ),
)
def test_a_switch_of_powertools_that_means_nothing_is_ignored_and_told_once(function, variable):
    records = records_of(function, **{variable: "maybe"})
    (problem,) = told(records, "log settings are wrong")
    assert problem["problems"] == f"{variable}='maybe' is invalid and ignored"


@pytest.mark.parametrize("function", CALLS)
def test_a_switch_of_powertools_that_means_something_is_left_alone(function):
    records = records_of(function, POWERTOOLS_LOGGER_SAMPLE_RATE="0.5", POWERTOOLS_DEV="off")
    assert told(records, "log settings are wrong") == []


@pytest.mark.parametrize(("function", "name"), by_one_and_by_both("team-a", " ", None))
def test_logs_and_metrics_are_those_of_the_deployment(function, name):
    given = {} if name is None else {"POWERTOOLS_SERVICE_NAME": name}
    records = records_of(function, **given)
    assert {each["service"] for each in records} == {(name or "").strip() or telemetry.SERVICE}
    metrics = [record for record in records if "_aws" in record]
    assert len(metrics) == 2
    assert metrics[0]["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]]
    assert any("level" in record for record in records)
