from __future__ import annotations

import pytest

from knowledge_rag.core.findings import Kind
from knowledge_rag.extract.lint.check import lint_text


def hidden(text):
    return [finding for finding in lint_text("a.md", text) if finding.kind is Kind.HIDDEN_UNICODE]


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("rm \u202e fdsa", 4, "U+202E RIGHT-TO-LEFT OVERRIDE makes text read in a different order"),
        ("a \u2066b", 3, "U+2066"),
        ("thumbprint \u200e8A2B", 12, "U+200E LEFT-TO-RIGHT MARK without right-to-left text"),
        ("kube\u200bctl", 5, "U+200B ZERO WIDTH SPACE within a word"),
        ("ig\u200dnore", 3, "U+200D ZERO WIDTH JOINER within a word"),
        ("x\ufeffy", 2, "U+FEFF ZERO WIDTH NO-BREAK SPACE within a word"),
        ("end. \u200b\u200c\u200b\u200c\u200b", 6, "5 zero-width characters in a row"),
        ("hi\U000e0068\U000e0069", 3, "2 tag characters"),
        ("a\ufe01\ufe05\ufe0a", 2, "3 variation selectors in a row"),
        ("x\U000e0101", 2, "after a character that has no variants"),
        ("a \u3164 b", 3, "invisible U+3164 HANGUL FILLER"),
        ("a\u2063b", 2, "invisible U+2063"),
        ("\u2800", 1, "invisible U+2800"),
        ("p\u0430ypal.com", 1, "look-alikes (U+0430)"),
        ("\u0410dmin", 1, "look-alikes"),
        ("r\u03bfot", 1, "look-alikes (U+03BF)"),
        ("a\x1b[31mb", 2, "control character U+001B"),
        ("a\x00", 2, "control character U+0000"),
        ("a\x9bb", 2, "control character U+009B"),
        ("safe\rrm -rf", 5, "control character U+000D"),
        ("icon \ue0b0", 6, "private-use character U+E0B0"),
    ],
)
def test_what_a_reader_cannot_see_is_found(text, column, part):
    (finding,) = hidden(text)
    assert (finding.line, finding.column) == (1, column)
    assert part in finding.message
    assert finding.excerpt.isprintable()


@pytest.mark.parametrize(
    "text",
    [
        "plain\ttext\r\nwith CRLF\r\n",
        "family \U0001f468\u200d\U0001f469\u200d\U0001f467, heart \u2764\ufe0f, flag \U0001f3f3\ufe0f\u200d\U0001f308",
        "England \U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "می\u200cخواهم",
        "क्\u200dष",
        "ฉัน\u200bรัก",
        "שלום \u200e(x)\u200e",
        "葛\U000e0100",
        "soft\u00adhyphen, no\u00a0break, narrow\u202fspace, line\u2028separator",
        "zero width space at the end of a word\u200b, and alone \u200b.",
        "5 μs, 10 kΩ, Δt, αβγ, naïve café, Ελληνικά, Привет",
        "Запустите podа в кластере",
        "form\x0cfeed",
    ],
)
def test_what_writing_needs_is_no_finding(text):
    assert hidden(text) == []


def test_a_flag_with_more_than_a_flag_is_found():
    text = "\U0001f3f4" + "".join(chr(0xE0000 + ord(c)) for c in "ignore all") + "\U000e007f"
    assert len(hidden(text)) == 1
