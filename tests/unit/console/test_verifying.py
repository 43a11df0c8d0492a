"""A pasted answer beside its evidence: every character of it once, each claim with its lines."""

from __future__ import annotations

import json

import pytest

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.console.limits import MAX_EVIDENCE_BYTES
from knowledge_rag.console.verifying import pasted_evidence, verification
from tests.unit.console.kept import Folder
from tests.unit.console.test_http import QUESTION, Console
from tests.unit.console.test_markup import HOSTILE

LINES = "Run `widgetctl unjam --press 3`, then restart.\nWait 10 minutes."
EVIDENCE = {
    "status": "ok",
    "results": [
        {
            "content": LINES,
            "citation": {
                "source_file": "a.md",
                "start_line": 5,
                "end_line": 6,
                "section_header": "",
            },
            "metadata": {},
        }
    ],
}
ANSWER = """\
1. Run `widgetctl unjam --press 3`, then restart. [Source: a.md, lines 5-5]
2. Wait 20 minutes. [Source: a.md, lines 6-6]
3. Call the vendor. [Source: b.md, lines 1-2]

The team has always done it.
"""


def checked(answer=ANSWER, evidence=EVIDENCE, corpus=None):
    return verification(
        answer, pasted_evidence(json.dumps(evidence)), corpus, {"a.md"}.__contains__
    )


def marks(done, mark):
    return [one["text"] for one in done["pieces"] if one.get("mark") == mark]


def test_each_claim_is_marked_where_it_stands():
    done = checked()
    assert "".join(one["text"] for one in done["pieces"]) == ANSWER
    first, second = done["claims"]
    assert (first["state"], second["state"]) == ("ok", "error")
    assert marks(done, "error") == ["20 minutes"]
    assert marks(done, "removed") == ["[Source: b.md, lines 1-2]"]
    assert marks(done, "reference") == ["[Source: a.md, lines 5-5]", "[Source: a.md, lines 6-6]"]
    claimed = "".join(one["text"] for one in done["pieces"] if one.get("claim") == 1)
    assert claimed.startswith("2. Wait 20 minutes.")
    assert not done["verified"]


def test_a_claim_names_the_lines_that_hold_its_details_and_the_detail_that_none_holds():
    first, second = checked()["claims"]
    assert {"kind": "flag", "text": "--press", "where": "a.md, line 5"} in first["atoms"]
    assert first["passages"] == [{"passage": 0, "lines": [5]}]
    assert [one["where"] for one in second["atoms"]] == [None]
    assert second["findings"][0]["message"] == "number 20 minutes is not in a.md, line 6"


def test_the_cited_lines_are_the_evidences_own_with_their_page_if_there_is_one():
    one, other = checked()["passages"]
    assert (one["content"], one["start"], one["url"]) == (
        LINES.split("\n", maxsplit=1)[0],
        5,
        "/doc/a.md#L5-L5",
    )
    assert other["content"] == "Wait 10 minutes."
    assert (
        "url"
        not in verification(ANSWER, pasted_evidence(json.dumps(EVIDENCE)), None, lambda _: False)[
            "passages"
        ][0]
    )


def test_a_document_that_is_gone_or_has_changed_since_is_said_beside_its_lines():
    gone = checked(corpus=Folder())["passages"]
    assert ["gone" in one["stale"] for one in gone] == [True, True]
    changed = checked(corpus=Folder(a="\n\n\n\n" + LINES.replace("10", "15")))["passages"]
    assert "stale" not in changed[0]
    assert "changed" in changed[1]["stale"]


def test_a_reference_that_retrieval_did_not_return_is_a_finding_beyond_the_claims():
    (found,) = checked()["findings"]
    assert found["kind"] == "unresolved-reference"
    assert "b.md" in found["message"]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_answer_comes_back_letter_by_letter(text):
    answer = f"x {text} [Source: a.md, lines 5-5]"
    assert "".join(one["text"] for one in checked(answer)["pieces"]) == answer


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ("{", "evidence: "),
        ("[]", "there is no evidence in it"),
        ('"x"', "there is no evidence in it"),
    ],
)
def test_evidence_that_is_none_is_refused_with_what_is_wrong(evidence, message):
    with pytest.raises(Refused, match=message) as refused:
        pasted_evidence(evidence)
    assert refused.value.status == 400


def test_without_an_answer_the_one_in_the_evidence_is_verified_and_none_is_refused():
    response = {"output": {"text": "Wait 10 minutes."}, "citations": []}
    done = verification("", pasted_evidence(json.dumps(response)), None, lambda _: False)
    assert done["pieces"][0]["text"] == "Wait 10 minutes."
    with pytest.raises(Refused, match="there is no answer"):
        checked("")


def test_an_answer_of_this_console_is_verified_against_what_it_was_written_from():
    console = Console()
    done = json.loads(console.asked().text.rpartition("data: ")[2])
    verified = console("POST", "/api/verify", json={"answerId": done["answerId"]}).json()
    assert verified["verified"]
    assert verified["claims"]
    assert {claim["state"] for claim in verified["claims"]} == {"ok"}
    assert console("POST", "/api/verify", json={"answerId": "gone"}).status_code == 404
    assert QUESTION["question"] not in json.dumps(verified)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"answer": "x" * 5_000_000, "evidence": "{}"}, 413),
        ({"answer": "x" * 200_000, "evidence": "{}"}, 400),
        ({"answer": "x"}, 400),
        ({"answer": "x", "evidence": "{"}, 400),
        ({"answer": ["x"], "evidence": "{}"}, 400),
        ({"answer": "x", "evidence": "{}", "other": 1}, 400),
    ],
)
def test_what_can_not_be_verified_is_refused_in_one_line(body, status):
    response = Console()("POST", "/api/verify", json=body)
    assert response.status_code == status
    assert "\n" not in response.json()["error"]


def test_a_request_may_be_as_large_as_it_is_said():
    evidence = json.dumps({**EVIDENCE, "padding": "x" * (MAX_EVIDENCE_BYTES - 3_000)})
    body = {"answer": ANSWER, "evidence": evidence}
    assert Console()("POST", "/api/verify", json=body).status_code == 200
