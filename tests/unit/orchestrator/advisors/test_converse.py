"""How a model is asked: once with all evidence, again while that can help, and never without any."""

import asyncio
import json
import random
import re
from contextlib import closing

import pytest

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.outcome import Reason, Status
from knowledge_rag.core.retrieval import Query, degraded
from knowledge_rag.evaluation.faults.server import answering, http, resetting, serving, silent
from knowledge_rag.guardrails.converse import citation_of, source_of
from knowledge_rag.guardrails.verify import verify
from knowledge_rag.local.bedrock.converse import parse_converse_request
from knowledge_rag.orchestrator.advisors.converse import (
    MAX_ATTEMPTS,
    SEARCH_DONE,
    ConverseAdvisor,
    ConverseSettings,
    messages_of,
    read_response,
)
from knowledge_rag.orchestrator.advisors.writing import CUT_NOTE, MAX_TOKENS, without_unfinished
from knowledge_rag.orchestrator.errors import ModelFailed
from knowledge_rag.orchestrator.incident import Incident
from knowledge_rag.orchestrator.queries import MAX_QUERIES, RESULTS
from knowledge_rag.orchestrator.retrieval import Asked, Findings
from knowledge_rag.orchestrator.wording import agent_prompt
from knowledge_rag.orchestrator.written import recommend
from tests.support.advisors import INCIDENT, advise
from tests.support.local import PROJECT
from tests.support.patience import longer
from tests.unit.orchestrator.evidence import FINDINGS, findings_of

ENTRY = FINDINGS.ledger.entries[0]
SAID = {
    "citationsContent": {
        "content": [{"text": "1. Look at the writer of orders-db."}],
        "citations": [
            {"location": {"searchResultLocation": {"searchResultIndex": 0, "start": 2, "end": 3}}}
        ],
    }
}


def reply(*content, reason="end_turn"):
    message = {"role": "assistant", "content": list(content)}
    return http({"output": {"message": message}, "stopReason": reason})


def error(status, code):
    return http({"message": "secret"}, status, headers=(f"x-amzn-ErrorType: {code}",))


ANSWER = reply(SAID)
THROTTLED = error("429 Too Many Requests", "ThrottlingException")
FAILING = error("500 Internal Server Error", "InternalServerException")


@pytest.fixture
def asking(aws_environment):
    """Ask a server that plays a script a connection; gives each advice or failure, and the requests."""

    def ask(*scripts, times=1, seconds=30.0, jitter=lambda: 0.0, **more):
        settings = ConverseSettings("us.some.model-v1:0", "eu-west-1", seconds=seconds, **more)
        with serving(*scripts) as server:
            aws_environment.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
            with closing(ConverseAdvisor(settings, "The prompt.", jitter=jitter)) as advisor:
                asyncio.run(advisor.prepare())  # is no part of the first one's time
                told = [advised(advisor) for _ in range(times)]
            return told, [(head.decode(), json.loads(body)) for head, body in server.requests]

    return ask


def advised(advisor):
    try:
        return asyncio.run(advisor.advise(INCIDENT, FINDINGS))
    except ModelFailed as failed:
        return failed


def test_the_request_holds_prompt_evidence_and_limits_and_no_tool(asking):
    (advice,), ((head, body),) = asking(answering(ANSWER))
    assert head.startswith("POST /model/us.some.model-v1%3A0/converse HTTP/1.1")
    assert "/eu-west-1/bedrock/aws4_request" in head
    assert body == {
        "system": [{"text": "The prompt."}, {"text": SEARCH_DONE}],
        "messages": messages_of(INCIDENT, FINDINGS),
        "inferenceConfig": {"maxTokens": 4096, "temperature": 0.0},
    }
    (step,) = recommend(INCIDENT, advice).guidance
    assert step.action == "Look at the writer of orders-db."
    assert step.citations[0].citation.start_line == ENTRY.citation.start_line + 2
    assert advice.advisor == "converse"


def test_a_model_that_takes_no_temperature_is_sent_none(asking):
    _, ((_, body),) = asking(answering(ANSWER), temperature=None, max_tokens=100)
    assert body["inferenceConfig"] == {"maxTokens": 100}


@pytest.mark.parametrize(
    "findings",
    [
        Findings(),
        findings_of(()),
        Findings((Asked(Query("why?"), degraded(Reason.TIMEOUT)),)),
    ],
)
def test_without_evidence_there_is_no_call(findings):
    advisor = ConverseAdvisor(ConverseSettings("m.odel", "eu-west-1"), "")
    recommendation = recommend(INCIDENT, advise(advisor, INCIDENT, findings))
    assert recommendation.status is findings.status is not Status.OK
    assert not recommendation.guidance


def test_an_answer_that_was_cut_says_so(asking):
    (advice,), _ = asking(answering(reply(SAID, {"text": "\n2. Delete th"}, reason="max_tokens")))
    recommendation = recommend(INCIDENT, advice)
    assert [step.action for step in recommendation.guidance] == ["Look at the writer of orders-db."]
    assert CUT_NOTE in [warned.message for warned in recommendation.warnings]


# trying again


def test_what_passes_is_tried_again(asking):
    unknown = http({}, "503 Service Unavailable")
    answers = (THROTTLED, FAILING, ANSWER, unknown, ANSWER)
    told, requests = asking(answering(*answers), times=2)
    assert [recommend(INCIDENT, advice).status for advice in told] == [Status.OK] * 2
    assert len(requests) == 5
    assert requests[0][1] == requests[4][1]


def test_what_does_not_pass_ends_after_the_last_attempt(asking):
    (failed,), requests = asking(answering(THROTTLED), attempts=4)
    assert failed.cause is Reason.THROTTLED
    assert failed.detail.startswith("ThrottlingException ")
    assert len(requests) == 4


def test_what_cannot_pass_is_not_tried_again(asking):
    answers = {
        error("403 Forbidden", "AccessDeniedException"): Reason.ACCESS_DENIED,
        error("400 Bad Request", "ValidationException"): Reason.CONFIGURATION,
        error("408 Request Timeout", "ModelTimeoutException"): Reason.TIMEOUT,
        http(b"<html>"): Reason.MALFORMED_RESPONSE,
        http(b"[]"): Reason.MALFORMED_RESPONSE,
        http(b"{}"): Reason.MALFORMED_RESPONSE,
        reply(reason="tool_use"): Reason.MALFORMED_RESPONSE,
    }
    told, requests = asking(answering(*answers), times=len(answers))
    assert [failed.cause for failed in told] == list(answers.values())
    assert len(requests) == len(answers)
    assert not any("secret" in failed.reason for failed in told)


def test_errors_that_only_models_have_are_told_apart(asking):
    for status, code in (
        ("424 Failed", "ModelErrorException"),
        ("429 Busy", "ModelNotReadyException"),
    ):
        (failed,), requests = asking(answering(error(status, code)))
        assert (failed.cause, len(requests)) == (Reason.UNAVAILABLE, 3)


def test_a_connection_that_breaks_is_tried_again(asking):
    (advice,), requests = asking(resetting, answering(ANSWER))
    assert recommend(INCIDENT, advice).status is Status.OK
    assert len(requests) == 2


def test_neither_silence_nor_a_body_without_end_outlasts_the_deadline(asking):
    endless = answering(http(b'{"output":', length=99))
    for seconds in longer(0.4):
        told, requests = asking(silent, endless, times=2, seconds=seconds)
        if len(requests) == 2:
            break
    assert [failed.cause for failed in told] == [Reason.TIMEOUT] * 2
    assert len(requests) == 2


def test_a_wait_that_would_outlast_the_deadline_is_not_begun(asking):
    (failed,), requests = asking(answering(THROTTLED), jitter=lambda: 62.0)
    assert failed.cause is Reason.THROTTLED
    assert len(requests) == 1


def test_waits_double_and_the_jitter_is_the_callers():
    shares = iter((1.0, 0.5, 0.0, 1.0))
    settings = ConverseSettings("m.odel", "eu-west-1", attempts=5)
    with closing(ConverseAdvisor(settings, "", jitter=lambda: next(shares))) as advisor:
        assert list(advisor._waits()) == [0.5, 0.5, 0.0, 4.0]


def test_what_cannot_be_prepared_is_told_by_the_first_advice(aws_environment):
    aws_environment.setenv("AWS_CA_BUNDLE", "/nowhere/at.all")
    with closing(ConverseAdvisor(ConverseSettings("m.odel", "eu-west-1"), "")) as advisor:
        asyncio.run(advisor.prepare())
        assert advised(advisor).cause is Reason.CONFIGURATION


@pytest.mark.parametrize(
    "wrong",
    [
        {"model_id": ""},
        {"model_id": "a model"},
        {"max_tokens": 0},
        {"max_tokens": MAX_TOKENS + 1},
        {"temperature": 1.1},
        {"temperature": float("nan")},
        {"seconds": 0},
        {"attempts": 0},
        {"attempts": MAX_ATTEMPTS + 1},
    ],
)
def test_settings_that_no_model_takes_are_refused(wrong):
    with pytest.raises(InvalidSettings):
        ConverseSettings(**({"model_id": "m.odel", "region": "eu-west-1"} | wrong))


ENTRIES = FINDINGS.ledger.entries


def response(*content, reason="end_turn"):
    return {"output": {"message": {"content": list(content)}}, "stopReason": reason}


def cited(text, *locations):
    citations = [
        {
            "location": {
                "searchResultLocation": {"searchResultIndex": index, "start": start, "end": end}
            }
        }
        for index, start, end in locations
    ]
    return {"citationsContent": {"content": [{"text": text}], "citations": citations}}


# the request


def test_the_prompt_is_the_deployed_agents_own():
    assert agent_prompt() == (PROJECT / "prompts/knowledge-rag-agent.txt").read_text()


def test_the_second_block_speaks_of_what_the_prompt_has():
    prompt = agent_prompt()
    for heading in re.findall(r"\b(?:[A-Z]{2,} )+[A-Z]{2,}\b", SEARCH_DONE.replace("\n", " \n")):
        assert heading == "THIS REQUEST" or f"\n{heading}\n" in prompt
    for name in ("WHEN TO SEARCH", "HOW TO SEARCH", "HOW TO CITE", "retrieve_knowledge"):
        assert name in SEARCH_DONE
        assert name in prompt
    for limit in (f"at most {MAX_QUERIES} queries", f"at most {RESULTS} results"):
        assert limit in SEARCH_DONE
        assert limit in prompt


def test_the_second_block_shows_a_source_and_a_reference_that_mean_the_same_lines():
    (source,) = re.findall(r"\S+#L\d+-L\d+", SEARCH_DONE)
    (reference,) = re.findall(r"\[Source: [^\]]+\]", SEARCH_DONE)
    citation = citation_of(source)
    assert citation == Citation("runbooks/example.md", 12, 18)
    assert str(citation) == reference
    assert reference in agent_prompt()
    assert f"the first one line {citation.start_line}." in " ".join(SEARCH_DONE.split())


def test_the_message_holds_the_incident_and_each_entry_line_by_line():
    (message,) = messages_of(INCIDENT, FINDINGS)
    first, *blocks, last = message["content"]
    assert "Title: RDS failover" in first["text"]
    assert "incomplete" not in last["text"]
    assert [block["searchResult"]["source"] for block in blocks] == [
        source_of(entry.citation) for entry in ENTRIES
    ]
    for block, entry in zip(blocks, ENTRIES, strict=True):
        texts = [item["text"] for item in block["searchResult"]["content"]]
        assert ["" if text == " " else text for text in texts] == entry.content.split("\n")
        assert block["searchResult"]["citations"] == {"enabled": True}


def test_the_service_takes_the_message_even_of_an_incident_that_says_nothing():
    for incident in (INCIDENT, Incident()):
        request = parse_converse_request("m", {"messages": messages_of(incident, FINDINGS)})
        assert len(request.results) == len(ENTRIES)


def test_a_search_that_was_incomplete_is_told():
    missed = Asked(Query("why?"), degraded(Reason.THROTTLED))
    (message,) = messages_of(INCIDENT, Findings((*FINDINGS.asked, missed)))
    assert "1 of 4 queries degraded (throttled)" in message["content"][-1]["text"]


# the response


def test_the_apis_citations_become_references_to_the_lines_they_stand_for():
    first = ENTRIES[0].citation
    said, cut = read_response(
        response({"text": "1. "}, cited("Promote it.", (0, 0, 1), (1, 1, 2))), FINDINGS
    )
    assert not cut
    second = ENTRIES[1].citation
    assert [one.citation for one in verify(said, FINDINGS.ledger).citations] == [
        Citation(first.source_file, first.start_line, first.start_line, first.section_header),
        Citation(
            second.source_file, second.start_line + 1, second.start_line + 1, second.section_header
        ),
    ]


def test_of_a_thousand_made_up_locations_only_those_that_were_given_are_cited():
    rng = random.Random(7)
    kept = 0
    for _ in range(1_000):
        index = rng.choice((*range(-1, len(ENTRIES) + 1), 99))
        start, end = rng.randint(-2, 5), rng.randint(-2, 6)
        said, _ = read_response(response(cited("Promote it.", (index, start, end))), FINDINGS)
        verified = verify(said, FINDINGS.ledger)
        lines = ENTRIES[index].content.split("\n") if 0 <= index < len(ENTRIES) else []
        given = 0 <= start < end <= len(lines)
        # where another entry continues the file, its lines were given as well
        entry = ENTRIES[index].citation if lines else None
        also = (
            entry is not None
            and start < end
            and FINDINGS.ledger.lines(
                entry.source_file, entry.start_line + start, entry.start_line + end - 1
            )
        )
        assert len(verified.citations) == int(bool(given or also))
        for one in verified.citations:
            assert one.content.count("\n") == end - start - 1
            if given:
                assert one.content == "\n".join(lines[start:end])
        kept += given
    assert 100 < kept < 500


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("guardrail_intervened", Reason.GUARDRAIL),
        ("content_filtered", Reason.GUARDRAIL),
        ("tool_use", Reason.MALFORMED_RESPONSE),
        ("malformed_model_output", Reason.MALFORMED_RESPONSE),
        ("tomorrows_reason", Reason.MALFORMED_RESPONSE),
        ("", Reason.MALFORMED_RESPONSE),
        ("a\x1b[31m", Reason.MALFORMED_RESPONSE),
        (None, Reason.MALFORMED_RESPONSE),
        (["end_turn"], Reason.MALFORMED_RESPONSE),
    ],
)
def test_an_answer_that_did_not_come_to_its_end_is_none(reason, cause):
    with pytest.raises(ModelFailed) as failed:
        read_response(response({"text": "1. Promote it [1]."}, reason=reason), FINDINGS)
    assert failed.value.cause is cause
    assert failed.value.reason.isprintable()


@pytest.mark.parametrize(
    "body",
    [
        {"stopReason": "end_turn"},
        response(),
        response({"text": " "}),
        response({"toolUse": {"name": "x"}}, {"hologram": {}}, "text", None),
        {"stopReason": "end_turn", "output": []},
        {"stopReason": "end_turn", "output": {"message": {"content": "text"}}},
    ],
)
def test_an_answer_without_text_is_none(body):
    with pytest.raises(ModelFailed, match="the answer is empty"):
        read_response(body, FINDINGS)


# an answer that was cut off

STEPS = """\
Summary: promote the reader.

## Guidance

1. Tell the incident commander [1].
2. Promote the reader [2]:

   ```bash
   # 3. not a step
   aws rds failover-db-cluster
   ```

3. Wait until it answers [2].
   - and check the lag [2]

## Similar incidents

- INC-1: failed over [3].

Analysis
It looks the same.
"""


def test_what_is_left_of_an_answer_is_whole_wherever_it_was_cut():
    parts = [part for part in re.split(r"(?m)^(?=\d\. |#|- |Ana|Summ)", STEPS) if part]
    whole = {"".join(parts[:count]) for count in range(len(parts) + 1)}
    for end in range(len(STEPS) + 1):
        left = without_unfinished(STEPS[:end])
        assert left in whole
        assert STEPS[:end].startswith(left)
        assert left != STEPS[:end] or not left


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("1. Stop.\n2", ""),
        ("1. Stop.\n2.", "1. Stop.\n"),
        ("1. Stop:\n~~~\n2. x\n~~~~\n- Purge", "1. Stop:\n~~~\n2. x\n~~~~\n"),
        ("1. Stop:\n~~~\n```\n2. x", ""),
        ("1. Stop.\n\u20282. Pur", ""),
        ("1. Stop.\n\nAnalysis\nIt lo", "1. Stop.\n\n"),
        ("One sentence, no", ""),
        ("", ""),
    ],
)
def test_what_begins_nothing_goes_with_what_it_stands_in(answer, left):
    assert without_unfinished(answer) == left


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_an_answer_that_was_cut_keeps_its_whole_steps(reason):
    body = response({"text": "1. Promote it [1].\n2. Delete the wr"}, reason=reason)
    text, note = read_response(body, FINDINGS)
    assert text == "1. Promote it [1].\n"
    assert note.startswith("The model's answer was cut off at its length limit")
    assert FINDINGS.status is Status.OK


def test_an_answer_that_was_cut_in_its_first_step_is_none():
    with pytest.raises(ModelFailed, match="cut off in its first step"):
        read_response(response({"text": "1. Delete the wr"}, reason="max_tokens"), FINDINGS)
