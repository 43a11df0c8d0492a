"""In a process of its own, as Lambda starts it: the level is chosen when a handler is imported."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CALLS = {
    "retrieve_knowledge": "for _ in range(2): handler.lambda_handler({'query': 'x'}, None)",
    "chunk_documents": "handler._service(); handler._service()",
}


def by_one_and_by_both(*values):
    """What one shared function decides is tried on one handler, and that both ask it on both."""
    pairs = [("retrieve_knowledge", value) for value in values]
    return [*pairs, ("chunk_documents", values[0])]


def told(function, **environ):
    path = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    code = f"from lambdas.{function} import handler\n{CALLS[function]}"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**path, "AWS_REGION": "eu-west-1", **environ},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("function", "variable"), by_one_and_by_both("LOG_LEVEL", "POWERTOOLS_LOG_LEVEL")
)
def test_one_that_does_not_exist_is_info_and_is_told_once(function, variable):
    records = told(function, **{variable: "bogus"})
    (problem,) = [record for record in records if record.get("message") == "log level is wrong"]
    assert problem["level"] == "WARNING"
    assert problem["problems"] == f"{variable}='bogus' is no log level; INFO is used"


@pytest.mark.parametrize(("function", "level"), by_one_and_by_both("CRITICAL", "", "info"))
def test_of_one_that_exists_nothing_is_told(function, level):
    records = told(function, LOG_LEVEL=level)
    assert not [record for record in records if record.get("message") == "log level is wrong"]
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
    records = told(function, **{variable: "maybe"})
    (problem,) = [
        each for each in records if each.get("message", "").startswith("settings of the log")
    ]
    assert problem["problems"] == f"{variable}='maybe' means nothing and is ignored"


@pytest.mark.parametrize("function", CALLS)
def test_a_switch_of_powertools_that_means_something_is_left_alone(function):
    records = told(function, POWERTOOLS_LOGGER_SAMPLE_RATE="0.5", POWERTOOLS_DEV="off")
    assert [each for each in records if "settings of the log" in str(each)] == []
