from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.neutral import neutralise


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("safe\x08\x08\x08\x08evil", "safe\\x08\\x08\\x08\\x08evil"),
        ("\x7f\0", "\\x7f\\x00"),
        ("user\u202egpj.exe\u2069", "user\\u202egpj.exe\\u2069"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("a\u3164b\u115fc\uffa0d\u034fe", "a\\u3164b\\u115fc\\uffa0d\\u034fe"),
        ("tag\U000e0041 \U000e0100", "tag\\U000e0041 \\U000e0100"),
        ("half \ud83d", "half \\ud83d"),
        ("over\rwritten", "over\\x0dwritten"),
    ],
)
def test_what_steers_a_terminal_or_hides_becomes_its_escape(text, shown):
    assert neutralise(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a\tb\nc",
        "naïve – 漢字 \U0001f980 ❤\ufe0f",
        "עברית عربي",
        "\\x1b[31m",
        "[red]:car:[/red]",
    ],
)
def test_ordinary_text_of_any_script_stays(text):
    assert neutralise(text) == text


def test_a_carriage_return_that_belongs_to_a_line_ending_is_left_out():
    assert neutralise("a\r\nb\r\n\r") == "a\nb\n"


@given(st.text(st.characters(categories=None)))
def test_nothing_is_left_that_is_a_control_or_reorders(text):
    shown = neutralise(text)
    assert neutralise(shown) == shown
    for character in shown:
        assert character in "\t\n" or unicodedata.category(character) not in (
            "Cc",
            "Cs",
            "Zl",
            "Zp",
        )
        assert unicodedata.bidirectional(character) not in (
            "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
        )  # fmt: skip
