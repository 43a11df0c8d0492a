"""Documents that may take any memory or time are read in a process with limits."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.extract import confined
from knowledge_rag.extract.confined import MAX_MEMORY_BYTES, read_confined
from knowledge_rag.extract.documents import extract
from tests.support.pdfs import bomb_pdf, scanned_pdf, text_pdf


def read_pdf(name, data, seconds=confined.MAX_SECONDS):
    return read_confined("pdf", name, data, seconds)


GIGABYTE = 10**9


def test_what_it_reads_is_what_the_reader_reads():
    read = read_pdf("a.pdf", text_pdf([["promote"], [], ["the replica"]], title="Handbook"))
    assert (read["title"], read["pages"]) == ("Handbook", ["promote", "", "the replica"])
    assert read["notes"] == ["no text on page 2"]


@pytest.mark.parametrize(
    ("data", "reason"), [(b"", "empty"), (b"x", "not a PDF"), (scanned_pdf(), "OCR")]
)
def test_what_cannot_be_read_is_told_as_ever(data, reason):
    with pytest.raises(UnreadableDocument, match=reason) as told:
        read_pdf("a.pdf", data)
    assert told.value.name == "a.pdf"


def test_a_file_that_unpacks_to_gigabytes_is_named_and_the_next_one_is_read():
    with pytest.raises(
        UnreadableDocument, match=r"bomb\.pdf: reading it takes over 768 MB of memory"
    ):
        extract("bomb.pdf", bomb_pdf(GIGABYTE))
    assert extract("a.pdf", text_pdf([["promote"]])).text == "promote\n"


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="Linux tells a process's limits")
def test_it_can_take_so_much_that_it_and_an_ingest_stay_below_a_gigabyte():
    read_pdf("a.pdf", text_pdf([["x"]]))
    limits = Path(f"/proc/{confined._reader._process.pid}/limits").read_text(encoding="ascii")
    (row,) = [it for it in limits.split("\n") if it.startswith("Max address space")]
    assert row.split()[3:5] == [str(MAX_MEMORY_BYTES)] * 2
    assert MAX_MEMORY_BYTES < GIGABYTE - 150_000_000


def test_a_file_that_takes_too_long_is_named_and_the_next_one_is_read():
    read_pdf("a.pdf", text_pdf([["x"]]))
    os.kill(confined._reader._process.pid, signal.SIGSTOP)
    with pytest.raises(UnreadableDocument, match=r"a\.pdf: reading it takes over 0\.2 s"):
        read_pdf("a.pdf", text_pdf([["x"]]), seconds=0.2)
    assert read_pdf("a.pdf", text_pdf([["x"]]))["pages"] == ["x"]


def test_a_reader_that_was_killed_is_started_anew():
    read_pdf("a.pdf", text_pdf([["x"]]))
    os.kill(confined._reader._process.pid, signal.SIGKILL)
    confined._reader._process.wait()
    assert read_pdf("a.pdf", text_pdf([["y"]]))["pages"] == ["y"]


def test_a_forked_process_has_a_reader_of_its_own(monkeypatch):
    read_pdf("a.pdf", text_pdf([["x"]]))
    first = confined._reader._process
    monkeypatch.setattr(confined._reader, "_owner", -1)  # as a child sees it
    assert read_pdf("a.pdf", text_pdf([["y"]]))["pages"] == ["y"]
    assert confined._reader._process is not first
    first.kill()
    first.wait()


def test_threads_get_their_own_answers():
    texts = [f"text {number}" for number in range(24)]
    with ThreadPoolExecutor(4) as pool:
        read = pool.map(lambda text: read_pdf("a.pdf", text_pdf([[text]]))["pages"], texts)
        assert list(read) == [[text] for text in texts]


@pytest.mark.parametrize(
    ("given", "bytes_"), [("512", 2**28), ("10240", MAX_MEMORY_BYTES), ("", MAX_MEMORY_BYTES)]
)
def test_in_a_function_it_takes_half_of_the_memory(monkeypatch, given, bytes_):
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", given)
    assert confined._memory() == bytes_
