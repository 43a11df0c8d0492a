"""Printing chunks."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.cli import SECONDS, lines_of
from tests.support.local import CORPUS, write_files

KEYS = ["source_file", "start_line", "end_line", "section_header", "content"]


def test_the_chunks_of_a_file_are_its_lines(cli):
    path = CORPUS / "runbooks" / "rds-failover.md"
    ran = cli("chunk", path)
    assert (ran.code, ran.err) == (0, "")
    for chunk in ran.json_lines:
        assert list(chunk) == KEYS
        assert chunk["source_file"] == "rds-failover.md"
        assert chunk["content"] == lines_of(path, chunk["start_line"], chunk["end_line"])
    assert {"Resolution", "Rollback"} <= {chunk["section_header"] for chunk in ran.json_lines}


def test_the_chunks_of_a_folder_name_paths_below_it(cli):
    ran = cli("chunk", CORPUS, "--max-tokens", "512")
    assert (ran.code, ran.err) == (0, "")
    files = {chunk["source_file"] for chunk in ran.json_lines}
    assert files == {path.relative_to(CORPUS).as_posix() for path in CORPUS.rglob("*.md")}
    for chunk in ran.json_lines:
        path = CORPUS / chunk["source_file"]
        assert chunk["content"] == lines_of(path, chunk["start_line"], chunk["end_line"])


def test_carriage_returns_marks_and_rare_line_separators_stay_as_they_are(cli, tmp_path):
    data = "\ufeff# A\u2028b\r\n\r\none\x0btwo\x85\r\n- \U0001f980 three".encode()
    write_files(tmp_path, {"crlf.md": data})
    ran = cli("chunk", tmp_path / "crlf.md", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.isascii()
    (chunk,) = ran.json_lines
    assert chunk["content"].encode() == data.removeprefix(b"\xef\xbb\xbf")
    assert (chunk["start_line"], chunk["end_line"]) == (1, 4)


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_chunked(cli, tmp_path):
    write_files(tmp_path, {"bad\u202e.md": b"\0", "good.md": "# Good\n", "latin.md": b"\xe9"})
    ran = cli("chunk", tmp_path)
    assert ran.code == 1
    assert ran.err == (
        "skipped 'bad\\u202e.md': its name can't be cited\n"
        "skipped latin.md: not UTF-8: byte 0xe9 at offset 0\n"
    )
    assert [chunk["content"] for chunk in ran.json_lines] == ["# Good"]


def test_a_reader_that_has_seen_enough_is_no_failure(cli):
    with cli.started("chunk", CORPUS, "--max-tokens", "128") as process:
        assert process.stdout.readline().startswith(b'{"source_file": ')
        process.stdout.close()
        err = process.stderr.read()
        assert (process.wait(SECONDS), err) == (0, b"")


def test_a_full_disk_behind_the_output_is_told_in_one_line(cli):
    with (
        Path("/dev/full").open("wb") as full,
        cli.started("chunk", CORPUS, stdout=full.fileno()) as process,
    ):
        err = process.stderr.read()
        assert (process.wait(SECONDS), err) == (4, b"error: No space left on device\n")


def test_a_closed_output_swallows_what_it_is_given(cli):
    command = cli._command(["chunk", CORPUS / "runbooks" / "rds-failover.md"])
    script = 'exec "$@" >&-'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *command],
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
