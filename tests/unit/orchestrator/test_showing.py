"""A recommendation as Markdown: what a reader sees once it is rendered."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from knowledge_rag.core.headings import Kind
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.governing import Governs
from knowledge_rag.orchestrator.procedures import NotShown, Part, Why
from knowledge_rag.orchestrator.recommendation import (
    Evidence,
    Guard,
    Recommendation,
    Section,
    SimilarIncident,
    Step,
    Strength,
)
from knowledge_rag.orchestrator.showing import headings_of, pieces_of
from knowledge_rag.orchestrator.steps import Citer
from tests.unit.orchestrator.evidence import findings_of, results_of

FILE = "runbooks/queue.md"
LINES = 40
FINDINGS = findings_of(
    results_of(FILE, "# Queue\n" + "".join(f"line {n}\n" for n in range(2, LINES + 1))),
    results_of("notes/queue.txt", "".join(f"line {n}\n" for n in range(1, LINES + 1))),
)


def cited(start, end=None, source_file=FILE):
    return tuple(Citer(FINDINGS).cite(source_file, start, end or start))


def step(number="", text="Look.", line=5, **more):
    source_file = more.pop("source_file", FILE)
    parts = more.pop("parts", (Part(text),))
    action = next(it.text for it in parts)
    known = {"procedure": 1, "path": ("Queue",), **more}
    citations = cited(line, source_file=source_file)
    return Step(action, citations, number=number, parts=parts, **known)


def guard(text, kind=Governs.CAUTION, line=3, **more):
    return Guard(text, kind, more.get("after", False), cited(line))


def recommendation(*steps, sections=None, **more):
    own = sections or [Section(FILE, ("Queue",), Kind.RESOLUTION, 2, LINES)]
    evidence = Evidence(Strength.STRONG)
    return Recommendation(
        Status.OK, "s", "r", steps, confidence=0.9, procedures=tuple(own), evidence=evidence, **more
    )


def markdown(*steps, **more):
    given = steps[0] if isinstance(steps[0], Recommendation) else recommendation(*steps, **more)
    return "".join(piece.text for piece in pieces_of(given, FINDINGS.ledger))


def html(*steps, **more):
    text = re.sub(r"\[Source: [^\]]*, lines (\d+)-(\d+)\]", r"{\1-\2}", markdown(*steps, **more))
    return MarkdownIt("commonmark").enable("table").render(text)


def numbers(*wanted):
    """Return the numbers that a browser shows for steps that their author numbered so."""
    seen = []
    for token in MarkdownIt("commonmark").parse(markdown(*map(step, wanted))):
        if token.type == "ordered_list_open":
            last = int(token.attrs.get("start", 1)) - 1
        elif token.type == "list_item_open" and token.info:
            last += 1
            seen.append(last)
    return seen


@pytest.mark.parametrize(
    "wanted",
    [(1, 2, 3), (3, 4), (1, 3, 4), (1, 2, 1, 2), (2, 1), (1, 1), (4, 9, 2, 3, 3)],
)
def test_the_authors_numbers_are_shown_where_some_are_missing_or_begin_anew(wanted):
    assert numbers(*(f"{it}." for it in wanted)) == list(wanted)
    assert numbers(*(f"{it})" for it in wanted)) == list(wanted)


def test_a_number_of_another_kind_is_shown_in_words():
    assert "<li>b) Look. {5-5}</li>" in html(step("b)"))


def test_each_procedure_and_each_section_in_it_is_headed_once():
    sections = [
        Section(FILE, (), Kind.OTHER, 1, 20),
        Section(FILE, ("Queue", "Check"), Kind.VERIFICATION, 21, 30, alert="QueueStuck"),
    ]
    given = recommendation(
        step(path=("Queue",)),
        step(path=("Queue", "Fix", "Scale")),
        step(path=("Queue", "Fix", "Scale")),
        step(path=("Queue",)),
        step(procedure=2, path=("Queue", "Check")),
        sections=sections,
    )
    assert headings_of(given) == [
        (f"{FILE}: Queue", ""),
        ("", "Fix > Scale"),
        ("", ""),
        ("", "Queue"),
        (f"QueueStuck: {FILE}: Queue > Check", ""),
    ]
    assert re.findall(r"<h(\d)>(.*)</h", html(given)) == [
        ("2", "Guidance"),
        ("3", f"{FILE}: Queue"),
        ("4", "Fix &gt; Scale"),
        ("4", "Queue"),
        ("3", f"QueueStuck: {FILE}: Queue &gt; Check"),
    ]


def test_markup_in_a_heading_or_a_file_name_is_shown_as_it_is():
    section = Section("a*b*.md", ("<b> `c` [d](e)",), Kind.OTHER, 1, 9)
    assert "<h3>a*b*.md: &lt;b&gt; `c` [d](e)</h3>" in html(
        step(path=("<b> `c` [d](e)",)), sections=[section]
    )


def test_what_governs_a_step_is_a_marked_quote_before_or_behind_it_and_cited():
    shown = html(
        step(
            guards=(
                guard("Customers notice.", line=3),
                guard("Only in Dublin:", Governs.CONDITION, line=4),
                guard("Don't purge.", Governs.PROHIBITED, line=6, after=True),
            )
        )
    )
    quotes = re.findall(r"<blockquote>\n<p>(.*?)</p>\n</blockquote>|<li>(Look)", shown)
    assert quotes == [
        ("<strong>Caution:</strong> Customers notice. {3-3}", ""),
        ("<strong>Condition:</strong> Only in Dublin: {4-4}", ""),
        ("", "Look"),
        ("<strong>Do not:</strong> Don't purge. {6-6}", ""),
    ]


def test_what_governs_several_steps_is_shown_once():
    both = (guard("Customers notice."),)
    assert html(step("1.", guards=both), step("2.", guards=both)).count("notice") == 1


def test_a_caution_that_its_author_labelled_gets_no_second_label():
    assert "Caution" not in html(step(guards=(guard("**Warning**: it hurts."),)))


def test_a_heading_above_a_step_is_no_quote_too():
    guards = (guard("## Queue", Governs.CONDITION),)
    assert "blockquote" not in html(step(guards=guards))
    prohibited = (guard("## Queue", Governs.PROHIBITED),)
    assert "Do not:" in html(step(guards=prohibited))


def test_what_must_not_be_done_stays_code_where_it_is_code():
    shown = html(step(guards=(guard("```\npurge --all\n```", Governs.PROHIBITED),)))
    assert "<p><strong>Do not:</strong></p>\n<pre><code>purge --all\n</code></pre>" in shown


def test_the_head_of_a_table_is_not_quoted_and_a_row_without_its_bars():
    guards = (
        guard("| Lag | Do |\n|---|---|", Governs.NOTE),
        guard("| none | don't fail over |", Governs.PROHIBITED, line=4),
    )
    shown = html(step(guards=guards))
    assert "Lag" not in shown
    assert "<strong>Do not:</strong> none | don't fail over {4-4}" in shown


CODE = Part("drop it", is_code=True, language="sql")


@pytest.mark.parametrize("parts", [(CODE,), (Part("Text:"), CODE), (CODE, Part("after"))])
def test_code_is_code_whatever_stands_before_it(parts):
    shown = html(step("1.", parts=parts, destructive=("drop",)))
    assert '<pre><code class="language-sql">drop it\n</code></pre>' in shown
    assert "<strong>Destructive: drop.</strong>" in shown
    assert "{5-5}</p>" in shown


def test_code_that_holds_a_fence_is_not_cut():
    shown = html(step(parts=(Part("a\n```\nb", is_code=True),)))
    assert "<pre><code>a\n```\nb\n</code></pre>" in shown


def test_a_reference_is_no_cell_of_a_table():
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    shown = html(step(parts=(Part("Text:"), Part(table))))
    assert "<td>2</td>" in shown
    assert "<p>{5-5}</p>" in shown


def test_each_character_of_a_plain_text_is_shown_as_it_is():
    text = "a) look at /x/* and /y/*\n   rm -rf <that> # now\n1. not a list\n\ncp _a_ _b_"
    shown = html(step(text=text, source_file="notes/queue.txt", line=2))
    said = re.sub(r"<br />|</?p>", "", shown)
    for line in ("/x/* and /y/*", "rm -rf &lt;that&gt; # now", "1. not a list", "cp _a_ _b_ {2-2}"):
        assert line in said


def test_what_a_plain_text_sets_apart_is_code():
    text = "a) recycle it:\n\n     ctl --now *\n       --all\n\n   then wait\nfor it"
    shown = html(step(text=text, source_file="notes/queue.txt", line=2))
    assert "<pre><code>ctl --now *\n  --all\n</code></pre>" in shown
    assert "then wait<br />\nfor it" in shown


def test_lines_that_are_not_shown_are_named_where_they_stand():
    left = (
        NotShown(FILE, 20, 22, Why.LIMIT),
        NotShown(FILE, 6, 8, Why.PROHIBITED, "Don't _purge_"),
        NotShown("b.md", 0, 0, Why.ELSEWHERE),
    )
    section = Section(FILE, ("Queue",), Kind.OTHER, 2, 22, left, complete=False)
    shown = html(step("1.", line=5), step("2.", line=10), sections=[section])
    assert re.findall(r"<em>(.*)</em>|<li>(Look)", shown) == [
        ("", "Look"),
        (f"not shown: {FILE}:6-8 (Don't _purge_), what must not be done", ""),
        ("", "Look"),
        (f"not shown: {FILE}:20-22, too long to show", ""),
        ("not shown: b.md, in a section that was not retrieved", ""),
    ]


def test_alerts_without_anything_documented_are_named():
    alerts = (("A", Status.OK), ("B_*", Status.NO_MATCH), ("C", Status.DEGRADED))
    shown = html(recommendation(step(), alerts=alerts))
    assert re.findall(r"<em>(.*)</em>", shown) == [
        "B_*: nothing is documented for it",
        "C: it could not be looked up",
    ]


def test_a_similar_incident_may_begin_with_code():
    similar = SimilarIncident("```\nfix it\n```\nThen it was well.", cited(9), "INC-1")
    shown = html(recommendation(step(), similar_incidents=(similar,)))
    assert (
        "<p>INC-1:</p>\n<pre><code>fix it\n</code></pre>\n<p>Then it was well. {9-9}</p>" in shown
    )


def test_each_reference_is_a_piece_with_its_lines():
    pieces = pieces_of(recommendation(step(line=7, guards=(guard("Mind."),))), FINDINGS.ledger)
    lines = [(one.citation.start_line, it.text) for it in pieces for one in it.cited]
    assert lines == [
        (3, f"[Source: {FILE}, lines 3-3]"),
        (7, f"[Source: {FILE}, lines 7-7]"),
    ]


def test_a_heading_of_another_section_is_no_heading_in_a_quote():
    shown = html(step(guards=(guard("## Rollback ##", Governs.NOTE),)))
    assert "<blockquote>\n<p><strong>Rollback</strong> {3-3}</p>" in shown
