from __future__ import annotations

import contextlib
import io
import json
import logging

import pytest
from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from lambdas.reporting import LogLevel, MetricRecord, ascii_json, ignore_nonsense, log_level


def filled(record):
    record.add_metric("Count", MetricUnit.Count, 1)
    record.add_metric("Latency", MetricUnit.Milliseconds, 12.5)
    record.add_metadata("status", "ok")
    return record


def written(record):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        record.write()
    return output.getvalue()


def without_time(record):
    record["_aws"].pop("Timestamp")
    return record


def test_a_record_is_what_powertools_writes():
    theirs = filled(EphemeralMetrics(namespace="Ns", service="s")).serialize_metric_set()
    ours = filled(MetricRecord("Ns", "s")).to_dict()
    assert abs(ours["_aws"]["Timestamp"] - theirs["_aws"]["Timestamp"]) < 60_000
    assert without_time(ours) == without_time(theirs)


def test_it_is_one_line():
    line = written(filled(MetricRecord("Ns", "s")))
    assert line.endswith("}\n")
    assert line.count("\n") == 1
    assert json.loads(line)["Count"] == [1.0]


@pytest.mark.parametrize(("switch", "lines"), [("true", 0), ("false", 1), ("perhaps", 1), ("", 1)])
def test_it_can_be_switched_off(monkeypatch, switch, lines):
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", switch)
    assert written(filled(MetricRecord("Ns", "s"))).count("\n") == lines


def test_an_output_that_is_closed_costs_nothing():
    closed = io.StringIO()
    closed.close()
    with contextlib.redirect_stdout(closed):
        filled(MetricRecord("Ns", "s")).write()


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, None),
        ({"LOG_LEVEL": ""}, "INFO"),
        ({"POWERTOOLS_LOG_LEVEL": ""}, None),
        ({"LOG_LEVEL": "debug"}, "DEBUG"),
        ({"POWERTOOLS_LOG_LEVEL": " Error "}, "ERROR"),
        ({"POWERTOOLS_LOG_LEVEL": "WARNING", "LOG_LEVEL": "bogus"}, "WARNING"),
    ],
)
def test_a_level_that_exists_is_taken(environ, name):
    assert log_level(environ) == LogLevel(name)
    assert name is None or name in logging.getLevelNamesMapping()


@pytest.mark.parametrize("variable", ["LOG_LEVEL", "POWERTOOLS_LOG_LEVEL"])
@pytest.mark.parametrize("value", ["bogus", "trace", "20", "\ud800", "x" * 9999])
def test_any_other_is_info_and_is_told_briefly(variable, value):
    level = log_level({variable: value})
    assert level.name == "INFO"
    assert level.problem.startswith(f"{variable}='")
    assert len(level.problem.encode()) < 150


@pytest.mark.parametrize(("value", "kept"), [("off", True), ("", False), ("maybe", False)])
def test_a_switch_of_powertools_that_means_something_is_left_alone(value, kept):
    environ = {"POWERTOOLS_DEV": value, "POWERTOOLS_LOGGER_SAMPLE_RATE": "0.5"}
    assert len(ignore_nonsense(environ)) == (not kept)
    assert environ == {"POWERTOOLS_LOGGER_SAMPLE_RATE": "0.5"} | (
        {"POWERTOOLS_DEV": value} if kept else {}
    )


def test_a_record_is_one_line_that_steers_no_terminal():
    line = ascii_json({"session_id": "a\u2028b\x85c\n\x9b31m", "caller": LogLevel("INFO")})
    assert line.isascii()
    assert line.isprintable()
