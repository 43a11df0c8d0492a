"""Making one's own knowledge base, and what becomes of it when something goes wrong meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing, contextmanager

import pytest

from tests.support.cli import (
    PROJECT,
    SECONDS,
    assert_one_line,
    assert_verbatim,
    terminal,
    unprivileged,
)
from tests.support.local import RUNBOOKS, write_files

MANY = {
    f"new/{n}.md": f"# Note {n}\n\n" + "".join(f"{n} {m} zebra\n" for m in range(80))
    for n in range(60)
}


@pytest.fixture(scope="module")
def made(settled, tmp_path_factory):
    """Give a folder with documents and the knowledge base of it; tests work on copies."""
    folder = tmp_path_factory.mktemp("made")
    write_files(folder / "docs", RUNBOOKS)
    ran = settled("ingest", folder / "docs", "--kb", folder / "own.kb")
    return folder, ran


@pytest.fixture
def own(made, tmp_path):
    """Give a test's own copy of a folder ``docs`` and its knowledge base ``own.kb``."""
    folder, _ = made
    shutil.copytree(folder, tmp_path / "own")
    return tmp_path / "own"


@pytest.fixture
def grown(own):
    """Let the folder grow so much that bringing its knowledge base up to date takes seconds."""
    write_files(own / "docs", MANY)
    return own


def content(kb):
    """Give what a knowledge base holds, which has to be whole."""
    with closing(sqlite3.connect(kb)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return connection.execute("SELECT text FROM chunks ORDER BY id").fetchall()


def test_a_person_is_told_what_an_ingest_did(made):
    folder, ran = made
    assert (ran.code, ran.err) == (0, "")
    first, second = ran.out.removesuffix("\n").split("\n")
    assert first == f"3 documents, 4 chunks in {folder / 'own.kb'}"
    assert second.startswith("(3 new, 0 changed, 0 unchanged, 0 removed; 4 chunks embedded in ")


def test_a_program_is_told_what_changed_and_only_that_is_embedded(cli, own):
    changed = own / "docs" / "runbooks" / "rds-failover.md"
    changed.write_text(changed.read_text().replace("Promote", "Do not promote"))
    (own / "docs" / "runbooks" / "lambda-throttling.md").unlink()
    write_files(own / "docs", {"new.md": "# New\n"})
    ran = cli("ingest", own / "docs", "--kb", own / "own.kb", "--json")
    assert (ran.code, ran.err) == (0, "")
    report = ran.json
    assert report.pop("seconds") >= report.pop("embedding_seconds") > 0
    assert report == {
        "kb": str(own / "own.kb"),
        "added": ["new.md"],
        "changed": ["runbooks/rds-failover.md"],
        "removed": ["runbooks/lambda-throttling.md"],
        "unchanged": 1,
        "skipped": [],
        "left_out": [],
        "warnings": [],
        "lint": [],
        "chunks": 4,
        "embedded": 2,
    }


def test_hidden_documents_and_links_out_of_the_folder_are_named(cli, own, tmp_path):
    write_files(own / "docs", {".github/b.md": "# B\n", "runbooks/.a.md": "# A\n", ".x/y": "z"})
    write_files(tmp_path, {"outside/c.md": "# C\n"})
    (own / "docs" / "team").symlink_to(tmp_path / "outside")
    ran = cli("ingest", own / "docs", "--kb", own / "own.kb")
    assert ran.code == 0
    assert ran.err == (
        "left out 2 paths, such as .github/b.md: a name in the path begins with a dot\n"
        "left out 1 path, such as team: a link that leaves the folder, or is broken\n"
    )
    again = cli("ingest", own / "docs", "--kb", own / "own.kb", "--json")
    assert again.json["unchanged"] == 3
    assert [(one["count"], one["example"]) for one in again.json["left_out"]] == [
        (2, ".github/b.md"),
        (1, "team"),
    ]


def test_a_folder_of_hidden_documents_alone_is_told(cli, tmp_path):
    write_files(tmp_path / "docs", {".git/a.md": "# A\n"})
    ran = cli("ingest", tmp_path / "docs", "--kb", tmp_path / "own.kb")
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(
        ran.err, "left out 1 path, such as .git/a.md: a name in the path begins with a dot"
    )


def test_what_lint_finds_is_named_after_an_ingest_and_the_rest_counted(cli, own):
    secrets = "".join(f"password: k9Vq2mZ{n}\n" for n in range(30))
    write_files(own / "docs", {"leak.md": "# Leak\x1b[31m\n\n" + secrets})
    ran = cli("ingest", own / "docs", "--kb", own / "own.kb")
    assert ran.code == 0
    lines = ran.err.removesuffix("\n").split("\n")
    assert (
        lines[0] == "lint leak.md:1:7 hidden_unicode: control character U+001B: # Leak\\x1b[31m pa"
    )
    assert lines[1] == "lint leak.md:3:11 secret: password in plain text: … (8 characters)"
    assert lines[20:] == [f"lint and 11 more: knowledge-rag lint {own / 'docs'}"]
    again = cli("ingest", own / "docs", "--kb", own / "own.kb", "--json")
    assert (again.code, again.err, again.json["unchanged"]) == (0, "", 4)
    assert len(again.json["lint"]) == 31


def test_ones_own_knowledge_base_is_asked_once_there_is_one(cli, own):
    ingested = cli("ingest", own / "docs", "--json")
    assert ingested.json["kb"] == str(cli.data / "knowledge.kb")
    ran = cli("retrieve", "raise the reserved concurrency", "--json")
    assert ran.code == 0
    assert_verbatim(ran.json["results"], own / "docs")
    assert [path.name for path in cli.data.glob("*.kb")] == ["knowledge.kb"]


def test_a_knowledge_base_may_have_any_name(cli, own):
    kb = own / "[red]:car: \x1b[2J\u202e" / "a b.kb"
    ran = cli("ingest", own / "docs", "--kb", kb)
    assert (ran.code, ran.err) == (0, "")
    assert "/[red]:car: \\x1b[2J\\u202e/a b.kb\n" in ran.out
    assert kb.is_file()


def test_a_binary_file_among_good_ones_is_skipped_told_and_exits_1(cli, own):
    write_files(own / "docs", {"core.md": b"\x7fELF\0", "wide.md": "word " * 3000})
    ran = cli("ingest", own / "docs", "--kb", own / "own.kb", "--json")
    assert ran.code == 1
    skipped, warning = ran.err.removesuffix("\n").split("\n")
    assert skipped == "skipped core.md: binary file: NUL byte at offset 4"
    assert warning.startswith("warning wide.md: line 1 alone exceeds")
    assert ran.json["skipped"] == [
        {"document": "core.md", "reason": "binary file: NUL byte at offset 4"}
    ]
    assert (ran.json["added"], ran.json["unchanged"]) == (["wide.md"], 3)


def test_an_unreadable_file_is_skipped_told_and_exits_1(cli, own):
    (own / "docs" / "runbooks" / "lambda-throttling.md").chmod(0)
    ran = unprivileged(cli, "ingest", own / "docs", "--kb", own / "own.kb", "--json")
    assert ran.code == 1
    assert ran.err == "skipped runbooks/lambda-throttling.md: Permission denied\n"
    assert ran.json["removed"] == ["runbooks/lambda-throttling.md"]
    assert ran.json["unchanged"] == 2


def test_a_place_that_cannot_be_written_is_told_in_one_line(cli, own):
    own.chmod(0o555)
    try:
        ran = unprivileged(cli, "ingest", own / "docs", "--kb", own / "new.kb")
    finally:
        own.chmod(0o755)
    assert (ran.code, ran.out) == (4, "")
    assert_one_line(ran.err, f"can't open {own / 'new.kb'}: ")
    assert not (own / "new.kb").exists()


def test_of_two_ingests_at_once_the_second_is_told_and_the_first_may_be_interrupted(cli, grown):
    kb = grown / "own.kb"
    before = content(kb)
    with terminal() as (screen, end):
        with cli.started("ingest", grown / "docs", "--kb", kb, stderr=end) as process:
            os.close(end)
            screen.until("embedding")  # the progress bar
            process.send_signal(signal.SIGSTOP)  # so that it does not end before the second begins
            second = cli("ingest", grown / "docs", "--kb", kb)
            assert (second.code, second.out) == (4, "")
            assert_one_line(second.err, f"another ingest is writing {kb}: try again later")
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGCONT)
            assert process.wait(SECONDS) == 130
            assert process.stdout.read() == b""
        shown = screen.rest()
    assert shown.rstrip("\r\n").endswith("interrupted")
    assert "Traceback" not in shown
    assert set(content(kb)) >= set(before)  # and what a busy machine gave it time to commit
    assert sorted(path.name for path in grown.glob("*[!x]")) == ["docs", "own.kb"]
    assert len([*grown.glob("own.kb.*.index")]) == 1


def test_a_watched_folder_is_ingested_whenever_a_document_changes(cli, own):
    kb = own / "own.kb"
    with cli.started("ingest", own / "docs", "--kb", kb, "--watch", "--json") as process:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        first = json.loads(line)
        assert (first["unchanged"], first["added"]) == (3, [])
        write_files(own / "docs", {"new.md": "# New\n\nzebra\n"})
        assert json.loads(process.stdout.readline())["added"] == ["new.md"]
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
    assert any("zebra" in text for (text,) in content(kb))


def assert_full_disk_changes_nothing(ran, kb, before):
    assert (ran.code, ran.out) == (4, "")
    assert_one_line(
        ran.err,
        f"can't write {kb}: the disk is full or failing (",
        "batches committed before are complete in the knowledge base",
    )
    assert content(kb) == before


@pytest.fixture
def grown_a_little(own):
    """Let the folder grow beyond what a disk has room for, yet not take seconds."""
    write_files(own / "docs", {f"new/{n}.md": f"# {n}\n\nzebra {n}\n" for n in range(40)})
    return own


def test_a_file_that_cannot_grow_leaves_the_knowledge_base_as_it_was(cli, grown_a_little):
    kb = grown_a_little / "own.kb"
    before = content(kb)
    limit = f"file-size={kb.stat().st_size + 8192}"
    ran = cli("ingest", grown_a_little / "docs", "--kb", kb, restrict=[limit])
    assert_full_disk_changes_nothing(ran, kb, before)


@contextmanager
def small_disk(folder, size):
    """Mount a disk of so many bytes, or skip the test."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only a superuser who may mount a small disk can fill one")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_leaves_the_knowledge_base_as_it_was(cli, grown_a_little, tmp_path):
    size = (grown_a_little / "own.kb").stat().st_size
    with small_disk(tmp_path / "disk", size + 32768) as disk:
        kb = disk / "own.kb"
        shutil.copy(grown_a_little / "own.kb", kb)
        before = content(kb)
        ran = cli("ingest", grown_a_little / "docs", "--kb", kb)
        assert_full_disk_changes_nothing(ran, kb, before)


INTERRUPTED_MODULE = """
import os, signal, time
os.kill(os.getpid(), signal.SIGINT)
try:
    time.sleep(0.1)
except KeyboardInterrupt:
    raise ImportError("initialization failed") from None
"""


@pytest.mark.parametrize("module", ["typer", "onnxruntime"])
def test_an_ingest_that_is_interrupted_while_it_loads_says_so_in_one_line(cli, tmp_path, module):
    files = {f"fake/{module}.py": INTERRUPTED_MODULE.replace("ImportError(", "KeyboardInterrupt(")}
    if module == "onnxruntime":  # it makes an error of its own of an interrupt
        files = {f"fake/{module}.py": INTERRUPTED_MODULE}
    write_files(tmp_path, files | {"docs/a.md": "# A\n"})
    path = f"{tmp_path / 'fake'}{os.pathsep}{PROJECT}"
    arguments = ("ingest", tmp_path / "docs", "--kb", tmp_path / "own.kb")
    ran = cli(*arguments, restrict=["interruptible"], PYTHONPATH=path)
    assert (ran.code, ran.out, ran.err) == (130, "", "error: interrupted\n")
