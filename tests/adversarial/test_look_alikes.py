"""Whatever letters, brackets and languages a reference without evidence is written in, it is reported."""

import unicodedata

import pytest
from confusable_homoglyphs.confusables import confusables_data

from knowledge_rag.guardrails.characters import CLOSING, OPENING
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.rules import Kind
from knowledge_rag.guardrails.verify import verify

NOTATIONS = (
    ("Source", "[{} 9]"),
    ("source", "[{}: evil.md, lines 1-2]"),
    ("lines", "[evil.md, {} 1-2]"),
    ("Source", "({} 9)"),
)
QUOTES = {"\u201a", "\u201e", "\u2e42", "\u301d", "\u301e", "\u301f"}


def alike(letter):
    """Return the characters that Unicode lists as confusable with a letter of either case."""
    listed = (
        one["c"].strip("\u200e")
        for case in {letter.lower(), letter.upper()}
        for one in confusables_data[case]
    )
    return sorted({one for one in listed if not one.isascii()})


def homoglyphs():
    for word, notation in NOTATIONS:
        for at, letter in enumerate(word):
            for other in alike(letter):
                yield notation.format(word[:at] + other + word[at + 1 :])


def is_reported(text):
    verified = verify(f"Restart the writer {text}, then wait.", Ledger())
    return bool(verified.removed) or any(one.kind is Kind.UNCHECKED for one in verified.warnings)


def test_a_letter_that_looks_like_another_one_hides_no_reference():
    written = [*homoglyphs()]
    assert len(written) > 1_200
    assert [one for one in written if not is_reported(one)] == []


@pytest.mark.parametrize(
    "opening", sorted(set(OPENING) | {"(", "{", "<", "\u00ab", "\u201c", "\u2039", "|", "\uff08"})
)
def test_no_bracket_hides_a_reference(opening):
    closing = {
        "(": ")",
        "{": "}",
        "<": ">",
        "\u00ab": "\u00bb",
        "\u201c": "\u201d",
        "\u2039": "\u203a",
        "\uff08": "\uff09",
    }
    for inner in ("Source 9", "Source nine", "source: IX"):
        assert is_reported(f"{opening}{inner}{closing.get(opening, CLOSING[0])}")


def test_the_brackets_are_those_of_unicode():
    for brackets, category in ((OPENING, "Ps"), (CLOSING, "Pe")):
        listed = {
            chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == category
        }
        round_ones = {
            one for one in listed if set(unicodedata.normalize("NFKC", one)) & set("(){}")
        }
        assert set(brackets) == listed - round_ones - QUOTES


@pytest.mark.parametrize(
    "text",
    [
        "[Quelle: evil.md, Zeilen 5-10]", "[Quelle 9]", "[Fuente: evil.md, l\u00edneas 5 a 10]", "[fonte: 9]",
        "[\u6765\u6e90: runbooks/a.md, \u7b2c5-10\u884c]", "[\u6765\u6e90\uff1a9]", "[\u51fa\u5178 9]", "[\u0438\u0441\u0442\u043e\u0447\u043d\u0438\u043a: 9]",
        "[\ucd9c\ucc98: 9]", "[S\u00f3urce 9]", "[S0urce 9]", "[evil.md, 1ines 5-10]", "[ref. nine]", "[source XII]", "[evil.md 5]",
    ],
)  # fmt: skip
def test_no_language_hides_a_reference(text):
    assert is_reported(text)


@pytest.mark.parametrize(
    "text",
    ["writer.\u2079", "writer\u00b9\u00b2", "writer<sup>9</sup>", '"now"\u00b3', "**Source nine**"],
)
def test_a_number_set_high_behind_a_word_is_warned_of(text):
    assert is_reported(text)


@pytest.mark.parametrize(
    "text",
    [
        "10\u2079 rows", "40 m\u00b2", "O(n\u00b2) rows", "x\u00b2", "\u300c\u518d\u8d77\u52d5\u300d\u3092\u62bc\u3059", "[\u8b66\u544a]", "\u27e8node\u27e9", "a data source 1",
        "[\u041f\u0440\u043e\u0434]", "\u300a\u8fd0\u7ef4\u624b\u518c\u300b", "[sourced from a.md]", "[see a.md]",
    ],
)  # fmt: skip
def test_honest_words_and_brackets_of_other_languages_stay(text):
    assert not is_reported(text)
    assert verify(f"Restart {text}.", Ledger()).text == f"Restart {text}."


@pytest.mark.parametrize(
    "text",
    [
        '"evil.md":5', "(evil.md):5", "\xabevil.md\xbb:5", "\u201cevil.md\u201d, lines 5-9", "[evil.md](https://e.com):5", "[`evil.md`](x) lines 5-9",
        "`evil.md` `:5`", "evil.md > Drain, lines 5-9", "evil.md (Drain, lines 5-9)", 'evil.md "Drain" line 5', "evil.md - lines 5-9", "evil.md \u2014 L5",
        "evil.md -> line 5", "evil.md (5-9)", "evil.md@5", "evil.md#5", "evil.md\u22365", "evil.md:\u0665", "evil.md: 5-9", "evil.md's line 5",
        "evil.md line five", "evil.md ll. 5-9", "evil.md, Zeilen 5-9", "evil.md, l\xedneas 5-9", "evil.md \u7b2c5\u884c", "| evil.md | 5-9 |",
        "evil.md</td><td>5-9", "evil.md\n  lines: 5-9", "lines 5-9, evil.md", "lines 5-9 (evil.md)", "line no. 5 of evil.md", "L5 in evil.md",
        "the 5th line of evil.md", "5-9 of evil.md", "lines 5-9 from our evil.md", "evil.yaml:5-9", "Source: 9", "source #9", "\\cite{evil5}",
        "<cite>evil.md</cite>", "{{cite|evil.md|5}}", "\u202e]9 ecruoS[\u202c", "[Evidence 9]", "[chunk 9]", "[lines 5-9]", "[L5-L9]", "[9.]", "[\u20209]",
        "[S o u r c e 9]", "[S-o-u-r-c-e 9]", "[5ource 9]", "[$ource 9]", "[Sourc3 9]", "[Sorce 9]", "[Soruce 9]", "[\U0001f182ource 9]", "[\u0282ource 9]",
    ],
)  # fmt: skip
def test_no_other_words_hide_a_reference(text):
    assert is_reported(text)


@pytest.mark.parametrize(
    "text",
    [
        "as a.md says", "with a.md: 5 pods failed", "as in a.md: 5-9 minutes", "as a.md (2026-11-28) says", "as https://e.com/a.md#L5 says", "`sed -n 5p a.md`",
        "at 10:05-10:09", "main.py:42", "a.md, b.md and 3 more", "on line 5 of the output", "[5m]", "[resource 9]", "[P1] page", "cite 5 reasons",
    ],
)  # fmt: skip
def test_honest_words_about_documents_and_numbers_stay(text):
    assert not is_reported(text)
    assert verify(f"Restart {text}.", Ledger()).text == f"Restart {text}."


def test_a_warning_is_one_line_whatever_it_quotes():
    (warning,) = (
        it
        for it in verify("See [p\nevil.md:49-57\n9](https://e.com).", Ledger()).warnings
        if it.kind is Kind.UNCHECKED
    )
    assert warning.message.startswith("[p evil.md:49-57 9] is read as a link")
