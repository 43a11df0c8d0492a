"""In a process of its own, as Lambda starts it: the logger is made when a handler is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from knowledge_rag.core import telemetry

ROOT = Path(__file__).parents[3]
CALLS = {
    "retrieve_knowledge": "handler.lambda_handler({'query': 'x'}, None)",
    "chunk_documents": """handler.lambda_handler({'bucketName': 'b', 'inputFiles': [
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
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize(
    ("environ", "service"),
    [
        ({"POWERTOOLS_SERVICE_NAME": "team-a"}, "team-a"),
        ({"POWERTOOLS_SERVICE_NAME": " "}, telemetry.SERVICE),
        ({}, telemetry.SERVICE),
    ],
    ids=["given", "blank", "absent"],
)
def test_logs_and_metrics_are_those_of_the_deployment(function, environ, service):
    records = records_of(function, **environ)
    assert {record["service"] for record in records} == {service}
    (metrics,) = [record for record in records if "_aws" in record]
    assert metrics["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]]
    assert any("level" in record for record in records)
