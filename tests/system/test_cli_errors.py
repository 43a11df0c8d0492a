"""Bad input: one line that says what is wrong, the right exit code, and nothing lost."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing, suppress

import pytest

from tests.support.cli import SECONDS, assert_one_line
from tests.support.local import RUNBOOKS, write_files

# what is typed -> exit code, and what the line says; {} is the folder that `place` makes
CASES = {
    "ingest {}/missing": (2, "no such folder: {}/missing"),
    "ingest {}/empty": (
        2,
        "no documents (*.adoc, *.asciidoc, *.docx, *.htm, *.html, *.ipynb, *.markdown, *.md, *.md.erb, *.mdx, *.org, *.pdf, *.rst, *.txt) in {}/empty",
    ),
    "ingest {}/binary": (2, "none of 2 documents can be read: a.md: binary file: NUL byte"),
    "ingest {}/docs --kb {}/text.kb": (2, "{}/text.kb is not a knowledge base"),
    "ingest {}/docs --kb {}/other.kb": (
        2,
        "{}/other.kb is a SQLite file, but not a knowledge base",
    ),
    "ingest {}/docs --kb {}/docs": (2, "{}/docs is a folder, not a knowledge base"),
    "ingest {}/docs --kb {}/text.kb/in/a.kb": (2, "can't create {}/text.kb/in/a.kb: "),
    "chunk {}/missing": (2, "{}/missing: no such file or folder"),
    "chunk {}/docs --max-tokens 1": (2, "max_tokens is 1; allowed: 128 to 8192"),
    "retrieve x --kb {}/missing/a.kb": (2, "no knowledge base at {}/missing/a.kb: create one with"),
    "retrieve x --kb {}/newer.kb": (2, "{}/newer.kb has format version 99"),
    "retrieve x --kb {}/pipe": (2, "{}/pipe is not a regular file, so not a knowledge base"),
    "retrieve x --kb {}/shrunk.kb": (2, "{}/shrunk.kb is damaged (", "): delete it, ingest again"),
    "retrieve x --kb {}/cut.kb": (2, "{}/cut.kb is damaged"),
    "retrieve x --kb {}/blank.kb": (2, "{}/blank.kb is empty: fill it with"),
    "retrieve x --kb {}/good.kb --max-results five": (2, "max_results must be a whole number"),
    "retrieve x --kb {}/good.kb --filter service": (2, "write KEY=VALUE"),
    "retrieve x --filter service=\t": (2, "write KEY=VALUE"),
    "retrieve x --filter owner=me": (2, "KEY is one of document_type, service"),
    "retrieve x --search fuzzy": (2, "'fuzzy' is not one of 'hybrid', 'semantic'"),
    "serve --port 65536": (2, "Invalid value for '--port'"),
    "bench floor --off {}/text.kb": (
        2,
        "{}/text.kb: line 1 is not a JSON object with id and query",
    ),
    "bench floor --on {}/one.jsonl --kb {}/good.kb": (2, "1 on-topic questions are too few"),
    "verify --evidence {}/one.jsonl --answer - --evidence -": (
        2,
        "standard input can be read only once",
    ),
    "ask x --region us-east-1": (
        2,
        "--region goes with --stack, --function, --knowledge-base, --gateway or --advisor",
    ),
    "coverage --rules {} --docs {}/docs --format xml": (
        2,
        "Invalid value for '--format': 'xml' is",
    ),
    "inquire x": (2, "No such command 'inquire'; see knowledge-rag --help"),
    "ingest": (2, "Missing argument 'DIR'; see knowledge-rag ingest --help"),
    "ingest {}/docs --fast": (2, "No such option: --fast"),
}


@pytest.fixture(scope="module")
def place(settled, tmp_path_factory):
    """Make a folder with everything that is not what it should be."""
    place = write_files(
        tmp_path_factory.mktemp("place"),
        {
            **{f"docs/{name}": text for name, text in RUNBOOKS.items()},
            "docs/a.md": "# A\n\ntext\n",
            "binary/a.md": b"\0",
            "binary/b.txt": b"\xff\xfe",
            "text.kb": "just text, and long enough to have a header " * 20,
            "blank.kb": b"",
            "one.jsonl": '{"id": "a", "query": "x"}\n',
        },
    )
    (place / "empty").mkdir()
    os.mkfifo(place / "pipe")
    assert settled("ingest", place / "docs", "--kb", place / "good.kb").code == 0
    good = (place / "good.kb").read_bytes()
    (place / "cut.kb").write_bytes(good[: len(good) // 2 // 4096 * 4096])
    for name, statement in {
        "other.kb": "CREATE TABLE t (x)",
        "shrunk.kb": "DELETE FROM vectors",
        "newer.kb": "PRAGMA user_version = 99",
    }.items():
        if name != "other.kb":
            shutil.copy(place / "good.kb", place / name)
        with closing(sqlite3.connect(place / name)) as connection, connection:
            connection.execute(statement)
    return place


def everything_in(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def ran(settled, place):
    """Run all cases and make sure that they leave everything as it was."""
    before = everything_in(place), everything_in(settled.data)
    commands = {typed: typed.format(*[place] * 2).split(" ") for typed in CASES}
    ran = settled.each(commands)
    assert (everything_in(place), everything_in(settled.data)) == before
    return ran


@pytest.mark.parametrize("typed", CASES)
def test_bad_input_is_one_line_and_an_exit_code(typed, ran, place):
    code, *says = CASES[typed]
    assert (ran[typed].code, ran[typed].out) == (code, "")
    assert_one_line(ran[typed].err, *(part.format(place) for part in says))


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (" \t\n", "query is blank"),
        ("x" * 20_001, "query is 20001 characters long; at most 20000 are allowed"),
        (b"caf\xe9", "query contains a lone surrogate, which isn't a character"),
    ],
)
def test_a_query_that_cannot_be_asked_is_refused(query, says, settled, place):
    typed = query.decode(errors="surrogateescape") if isinstance(query, bytes) else query
    ran = settled("retrieve", typed, "--kb", place / "good.kb")
    assert (ran.code, ran.out) == (2, "")
    assert_one_line(ran.err, says)


def test_a_folder_with_terminal_escapes_in_its_name_is_named_harmlessly(settled, tmp_path):
    ran = settled("ingest", tmp_path / "\x1b]0;x\x07\u202e[red]")
    assert_one_line(ran.err, "\\x1b]0;x\\x07\\u202e[red]")


def test_no_command_at_all_shows_the_help(settled):
    ran = settled()
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: knowledge-rag [OPTIONS] COMMAND")


def test_a_missing_model_is_named_with_what_mends_it(cli, tmp_path):
    write_files(tmp_path / "docs", {"a.md": "# A\n"})
    ran = cli("ingest", tmp_path / "docs", KNOWLEDGE_RAG_MODEL_DIR=str(tmp_path))
    assert (ran.code, ran.out) == (4, "")
    assert_one_line(
        ran.err, "embedding model file ", ": No such file or directory: run `make setup`"
    )
    assert not any(cli.data.iterdir())


def code_after(process, how):
    """Send a signal until the process ends: Python handles one that arrives just before a read after it."""
    for _ in range(SECONDS // 10):
        process.send_signal(how)
        with suppress(subprocess.TimeoutExpired):
            return process.wait(10)
    raise AssertionError(f"signal {how} never ended the command")


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_killed_ends_in_an_orderly_way(cli, tmp_path, how):
    os.mkfifo(tmp_path / "pipe")
    with cli.started("verify", "--evidence", tmp_path / "pipe") as process:
        with (tmp_path / "pipe").open("wb"):  # opens once the command waits for what is in it
            assert code_after(process, how) == 128 + how
        assert process.stdout.read() + process.stderr.read() == b""
