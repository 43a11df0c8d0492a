"""``knowledge-rag documents`` and ``status``: what is in a knowledge base, which one is asked, and why."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.cli import OF_SAMPLE, assert_one_line
from tests.support.local import CORPUS, PROJECT, write_files


@pytest.fixture(scope="module")
def team(settled, tmp_path_factory):
    """A folder of two runbooks, and a knowledge base of it."""
    folder = tmp_path_factory.mktemp("team")
    write_files(
        folder / "docs",
        {
            "runbooks/queue.md": "---\ntitle: Order queue\nservice: Orders\nowner: team-a\nlast_reviewed: 2026-01-02\n---\n# Q\n\nx\n",
            "runbooks/red.md": "---\ntitle: Evil \u202etxt \x1b[2J\n---\n# Q\n\nx\n",
        },
    )
    assert settled("ingest", folder / "docs", "--kb", folder / "team.kb").code == 0
    return folder


def test_documents_are_listed_with_what_their_front_matter_says(settled):
    ran = settled("documents", "REDIS", "--filter", "document_type=Runbook")
    assert (ran.code, ran.err) == (0, f"{OF_SAMPLE}1 document of 28\n")
    assert ran.out == (
        "runbooks/elasticache-redis-memory.md  ElastiCache Redis memory "
        "(runbook, elasticache, SEV2, owner data-platform, reviewed 2026-02-04)\n"
    )


def test_documents_of_programs_have_all_that_the_console_shows(settled):
    every = settled("documents", "--json").json["documents"]
    assert [it["source"] for it in every] == sorted(
        it.relative_to(CORPUS).as_posix() for it in CORPUS.rglob("*.md")
    )
    tagged = settled("documents", "--filter", "tags=failover", "--filter", "service=rds", "--json")
    found = tagged.json["documents"]
    assert found
    assert all("failover" in it["tags"] and it["service"] == "rds" for it in found)
    assert [
        it for it in every if "failover" in it.get("tags", ()) and it["service"] == "rds"
    ] == found


def test_a_document_without_an_owner_is_found_and_nothing_in_it_steers_the_terminal(settled, team):
    shown = settled.on_terminal("documents", "--filter", "owner=", "--kb", team / "team.kb")
    assert "1 document of 2" in shown
    assert "Evil \\u202etxt \\x1b[2J" in shown
    assert "\u202e" not in shown
    assert "\x1b[2J" not in shown


@pytest.mark.parametrize("given", ["owner", "title=x", "=x"])
def test_a_filter_that_is_none_is_bad_input(settled, given):
    ran = settled("documents", "--filter", given)
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(ran.err, f"--filter {given!r}: write KEY=VALUE; KEY is one of ")


def test_nothing_found_exits_1(settled):
    ran = settled("documents", "no such page")
    assert (ran.code, ran.out, ran.err) == (1, "", f"{OF_SAMPLE}0 documents of 28\n")


def test_status_says_which_knowledge_base_and_why_that_one(settled, team):
    kb = team / "team.kb"
    assert settled("status", "--kb", kb, "--json").json["chosen"] == "--kb names it"
    named = settled("status", "--json", KNOWLEDGE_RAG_KB=str(kb)).json
    assert (named["kb"], named["chosen"]) == (str(kb), "KNOWLEDGE_RAG_KB names it")
    sample = settled("status", "--json").json
    assert sample["chosen"] == "nothing else is named, and this one ships"
    assert (sample["documents"], sample["chunks"]) == (28, 376)


def test_status_says_what_it_holds_its_model_its_age_and_what_changed(settled, team, tmp_path):
    shutil.copytree(team, tmp_path / "copy")
    kb, page = tmp_path / "copy/team.kb", tmp_path / "copy/docs/runbooks/queue.md"
    hours = 7200
    written = kb.stat().st_mtime - hours
    os.utime(kb, (written, written))
    page.write_text(page.read_text() + "more\n")
    ran = settled("status", "--kb", kb)
    assert (ran.code, ran.err) == (0, "")
    lines = dict(line.split("  ", 1) for line in ran.out.splitlines())
    said = {name: text.strip() for name, text in lines.items()}
    assert said["holds"] == "2 documents, 2 chunks"
    assert said["model"].startswith("all-MiniLM-L6-v2-")
    assert said["written"].endswith(" UTC, 2 hours ago")
    folder = tmp_path / "copy/docs"
    assert said["folder"] == (
        f"{folder}: 1 document changed (runbooks/queue.md) since the ingest: run `knowledge-rag ingest {folder} --kb {kb}`"
    )
    assert said["settings"] == "no knowledge-rag.toml"


def test_a_knowledge_base_that_can_not_be_used_is_an_error(settled, tmp_path):
    ran = settled("status", "--kb", tmp_path / "none.kb")
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(ran.err, "no knowledge base at ")


def test_the_settings_file_of_the_user_is_used_and_shown(settled, team):
    folder = Path(settled.data) / ".config/knowledge-rag"
    file = folder / "knowledge-rag.toml"
    write_files(folder, {file.name: f'kb = "{team / "team.kb"}"\ncorpus = "{team / "docs"}"\n'})
    try:
        shown = settled("status", "--json").json
        listed = settled("documents", "queue")
        file.write_text("\nkbs = 1\n")
        wrong = settled("documents", "queue")
    finally:
        file.unlink()
    assert (shown["kb"], shown["chosen"]) == (str(team / "team.kb"), f"{file} names it")
    assert (shown["config"], shown["settings"]["corpus"]) == (str(file), str(team / "docs"))
    assert listed.err == f"using {team / 'team.kb'}: {file} names it\n1 document of 2\n"
    assert wrong.code == 2
    assert_one_line(wrong.err, f"{file}:2: unknown setting 'kbs'; known: corpus, kb, links, model")


def test_no_settings_file_stands_in_this_repository():
    assert not (PROJECT / "knowledge-rag.toml").exists()  # tests run here
