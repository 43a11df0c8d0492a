"""How fresh the cited lines are, and what in them no longer works, is said beside every answer."""

import pytest

from tests.docs.site import Page
from tests.docs.test_shown import FILES, shown
from tests.support.local import PROJECT, write_files
from tests.support.repository import Repository
from tests.unit.orchestrator.schema import VALIDATOR

RUNBOOK = """\
---
last_reviewed: 2026-01-02
---
# Zebra node is under pressure

## Resolution

1. Drain the zebra node with `kubectl drain zebra --delete-local-data`.
2. Watch the zebra node with `kubectl get nodes`.
"""
SAID = "kubectl drain has no option --delete-local-data; did you mean --delete-emptydir-data?"


@pytest.fixture(scope="module")
def asked(settled, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fresh")
    repository = Repository(folder / "docs")
    sha = repository.commit({"runbooks/zebra.md": RUNBOOK}, "2026-03-04")
    settled("ingest", folder / "docs", "--kb", folder / "kb")
    of = ("--kb", folder / "kb")
    questions = {
        "retrieve": ("retrieve", "zebra node is under pressure", *of),
        "retrieve json": ("retrieve", "zebra node is under pressure", "--json", *of),
        "ask": ("ask", "The zebra node is under pressure", *of),
        "ask json": ("ask", "The zebra node is under pressure", "--json", *of),
    }
    before = settled.each(questions)
    repository.commit({"runbooks/zebra.md": RUNBOOK.replace("# Zebra", "\n# Zebra"), "new.md": "# New\n"})  # fmt: skip
    after = settled.each({name: questions[name] for name in ("retrieve json", "ask")})
    return sha, before, after


def test_retrieved_lines_carry_commit_review_and_what_no_longer_works(asked):
    sha, before, _ = asked
    assert f"   Line 8: {SAID}\n" in before["retrieve"].out
    (result,) = before["retrieve json"].json["results"]
    known = {"commit": sha, "last_changed": "2026-03-04", "last_reviewed": "2026-01-02"}
    assert known.items() <= result["metadata"].items()
    assert result["metadata"]["drift"] == [f"8: {SAID}"]


def test_an_answer_warns_of_the_step_and_names_its_documents(asked):
    sha, before, _ = asked
    assert f"Line 8 of runbooks/zebra.md: {SAID}" in " ".join(before["ask"].out.split())
    (output,) = before["ask json"].json["agent_outputs"].values()
    VALIDATOR.validate(output)
    said = {"kind": "drift", "message": f"Line 8 of runbooks/zebra.md: {SAID}", "step": 1}
    assert output["warnings"] == [said]
    assert output["documents"] == [
        {"source_file": "runbooks/zebra.md", "commit": sha, "last_changed": "2026-03-04",
         "last_reviewed": "2026-01-02"},
    ]  # fmt: skip


def test_nothing_is_said_of_a_folder_that_has_not_changed(asked):
    _, before, _ = asked
    assert "since_ingest" not in before["retrieve json"].json
    assert "since the ingest" not in before["ask"].out + before["ask"].err


def test_files_that_changed_since_the_ingest_are_named_and_cited_lines_with_their_new_place(asked):
    _, _, after = asked
    text = after["ask"]
    assert "moved to lines" in " ".join(text.out.split())
    assert "outdated 1 document changed (runbooks/zebra.md); 1 document new (new.md)" in text.err
    since = after["retrieve json"].json["since_ingest"]
    assert (since["changed"], since["new"]) == (["runbooks/zebra.md"], ["new.md"])
    assert {it["state"] for it in since["citations"]} == {"moved"}


def test_the_page_shows_what_is_printed(settled, tmp_path):
    page = PROJECT / "docs/drift.md"
    write_files(tmp_path / "runbooks", FILES["docs/drift.md"])
    settled("ingest", tmp_path / "runbooks", "--kb", tmp_path / "team.kb")
    ask = ("retrieve", "empty the node", "--kb", tmp_path / "team.kb")
    (output,) = (text for command, text in shown(Page(page)) if " retrieve " in command)
    assert settled(*ask).out.startswith(output.removesuffix("...\n"))
    nodes = tmp_path / "runbooks/kube/nodes.md"
    nodes.write_text("# Nodes\n\n" + nodes.read_text())
    ran = settled(*ask)
    lines = page.read_text().splitlines()
    (outdated,) = (number for number, line in enumerate(lines) if line.startswith("outdated "))
    assert lines[outdated - 1] in ran.out.splitlines()
    assert ran.err.startswith(lines[outdated].partition(": run")[0])
