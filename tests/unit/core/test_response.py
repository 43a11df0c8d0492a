"""A response's body read back: the same evidence, or none."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.errors import RequestRefused, UnreadableResponse
from knowledge_rag.core.outcome import DropReason, Reason, RetrievalOutcome, Status
from knowledge_rag.core.response import read_json, read_outcome
from tests.support.evidence import passage

TEXTS = {
    "runbooks/rds.md": "# RDS\r\n\nPromote the replica.\n",
    "runbooks/redis.md": "# Redis\n\nFlush nothing: \u2028 wait.\n",
}

RESULTS = tuple(passage(name, text) for name, text in TEXTS.items())
FOUND = RetrievalOutcome(Status.OK, RESULTS, notice="Two passages.")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3),
    max_leaves=6,
)


def body(**changes):
    """The wire form of FOUND with its first result's members changed; ``None`` takes one away."""
    wire = json.loads(json.dumps(FOUND.to_dict()))
    result = wire["results"][0]
    for path, value in changes.items():
        *way, name = path.split("__")
        place = result
        for step in way:
            place = place[step]
        place[name] = value
        if value is None:
            del place[name]
    return wire


def test_the_nearest_passages_are_proven_again():
    outcome = RetrievalOutcome(Status.NO_MATCH, nearest=RESULTS)
    wire = json.loads(json.dumps(outcome.to_dict(nearest=True)))
    assert read_outcome(wire) == outcome
    wire["nearest"][0]["content"] += "!"
    assert read_outcome(wire).nearest == RESULTS[1:]
    for other in (None, 5, "x", {}, [None, 5]):
        assert read_outcome({**wire, "nearest": other}).nearest == ()


def test_what_the_function_wrote_is_read_back_as_it_was():
    for outcome in (
        FOUND,
        RetrievalOutcome(Status.NO_MATCH),
        RetrievalOutcome(Status.NO_MATCH, notice="Only passages of other services."),
        *(RetrievalOutcome(Status.DEGRADED, reason=reason) for reason in Reason),
    ):
        assert read_outcome(read_json(json.dumps(outcome.to_dict()))) == outcome


def test_a_score_that_the_service_did_not_give_stays_absent():
    outcome = read_outcome(body(relevance_score=None))
    assert outcome.results[0].relevance_score is None
    assert not outcome.dropped


def test_a_line_number_may_have_travelled_as_a_double():
    line = float(RESULTS[0].citation.end_line)
    assert read_outcome(body(citation__end_line=line)).results == RESULTS


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"content": "Promote nothing."}, DropReason.NOT_PROVEN),
        ({"content": None}, DropReason.NOT_TEXT),
        ({"content": ["# RDS"]}, DropReason.NOT_TEXT),
        ({"citation": None}, DropReason.NO_CITATION),
        ({"citation": "[Source: runbooks/rds.md, lines 1-3]"}, DropReason.NO_CITATION),
        ({"citation__source_file": "runbooks/redis.md"}, DropReason.NOT_PROVEN),
        ({"citation__section_header": None}, DropReason.NO_CITATION),
        ({"citation__start_line": 2}, DropReason.NOT_PROVEN),
        ({"citation__start_line": "1"}, DropReason.NO_CITATION),
        ({"citation__start_line": None}, DropReason.NO_CITATION),
        ({"citation__end_line": RESULTS[0].citation.end_line + 1}, DropReason.NOT_PROVEN),
        ({"relevance_score": float("nan")}, DropReason.NOT_PROVEN),
        ({"relevance_score": float("inf")}, DropReason.NOT_PROVEN),
        ({"relevance_score": "0.9"}, DropReason.NOT_PROVEN),
        ({"relevance_score": True}, DropReason.NOT_PROVEN),
        ({"relevance_score": 10**400}, DropReason.NOT_PROVEN),
        ({"metadata": None}, DropReason.NO_CITATION),
        ({"metadata": []}, DropReason.NO_CITATION),
        ({"metadata": {}}, DropReason.NOT_PROVEN),
        ({"metadata__chunk_id": "0" * 32}, DropReason.NOT_PROVEN),
    ],
)
def test_a_result_that_was_altered_on_its_way_is_dropped_and_counted(changes, reason):
    outcome = read_outcome(body(**changes))
    assert outcome.results == RESULTS[1:]
    assert outcome.dropped == {reason: 1}


def test_a_context_prefix_is_not_taken_off_twice():
    outcome = read_outcome(body(metadata__context_length=3))
    assert outcome.results == RESULTS


@pytest.mark.parametrize("item", [None, "text", 5, []])
def test_what_is_no_result_at_all_is_dropped(item):
    wire = body()
    wire["results"].append(item)
    outcome = read_outcome(wire)
    assert outcome.results == RESULTS
    assert outcome.dropped == {DropReason.NOT_TEXT: 1}


def test_the_same_lines_twice_are_one_result():
    wire = body()
    wire["results"] += wire["results"]
    outcome = read_outcome(wire)
    assert outcome.results == RESULTS
    assert outcome.dropped == {DropReason.DUPLICATE: len(RESULTS)}


def test_more_than_was_asked_for_is_cut_and_counted():
    outcome = read_outcome(body(), max_results=1)
    assert outcome.results == RESULTS[:1]
    assert outcome.dropped == {DropReason.OVER_LIMIT: len(RESULTS) - 1}


def test_an_ok_of_which_nothing_can_be_proven_is_no_answer():
    wire = body()
    wire["results"] = [{}, None]
    outcome = read_outcome(wire)
    assert (outcome.status, outcome.reason) == (Status.DEGRADED, Reason.UNVERIFIABLE_RESULTS)
    assert outcome.dropped == {DropReason.NO_CITATION: 1, DropReason.NOT_TEXT: 1}


def test_a_newer_functions_reason_stays_an_outage():
    outcome = read_outcome({"status": "degraded", "results": [], "reason": "moon_phase"})
    assert (outcome.status, outcome.reason) == (Status.DEGRADED, Reason.INTERNAL)


def test_members_of_a_newer_function_are_passed_over():
    assert read_outcome(body() | {"took": 5}) == FOUND


@pytest.mark.parametrize(
    ("wire", "message"),
    [
        (None, "a response is a JSON object, not nothing"),
        ([], "a response is a JSON object, not a list"),
        ("ok", "a response is a JSON object, not text"),
        ({}, "status must be ok, no_match, degraded; it is nothing"),
        ({"status": "fine", "results": []}, "it is 'fine'"),
        ({"status": ["ok"], "results": []}, "it is a list"),
        ({"status": "no_match"}, "results must be a list, not nothing"),
        ({"status": "ok", "results": {}}, "results must be a list, not an object"),
        ({"status": "ok", "results": []}, "status ok with 0 results"),
        ({"status": "no_match", "results": [{}]}, "status no_match with 1 results"),
        ({"status": "degraded", "results": [{}], "reason": "timeout"}, "with 1 results"),
        ({"status": "degraded", "results": []}, "a reason that is not text, but nothing"),
        ({"status": "degraded", "results": [], "reason": 5}, "not text, but a number"),
        ({"status": "no_match", "results": [], "reason": "timeout"}, "no_match with a reason"),
        ({"status": "no_match", "results": [], "notice": "a\nb"}, "one printable line"),
        ({"status": "no_match", "results": [], "notice": "a" * 501}, "one printable line"),
        ({"status": "no_match", "results": [], "notice": 5}, "one printable line"),
    ],
)
def test_what_is_no_response_is_told_in_words(wire, message):
    with pytest.raises(UnreadableResponse, match=message):
        read_outcome(wire)


def test_a_refused_request_says_what_the_function_said():
    with pytest.raises(RequestRefused, match="query is blank"):
        read_outcome({"error": "query is blank"})


@pytest.mark.parametrize("data", [b"", b"\xff{}", b"<html>", b'{"a":', b"[" * 100_000, "{"])
def test_what_is_no_json_is_told_in_words(data):
    with pytest.raises(UnreadableResponse, match="not JSON"):
        read_json(data)


@given(
    st.fixed_dictionaries(
        {"status": st.sampled_from(["ok", "no_match", "degraded"]) | JSON},
        optional={"results": st.lists(JSON) | JSON, "reason": JSON, "notice": JSON, "error": JSON},
    )
    | JSON
)
def test_json_that_holds_no_passage_gives_no_evidence_and_raises_nothing_else(wire):
    results = ()
    with suppress(UnreadableResponse, RequestRefused):
        results = read_outcome(wire).results
    assert results == ()


@given(
    st.sampled_from(["content", "citation", "metadata", "relevance_score"]),
    st.sampled_from(["", *RESULTS[0].to_dict()["citation"], *RESULTS[0].metadata]),
    JSON,
)
def test_whatever_is_altered_only_the_original_lines_are_evidence(member, name, value):
    changes = {
        f"{member}__{name}" if name and member in {"citation", "metadata"} else member: value
    }
    if value is None:
        changes = {}
    for result in read_outcome(body(**changes)).results:
        citation = result.citation
        lines = TEXTS[citation.source_file].split("\n")[citation.start_line - 1 : citation.end_line]
        assert result.content == "\n".join(lines)
