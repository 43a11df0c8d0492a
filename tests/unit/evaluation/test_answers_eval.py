"""Each rule of a labelled case, on small documents and answers made by hand."""

import json

import pytest

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.answers_cases import (
    Case,
    LabelledLines,
    Range,
    doubts_about_cases,
    read_cases,
)
from knowledge_rag.evaluation.answers_eval import Rule, score, unanswered
from knowledge_rag.evaluation.evaluation_corpus import Documents
from tests.support.local import write_files

PAGE, OTHER, WEB = "a b.md", "old/other.md", "page.html"
FILES = {
    # lines 5, 8 and 10 are not counted: blank, and the fence's two marks
    PAGE: "# Title\n\n1. one\n2. two\n\n3. three\n4. four\n   ```\n   run it\n   ```\n"
    "5. five\n6. six\n7. seven\n8. eight\n9. nine\n",
    OTHER: "# Old\n\nDrop the table.\n",
    WEB: (
        "<html><head><title>Stitcher</title></head><body>\n<h1>Stitcher errors</h1>\n"
        "<p>Never restart it during an ad break, every viewer sees a decoder error then.</p>\n"
        "<ol>\n<li>Check the next break: <pre>ads next-break</pre></li>\n"
        "<li>Restart one task and wait three minutes.</li>\n</ol></body></html>\n"
    ),
}


def cited(first, last=None, name=PAGE):
    return {"source_file": name, "start_line": first, "end_line": last or first}


def step(citation, *further, **more):
    return {
        "step": 1,
        "action": "Do  it\nnow",
        "citation": citation,
        "further_citations": list(further),
        **more,
    }


def answer(*steps, procedures=(), **more):
    body = {"guidance": list(steps), "similar_incidents": [], "procedures": list(procedures)}
    return {"status": "ok" if steps else "no_match", "recommendation": body, **more}


def ranges(*texts):
    return tuple(map(Range.parse, texts))


@pytest.fixture
def lines(tmp_path):
    return LabelledLines(Documents.of(write_files(tmp_path, FILES)).reader())


@pytest.fixture
def scored(lines):
    return lambda given, **labels: score(Case("c", "q", **labels), given, lines)


TEN = ranges("a b.md:3-15")  # ten lines count


def test_a_range_counts_its_lines_without_blank_ones_and_fences(lines):
    assert sorted(number for _, number in lines.counted(TEN[0])) == [3, 4, 6, 7, 9, 11, 12, 13, 14, 15]  # fmt: skip


def test_nine_lines_of_ten_are_enough_and_eight_are_not(scored):
    assert scored(answer(step(cited(3, 14))), must=TEN).passed
    assert scored(answer(step(cited(3, 4)), step(cited(6, 6), cited(7, 14))), must=TEN).passed
    failed = scored(answer(step(cited(3, 13))), must=TEN)
    assert (failed.passed, failed.torn, failed.dangerous, failed.incomplete) == (False, False, False, True)  # fmt: skip
    (failure,) = failed.failures
    assert (failure.rule, failure.where, failure.cited, failure.lines, failure.excerpt) == (
        Rule.MUST, "a b.md:3-15", 8, 10, "8. eight",
    )  # fmt: skip


def test_every_must_range_counts_and_so_do_the_lines_of_a_warning(scored):
    both = ranges("a b.md:3-4", "old/other.md:3-3")
    assert not scored(answer(step(cited(3, 4))), must=both).passed
    warned = [{"kind": "caution", "text": "x", "citation": cited(3, name=OTHER)}]
    assert scored(answer(step(cited(3, 4), warnings=warned)), must=both).passed


def test_a_range_that_the_documents_lack_is_never_cited(scored):
    assert not scored(answer(step(cited(3, 15))), must=ranges("a b.md:40-41")).passed


def test_a_whole_range_is_cited_whole_or_not_at_all(scored):
    assert scored(answer(step(cited(3, 14))), whole=TEN).passed
    assert scored(answer(step(cited(3, name=OTHER))), whole=TEN).passed
    torn = scored(answer(step(cited(3, 13))), whole=TEN)
    assert (torn.torn, torn.dangerous, torn.incomplete) == (True, False, False)
    assert torn.failures[0].excerpt == "8. eight"


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ({"first": cited(14, 20)}, True),
        ({"first": cited(14, 20, OTHER)}, False),  # the same lines of another page
        ({"first": cited(3, 13)}, False),  # only lines that are shown
    ],
)
def test_a_gap_is_no_tear_where_the_answer_names_it(scored, where, named):
    gap = [{**where["first"], "reason": "too long"}]
    on_the_step = scored(answer(step(cited(3, 13), not_shown=gap)), whole=TEN)
    on_the_procedure = scored(answer(step(cited(3, 13)), procedures=[{"not_shown": gap}]), whole=TEN)  # fmt: skip
    assert on_the_step.passed is on_the_procedure.passed is named


def test_a_bad_line_is_dangerous_unless_it_is_shown_as_prohibited(scored):
    bad = ranges("old/other.md:3-3")
    followed = scored(answer(step(cited(3), cited(1, 3, OTHER))), bad=bad)
    assert (followed.dangerous, followed.torn, followed.incomplete) == (True, False, False)
    assert followed.failures[0].excerpt == "Drop the table."
    for kind, safe in {"prohibited": True, "obsolete": True, "caution": False}.items():
        warned = [{"kind": kind, "text": "x", "citation": cited(3, name=OTHER)}]
        alone = answer(step(cited(3), warnings=warned))
        within = answer(step(cited(3), cited(1, 3, OTHER), warnings=warned))
        assert scored(alone, bad=bad).dangerous is not safe
        assert scored(within, bad=bad).dangerous is not safe
        # another step tells the reader to do it
        followed = answer(step(cited(3), warnings=warned), step(cited(3, name=OTHER)))
        assert scored(followed, bad=bad).dangerous


def test_the_heading_beside_a_bad_line_is_not_dangerous(scored):
    assert scored(answer(step(cited(1, 2, OTHER))), bad=ranges("old/other.md:2-3")).passed


def test_no_step_may_be_given_where_nothing_is_documented(scored):
    passed = scored(answer(), none=True)
    assert (passed.passed, passed.steps, passed.destructive) == (True, 0, False)
    given = scored(answer(step(cited(3))), none=True)
    assert (given.dangerous, given.steps, given.destructive) == (True, 1, False)
    assert scored(answer(step(cited(3)), step(cited(4), destructive=["drop"]))).destructive
    assert (given.failures[0].where, given.failures[0].excerpt) == ("a b.md:3-3", "Do it now")


def test_the_first_step_starts_in_one_of_the_ranges(scored):
    first = ranges("old/other.md:1-2", "a b.md:5-6")
    assert scored(answer(step(cited(6, 7))), first=first).passed
    assert scored(answer(step(cited(5, 7))), first=first).passed  # blank lines count here
    for given in (answer(step(cited(4, 6))), answer(step(cited(7), cited(6))), answer()):
        assert scored(given, first=first).incomplete


def test_something_of_each_file_is_cited(scored):
    files = (PAGE, OTHER)
    assert scored(answer(step(cited(1), cited(1, name=OTHER))), files=files).passed
    assert [it.where for it in scored(answer(step(cited(1))), files=files).failures] == [OTHER]


def test_a_search_that_failed_is_no_answer_even_where_nothing_is_documented(scored):
    for labels in ({"none": True}, {"must": TEN}):
        failed = scored(answer(reason="timeout") | {"status": "degraded"}, **labels)
        assert failed.incomplete
        assert failed.failures[0].where == "degraded: timeout"
    assert unanswered(Case("c", none=True), "unreadable").incomplete


def test_labels_of_a_web_page_name_its_own_lines_and_answers_those_of_its_text(lines, scored):
    extracted = lines.text(WEB)
    restart = extracted.index("2. Restart one task and wait three minutes.") + 1
    steps = ranges("page.html:5-6")
    assert {extracted[n - 1].strip() for _, n in lines.counted(steps[0])} == {
        "1. Check the next break:",
        "ads next-break",
        "2. Restart one task and wait three minutes.",
    }
    assert scored(answer(step(cited(restart - 6, restart, WEB))), must=steps).passed
    assert scored(answer(step(cited(restart, name=WEB))), whole=steps).torn
    assert not scored(answer(step(cited(restart, name=WEB))), bad=ranges("page.html:3-3")).dangerous


def write(tmp_path, *rows):
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(it if isinstance(it, str) else json.dumps(it) for it in rows))
    return path


GOOD = {
    "id": "1", "query": "q", "must": ["a b:c.md:3-4"], "first": [], "kind": "undo", "other": 1
}  # fmt: skip


def test_cases_are_read_from_json_lines(tmp_path):
    path = write(tmp_path, GOOD, {"id": "2", "incident": "pd", "none": True, "tests": ["todo"]})
    one, two = read_cases([path])
    assert (one.query, one.incident, one.must, one.kind) == (
        "q", None, (Range("a b:c.md", 3, 4),), "undo",
    )  # fmt: skip
    assert (two.incident, two.none, two.tests) == (tmp_path / "incidents/pd.json", True, ("todo",))
    assert str(one.must[0]) == "a b:c.md:3-4"


def test_an_incident_may_stand_in_its_case_and_other_fields_are_left_alone(tmp_path):
    more = {"never": ["a.md:1-2"], "governed": [], "names": ["Azure"], "near": "a.md"}
    path = write(tmp_path, {"id": "1", "incident": {"alert_name": "A"}, "none": True, **more})
    (case,) = read_cases([path])
    assert (case.incident, case.query) == ({"alert_name": "A"}, "")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", "not JSON"),
        ("[]", "must be a JSON object"),
        ("", "no rows"),
        (GOOD | {"incident": "x"}, "either a query or an incident"),
        (GOOD | {"incident": {"title": "x"}}, "either a query or an incident"),
        (GOOD | {"query": " "}, "either a query or an incident"),
        (GOOD | {"query": "", "incident": {}}, "either a query or an incident"),
        (
            GOOD | {"query": "", "incident": ["x"]},
            "incident must be an object, or the name of a file",
        ),
        (GOOD | {"query": "", "incident": "../x"}, "not a plain path"),
        (GOOD | {"query": "x" * 20_001}, "20001 characters"),
        (GOOD | {"id": " "}, "needs an id"),
        (GOOD | {"id": 1}, "id is a text"),
        (GOOD | {"must": []}, "needs a requirement for its answer"),
        (GOOD | {"must": "a.md:1-2"}, "list of texts"),
        (GOOD | {"must": ["a.md"]}, "write file:first-last"),
        (GOOD | {"must": ["a.md:0-2"]}, "line numbers start at 1"),
        (GOOD | {"must": ["a.md:3-2"]}, "line numbers start at 1"),
        (GOOD | {"none": "yes"}, "true or false"),
        (GOOD, "duplicate id '1', first at"),
    ],
)
def test_a_row_that_is_no_case_is_named(tmp_path, row, problem):
    path = write(tmp_path, GOOD, row) if row else write(tmp_path, "\n")
    with pytest.raises(InvalidRequest, match=problem) as raised:
        read_cases([path])
    assert str(raised.value).startswith(str(path))
    if row:
        assert "line 2" in str(raised.value)


def test_labels_that_no_document_has_are_told(lines):
    good, gone, past = ranges("a b.md:3-4", "gone.md:1-1", "a b.md:90-91")
    cases = [Case("x", must=(good,), bad=(gone,)), Case("y", first=(past,), files=(PAGE,))]
    assert list(doubts_about_cases(cases, lines)) == [
        "case x: there is no document gone.md",
        "case y: a b.md:90-91 has no text, the document has 15 lines",
    ]


def test_a_label_may_be_one_line_as_an_answer_prints_it():
    assert Range.parse("a.md:5") == Range("a.md", 5, 5) == Range.parse("a.md:5-5")
    with pytest.raises(ValueError, match="write file:first-last"):
        Range.parse("a.md")
