import logging

import pytest

from knowledge_rag.core.log_output import LogLevel, ascii_json, log_level


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


def test_a_record_is_one_line_that_steers_no_terminal():
    line = ascii_json({"session_id": "a\u2028b\x85c\n\x9b31m", "caller": LogLevel("INFO")})
    assert line.isascii()
    assert line.isprintable()
