"""What an answer says without citing: each check on its own, with its thresholds."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.guardrails import checks
from knowledge_rag.guardrails.checks import ADMISSIONS, CONFIDENT, NUMBERS, CheckSettings, Draft
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.rules import Kind
from knowledge_rag.guardrails.verify import verify
from tests.support.examples import up_to
from tests.unit.guardrails.evidence import LEDGER, result

DEFAULTS = CheckSettings()
PIECES = [
    "1", "12", "123456789012345", ".", ",", " ", "\xa0", "%", "percent", "Per Cent", "million", "$", "us$",
    "€", "u", "dollars", "eur", "-", "/", "x", "\n", "٣", "Definitely", "it is  clear", "that", "without a",
    "doubt", "certainly", "un", "Source:", "sources: ", "a.md", ", lines 3", "[1]",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def draft(text, sources=2):
    """Give an answer whose references are its ``[1]``."""
    starts = [index for index in range(len(text)) if text.startswith("[1]", index)]
    return Draft(text, references=tuple((start, start + 3) for start in starts), sources=sources)


def found(check, text, settings=DEFAULTS, sources=2):
    given = draft(text, sources)
    return [given.text[warned.start : warned.end] for warned in check(given, settings)]


def test_an_answer_without_citations_is_warned_of_if_there_are_sources():
    assert found(checks.missing_citations, "Reboot it.") == ["Reboot it."]
    assert not found(checks.missing_citations, "Reboot it [1].")
    assert not found(checks.missing_citations, "Reboot it.", sources=0)


def test_an_answer_that_owns_to_knowing_nothing_needs_no_citation():
    assert not found(checks.missing_citations, "No documented guidance found for this scenario")


@pytest.mark.parametrize("phrase", ADMISSIONS)
def test_an_answer_without_sources_owns_to_it(phrase):
    assert found(checks.unsourced_information, "Reboot it.", sources=0)
    assert not found(checks.unsourced_information, f"Sorry, {phrase.upper()} it.", sources=0)


def test_a_typographic_apostrophe_is_an_apostrophe():
    assert not found(checks.unsourced_information, "I don’t have that.", sources=0)


@pytest.mark.parametrize("phrase", CONFIDENT)
def test_a_confident_phrase_needs_a_citation_within_fifty_characters(phrase):
    assert found(checks.confident_wording, f"It {phrase} helps.") == [phrase]
    assert not found(checks.confident_wording, f"It {phrase}{'.' * 50}[1]")
    assert found(checks.confident_wording, f"It {phrase}{'.' * 51}[1]")
    assert not found(checks.confident_wording, f"[1]{'.' * 49} {phrase}")
    assert found(checks.confident_wording, f"[1]{'.' * 50} {phrase}")


def test_the_distance_of_a_confident_phrase_is_a_setting():
    assert found(checks.confident_wording, "obviously so [1]", CheckSettings(confident_distance=3))


@pytest.mark.parametrize(
    "number", ["45%", "99.9 percent", "5 million", "2 billion", "100 dollars", "$1,200", "30 USD"]
)
def test_a_number_needs_a_citation_within_a_hundred_characters_after_it(number):
    assert found(checks.uncited_numbers, f"About {number} of it.") == [number]
    assert not found(checks.uncited_numbers, f"{number}{'.' * 100}[1]")
    assert found(checks.uncited_numbers, f"{number}{'.' * 101}[1]")
    assert found(checks.uncited_numbers, f"[1] {number} of it")


FAR = "- wait and see\n" * 12
QUOTED = "Scale to 24:\n1. wait 5 million years\n   - [ ] definitely restart  \nall"


def quoting(text, *contents):
    given = draft(text)
    held = tuple((content,) for content in contents or [QUOTED] * len(given.references))
    given = replace(given, contents=held)
    each = (checks.uncited_numbers, checks.confident_wording)
    return [given.text[it.start : it.end] for check in each for it in check(given, DEFAULTS)]


@pytest.mark.parametrize(
    "text",
    [
        f"Scale [1]\n{FAR}  2. wait 5 million years\n", f"Scale [1] [1]\n{FAR}* definitely restart",
        f"wait 5 million years{' ' * 101}[1]", f"wait 5 million years\n{FAR}all [1]",
        f"> wait 5 million years\n> {'and more ' * 20}[1]",
    ],
)  # fmt: skip
def test_a_line_of_the_cited_ones_needs_no_citation_close_by(text):
    assert quoting(text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"Scale [1]\n{FAR}2. wait 6 million years", f"Scale [1]\n{FAR}2. wait 5 million years or so",
        f"2. wait 5 million years\n\n{FAR}all [1]", f"2. wait 5 million years\n{FAR * 12}all [1]",
        f"wait 5 million years{' ' * 2_000}[1]", f"{FAR}2. wait 5 million years",
    ],
)  # fmt: skip
def test_what_only_resembles_the_cited_lines_or_stands_elsewhere_needs_one(text):
    assert quoting(text)


def test_only_the_lines_of_the_reference_next_to_it_count():
    text = f"Scale [1]\nThen [1]\n{FAR}wait 5 million years"
    assert quoting(text, QUOTED, "other") == ["5 million"]
    assert quoting(text, "other", QUOTED) == []
    assert quoting(text.replace("\nThen ", ""), QUOTED, "other") == []


def test_a_lifted_step_with_inner_items_is_not_warned_of():
    content = "1. Scale:\n" + "".join(f"   {n}. wait {n} million years\n" for n in range(2, 9))
    ledger = Ledger.of([result("a.md", 1, content.rstrip("\n"))])
    lifted = content.replace("Scale:", "Scale: [1]")
    assert verify(lifted, ledger).warnings == ()
    (warned,) = verify(lifted.replace("8 million", "80 million"), ledger).warnings
    assert (warned.kind, warned.message[:12]) == (Kind.UNCITED_NUMBER, '"80 million"')


@pytest.mark.parametrize("text", ["db-45%", "v1.45%", "http://x/45%", "path/5 million", "t=45%"])
def test_a_number_in_an_identifier_needs_none(text):
    assert not found(checks.uncited_numbers, text)


def test_numbers_and_phrases_in_code_need_no_citation():
    text = "Run `alarm --at 45% obviously` now [1]\n\n```\necho 45% certainly\n```\n"
    kinds = {warned.kind for warned in verify(text, LEDGER).warnings}
    assert not kinds


def test_patterns_can_be_added():
    settings = CheckSettings(numbers=(r"\d+ minutes\b",), confident=("trust me",))
    assert found(checks.uncited_numbers, "wait 5 minutes", settings) == ["5 minutes"]
    assert found(checks.confident_wording, "Trust  me", settings) == ["Trust  me"]


@given(TEXTS)
@up_to(examples=300)
def test_what_is_looked_for_in_likely_places_is_found_as_if_looked_for_everywhere(text):
    everywhere = CheckSettings(numbers=(*NUMBERS, "(?!)"), confident=(*CONFIDENT, "bien sûr"))
    for check in (checks.uncited_numbers, checks.confident_wording):
        assert list(check(draft(text), DEFAULTS)) == list(check(draft(text), everywhere))
    assert found(checks.unchecked, text) == found(checks.unchecked, f"{text} ı")


@pytest.mark.parametrize(
    "text",
    ["5%", "5 %", "5\u00a0%", "\u0665%", "5 percent", "5per cent", "5 million", "5Billion", "5 TRILLION",
     "5\u00a0trillion", "US$5", "$ 5", "$\u00a05", "\u20ac5", "5 usd", "5EUR", "1,2.3 dollars"],
)  # fmt: skip
def test_numbers_are_found_beside_their_units(text):
    assert found(checks.uncited_numbers, f"a {text} b") == [text]
    assert found(checks.uncited_numbers, text) == [text]


@pytest.mark.parametrize("text", ["a %", "5  %", "a percent", "million", " 5 illion", "rillion", "$a", "$", "$ ", "5-usd", "neural 5"])  # fmt: skip
def test_units_alone_are_no_numbers(text):
    assert not found(checks.uncited_numbers, text)


def test_a_quoted_line_is_looked_for_only_where_the_lines_are_known():
    bare = draft("[1]\n1%")
    assert bare.references
    assert not bare.is_quoted(4)


@pytest.mark.parametrize("text", ["obviouſly", "UNDOUBTEDLY", "wıthout a doubt"])
def test_letters_that_are_the_same_where_case_is_ignored_hide_no_phrase(text):
    assert found(checks.confident_wording, text) == [text]


@pytest.mark.parametrize(
    "setting", [{"number_distance": -1}, {"numbers": ("(",)}, {"min_density": float("nan")}]
)
def test_a_setting_that_makes_no_sense_is_refused(setting):
    with pytest.raises(InvalidSettings):
        CheckSettings(**setting)


def test_a_long_answer_with_few_references_is_warned_of():
    assert found(checks.low_density, "word " * 150 + "[1]")
    assert not found(checks.low_density, "word " * 50 + "[1]")
    assert not found(checks.low_density, "word " * 100 + "[1]")


@pytest.mark.parametrize(
    "text", ["[1]... (not provided)", "[9]... (not provided)", "[citation needed]"]
)
def test_a_placeholder_is_warned_of(text):
    assert Kind.PLACEHOLDER in {warned.kind for warned in verify(text, LEDGER).warnings}


@pytest.mark.parametrize("text", ["[9](https://x.y)", "word[9]", "Source: evil.yaml, lines 1-2"])
def test_what_passes_for_a_reference_and_is_none_is_warned_of(text):
    assert Kind.UNCHECKED in {warned.kind for warned in verify(text, LEDGER).warnings}


@given(st.text(st.characters(max_codepoint=0x3000), max_size=30))
@up_to(examples=300)
def test_words_are_what_white_space_parts(text):
    assert Draft(text).words == len(text.split())


@pytest.mark.parametrize("code", range(128))
def test_every_ascii_character_parts_words_or_is_of_one(code):
    assert Draft(f"a{chr(code)}b").words == len(f"a{chr(code)}b".split())


@pytest.mark.parametrize("text", ["[^9]", "[#9]", "[^123]"])
def test_a_note_and_an_issue_that_read_like_a_reference_are_warned_of(text):
    assert found(checks.unchecked, f"Reboot it {text}.") == [text]
    for other in (
        f"Reboot it {text}(a.b).",
        f"{text}: a",
        f"grep {text}+ x",
        f"{text}[a]",
        "[^0-9] [#]",
    ):
        assert not found(checks.unchecked, other)
    assert not verify(f"Run `{text}` [1].", LEDGER).warnings


@pytest.mark.parametrize("text", ["Source 9", "source: 9", "Sources #9", "source9"])
@pytest.mark.parametrize("around", ["**{}**", "_{}_", "*{}*", "({})", "a **{}**"])
def test_a_source_in_emphasis_or_round_brackets_is_warned_of(text, around):
    assert found(checks.unchecked, around.format(text)) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "a source 9 of it", "f(source9)", "a_source9_b", "**source 9 of it**", "(source code)", "source 9)",
    ],
)  # fmt: skip
def test_other_words_about_sources_are_not_warned_of(text):
    assert not found(checks.unchecked, text)


def test_a_reference_in_emphasis_that_was_resolved_is_not_warned_of():
    for text in ("a [**Source 1**]", "a **[Source 1]**", "a `**Source 9**` [1]"):
        assert not verify(text, LEDGER).warnings
