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


def told(records, message):
    return [record["problems"] for record in records if record.get("message") == message]


@pytest.mark.parametrize("function", CALLS)
def test_what_means_nothing_is_ignored_and_told_once(function):
    switches = (
        "POWERTOOLS_DEV",
        "POWERTOOLS_DEBUG",
        "POWERTOOLS_LOG_DEDUPLICATION_DISABLED",
        "POWERTOOLS_LOGGER_SAMPLE_RATE",
    )
    wrong = dict.fromkeys(switches, "maybe")
    records = records_of(function, POWERTOOLS_LOG_LEVEL="bogus", **wrong)
    assert told(records, "log level is wrong") == [
        "POWERTOOLS_LOG_LEVEL='bogus' is not a log level; INFO is used"
    ]
    assert told(records, "log settings are wrong") == [
        "; ".join(f"{name}='maybe' is invalid and ignored" for name in switches)
    ]


@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize(("level", "name"), [("info", "team-a"), ("CRITICAL", " ")])
def test_logs_and_metrics_are_those_of_the_deployment(function, level, name):
    given = {"LOG_LEVEL": level, "POWERTOOLS_SERVICE_NAME": name}
    switches = {"POWERTOOLS_LOGGER_SAMPLE_RATE": "0.0", "POWERTOOLS_DEV": "off"}
    records = records_of(function, **given, **switches)
    assert told(records, "log level is wrong") == told(records, "log settings are wrong") == []
    assert {each["service"] for each in records} == {name.strip() or telemetry.SERVICE}
    metrics = [record for record in records if "_aws" in record]
    assert len(metrics) == 2
    assert metrics[0]["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]]
    assert any("level" in record for record in records) is (level == "info")
