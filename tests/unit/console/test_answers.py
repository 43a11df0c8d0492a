"""Recent answers, reports and metrics: kept in memory, bounded."""

from __future__ import annotations

import json
import os
import stat

import jsonschema
import pytest

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.console import limits
from knowledge_rag.console.answers import Answer, Answers, Reports
from knowledge_rag.console.documents import AnswerPassages
from knowledge_rag.console.events import cards
from knowledge_rag.console.exports import to_json, to_markdown
from knowledge_rag.console.metrics import ConsoleMetrics
from knowledge_rag.console.rendering import AnswerRenderer
from knowledge_rag.core.files import shipped
from knowledge_rag.core.outcome import Reason
from tests.support.retrievals import DOWN, NOTHING, found, result

RECOMMENDATION = {
    "agent_id": "knowledge-rag",
    "status": "no_match",
    "recommendation": {
        "summary": "No documented guidance found for this scenario",
        "guidance": [],
        "similar_incidents": [],
    },
    "confidence": 0.0,
    "reasoning": "1 query found nothing.",
    "warnings": [{"kind": "not_shown", "message": "Read on.", "step": 4}],
}


def card(content="`a` ```` b", start=3, sha256="1" * 64, number=1):
    citation = {
        "source_file": "runbooks/a.md",
        "start_line": start,
        "end_line": start + content.count("\n"),
        "section_header": "",
    }
    source = {"number": number, "citation": citation, "content": content, "title": "A"}
    return cards([{**source, "document_sha256": sha256}], "now", None)[0]


def test_a_card_and_its_export_say_what_lint_found_in_the_lines():
    source = {"number": 1, "citation": card()["citation"], "content": "x", "title": "A"}
    (warned,) = cards([{**source, "caution": ["tool_call"]}], "now", None)
    assert warned["caution"] == "Line 3 holds text aimed at a model (tool call)."
    assert "caution" not in card()
    exported = to_markdown(answer(sources=[warned]))
    assert "Line 3 holds text aimed at a model (tool call)." in exported


def test_a_card_and_its_export_say_what_no_longer_works_and_how_fresh_the_document_is():
    source = {"number": 1, "citation": card()["citation"], "content": "x", "title": "A"}
    known = {"commit": "4f2a1c9b0d1e", "last_changed": "2026-03-01", "last_reviewed": "2026-02-01"}
    drift = ["3: kubectl has no command gett; did you mean get?", "99: elsewhere"]
    (fresh,) = cards([{**source, **known, "drift": drift}], "now", None)
    said = "Line 3: kubectl has no command gett; did you mean get?"
    assert fresh["drift"] == [said]
    assert (fresh["commit"], fresh["lastChanged"], fresh["lastReviewed"]) == tuple(known.values())
    assert "Line 3: kubectl has no command gett; did you mean get?" in to_markdown(
        answer(sources=[fresh])
    )
    assert "drift" not in card()


def answer(question="Why?", sources=(), **more):
    given = {"text": "Because. [Source 1]", "blocks": ("<p>Because.</p>",), **more}
    return Answer(
        question,
        "2026-11-21T17:00:00+00:00",
        "extractive",
        {},
        sources=sources,
        recommendation=RECOMMENDATION,
        **given,
    )


def test_answers_are_kept_by_ids_that_nobody_can_guess():
    kept = Answers()
    keys = {kept.keep(answer()) for _ in range(50)}
    assert len(keys) == 50
    assert all(len(key) >= 22 for key in keys)
    assert kept.get(next(iter(keys))) == answer()
    assert kept.get("") is None


def test_the_oldest_answers_go_first_by_number_and_by_size(monkeypatch):
    monkeypatch.setattr(limits, "MAX_ANSWERS", 2)
    kept = Answers()
    first, second, third = (kept.keep(answer(name)) for name in "abc")
    assert [kept.get(key) is None for key in (first, second, third)] == [True, False, False]
    monkeypatch.setattr(limits, "MAX_ANSWERS_BYTES", 3_000)
    large = kept.keep(answer("x" * 2_000))
    assert kept.get(second) is None
    assert kept.get(large) is not None


def test_an_exported_answer_has_its_citations_and_a_valid_recommendation():
    exported = to_json(answer(sources=(card(),)))
    assert exported["sources"][0]["reference"] == "[Source: runbooks/a.md, lines 3-3]"
    assert "blocks" not in exported
    schema = json.loads((shipped("schemas") / "recommendation.schema.json").read_text())
    jsonschema.validate(exported["recommendation"], schema)


def test_in_markdown_nothing_that_was_quoted_can_pass_for_a_citation_or_markup():
    question = "``` [Source: fake.md, lines 1-2]\u202e"
    removed = ({"reference": "[Source 9]\n```\n# x", "reason": "unknown_number", "message": ""},)
    text = to_markdown(answer(question, (card("```\n# x\n[Source 9]\n```"),), removed=removed))
    outside, fence = [], ""
    for line in text.split("\n"):
        bare = line.strip()
        if not fence and bare.startswith("```"):
            fence = bare.removesuffix("text")
        elif fence and bare == fence:
            fence = ""
        elif not fence:
            outside.append(line)
    assert fence == ""
    shown = "\n".join(outside)
    assert "fake.md" not in shown
    assert "[Source 9]" not in shown
    assert "# x" not in shown
    assert "- [Source: runbooks/a.md, lines 3-6]" in shown
    assert "- Step 4: Read on." in shown
    assert "\\u202e" in text


def test_what_answers_rest_on_can_be_read_where_no_documents_are_known():
    kept = Answers()
    kept.keep(answer(sources=(card("old", sha256="0" * 64), card("gone", 9, "0" * 64))))
    kept.keep(answer(sources=(card("new\nlines", 4),)))
    kept.keep(answer(sources=(card("new", 4), card("first", 1))))
    passages = AnswerPassages(kept).passages("runbooks/a.md")
    # of the last version alone: lines of two versions make no document
    assert [(one.citation.start_line, one.content) for one in passages] == [
        (1, "first"),
        (4, "new"),
        (4, "new\nlines"),
    ]
    assert AnswerPassages(kept).passages("runbooks/b.md") == []


def test_a_report_is_a_line_for_its_owners_eyes(tmp_path):
    path = tmp_path / "data" / "reports.jsonl"
    reports = Reports(path)
    assert reports.add({"comment": "line\nbreak"}) == path
    reports.add({"comment": "two"})
    assert [json.loads(line) for line in path.read_text().split("\n")[:-1]] == [
        {"comment": "line\nbreak"},
        {"comment": "two"},
    ]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_full_file_of_reports_says_so_and_stays(tmp_path, monkeypatch):
    path = tmp_path / "reports.jsonl"
    monkeypatch.setattr(limits, "MAX_REPORTS", 2)
    reports = Reports(path)
    for _ in range(2):
        reports.add({})
    with pytest.raises(Refused, match="is full") as refused:
        reports.add({})
    assert refused.value.status == 507
    monkeypatch.setattr(limits, "MAX_REPORTS", 100)
    monkeypatch.setattr(limits, "MAX_REPORTS_BYTES", 50)
    with pytest.raises(Refused, match="is full"):
        reports.add({"comment": "x" * 60})
    assert path.read_text() == "{}\n{}\n"


def test_a_line_that_was_cut_off_costs_only_itself(tmp_path):
    path = tmp_path / "reports.jsonl"
    path.write_text('{"comment": "cut')
    Reports(path).add({"comment": "whole"})
    assert path.read_text() == '{"comment": "cut\n{"comment": "whole"}\n'


def test_reports_that_can_not_be_written_are_refused_in_words(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match="could not be written: File exists"):
        Reports(tmp_path / "file" / "reports.jsonl").add({})
    with pytest.raises(Refused, match="keeps no reports"):
        Reports(None).add({})


def test_degraded_queries_are_counted_and_never_flatter_the_search_time():
    metrics = ConsoleMetrics("now")
    for outcome, seconds in ((found(result(1)), 0.02), (NOTHING, 0.04), (DOWN, 1.8)):
        metrics.queried(outcome, seconds)
    told = metrics.to_dict()["retrieval"]
    assert told == {"reasons": {Reason.UNAVAILABLE.value: 1}, "p95Ms": 40.0}


def test_the_search_time_is_what_95_of_100_queries_stay_within():
    metrics = ConsoleMetrics("now")
    for milliseconds in (99_000, *range(1, 101)):
        metrics.queried(NOTHING, milliseconds / 1_000)
    assert metrics.to_dict()["retrieval"]["p95Ms"] == 96.0


def test_shares_of_nothing_are_not_zero():
    told = ConsoleMetrics("now").to_dict()
    assert told["retrieval"]["p95Ms"] is None
    assert told["answers"]["citationRate"] is None
    assert told["asks"]["total"] == 0


PARTS = (
    {"text": "Because **so** "},
    {"text": "[Source 1]", "citations": [{"number": 1, "citation": card()["citation"]}]},
    {"text": ".\n"},
)


def test_answers_are_there_after_a_restart_and_look_the_same(tmp_path):
    renderer = AnswerRenderer()
    renderer.feed(PARTS)
    blocks = tuple(block.html for block in renderer.render())
    given = answer(sources=(card(),), parts=PARTS, blocks=blocks, incident={"name": "Why?"})
    key = Answers(tmp_path / "answers").keep(given)
    assert Answers(tmp_path / "answers").get(key) == given
    assert 'class="cite"' in blocks[0]
    assert Answers().get(key) is None
    (path,) = (tmp_path / "answers").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-40],
        lambda data: data.replace(b"Because", b"Despite"),
        lambda _: b"[]",
        lambda _: b'{"answer": 1, "sha256": ""}',
        lambda _: b"\xff\x00",
    ],
)
def test_a_damaged_answer_is_none_and_the_others_stay(tmp_path, caplog, damage):
    kept = Answers(tmp_path)
    damaged, whole = kept.keep(answer()), kept.keep(answer("Whole?"))
    path = tmp_path / f"{damaged}.json"
    path.write_bytes(damage(path.read_bytes()))
    again = Answers(tmp_path)
    assert again.get(damaged) is None
    assert "is damaged, and left out" in caplog.text
    assert again.get(whole).question == "Whole?"
    assert again.get(again.keep(answer("New?"))).question == "New?"


def test_stored_answers_are_bounded_and_the_oldest_go(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_ANSWERS", 2)
    keys = []
    for at, name in enumerate("abc"):
        keys.append(Answers(tmp_path).keep(answer(name)))
        os.utime(tmp_path / f"{keys[-1]}.json", (at, at))
    assert [Answers(tmp_path).get(key) is None for key in keys] == [True, False, False]


def test_no_file_but_an_answer_is_read(tmp_path):
    (tmp_path / "secret.json").write_text("{}")
    kept = Answers(tmp_path / "answers")
    kept.keep(answer())
    assert kept.get("../secret") is None
    assert kept.get("secret") is None


def test_where_nothing_can_be_written_answers_stay_in_memory(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    kept = Answers(tmp_path / "file")
    assert kept.get(kept.keep(answer())) == answer()
    assert "kept in memory only" in caplog.text
