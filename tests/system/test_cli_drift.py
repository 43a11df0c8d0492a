"""Checking that runbooks still fit the world, as people and builds do it."""

from __future__ import annotations

import json
import os

from tests.support.account import account_fixture, moto_fixture  # noqa: F401 - fixtures
from tests.support.cli import assert_one_line
from tests.support.local import CORPUS, PROJECT, write_files
from tests.support.played_aws import DENIED
from tests.support.repository import Repository
from tests.support.sarif import assert_sarif

BAD = "# A\r\n\r\n`kubectl gett pods`\r\n\r\n[x](gone.md)\r\n"


def test_the_sample_runbooks_and_the_handbook_are_clean(cli):
    for folder in (CORPUS, PROJECT / "docs/operations"):
        ran = cli("drift", folder)
        assert (ran.code, ran.out) == (0, "")


def test_findings_are_printed_so_that_editors_open_them(cli, tmp_path):
    write_files(tmp_path, {"a.md": BAD, "b/c.rst": "Title\n=====\n\nDo ``kubectl gett`` it.\n"})
    ran = cli("drift", tmp_path)
    assert ran.code == 1
    assert ran.out.splitlines()[:2] == [
        "a.md:3:10: error: kubectl has no command gett; did you mean get? [unknown-command]",
        "a.md:5:5: error: gone.md leads to no file [dead-link]",
    ]
    assert ran.err.endswith("in 2 documents\n")


def test_each_check_has_a_switch(cli, tmp_path):
    write_files(tmp_path, {"a.md": BAD})
    assert "dead-link" not in cli("drift", tmp_path, "--check", "commands").out
    assert cli("drift", tmp_path, "--skip", "commands", "--skip", "links").code == 0


def test_a_program_gets_json_and_a_review_tool_sarif(cli, tmp_path):
    write_files(tmp_path, {"a.md": BAD, "bad.md": b"caf\xe9"})
    ran = cli("drift", tmp_path, "--json")
    assert ran.code == 1
    kinds = [finding["kind"] for finding in ran.json["findings"]]
    assert kinds == ["unreadable", "unknown-command", "dead-link"]
    assert ran.json["checked_against"]["aws"].startswith("botocore ")
    sarif = cli("drift", tmp_path, "--format", "sarif").json
    (run,) = sarif["runs"]
    assert [result["ruleId"] for result in run["results"]] == kinds
    region = run["results"][1]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 3, "endLine": 3, "startColumn": 10, "endColumn": 14}
    assert_sarif(sarif)


def test_a_baseline_knows_findings_wherever_they_move(cli, tmp_path):
    docs, known = tmp_path / "docs", tmp_path / "known.json"
    write_files(docs, {"a.md": BAD, os.fsdecode(b"\xff.md"): "# B\n"})
    assert cli("drift", docs, "--baseline", known, "--write-baseline").code == 0
    write_files(docs, {"a.md": "New first line\n" + BAD})
    ran = cli("drift", docs, "--baseline", known)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "0 findings, 3 known in 2 documents\n"
    write_files(docs, {"a.md": BAD + BAD})
    assert len(cli("drift", docs, "--baseline", known).out.splitlines()) == 2


def test_notes_alone_do_not_fail(cli, tmp_path):
    call = "aws rds failover-db-cluster --db-cluster-identifier a --target-db b"
    write_files(tmp_path, {"a.md": f"```sh\n{call}\n```\n"})
    ran = cli("drift", tmp_path)
    assert ran.code == 0
    assert "[abbreviated-option]" in ran.out


def test_bad_input_is_one_line(cli, tmp_path):
    write_files(tmp_path, {"docs/a.md": "a\n", "other.json": "{}"})
    os.mkfifo(tmp_path / "pipe")
    for arguments, word in (
        ((tmp_path / "gone",), "no such folder"),
        ((tmp_path / "docs", "--write-baseline"), "--baseline"),
        ((tmp_path / "docs", "--baseline", tmp_path / "gone.json"), "--write-baseline"),
        ((tmp_path / "docs", "--baseline", tmp_path / "other.json", "--write-baseline"), "not a baseline"),
        ((tmp_path / "docs", "--owners", tmp_path / "pipe"), "not a regular file"),
        ((tmp_path / "docs", "--code", tmp_path / "gone"), "no such file"),
        ((tmp_path / "docs", "--check", "links", "--skip", "links"), "no check"),
    ):  # fmt: skip
        ran = cli("drift", *arguments)
        assert ran.code == 2
        assert_one_line(ran.err, word)


def test_names_are_compared_with_code(cli, tmp_path):
    alarms = "kind: Deployment\nmetadata: {name: checkout-api}\n"
    write_files(
        tmp_path, {"docs/a.md": "`kubectl logs deployment/chekout-api`\n", "k8s/a.yaml": alarms}
    )
    write_files(tmp_path, {"k8s/broken.yaml": "kind: [\n"})
    ran = cli("drift", tmp_path / "docs", "--code", tmp_path / "k8s")
    assert ran.code == 1
    assert ran.out == (
        "a.md:1:15: error: the code defines no deployment chekout-api, but checkout-api in a.yaml; "
        "did you mean checkout-api? [unknown-name]\n"
    )
    assert ran.err.startswith("skipped broken.yaml: broken.yaml:")


def test_age_is_measured_by_reviews_and_by_the_history_of_code(cli, tmp_path):
    repository = Repository(tmp_path)
    page = "---\nlast_reviewed: 2020-01-01\n---\nScale `modules/rds`.\n"
    repository.commit({"docs/a.md": page, "modules/rds/a.tf": "1"}, "2026-01-01")
    sha = repository.commit({"modules/rds/a.tf": "2"}, "2026-02-01", "bob")
    ran = cli("drift", tmp_path / "docs", "--code", tmp_path)
    assert ran.code == 0
    assert "1 commit to modules/rds since 2026-01-01 (written 2026-01-01 by ada, " in ran.out
    assert f"the last {sha} of 2026-02-01 by bob [code-changed]" in ran.out
    ran = cli("drift", tmp_path / "docs", "--max-age", "365")
    assert ran.code == 1
    assert "a.md:2:16: warning: last reviewed " in ran.out


def test_owners_are_compared_with_a_list(cli, tmp_path):
    write_files(tmp_path, {"docs/a.md": "---\nowner: data\n---\n# A\n", "owners.txt": "sre\n"})
    ran = cli("drift", tmp_path / "docs", "--owners", tmp_path / "owners.txt")
    assert (ran.code, ran.out) == (
        1,
        "a.md:2:8: warning: data is in no list of owners [unknown-owner]\n",
    )


def test_destructive_commands_without_a_warning_are_notes_if_asked_for(cli, tmp_path):
    write_files(tmp_path, {"a.md": "# A\n\n```sh\nkubectl delete pvc data\n```\n"})
    assert cli("drift", tmp_path).out == ""
    ran = cli("drift", tmp_path, "--check", "danger")
    assert (ran.code, ran.out) == (
        0,
        "a.md:4:1: note: kubectl delete: nothing near it warns [unguarded]\n",
    )


def test_figures_of_alerts_and_superseded_pages_are_compared(cli, tmp_path):
    rule = (
        "groups:\n- rules:\n  - {alert: QueueTooLong, expr: 'queue * 100 / limit > 90', for: 15m}\n"
    )
    text = (
        "# QueueTooLong\n\nThis alert fires when it is over 90% for 10 minutes. See [more](b.md).\n"
    )
    old = "---\nsuperseded_by: c.md\n---\n# B\n"
    write_files(tmp_path, {"docs/a.md": text, "docs/b.md": old, "docs/c.md": "# C\n", "code/rules.yaml": rule})  # fmt: skip
    ran = cli("drift", tmp_path / "docs", "--code", tmp_path / "code")
    assert (ran.code, ran.out.splitlines()) == (1, [
        "a.md:3:42: warning: QueueTooLong in rules.yaml has 15m, 90, not 10 minutes [other-figure]",
        "a.md:3:65: warning: b.md is superseded by c.md; did you mean c.md? [superseded-link]",
    ])  # fmt: skip


def test_no_name_of_a_file_begins_a_line_or_breaks_a_report(cli, tmp_path):
    write_files(tmp_path, {"a\n::error::b.md": "# A\n", os.fsdecode(b"\xff.md"): "# B\n"})
    ran = cli("drift", tmp_path)
    assert [line.partition(":")[0] for line in ran.out.splitlines()] == ["a\\n", "\\udcff.md"]
    uris = [
        result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for result in json.loads(cli("drift", tmp_path, "--format", "sarif").out)["runs"][0][
            "results"
        ]
    ]
    assert [uri.rpartition("/")[2] for uri in uris] == ["a%0A%3A%3Aerror%3A%3Ab.md", "%FF.md"]


def test_a_second_run_recalls_unchanged_files_and_finds_the_same(cli, tmp_path):
    write_files(
        tmp_path, {"docs/a.md": BAD, "docs/b.md": "`kubectl logs deployment/chekout-api`\n"}
    )
    write_files(tmp_path, {"code/a.yaml": "kind: Deployment\nmetadata: {name: checkout-api}\n"})
    arguments = (tmp_path / "docs", "--code", tmp_path / "code")
    kept = {"KNOWLEDGE_RAG_CACHE_DIR": str(tmp_path / "cache")}
    first = cli("drift", *arguments, **kept)
    assert "unknown-name" in first.out
    assert (tmp_path / "cache/drift.sqlite").stat().st_size
    for options in ((), ("--no-cache",)):
        again = cli("drift", *arguments, *options, **kept)
        assert (again.code, again.out) == (1, first.out)
    write_files(tmp_path, {"code/a.yaml": "kind: Deployment\nmetadata: {name: chekout-api}\n"})
    assert "unknown-name" not in cli("drift", *arguments, **kept).out


def test_resources_are_looked_up_in_an_account_if_asked_for(cli, account, tmp_path):
    account.client("sqs").create_queue(QueueName="orders")
    text = "```sh\naws sqs purge-queue --queue-url {}\naws lambda invoke --function-name orders-api x\n```\n"
    write_files(tmp_path, {"a.md": text.format("orderz"), "b.md": text.format("orders")})
    account.played.play("lambda", "GetFunctionConfiguration", DENIED)
    ran = cli("drift", tmp_path, "--live", **account.environment)
    assert ran.code == 1
    assert ran.out == (
        "a.md:2:33: error: account 123456789012 has no queue orderz in us-east-1 [missing-resource]\n"
    )
    assert ran.err.splitlines()[0] == (
        "not checked 1 function: missing permission lambda:GetFunctionConfiguration"
    )
    ran = cli("drift", tmp_path, "--live", "--json", **account.environment)
    assert ran.json["live"] == {
        "account": "123456789012",
        "checked": 2,
        "not_checked": [
            {"kind": "function", "reason": "missing permission lambda:GetFunctionConfiguration", "count": 1}
        ],
    }  # fmt: skip


def test_an_account_that_answers_nothing_is_no_success(cli, account, tmp_path):
    write_files(tmp_path, {"a.md": "```sh\naws lambda invoke --function-name orders-api x\n```\n"})
    account.played.play("lambda", "GetFunctionConfiguration", DENIED)
    assert cli("drift", tmp_path, "--live", **account.environment).code == 4
    ran = cli("drift", tmp_path, "--live", **account.environment | {"AWS_REGION": ""})
    assert ran.code == 2
    assert_one_line(ran.err, "no region")


def test_links_that_can_lead_nowhere_are_findings(cli, tmp_path):
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    links = ("a%00b.md", "x" * 300 + ".md", "loop.yaml", "a/" * 3000 + "b.md")
    write_files(tmp_path, {"a.md": "".join(f"[a]({link})\n" for link in links)})
    ran = cli("drift", tmp_path)
    assert ran.code == 1
    assert ran.out.count("[dead-link]") == 4
    assert ran.err == "4 findings in 1 document\n"


def test_what_can_not_be_compared_is_said(cli, tmp_path):
    write_files(tmp_path, {"docs/a.md": "a\n", "empty/b.txt": "b\n"})
    assert "not checked names" in cli("drift", tmp_path / "docs", "--check", "names").err
    ran = cli("drift", tmp_path / "docs", "--code", tmp_path / "empty")
    assert ran.err.startswith("skipped --code: nothing in it defines names")


def test_settings_and_action_items_are_compared(cli, tmp_path):
    item = "# Outage of 2026-03-24\n\n## Actions\n\n- [x] Runbook a.md: how to stop it\n"
    repository = Repository(tmp_path)
    repository.commit(
        {"docs/a.md": "`RETRY_LIMIT` is 5.\n", "k8s/a.yaml": "RETRY_LIMIT: 3\n"}, "2026-01-05"
    )
    repository.commit({"docs/postmortems/b.md": item}, "2026-04-01")
    ran = cli("drift", tmp_path / "docs", "--code", tmp_path / "k8s", "--check", "agreement")
    assert ran.code == 1
    assert ran.out.splitlines()[0] == (
        "a.md:1:18: warning: RETRY_LIMIT in a.yaml is 3, not 5 [other-value]"
    )
    assert ran.out.splitlines()[1].startswith(
        "postmortems/b.md:5:1: warning: the item is done, but a.md hasn't changed since the incident of 2026-03-24"
    )
