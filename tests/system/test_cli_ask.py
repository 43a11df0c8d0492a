"""``knowledge-rag ask`` as a person on call types it."""

import hashlib
import json
import re

import pytest

from knowledge_rag.cli.knowledge_bases import USING_SAMPLE
from knowledge_rag.core.tokens import token_bound
from knowledge_rag.evaluation.faults.server import answering, resetting, serving
from tests.support.cli import OF_SAMPLE, assert_one_line
from tests.support.local import CORPUS
from tests.support.providers import ANTHROPIC
from tests.unit.orchestrator.schema import VALIDATOR

QUESTION = "How do we fail over the RDS cluster?"
SLOW = "the database is slow"
INCIDENT = {
    "incident": {"incident_id": "INC-77", "service": "rds", "severity": "SEV1"},
    "signals": [{"alert_name": "orders-db-writer-unavailable", "message": "replication lag grows"}],
}


@pytest.fixture(scope="module")
def answers(settled, first_use, tmp_path_factory):
    assert first_use.code == 0
    folder = tmp_path_factory.mktemp("ask")
    (folder / "incident.json").write_text(json.dumps(INCIDENT))
    (folder / "empty.json").write_text('{"signals": []}')
    alerts = [{"labels": {"alertname": name}, "status": "firing"} for name in ("DiskFull", "Slow")]
    (folder / "group.json").write_text(json.dumps({"alerts": alerts}))
    return settled.each(
        {
            "text": ("ask", QUESTION, "--explain"),
            "json": ("ask", QUESTION, "--json"),
            "incident": ("ask", "--incident", folder / "incident.json", "--json"),
            "nothing": ("ask", "how do I bake bread"),
            "empty": ("ask", "--incident", folder / "empty.json"),
            "endless": ("ask", "--incident", "/dev/zero"),
            "no model": ("ask", QUESTION, "--advisor", "converse"),
            "unknown": ("ask", QUESTION, "--advisor", "model", "--model", "nobody:some-model"),
            "place": ("ask", QUESTION, "--at", "rds.md:3-"),
            "no document": ("ask", SLOW, "--at", "runbooks/none.md:3"),
            "no line": ("ask", SLOW, "--at", "runbooks/sqs-backlog.md:9000"),
            "group": ("ask", "--incident", folder / "group.json", "--at", "a.md:3"),
            "no budget": ("ask", QUESTION, "--format", "sms", "--max-tokens", 200),
            "no citation": ("ask", QUESTION, "--open", "99"),
            "open json": ("ask", QUESTION, "--open", "1", "--json"),
            "corpus": ("ask", QUESTION, "--open", "1", "--corpus", "docs"),
        }
    )


def test_the_whole_procedure_is_shown_in_its_authors_order(answers):
    ran = answers["text"]
    assert (ran.code, ran.err) == (0, OF_SAMPLE)
    expected = [
        "Evidence: partial (",
        "runbooks/rds-failover.md: RDS failover\n",
        "\nResolution\n",
        "Caution: a failover drops every open connection.",
        "  1. [destructive: scale to 0] Tell the incident commander",
        "     runbooks/rds-failover.md:81-85\n",
        "  2. [destructive: aws failover, aws reboot] Initiate manual failover",
        "       aws rds failover-db-cluster --db-cluster-identifier <cluster-id> \\\n",
        "     runbooks/rds-failover.md:87-100\n",
        "  3. Wait until the cluster",
        "  4. Update DNS records",
        "  5. Restart the services",
        "  6. Bring `ledger-worker` back to its desired count of 6.",
        "\nVerification\n",
        "  - `SELECT pg_is_in_recovery();`",
        "\nSimilar incidents\n",
        "  - INC-2024-001: ",
    ]
    places = [ran.out.find(it) for it in expected]
    assert -1 not in places, expected[places.index(-1)]
    assert places == sorted(places)


def test_explain_shows_what_was_asked_and_the_evidence(answers):
    out = answers["text"].out
    assert f"asked: {QUESTION}: 5 results" in out
    assert "1. [Source: runbooks/rds-failover.md, lines " in out


@pytest.mark.parametrize("name", ["json", "incident"])
def test_json_is_the_partial_state_and_every_citation_is_lines_of_the_file(answers, name):
    ran = answers[name]
    assert (ran.code, ran.err) == (0, OF_SAMPLE)
    output = ran.json["agent_outputs"]["knowledge-rag"]
    VALIDATOR.validate(output)
    guidance = output["recommendation"]["guidance"]
    assert len(guidance) >= 3
    for step in guidance:
        cited = step["citation"]
        lines = (CORPUS / cited["source_file"]).read_text(encoding="utf-8").split("\n")
        assert cited["end_line"] <= len(lines)
        quoted = "\n".join(lines[cited["start_line"] - 1 : cited["end_line"]])
        assert hashlib.sha256(quoted.encode()).hexdigest() == cited["text_sha256"]
        assert step["action"].split()[-1] in quoted


def test_nothing_documented_is_said_and_exits_1(answers):
    ran = answers["nothing"]
    assert (ran.code, ran.err) == (1, OF_SAMPLE)
    assert ran.out.startswith("Nothing documented.\n")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("empty", "nothing in it to ask about"),
        ("endless", "/dev/zero: larger than 64 MiB"),
        ("no model", "--model-id"),
        ("unknown", "'nobody:some-model': LangChain knows no such provider"),
        ("place", "'rds.md:3-' isn't a place: write FILE:LINE, such as runbooks/rds.md:12"),
        ("no document", "--at: there is no document runbooks/none.md in the knowledge base"),
        ("no line", "--at: runbooks/sqs-backlog.md has no line 9000: its last one is line "),
        ("group", "--at names the procedure of one alert, and this is a group of 2 alerts"),
        ("no budget", "--max-tokens doesn't go with --format sms"),
        ("no citation", "no citation 99: the answer has 1 to "),
        ("open json", "--open goes with --format terminal, not with json"),
        ("corpus", "docs has no document runbooks/rds-failover.md"),
    ],
)
def test_bad_input_is_one_line_and_exits_2(answers, name, says):
    ran = answers[name]
    assert ran.code == 2
    assert says in ran.err
    if name not in {"no citation", "corpus"}:  # the answer itself was shown
        assert ran.out == ""
        assert_one_line(ran.err.removeprefix(OF_SAMPLE))


def asked_of_a_model(settled, script, **variables):
    with serving(script) as server:
        variables |= {
            name: value.format(url=server.url) for name, value in ANTHROPIC.environment.items()
        }
        model = ("--advisor", "model", "--model", f"{ANTHROPIC.name}:some-model")
        return settled("ask", QUESTION, *model, **variables)


def test_a_model_writes_and_what_it_made_up_is_not_shown(settled, first_use):
    assert first_use.code == 0
    said = "1. Fail the cluster over [1].\n2. Drop it [Source: runbooks/none.md, lines 1-2].\n"
    ran = asked_of_a_model(settled, answering(ANTHROPIC.answer(said)))
    assert (ran.code, ran.err) == (0, OF_SAMPLE)
    assert "| " in ran.out
    assert "Fail the cluster over" in ran.out
    assert 'Warning: "Drop it ." cites nothing, so it is not a step' in ran.out


def test_beyond_the_days_limit_the_procedure_is_given_and_the_limit_said(settled, first_use):
    assert first_use.code == 0
    limit = {"KNOWLEDGE_RAG_MODEL_PRICES": "3/15", "KNOWLEDGE_RAG_MODEL_DAILY_LIMIT": "0.01"}
    ran = asked_of_a_model(settled, resetting, **limit)
    assert ran.code == 0
    assert "The day's limit for models (0.01) allows no further call before 00:00 UTC" in ran.out
    assert "aws rds failover-db-cluster" in ran.out
    ran = asked_of_a_model(settled, resetting, KNOWLEDGE_RAG_MODEL_PRICES="3/15")
    assert ran.code == 2
    assert "KNOWLEDGE_RAG_MODEL_DAILY_LIMIT isn't set" in ran.err


WHICH = "Show one of them? [1-3, Enter for none] "
FIRST = "Ask a question, or paste an alert [Enter to end] "
FURTHER = "Ask a follow-up [a citation's number to open it, Enter to end] "


def test_a_number_at_the_terminal_chooses_a_procedure_and_then_a_citation(settled):
    (offered,) = settled("ask", SLOW, "--json").json["agent_outputs"].values()
    third = offered["recommendation"]["reading"][2]
    with settled.at_keyboard("ask", SLOW) as screen:
        screen.until(WHICH)
        screen.type("9\n")  # there is no ninth: it asks again
        screen.until(f"{WHICH}9\r\n{WHICH}")
        screen.type("3\n")
        screen.until(FURTHER)
        screen.type("99\n")
        screen.until("no citation 99: the answer has 1 to ")
        screen.type("1\n")
        screen.until("no editor is set:")
        screen.type("\n")
        shown = screen.rest()
    assert shown.count(FURTHER) == 3
    assert "Evidence: partial (you chose this procedure)" in shown
    assert f"{third['source_file']}: " in shown.partition("you chose this procedure")[2]
    assert shown.count(WHICH) == 2  # what was chosen isn't asked again


def test_enter_at_the_terminal_chooses_none(settled):
    with settled.at_keyboard("ask", SLOW) as screen:
        screen.until(WHICH)
        screen.type("\n")
        assert "Evidence" not in screen.rest()


def test_the_command_alone_asks_at_the_terminal_and_a_question_may_refer_to_the_answer_before_it(
    settled,
):
    with settled.at_keyboard("ask") as screen:
        screen.until(FIRST)
        screen.type(f"{QUESTION}\n")
        screen.until("runbooks/rds-failover.md: RDS failover")
        screen.until(FURTHER)
        screen.type("and how do I undo it?\n")
        screen.until("asked: RDS failover: and how do I undo it?")
        screen.until("RDS failover > Rollback")
        screen.type("\x04")
        shown = screen.rest()
    assert shown.count(FURTHER) == 2
    assert shown.count(USING_SAMPLE.split(";")[0]) == 1


def test_an_alert_that_is_pasted_in_several_lines_is_one_question(settled):
    alert = {"alerts": [{"status": "firing", "labels": {"alertname": "ElastiCacheRedisMemory"}}]}
    with settled.at_keyboard("ask", SLOW) as screen:
        screen.until(WHICH)
        screen.type(json.dumps(alert, indent=1) + "\n")
        screen.until("Evidence: strong (it is filed under the alert's name)")
        screen.until(FURTHER)
        screen.type("\n")
        assert screen.rest().count(FURTHER) == 1


def test_a_line_that_the_terminal_cuts_is_refused(settled):
    with settled.at_keyboard("ask") as screen:
        screen.until(FIRST)
        screen.type("x" * 4000)
        screen.type("y" * 200 + "\n")
        assert "a terminal cuts lines of more than 4095 bytes: save it" in screen.rest()


def test_a_citation_is_opened_at_its_line_and_nothing_else_runs(settled, tmp_path):
    editor = tmp_path / "vim"
    editor.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    editor.chmod(0o755)
    ran = settled("ask", QUESTION, "--open", "2", EDITOR=f"{editor} -R")
    assert ran.code == 0
    cited = re.findall(r"^ *(\S+\.md):(\d+)(?:-\d+)?$", ran.out, re.MULTILINE)
    file, line = cited[1]
    assert ran.out.endswith(f"<-R><+{line}><{CORPUS / file}>")


def test_a_program_chooses_one_by_document_and_line(settled):
    unclear = settled("ask", SLOW)
    assert unclear.code == 1
    assert "\n\nTo get the steps of the first one, add: --at " in unclear.out
    place = unclear.out.rpartition(" ")[2].strip()
    ran = settled("ask", SLOW, "--at", place)
    assert (ran.code, ran.err) == (0, OF_SAMPLE)
    assert ran.out.splitlines()[1] == "Evidence: partial (you chose this procedure)"


@pytest.mark.parametrize("form", ["terminal", "text", "markdown", "json"])
def test_an_answer_keeps_to_the_tokens_asked_for_and_names_what_it_leaves_out(settled, form):
    ran = settled("ask", "ElastiCacheRedisMemory", "--format", form, "--max-tokens", 200)
    assert ran.code == 0
    if form == "json":
        output = ran.json["agent_outputs"]["knowledge-rag"]
        VALIDATOR.validate(output)
        assert token_bound(json.dumps(output)) <= 700
    else:
        assert token_bound(ran.out) <= 200
    said = ran.out.replace('"', "")
    assert "elasticache-redis-memory.md" in said
    assert "beyond the tokens asked for" in said or "reason: budget" in said
    assert "--bigkeys" not in said
