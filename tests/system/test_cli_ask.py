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
from tests.support.providers import ANTHROPIC, PROVIDERS
from tests.unit.orchestrator.schema import VALIDATOR

QUESTION = "How do we fail over the RDS cluster?"
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
    (folder / "broken.json").write_text("{")
    return settled.each(
        {
            "text": ("ask", QUESTION, "--explain"),
            "json": ("ask", QUESTION, "--json"),
            "incident": ("ask", "--incident", folder / "incident.json", "--json"),
            "nothing": ("ask", "how do I bake bread"),
            "no question": ("ask",),
            "empty": ("ask", "--incident", folder / "empty.json"),
            "broken": ("ask", "--incident", folder / "broken.json"),
            "endless": ("ask", "--incident", "/dev/zero"),
            "missing": ("ask", "--incident", folder / "nowhere.json"),
            "no model": ("ask", QUESTION, "--advisor", "converse"),
            "no agent": ("ask", QUESTION, "--advisor", "agent"),
            "no provider": ("ask", QUESTION, "--advisor", "model"),
            "unknown": ("ask", QUESTION, "--advisor", "model", "--model", "nobody:some-model"),
            "bare name": ("ask", QUESTION, "--advisor", "model", "--model", "some-model"),
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
        ("no question", "ask a question, or name an incident's file with --incident"),
        ("empty", "nothing in it to ask about"),
        ("broken", "1 bytes that are not JSON"),
        ("missing", "No such file"),
        ("endless", "/dev/zero: larger than 64 MiB"),
        ("no model", "--model-id"),
        ("no agent", "--agent ID/ALIAS"),
        ("no provider", "--model PROVIDER:NAME"),
        ("unknown", "'nobody:some-model': LangChain knows no such provider"),
        ("bare name", "PROVIDER:MODEL"),
    ],
)
def test_bad_input_is_one_line_and_exits_2(answers, name, says):
    ran = answers[name]
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert says in ran.err


def asked_of(provider, settled, script, *options, **variables):
    with serving(script) as server:
        variables |= {
            name: value.format(url=server.url) for name, value in provider.environment.items()
        }
        model = ("--advisor", "model", "--model", f"{provider.name}:some-model")
        return settled("ask", QUESTION, *model, *options, **variables)


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda it: it.name)
def test_a_model_of_any_provider_writes_and_what_it_made_up_is_not_shown(
    settled, first_use, provider
):
    assert first_use.code == 0
    said = "1. Fail the cluster over [1].\n2. Drop it [Source: runbooks/none.md, lines 1-2].\n"
    ran = asked_of(provider, settled, answering(provider.answer(said)))
    assert (ran.code, ran.err) == (0, OF_SAMPLE)
    assert "| " in ran.out
    assert "Fail the cluster over" in ran.out
    assert 'Warning: "Drop it ." cites nothing, so it is not a step' in ran.out
    body = asked_of(provider, settled, answering(provider.answer(said)), "--json").json
    output = body["agent_outputs"]["knowledge-rag"]
    VALIDATOR.validate(output)
    assert [it["action"] for it in output["recommendation"]["guidance"]] == [
        "Fail the cluster over."
    ]


def test_a_model_that_cannot_be_reached_is_replaced_by_the_procedure(settled, first_use):
    assert first_use.code == 0
    ran = asked_of(ANTHROPIC, settled, resetting)
    assert ran.code == 0
    assert "The model could not be reached (unavailable)" in ran.out
    assert "aws rds failover-db-cluster" in ran.out


def test_beyond_the_days_limit_the_procedure_is_given_and_the_limit_said(settled, first_use):
    assert first_use.code == 0
    limit = {"KNOWLEDGE_RAG_MODEL_PRICES": "3/15", "KNOWLEDGE_RAG_MODEL_DAILY_LIMIT": "0.01"}
    ran = asked_of(ANTHROPIC, settled, resetting, **limit)
    assert ran.code == 0
    assert "The day's limit for models (0.01) allows no further call before 00:00 UTC" in ran.out
    assert "aws rds failover-db-cluster" in ran.out
    ran = asked_of(ANTHROPIC, settled, resetting, KNOWLEDGE_RAG_MODEL_PRICES="3/15")
    assert ran.code == 2
    assert "KNOWLEDGE_RAG_MODEL_DAILY_LIMIT isn't set" in ran.err


SLOW = "the database is slow"
WHICH = "Show one of them? [1-3, Enter for none] "
FIRST = "Ask a question, or paste an alert [Enter to end] "
FURTHER = "Ask a follow-up [a citation's number to open it, Enter to end] "


def test_where_several_procedures_may_be_meant_a_number_at_the_terminal_chooses_one(settled):
    (offered,) = settled("ask", SLOW, "--json").json["agent_outputs"].values()
    third = offered["recommendation"]["reading"][2]
    with settled.at_keyboard("ask", SLOW) as screen:
        screen.until(WHICH)
        screen.type("9\n")  # there is no ninth: it asks again
        screen.until(f"{WHICH}9\r\n{WHICH}")
        screen.type("3\n")
        screen.until(FURTHER)
        screen.type("\n")
        shown = screen.rest()
    assert "Evidence: partial (you chose this procedure)" in shown
    assert f"{third['source_file']}: " in shown.partition("you chose this procedure")[2]
    assert shown.count(WHICH) == 2  # what was chosen isn't asked again


@pytest.mark.parametrize("key", ["\n", "\x04"], ids=["enter", "end of file"])
def test_enter_at_the_terminal_chooses_none(settled, key):
    with settled.at_keyboard("ask", SLOW) as screen:
        screen.until(WHICH)
        screen.type(key)
        assert "Evidence" not in screen.rest()


def test_at_the_terminal_a_question_may_refer_to_the_answer_before_it(settled):
    with settled.at_keyboard("ask", QUESTION) as screen:
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


def test_the_command_alone_asks_for_a_question_or_an_alert_at_the_terminal(settled):
    with settled.at_keyboard("ask") as screen:
        screen.until(FIRST)
        screen.type(f"{QUESTION}\n")
        screen.until("runbooks/rds-failover.md: RDS failover")
        screen.until(FURTHER)
        screen.type("\n")
        screen.rest()


def test_a_line_that_the_terminal_cuts_is_refused(settled):
    with settled.at_keyboard("ask") as screen:
        screen.until(FIRST)
        screen.type("x" * 4000)
        screen.type("y" * 200 + "\n")
        assert "a terminal cuts lines of more than 4095 bytes: save it" in screen.rest()


def test_what_can_not_be_asked_or_opened_is_said_and_asked_for_again(settled):
    with settled.at_keyboard("ask", QUESTION) as screen:
        screen.until(FURTHER)
        screen.type("99\n")
        screen.until("no citation 99: the answer has 1 to ")
        screen.type("1\n")
        screen.until("no editor is set:")
        screen.type("\n")
        assert screen.rest().count(FURTHER) == 3


def test_a_citation_is_opened_at_its_line_and_nothing_else_runs(settled, tmp_path):
    editor = tmp_path / "vim"
    editor.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    editor.chmod(0o755)
    ran = settled("ask", QUESTION, "--open", "2", EDITOR=f"{editor} -R")
    assert ran.code == 0
    cited = re.findall(r"^ *(\S+\.md):(\d+)(?:-\d+)?$", ran.out, re.MULTILINE)
    file, line = cited[1]
    assert ran.out.endswith(f"<-R><+{line}><{CORPUS / file}>")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--open", "99"), "no citation 99: the answer has 1 to "),
        (("--open", "1", "--json"), "--open goes with --format terminal, not with json"),
        (
            ("--corpus", "docs", "--format", "sms"),
            "--corpus goes with --format terminal, not with sms",
        ),
        (("--open", "1", "--corpus", "docs"), "docs has no document runbooks/rds-failover.md"),
        (("--open", "1"), "no editor is set: set EDITOR or PAGER to open "),
    ],
)
def test_a_citation_that_can_not_be_opened_is_bad_input(settled, options, says):
    ran = settled("ask", QUESTION, *options)
    assert ran.code == 2
    assert says in ran.err


def test_a_program_chooses_one_by_document_and_line(settled):
    unclear = settled("ask", SLOW)
    assert unclear.code == 1
    assert "\n\nTo get the steps of the first one, add: --at " in unclear.out
    place = unclear.out.rpartition(" ")[2].strip()
    ran = settled("ask", SLOW, "--at", place)
    assert (ran.code, ran.err) == (0, OF_SAMPLE)
    assert ran.out.splitlines()[1] == "Evidence: partial (you chose this procedure)"


@pytest.mark.parametrize("place", ["runbooks/rds.md", "rds.md:0", "../rds.md:3", "rds.md:3-", ":3"])
def test_a_place_that_is_none_is_bad_input(settled, place):
    ran = settled("ask", SLOW, "--at", place)
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(
        ran.err, f"{place!r} isn't a place: write FILE:LINE, such as runbooks/rds.md:12"
    )


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("runbooks/none.md:3", "--at: there is no document runbooks/none.md in the knowledge base"),
        (
            "runbooks/sqs-backlog.md:9000",
            "--at: runbooks/sqs-backlog.md has no line 9000: its last one is line ",
        ),
    ],
)
def test_a_place_that_the_knowledge_base_lacks_is_bad_input(settled, place, wrong):
    ran = settled("ask", SLOW, "--at", place)
    assert (ran.code, ran.out) == (2, "")
    assert wrong in ran.err


def test_a_place_for_a_group_of_alerts_is_bad_input(settled, tmp_path):
    alerts = [{"labels": {"alertname": name}, "status": "firing"} for name in ("DiskFull", "Slow")]
    (tmp_path / "group.json").write_text(json.dumps({"alerts": alerts}))
    ran = settled("ask", "--incident", tmp_path / "group.json", "--at", "a.md:3")
    assert ran.code == 2
    assert_one_line(
        ran.err, "--at names the procedure of one alert, and this is a group of 2 alerts"
    )


@pytest.mark.parametrize("form", ["terminal", "text", "markdown", "json"])
@pytest.mark.parametrize("most", [200, 2_500])
def test_an_answer_keeps_to_the_tokens_asked_for_and_names_what_it_leaves_out(settled, form, most):
    ran = settled("ask", "ElastiCacheRedisMemory", "--format", form, "--max-tokens", most)
    assert ran.code == 0
    assert token_bound(ran.out) <= most or form == "json"
    if form == "json":
        output = ran.json["agent_outputs"]["knowledge-rag"]
        VALIDATOR.validate(output)
        assert token_bound(json.dumps(output)) <= max(most, 700)
    if most == 200:
        said = ran.out.replace('"', "")
        assert "elasticache-redis-memory.md" in said
        assert "beyond the tokens asked for" in said or "reason: budget" in said
        assert "--bigkeys" not in said


def test_a_form_without_a_budget_is_bad_input(settled):
    ran = settled("ask", "ElastiCacheRedisMemory", "--format", "sms", "--max-tokens", 200)
    assert ran.code == 2
    assert_one_line(ran.err, "--max-tokens doesn't go with --format sms")
