from __future__ import annotations

import pytest

from benchmarks.speed import chunking as chunking_bench
from benchmarks.speed.chunking import (
    CAPPED,
    WHOLE,
    ChunkingReport,
    Row,
    as_table,
    run_chunking_bench,
)
from benchmarks.speed.chunking_peers import HEADERS, NODES, RECURSIVE
from knowledge_rag.local.errors import UnusableCorpus
from tests.support.local import RUNBOOKS, write_files
from tests.support.tables import shown


def missing():
    raise ModuleNotFoundError("a peer")


@pytest.fixture(autouse=True)
def _peers(monkeypatch):
    """Two peers that are there and one that is not."""
    peers = {
        "halves": lambda: lambda text: [text[: len(text) // 2], text[len(text) // 2 :]],
        "upper": lambda: lambda text: [text, text.upper() + "!"],
        "absent": missing,
    }
    monkeypatch.setattr(chunking_bench, "PEERS", peers)


def test_every_splitter_is_measured_on_the_same_texts(tmp_path):
    report = run_chunking_bench(write_files(tmp_path, RUNBOOKS), rounds=1)
    assert (report.files, report.missing) == (3, ("absent",))
    figures = {row.name: (row.verbatim, row.lines) for row in report.rows}
    assert figures == {
        CAPPED: (1.0, 1.0),
        WHOLE: (1.0, 1.0),
        "halves": (1.0, 0.0),
        "upper": (0.5, 0.0),
    }
    assert all(row.megabytes_per_second > 0 for row in report.rows)
    assert {row.name: row.chunks for row in report.rows}["halves"] == 6


def test_a_file_that_cannot_be_read_is_left_out(tmp_path):
    folder = write_files(tmp_path, {"a.md": "# A\n\ntext\n", "b.md": b"\0"})
    assert run_chunking_bench(folder, rounds=1).files == 1


@pytest.mark.parametrize("files", [{}, {"a.md": b"\0"}, {"a.md": "\n \n"}])
def test_a_folder_without_text_is_refused(files, tmp_path):
    with pytest.raises(UnusableCorpus):
        run_chunking_bench(write_files(tmp_path, files), rounds=1)


def with_speeds(**others):
    speeds = {CAPPED: 20.0, WHOLE: 80.0, HEADERS: 10.0, NODES: 4.0, RECURSIVE: 80.0} | others
    rows = tuple(Row(name, speed, 1, 1.0, 1.0) for name, speed in speeds.items() if speed)
    return ChunkingReport(1, 1.0, rows, ())


def test_whole_sections_are_held_against_those_who_give_sections_too():
    assert with_speeds().reached
    assert "80.0" in shown(as_table(with_speeds()))
    assert "reached" in shown(as_table(with_speeds()))


@pytest.mark.parametrize(("peer", "speed"), [(HEADERS, 10.1), (NODES, 4.1), (RECURSIVE, 80.1)])
def test_one_peer_that_is_too_near_is_an_aim_missed(peer, speed):
    report = with_speeds(**{peer: speed})
    assert report.reached is False
    assert "missed" in shown(as_table(report))


def test_without_a_peer_nothing_is_said_of_the_aim():
    assert with_speeds(**{NODES: 0.0}).reached is None
