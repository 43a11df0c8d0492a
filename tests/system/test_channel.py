"""An alert goes off, and its procedure stands in the channel with its lines; a receipt proves what was posted."""

from __future__ import annotations

import json
import re
import signal
import time

import httpx
import pytest

from knowledge_rag.channel.settings import Kind
from knowledge_rag.evaluation.faults.server import answering, serving
from tests.support.block_kit import numbers_in, pieces_in, problems
from tests.support.cli import SECONDS, assert_one_line, eventually, lines_of
from tests.support.local import CORPUS
from tests.support.makers import CHANNEL
from tests.support.providers import OPENAI

LINKS = "https://git.example/ops/blob/main/{path}#L{start}-L{end}"
SETTINGS = """
links = "{links}"
answers_a_minute = 20
[hooks.alertmanager]
from = "alertmanager"
secret_env = "HOOK_SECRET"
to = ["oncall"]
[destinations.oncall]
kind = "slack"
token_env = "SLACK_TOKEN"
channel = "{channel}"
url = "{url}/slack"
"""
KEYS = {"HOOK_SECRET": "hook-secret", "SLACK_TOKEN": "slack-key"}
HEADERS = {"Authorization": "Bearer hook-secret"}


def fires(name):
    labels = {"alertname": name}
    return {
        "version": "4",
        "alerts": [{"status": "firing", "labels": labels, "startsAt": "2026-03-02T08:14:00Z"}],
    }


@pytest.fixture
def settings(makers, tmp_path):
    path = tmp_path / "hooks.toml"
    path.write_text(SETTINGS.format(links=LINKS, channel=CHANNEL, url=makers.url))
    return path


def ready(process):
    return json.loads(process.stdout.readline())["hooks_url"]


def test_an_alert_brings_its_procedure_with_its_lines_and_a_receipt_that_holds(
    sample, makers, settings
):
    with sample.started("serve", "--hooks", settings, "--port", "0", "--json", **KEYS) as process:
        url = ready(process)
        for _ in range(3):  # delivered at least once
            sent = httpx.post(
                f"{url}hooks/alertmanager",
                json=fires("RdsFailover"),
                headers=HEADERS,
                timeout=SECONDS,
            )
            assert sent.status_code == 202
        assert (
            httpx.post(f"{url}hooks/alertmanager", json=fires("X"), timeout=SECONDS).status_code
            == 401
        )
        eventually(lambda: any("Receipt" in str(it) for it in makers.of(Kind.SLACK)), "an answer")
        time.sleep(0.7)  # whatever comes twice comes now
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
    posts = makers.of(Kind.SLACK)
    assert not [it for post in posts for it in problems(post)]
    assert len({it["metadata"]["event_payload"]["id"] for it in posts}) == len(posts)
    code = "\n".join(
        it["text"] for post in posts for kind, it in pieces_in(post["blocks"]) if "pre" in kind
    )
    assert "aws rds failover-db-cluster --db-cluster-identifier <cluster-id>" in code
    assert code.split("\n")[0] in (CORPUS / "runbooks/rds-failover.md").read_text()
    for post in posts:
        inline, listed = numbers_in(post["blocks"])
        assert set(inline) == set(listed)
        assert all(url.startswith("https://git.example/ops/blob/main/") for url in inline.values())
    number = re.search(r"Receipt (kr-[a-z2-7]{20})", json.dumps(posts))[1]
    shown = sample("receipt", number, "--corpus", CORPUS, "--json")
    assert shown.code == 0
    said = shown.json
    assert (said["question"], said["problems"], set(said["lines"])) == ("RdsFailover", [], {"same"})
    cited = {(it["source_file"], it["start_line"], it["end_line"]) for it in said["evidence"]}
    assert len(cited) == len(said["evidence"]) >= 10
    for file, start, end in cited:
        assert lines_of(CORPUS / file, start, end)
    assert "The record is intact." in sample("receipt", number).out


MAIL = """
[destinations.mail]
kind = "sns"
topic = "arn:aws:sns:eu-west-1:123456789012:on-call"
"""


def test_a_dry_run_prints_what_would_be_posted_without_keys_and_posts_nothing(
    sample, makers, settings
):
    text = settings.read_text().replace('to = ["oncall"]', 'to = ["oncall", "mail"]')
    settings.write_text(text + MAIL)
    with sample.started(
        "serve", "--hooks", settings, "--port", "0", "--dry-run", "--json", **KEYS
    ) as process:
        url = ready(process)
        httpx.post(
            f"{url}hooks/alertmanager", json=fires("SqsBacklog"), headers=HEADERS, timeout=SECONDS
        )
        printed = {}
        while len(printed) < 2:
            line = process.stdout.readline().decode()
            printed.setdefault("mail" if "amazonaws" in line else "chat", line)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == 0
    mail, shown = json.loads(printed["mail"]), json.loads(printed["chat"])
    assert mail["url"] == "https://sns.eu-west-1.amazonaws.com/"
    forms = json.loads(mail["body"]["Message"])
    assert "runbooks/sqs-backlog.md" in forms["default"]
    assert forms["sms"].startswith("SqsBacklog")
    assert (shown["method"], shown["url"]) == ("POST", f"{makers.url}/slack/chat.postMessage")
    assert shown["headers"]["Authorization"] == "***"
    assert shown["body"]["channel"] == CHANNEL
    assert "slack-key" not in printed["chat"]
    assert not makers.calls


def test_a_model_of_a_provider_finds_its_key_beside_a_local_knowledge_base(sample, settings):
    said = "1. Look at the backlog [1].\n"
    with serving(answering(OPENAI.answer(said))) as model:
        variables = {name: it.format(url=model.url) for name, it in OPENAI.environment.items()}
        command = ("serve", "--hooks", settings, "--port", "0", "--dry-run", "--json")
        with sample.started(
            *command, "--model", "openai:some-model", **KEYS, **variables
        ) as process:
            url = ready(process)
            httpx.post(
                f"{url}hooks/alertmanager",
                json=fires("SqsBacklog"),
                headers=HEADERS,
                timeout=SECONDS,
            )
            line = process.stdout.readline().decode()
            process.send_signal(signal.SIGTERM)
            assert process.wait(SECONDS) == 0
        assert len(model.requests) == 1
    assert "Look at the backlog" in line


def test_a_mistake_in_the_settings_is_one_line(sample, settings, tmp_path):
    ran = sample("serve", "--hooks", settings)
    assert ran.code == 2
    assert_one_line(ran.err, "hooks.toml", "HOOK_SECRET is not set", "SLACK_TOKEN is not set")
    missing = sample("serve", "--hooks", tmp_path / "none.toml")
    assert missing.code != 0
    assert_one_line(missing.err, "none.toml")
    assert sample("receipt", "kr-none").code == 2
    assert sample("serve", "--dry-run").code == 2


@pytest.mark.parametrize("form", ["slack", "markdown"])
def test_ask_shows_an_answer_as_it_would_be_posted(sample, form):
    ran = sample("ask", "SQS queue is backing up", "--format", form, "--repository-url", LINKS)
    assert ran.code == 0
    assert "runbooks/sqs-backlog.md" in ran.out
    if form == "slack":
        assert not [it for post in ran.json for it in problems(post)]
    else:
        assert "https://git.example/ops/blob/main/runbooks/sqs-backlog.md#L12-L12" in ran.out
