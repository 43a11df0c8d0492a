"""What there is to mend: each finding with its file and line, found by the real commands, beside the answers."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from knowledge_rag.console.answers import Answers
from knowledge_rag.console.documents import KeptDocuments
from knowledge_rag.console.health import Check, Checked, CheckError, Commands, Health, checks_of
from knowledge_rag.console.limits import MAX_FINDINGS
from knowledge_rag.core.repository_links import RepositoryLinks
from knowledge_rag.local.knowledge_base import Document
from tests.unit.console.kept import Shelf
from tests.unit.console.test_answers import answer
from tests.unit.console.test_http import Console

SECONDS = 120
TEXT = "# Widgets\n\nSee [gone](gone.md).\n\nkey AKIAIOSFODNN7EXAMPL2\n"


def health_of(*checks, **more):
    return Health(checks, {"a.md"}.__contains__, **more)


def ready(health):
    health.begin()
    until = time.monotonic() + SECONDS
    while health.to_dict()["state"] == "computing" and time.monotonic() < until:
        time.sleep(0.01)
    return {section["name"]: section for section in health.to_dict()["sections"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("docs")
    (made / "a.md").write_text(TEXT)
    (made / "b.md").write_bytes(b"x\0y")
    return made


def sections_of(folder, rules=(), answers=None):
    documents = KeptDocuments(Shelf())
    found = checks_of(folder, rules, documents, answers or Answers(), Commands())
    return ready(
        health_of(*found, repository=RepositoryLinks("https://git.example/{path}#L{start}"))
    )


@pytest.fixture(scope="module")
def sections(folder):
    return sections_of(folder)


def test_findings_of_the_command_line_are_listed_with_file_line_and_links(sections):
    _, link = sections["drift"]["findings"]
    assert (link["file"], link["line"], link["kind"]) == ("a.md", 3, "dead-link")
    assert link["url"] == "/doc/a.md#L3-L3"
    assert link["repositoryUrl"] == "https://git.example/a.md#L3"
    unread, secret = sections["lint"]["findings"]
    assert (unread["file"], unread["line"], unread["kind"]) == ("b.md", 1, "unreadable")
    assert unread["level"] == "error"
    assert "NUL byte" in unread["message"]
    assert (secret["line"], secret["kind"]) == (5, "secret")
    assert "AKIAIOSFODNN7EXAMPL2" not in secret["message"]
    assert sections["lint"]["checked"] == 2


def test_a_check_that_lacks_something_says_what_to_do(sections):
    assert "--rules PATH" in sections["alerts"]["message"]
    without = sections_of(None)
    for name in ("alerts", "drift", "lint"):
        assert without[name]["state"] == "missing"
        assert "--corpus DIR" in without[name]["message"]


def test_a_check_that_can_not_be_carried_out_says_why_and_stops_no_other(tmp_path):
    sections = sections_of(tmp_path / "gone")
    assert sections["drift"]["state"] == sections["lint"]["state"] == "failed"
    assert "no such folder" in sections["lint"]["message"]
    assert sections["questions"]["state"] == "ready"


def test_documents_that_can_not_be_listed_are_a_failure_and_no_clean_bill(sections):
    assert sections["reviews"]["state"] == "failed"


def test_questions_that_found_nothing_are_counted_after_a_restart_too(tmp_path):
    before = Answers(tmp_path)
    for question, status in (("bread?", "no_match"), ("bread?", "no_match"), ("rds?", "ok")):
        before.keep(replace(answer(question), recommendation={"status": status}))
    (tmp_path / "damaged.json").write_text("{")
    for answers in (before, Answers(tmp_path)):
        section = sections_of(None, answers=answers)["questions"]
        (found,) = section["findings"]
        assert (found["message"], found["times"], section["checked"]) == ("bread?", 2, 3)


def test_a_check_that_breaks_leaves_nobody_waiting():
    def broken():
        raise KeyError("x")

    def late():
        raise CheckError("took too long")

    sections = ready(health_of(Check("a", broken), Check("b", late)))
    assert sections["a"]["state"] == sections["b"]["state"] == "failed"
    assert sections["b"]["message"] == "took too long"


def test_a_long_list_is_cut_and_counted():
    many = [{"message": str(at)} for at in range(MAX_FINDINGS + 7)]
    section = ready(health_of(Check("a", lambda: Checked(many, 1, "document"))))["a"]
    assert (len(section["findings"]), section["count"]) == (MAX_FINDINGS, MAX_FINDINGS + 7)


def test_a_command_ends_with_the_console(folder):
    commands = Commands()
    health = health_of(Check("a", lambda: commands.run("lint", "--json", "--", str(folder))))
    health.begin()
    while commands._running is None:
        time.sleep(0.001)
    pid = commands._running.pid
    commands.close()
    ready(health)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert ready(health)["a"] == {
        "name": "a",
        "state": "failed",
        "message": "the console is shutting down",
    }


def test_looking_begins_with_a_request_that_only_the_page_can_make():
    console = Console()
    assert console("GET", "/api/health").json() == {
        "state": "unchecked",
        "since": "",
        "sections": [],
    }
    begun = console("POST", "/api/health").json()
    assert [one["name"] for one in begun["sections"]] == [
        "alerts",
        "drift",
        "reviews",
        "lint",
        "questions",
    ]
    foreign = {"Sec-Fetch-Site": "cross-site"}
    assert console("POST", "/api/health", headers=foreign).status_code == 403


class _Listed:
    """Documents that are listed with some metadata."""

    def __init__(self, *documents):
        self.documents = documents

    def listed(self, limit):
        return [(Document(name, name.title()), facts) for name, facts in self.documents[:limit]]

    def passages(self, source_file):
        return [source_file]


def test_runbooks_without_a_review_are_listed_with_their_last_commit_the_oldest_first():
    runbook = {"document_type": "runbook"}
    documents = KeptDocuments(
        _Listed(
            ("new.md", runbook | {"last_changed": "2026-05-01"}),
            ("old.md", runbook | {"last_changed": "2021-02-03"}),
            ("seen.md", runbook | {"last_reviewed": "2026-01-01"}),
            ("incident.md", {"document_type": "postmortem"}),
        )
    )
    found = checks_of(None, (), documents, Answers(), Commands())
    section = ready(health_of(*found))["reviews"]
    assert [one["file"] for one in section["findings"]] == ["old.md", "new.md"]
    assert section["findings"][0]["message"].endswith("last commit 2021-02-03")
    assert section["checked"] == 3
