"""Everything that is wrong with an answer is told, each at its place, and nothing else."""

import logging
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.citations import Citation
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.guardrails.ledger import Ledger
from knowledge_rag.guardrails.review import Positions, TextPositions, review, review_json
from knowledge_rag.guardrails.rules import Kind, Level, Rule
from knowledge_rag.guardrails.verify import Settings
from tests.support.examples import up_to

RUNBOOK = """\
## Diagnosis

1. Verify replica health using CloudWatch metrics.
2. Run `aws rds describe-db-clusters --db-cluster-identifier orders`.
3. Look at `ReplicaLag`: it is high above 60 s.

## Resolution

1. Fail over manually if replication lag > 60s:

   ```bash
   aws rds failover-db-cluster --db-cluster-identifier orders
   ```
2. Do not restart the primary."""
POSTMORTEM = "The failover took 42 seconds and resolved it."


def piece(source_file, text, first, last, **metadata):
    lines = text.split("\n")[first - 1 : last]
    return RetrievalResult(
        "\n".join(lines), Citation(source_file, first, last, "Steps"), 0.5, metadata
    )


LEDGER = Ledger.of(
    [piece("runbooks/rds.md", RUNBOOK, 1, 5), piece("runbooks/rds.md", RUNBOOK, 7, 14)],
    [piece("postmortems/a.md", POSTMORTEM, 1, 1, incident_id="INC-2024-001", title="RDS outage")],
)
SOUND = """\
Based on similar incidents, the recommended resolution is:

1. Verify replica health using CloudWatch metrics [Source: runbooks/rds.md, lines 3-5]
2. Fail over manually if replication lag > 60s [Source: runbooks/rds.md, lines 9-13]:

   ```bash
   aws rds failover-db-cluster --db-cluster-identifier orders
   ```
3. Do not restart the primary [2].

In INC-2024-001 the failover took 42 seconds [3].
"""


def found(answer, settings=None):
    reviewed = review(answer, LEDGER, settings)
    return [(str(one.rule), answer[one.start : one.end], one.message) for one in reviewed.findings]


def test_a_sound_answer_has_no_findings():
    assert found(SOUND) == []
    assert all(claim.supported for claim in review(SOUND, LEDGER).backing.claims)


@pytest.mark.parametrize(
    ("right", "wrong", "rule", "at", "says"),
    [
        ("> 60s", "> 90s", "unsupported-detail", "90s", "not in runbooks/rds.md, lines 9-13"),
        ("lines 9-13", "lines 9-18", "unresolved-reference", "[Source: runbooks/rds.md, lines 9-18]",
         "of runbooks/rds.md, retrieval returned lines 1-5, 7-14"),
        ("rds.md, lines 3-5", "rdb.md, lines 3-5", "unresolved-reference",
         "[Source: runbooks/rdb.md, lines 3-5]", "no line of runbooks/rdb.md; it did return runbooks/rds.md"),
        ("failover-db-cluster", "delete-db-cluster", "unsupported-detail", "delete-db-cluster",
         "not in runbooks/rds.md, lines 9-13"),
        ("--db-cluster-identifier orders\n", "--force orders\n", "unsupported-detail", "--force",
         "not in runbooks/rds.md, lines 9-13"),
        ("[2]", "[9]", "unresolved-reference", "[9]", "the sources are numbered 1 to 3"),
        ("[2]", "[Source]", "unresolved-reference", "[Source]", "can't be read as a reference"),
        ("Do not restart", "Restart", "flipped-negation", "Restart the primary", '"not" is dropped'),
        ("42 seconds", "24 seconds", "unsupported-detail", "24 seconds", "postmortems/a.md, line 1"),
        ("INC-2024-001", "INC-2024-007", "unsupported-detail", "INC-2024-007", "not in postmortems"),
    ],
)  # fmt: skip
def test_one_thing_changed_is_named_where_it_stands(right, wrong, rule, at, says):
    answer = SOUND.replace(right, wrong, 1)
    assert answer != SOUND
    (first, *others) = found(answer)
    assert first[:2] == (rule, at)
    assert says in first[2]
    assert {one[0] for one in others} <= {"uncited-code"}  # what the reference had backed


def test_a_detail_is_looked_for_in_all_that_was_retrieved():
    answer = "Run `aws rds failover-db-cluster` [Source: runbooks/rds.md, lines 3-5]."
    messages = [message for rule, _, message in found(answer) if rule == "unsupported-detail"]
    assert any(message.endswith("; it is in runbooks/rds.md, line 12") for message in messages)


def test_a_claim_in_other_words_than_its_lines_is_told():
    answer = "Purge the upstream cache before customers complain [3]."
    first, (rule, at, message) = found(answer)
    assert first[0] == "unsupported-danger"
    assert (rule, at) == ("unsupported-claim", answer)
    assert "not in postmortems/a.md, line 1: purge, upstream" in message


def test_what_is_known_of_the_document_counts_as_said():
    assert found("The RDS outage INC-2024-001 was resolved in 42 seconds [3].") == []


def test_code_without_a_citation_is_told():
    rules = [rule for rule, *_ in found(f"{SOUND}\nAlso:\n\n```\nrm -rf /\n```\n")]
    assert rules == ["uncited-code"]


def test_every_warning_of_the_checks_has_a_rule():
    kinds = {kind.replace("_", "-") for kind in Kind} - {"non-existent-source"}
    assert kinds <= set(Rule)
    assert all(rule.description.endswith(".") and rule.level in set(Level) for rule in Rule)


def test_every_finding_is_logged_with_its_place_and_without_text(caplog):
    with caplog.at_level(logging.WARNING, "knowledge_rag.guardrails"):
        review(SOUND.replace("[2]", "[9]"), LEDGER)
    (record,) = caplog.records
    start = SOUND.index("[2]")
    expected = f"rule=<unresolved-reference>, start=<{start}>, end=<{start + 3}> | finding"
    assert record.getMessage() == expected


PIECES = [
    "[9]",
    "[1]",
    "[Source: x.md, lines 1-2]",
    "word ",
    "\n",
    "obviously ",
    "75 % ",
    "é",
    "`a[9]`",
]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.booleans())
@up_to(examples=200)
def test_positions_lead_back_past_what_was_taken_out(answer, mark):
    reviewed = review(answer, LEDGER, Settings(mark=mark))
    text = reviewed.verified.text
    positions = Positions(reviewed.verified.removed)
    for cited in reviewed.verified.citations:
        start, end = positions.written((cited.start, cited.end))
        assert answer[start:end] == text[cited.start : cited.end] == "[1]"
    for word in re.finditer("obviously", text):
        start, end = positions.written(word.span())
        assert answer[start:end] == "obviously"
    for one in reviewed.findings:
        assert 0 <= one.start <= one.end <= len(answer)


def test_the_json_form_holds_lines_and_columns():
    answer = SOUND.replace("[2]", "[9]")
    wire = review_json(review(answer, LEDGER))
    (removed,) = wire["removed"]
    start = answer.index("[9]")
    assert removed["position"] == {"start": start, "end": start + 3, "line": 9, "column": 31}
    assert (removed["reference"], removed["reason"]) == ("[9]", "unknown_number")
    assert wire["text"] == answer.replace("[9]", "")
    cited = wire["citations"][0]
    assert (cited["source_file"], cited["start_line"], cited["end_line"]) == (
        "runbooks/rds.md",
        3,
        5,
    )
    assert wire["text"][cited["position"]["start"] :].startswith(
        "[Source: runbooks/rds.md, lines 3-5]"
    )
    assert wire["metrics"]["invalid_references"] == 1
    assert wire["metrics"]["claims_supported"] == wire["metrics"]["claims"] == 3


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [("", 0, (1, 1)), ("a\u2028b\nc", 4, (2, 1)), ("a\n", 2, (2, 1))],
)
def test_lines_are_what_a_newline_ends(text, offset, expected):
    assert TextPositions(text).line_and_column(offset) == expected


def test_a_command_that_nobody_cites_and_nobody_retrieved_is_told():
    answer = f"{SOUND}\nTo be safe, run `aws rds delete-db-cluster --force` first.\n"
    (only,) = {rule for rule, *_ in found(answer)}
    assert only == "uncited-command"
    assert ("--force") in [at for _, at, _ in found(answer)]


def test_a_command_that_was_retrieved_may_be_named_without_a_citation():
    assert found(f"{SOUND}\nAs said, `aws rds failover-db-cluster` does it.\n") == []


def test_what_is_known_of_the_document_backs_no_command():
    forged = piece("x.md", "Call us.", 1, 1, title="rm --now", section_path="rm -rf x --now")
    reviewed = review("Call us, then `rm -rf x --now` [1].", Ledger.of([forged]))
    assert "unsupported-detail" in {str(one.rule) for one in reviewed.findings}


@pytest.mark.parametrize(
    ("answer", "excused"),
    [
        ("There is no information about that in the runbooks.", True),
        ("If there is no information in the logs, run `aws rds delete-db-cluster`.", False),
        ("There is no information, but " + "you can do a lot of other things " * 10, False),
    ],
)
def test_an_admission_excuses_an_answer_that_says_nothing_else(answer, excused):
    assert ("missing-citations" not in {rule for rule, *_ in found(answer)}) is excused
