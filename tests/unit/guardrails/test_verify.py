"""Nothing a model writes can make a citation appear, and nothing else is touched."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.guardrails import brackets, scanner
from knowledge_rag.guardrails.characters import OPENING
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.readings import views_of
from knowledge_rag.guardrails.resolve import Why
from knowledge_rag.guardrails.rules import Kind
from knowledge_rag.guardrails.scanner import MARK
from knowledge_rag.guardrails.verify import Settings, VerifiedStream, verify
from tests.support.examples import up_to
from tests.unit.guardrails.evidence import LEDGER, result, verified_in

LONG = "[Source: runbooks/rds.md, lines 5-10]"
PIECES = [
    "[", "]", "(", ")", "[1]", "[99]", "[1, 2]", "[2-9]", LONG, "[Source: runbooks/rds.md, lines 6-7]",
    "[Source: evil.md, lines 5-6]", "[Source 9]", "[Source", "Source: ", "rds.md", ", lines 5-6", "1", "9",
    ",", "-", " ", "    ", "\n", "\n\n", "`", "``", "```", "~~~", "```\n", "- ", "1. ", "> ", "# ", "word ",
    "<", "<a ", "<!--", "-->", "&#91;", "&", "#", "\\", "[99](http://x.y)", ": http://x", "!", "<b t='",
    "［", "］", "【", "】", "Sou", "rce", "\t", "\u200b", "<div>\n", "\r\n", "[^1]: ", "[99", "é",
]  # fmt: skip
ANSWERS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=25).map(
    "".join
)


@pytest.mark.parametrize(
    "answer",
    [
        f"Reboot it {LONG}.", "Reboot it [Source: runbooks/rds.md, line 7].",
        "Both [Source: runbooks/rds.md, lines 5-6; b.md, lines 1-3] hold.",
        "One [1], two [1, 2], three [1-2], four [Source 1], five [Source 1, Source 2].",
        "1. Step [1]\n\n   ```bash\n   echo a[9] [9]\n   ```\n2. Step\t[2]  \n",
    ],
)  # fmt: skip
def test_an_honest_answer_keeps_every_reference_and_every_character(answer):
    verified = verify(answer, LEDGER)
    assert verified.text == answer
    assert verified.citations
    assert not verified.removed


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("[Source: runbooks/RDS.md, lines 5-10]", Why.UNKNOWN_FILE),
        ("[Source: rds.md, lines 5-10]", Why.UNKNOWN_FILE),
        ("[Source: runbooks/rds.md, lines 4-10]", Why.LINES_NOT_RETRIEVED),
        ("[Source: runbooks/rds.md, lines 5-11]", Why.LINES_NOT_RETRIEVED),
        ("[3]", Why.UNKNOWN_NUMBER),
        ("[0]", Why.UNKNOWN_NUMBER),
        ("[1, 3]", Why.UNKNOWN_NUMBER),
        ("[14-18]", Why.UNKNOWN_NUMBER),
        ("[Source 1, Source 9]", Why.UNKNOWN_NUMBER),
        ("［９］", Why.UNKNOWN_NUMBER),
        ("&#91;9&#93;", Why.UNKNOWN_NUMBER),
        ("[So**ur**ce: evil.md, lines 1-2]", Why.UNKNOWN_FILE),
        ("[Quelle: evil.md, lines 1-2]", Why.UNKNOWN_FILE),
        ("[<u>9</u>]", Why.UNPARSABLE),
        ("[evil.md:1-2]", Why.UNKNOWN_FILE),
        ("⦗9⦘", Why.UNKNOWN_NUMBER),
        ("⟬9⟭", Why.UNKNOWN_NUMBER),
        ("⹕9⹖", Why.UNKNOWN_NUMBER),
        ("⹗9⹘", Why.UNKNOWN_NUMBER),
        ("⸢9⸣", Why.UNKNOWN_NUMBER),
        ("[❾]", Why.UNPARSABLE),
        ("[❶]", Why.UNPARSABLE),
        ("[❿]", Why.UNPARSABLE),
        ("[\u28009]", Why.UNKNOWN_NUMBER),
        ("[9\u20dd]", Why.UNKNOWN_NUMBER),
        ("[1\x00]", Why.UNPARSABLE),
        (r"\[9\]", Why.UNKNOWN_NUMBER),
        ("[Source: runbooks/rds.md]", Why.UNPARSABLE),
        ("[Source N]", Why.UNPARSABLE),
    ],
)
def test_a_reference_without_evidence_goes_and_nothing_else(reference, why):
    verified = verify(f"It  helps {reference} .\n\tYes", LEDGER)
    assert verified.text == "It  helps  .\n\tYes"
    (removed,) = verified.removed
    assert (removed.text, removed.why, removed.start) == (reference, why, 10)
    assert removed.end == 10 + len(reference)


def test_a_citation_says_where_it_stands_and_what_it_cites():
    text = "x [9] y [Source: runbooks/rds.md, lines 6-7]"
    (cited,) = verify(text, LEDGER).citations
    assert (cited.number, cited.citation.start_line, cited.content) == (1, 6, "six\nseven")
    assert (cited.start, cited.end) == (5, 41)


@pytest.mark.parametrize(
    "text",
    [
        "`[99]` and ``[98] ` x``", "```\n[99]\n```", "~~~ python\nrows[9] = [99]\n~~~\n",
        "text\n\n    [99]\n    [98]\n", "> ```\n> [99]\n> ```\n", "a[1] and args[9][7]", "[0-9]+",
        "- [ ] open\n- [x] done", "[WARN] disk", "[99](https://example.com) ![9](a.png)",
        "[docs](https://example.com/[9])", "[7]: https://example.com\n\nSee [docs][7].", "[^1]: a footnote",
        "<ops@[10.0.0.1]>",
    ],
)  # fmt: skip
def test_what_is_no_reference_stays(text):
    verified = verify(text, LEDGER)
    assert verified.text == text
    assert not verified.removed


@pytest.mark.parametrize(
    "text",
    [
        "``\n[99]`x`", "`a\nb` see [99] `c`", "<b t='`'> [99] `x`", r"\`[99]\`", "> ```\ntext [99]",
        "- ```\ntext [99]", "1. a\n\n    [99]", "<!--\n```\n-->\n[99]", "<div>\n```\n[99]", "x    [99]",
    ],
)  # fmt: skip
def test_what_some_reader_sees_as_text_is_no_hiding_place(text):
    assert "[99]" not in verify(text, LEDGER).text


@pytest.mark.parametrize(
    "text", ["[Sour[Source 9]ce: evil.md, lines 1-2]", "&#[99]91;1]", "`x`[99]`y`", "[[99]1]"]
)
def test_a_mark_stands_where_the_text_around_would_get_another_meaning(text):
    assert MARK in verify(text, LEDGER).text


def test_a_link_whose_text_is_a_document_and_a_line_resolves_or_goes_with_its_destination():
    assert verify("See [a.md:12](https://example.com/a.md#L12).", LEDGER).text == "See ."
    verified = verify("See [runbooks/rds.md:6-7](https://example.com).", LEDGER)
    assert [str(one.citation) for one in verified.citations] == [
        "[Source: runbooks/rds.md, lines 6-7]"
    ]


CLOSED = [
    "x [evil notes.md, lines 1-2] y", "x [Quelle: evil.md, lines 1-2] y", "x [evil.md, line. 1] y", "x [<u>99</u>] y", "x [Sour<!-- -->ce: evil.md, lines 1-2] y",
    "x [So**ur**ce: evil.md, lines 1-2] y", "x \u2e5599\u2e56 y", "x \u299799\u2998 y", "x \u27ec99\u27ed y", "x [\u277e] y", "x [*Source* N] y", "x [`9:0\u2020source`] y",
    "x [Source\n: evil.md, lines 1-2] y", "x [Source\n#99] y", "[x](`)[99]`", "x [2 6and 64] y",
]  # fmt: skip


@pytest.mark.parametrize("answer", CLOSED)
def test_a_disguise_that_once_worked_does_not(answer):
    verified = verified_in([1], answer)
    assert len(verified.removed) == 1
    assert not any(part in verified.text for part in ("99", "ource", "lines"))


def test_marking_shows_where_a_reference_was():
    assert verify("a [9] b", LEDGER, Settings(mark=True)).text == f"a {MARK} b"


def test_the_figures_of_an_answer():
    metrics = verify("Reboot the [9] primary [1].", LEDGER).metrics
    assert (metrics.words, metrics.references, metrics.removed) == (3, 1, 1)
    assert (metrics.sources, metrics.sources_cited, metrics.coverage) == (2, 1, 0.5)
    assert metrics.density == pytest.approx(33.3, abs=0.1)
    assert metrics.warnings == {Kind.NON_EXISTENT_SOURCE: 1}
    nothing = verify("", LEDGER).metrics
    assert (nothing.density, nothing.coverage) == (0.0, 0.0)


@given(ANSWERS, st.booleans())
@up_to(examples=400)
def test_every_citation_is_from_the_ledger_and_its_text_is_the_lines(answer, mark):
    for cited in verify(answer, LEDGER, Settings(mark=mark)).citations:
        lines = (cited.citation.source_file, cited.citation.start_line, cited.citation.end_line)
        assert cited.content == LEDGER.lines(*lines).content


@given(ANSWERS, st.booleans())
@up_to(examples=400)
def test_nothing_is_left_to_take_out_of_a_verified_answer(answer, mark):
    verified = verify(answer, LEDGER, Settings(mark=mark))
    again = verify(verified.text, LEDGER, Settings(mark=mark))
    assert again.text == verified.text
    assert not again.removed


@given(ANSWERS)
@up_to(examples=400)
def test_characters_outside_what_was_taken_out_are_the_same(answer):
    verified = verify(answer, LEDGER)
    expected, position = "", 0
    for removed in verified.removed:
        assert answer[removed.start : removed.end] == removed.text
        expected += answer[position : removed.start] + removed.mark
        position = removed.end
    assert verified.text == expected + answer[position:]


@given(ANSWERS, st.lists(st.integers(1, 12), min_size=1))
@up_to(examples=400)
def test_a_stream_gives_what_the_whole_gives(answer, sizes):
    stream, shown, position = VerifiedStream(LEDGER), [], 0
    while position < len(answer):
        size = sizes[len(shown) % len(sizes)]
        shown.append(stream.feed(answer[position : position + size]))
        position += size
    rest, verified = stream.close()
    assert verified == verify(answer, LEDGER)
    assert "".join([*shown, rest]) == verified.text


@pytest.mark.parametrize("answer", ["<div>\n[9]<!--", "<div>\nb <?\n\n    [9]"])
def test_a_line_of_html_is_read_to_its_end_before_a_reference_on_it_goes(answer):
    verified_in([1], answer)


@given(st.text(st.characters(exclude_characters=f"{OPENING}]&\\")))
def test_of_text_without_brackets_the_last_word_alone_is_held_back(text):
    assert VerifiedStream(LEDGER).feed(f"{text}\n\nx").startswith(text)


@pytest.mark.parametrize(
    ("fragment", "shown"),
    [("a [", "a "), ("a [see the", "a "), ("a [see the]", "a [see the]"), ("a [Source: x", "a "), ("a [1", "a "), ("a [x]", "a [x]")],
)  # fmt: skip
def test_an_opening_bracket_is_held_back_while_it_may_become_a_reference(fragment, shown):
    assert VerifiedStream(LEDGER).feed(fragment) == shown


def test_what_is_held_back_is_bounded():
    stream = VerifiedStream(LEDGER)
    shown = "".join(map(stream.feed, ["["] + 40 * ["x" * 1_000]))
    assert len(shown) > 30_000


@pytest.mark.parametrize(
    "hostile",
    [
        "[", "[9]", "[Source: ", "[[1]", "`", "``x`", "\\[", "- [9]\n\n", "<a ", "[9](", "[a\n\nb", "> [9\n\n",
    ],
)  # fmt: skip
def test_what_readers_are_asked_grows_with_the_length_of_a_hostile_answer_and_no_faster(
    hostile, monkeypatch
):
    read = []
    monkeypatch.setattr(brackets, "views_of", lambda text: read.append(len(text)) or views_of(text))
    asked = []
    monkeypatch.setattr(scanner, "MAX_BLOCK", most := 8_192)
    for times in (500, 2_000):
        read.clear()
        verify(hostile * times, LEDGER)
        asked.append(sum(read))
    assert asked[1] <= 4 * asked[0] + 8 * most


@pytest.mark.parametrize(("answer", "words"), [("[1][1]", 0), ("Reboot[1] it [2].", 2), ("[1]", 0)])
def test_references_are_no_words_wherever_they_stand(answer, words):
    assert verify(answer, LEDGER).metrics.words == words


def warned(text, kind, *, mark=False):
    verified = verify(text, LEDGER, Settings(mark=mark))
    return [
        (one.start, verified.text[one.start : one.end])
        for one in verified.warnings
        if one.kind is kind
    ]


def test_each_removal_is_warned_of_where_it_was():
    assert warned("a [8] b [9] c [7] d", Kind.NON_EXISTENT_SOURCE) == [(2, ""), (5, ""), (8, "")]


def test_a_mark_moves_what_stands_behind_it():
    text = "a [8] b [9] c [7] d"
    behind = [2, 2 + len(MARK) + 3, 2 + 2 * (len(MARK) + 3)]
    assert [at for at, _ in warned(text, Kind.NON_EXISTENT_SOURCE, mark=True)] == behind


def test_a_removed_reference_keeps_its_place_in_what_the_model_wrote():
    removed = verify("a [8] b [9] c", LEDGER, Settings(mark=True)).removed
    assert [(one.start, one.end, one.text) for one in removed] == [(2, 5, "[8]"), (8, 11, "[9]")]


def test_a_placeholder_behind_a_good_reference_is_found_though_others_went_before():
    text = "Restart [8] it [9] now [1] (not provided)."
    assert warned(text, Kind.PLACEHOLDER) == [(20, " (not provided)")]


def test_wording_behind_code_is():
    assert warned("`definitely` is definitely so", Kind.CONFIDENT_WORDING) == [(16, "definitely")]


def test_a_stream_marks_if_it_was_told_to():
    stream = VerifiedStream(LEDGER, Settings(mark=True))
    assert stream.feed("a [9] b") == f"a {MARK} "
    assert stream.close() == ("b", verify("a [9] b", LEDGER, Settings(mark=True)))


def test_all_entries_of_a_file_can_be_cited():
    ledger = Ledger.of([result("a.md", 1, "one\ntwo"), result("b.md", 1, "x"), result("a.md", 9, "nine")])  # fmt: skip
    text = "[Source: a.md, lines 1-2] [Source: a.md, line 9] [Source: b.md, line 1]"
    assert [one.number for one in verify(text, ledger).citations] == [1, 3, 2]
