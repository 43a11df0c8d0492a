"""Answers and evidence that were written to slip past the checks, or to stop them."""

import json

import pytest

from knowledge_rag.core.outcome import DropReason, Reason
from knowledge_rag.guardrails.claims import Claim, UnitKind, claims_of, units_of
from knowledge_rag.guardrails.converse import UNRESOLVED, converse_answer, with_references
from knowledge_rag.guardrails.evidence_file import read_evidence
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.review import review
from knowledge_rag.guardrails.rules import Rule
from knowledge_rag.guardrails.verify import verify
from tests.unit.guardrails.evidence import LEDGER, result

RDS = Ledger.of([result("rds.md", 1, "A failover takes 60 seconds.\nRestart `db-1` after it.")])


@pytest.mark.parametrize(
    "answer",
    [
        "A failover takes 45 minutes. ([1])", "A failover takes 45 minutes. **[1]**",
        "A failover takes 45 minutes. — [1]", "A failover takes 45 minutes. <sup>[1]</sup>",
        "A failover takes 45 minutes. See [1].", "A failover takes 45 minutes. Source: [1]",
        "A failover takes 45 minutes.\nSources: [1]", "A failover takes 45 minutes.\n\n*Source: [1]*",
        "- A failover takes 45 minutes.\n  - Source: [1]", "| a | takes 45 minutes |\n\nSource: [1]",
        "```\nsleep 45 minutes\n```\n*(Source: [1])*",
        "The values are [1]:\n\n| what | time |\n|-|-|\n| restart | 60 seconds |\n| failover | 45 minutes |",
        "According to the runbook [1]:\n\n> A failover takes 45 minutes.",
        "Restart `db-1` [1]:\n\n    sleep 45 minutes\n", "1. Restart `db-1` [1]:\n\n       sleep 45 minutes\n",
        "A failover of the U.S. East cluster takes 45 minutes at 3 a.m. UTC [1].",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_label_or_a_mark_before_a_reference_hides_nothing(answer, end):
    found = review(answer.replace("\n", end), RDS).findings
    assert Rule.UNSUPPORTED_DETAIL in {one.rule for one in found}


@pytest.mark.parametrize(
    "answer",
    [
        "Call the owner of db-9. From [1], restart `db-1`.", "Call the owner of db-9. See [1] and restart `db-1`.",
        "A failover takes 60 seconds [1].\n\nElse page db-9.\n\n**Sources:** [1]",
        "A failover takes 60 seconds [1]:\n\nElse page db-9.",
        "A failover takes 60 seconds [1].\n\n> Else page db-9.",
        "A failover takes 60 seconds [1].\n\nElse page db-9.\n\n## References\n- [1]",
    ],
)  # fmt: skip
def test_a_sentence_that_cites_nothing_is_not_held_against_a_reference_behind_it(answer):
    assert not review(answer, RDS).errors


def test_code_with_a_reference_of_its_own_leaves_the_claim_that_introduces_it():
    answer = "1. Do A [1]:\n   ```\n   x\n   ```\n   [2]\n   ```\n   y\n   ```\n"
    found = [
        (claim.said.split(), claim.citations[0].number)
        for claim in claims_of(verify(answer, LEDGER)).cited
    ]
    assert found == [
        (["1.", "Do", "A", ":"], 1),
        (["```", "x", "```", "```", "y", "```"], 2),
    ]


def test_many_sentences_without_words_before_a_reference_belong_to_it():
    (claim,) = claims_of(verify("Do it. " + "! " * 50 + "See [1].", LEDGER)).cited
    assert claim.said.startswith("Do it.")


def test_code_in_three_backticks_on_one_line_opens_no_fence():
    assert [unit.kind for unit in units_of("```x``` is run\n\n- a")] == [
        UnitKind.PARAGRAPH,
        UnitKind.ITEM,
    ]


def test_a_position_behind_any_of_many_spans_is_found():
    spans = tuple((10 * n, 10 * n + 3) for n in range(5))
    claim = Claim(spans, (), "\n".join(["abc"] * 5))
    assert [claim.position(offset) for offset in (0, 3, 4, 18, 19)] == [0, 3, 10, 42, 43]


@pytest.mark.parametrize("code", ["```bash\nx\n```", "~~~\nx\n~~~", "Do:\n\n    x"])
def test_what_a_service_cites_for_code_does_not_become_code(code):
    answer = with_references(f"{code}\n", ["[1]"]) + "\nDo B [2]."
    assert [cited.number for cited in verify(answer, LEDGER).citations] == [1, 2]
    assert answer.startswith(f"{code}\n[1]\n")


@pytest.mark.parametrize("number", [10**4300 - 1, -(10**4299), 2**31])
def test_an_offset_that_no_line_has_resolves_to_nothing(number):
    where = {"searchResultIndex": 0, "start": number, "end": number}
    block = {
        "content": [{"text": "x"}],
        "citations": [{"location": {"searchResultLocation": where}}],
    }
    response = {"output": {"message": {"content": [{"citationsContent": block}]}}}
    cited = {0: LEDGER.entries[0].citation}
    assert converse_answer(response, cited) == f"x {UNRESOLVED}"


@pytest.mark.parametrize("reason", [[], {}, None, 1, "unheard of"])
def test_a_reason_of_any_type_is_a_failed_search(reason):
    read = read_evidence({"results": [], "status": "degraded", "reason": reason})
    assert read.reasons == (Reason.INTERNAL,)


def test_a_tool_that_gives_back_what_the_model_wrote_gives_no_evidence():
    where = {"source_file": "rds.md", "start_line": 1, "end_line": 1, "section_header": ""}
    echoed = json.dumps({"results": [{"content": "Drop it.", "citation": where}], "status": "ok"})
    seen = {"observation": {"actionGroupInvocationOutput": {"text": echoed}}}
    read = read_evidence([{"trace": {"trace": {"orchestrationTrace": seen}}}])
    assert (read.passages, read.dropped) == ((), {DropReason.NOT_PROVEN: 1})
