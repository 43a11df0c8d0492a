"""Receipts: an id of what it says, and a chain in which nothing can be changed unnoticed."""

from __future__ import annotations

import asyncio
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from knowledge_rag.channel.message import message_of
from knowledge_rag.channel.receipts import Receipts, citation_in, id_of, receipt_of
from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.orchestrator.consultation import consult
from tests.support.runbooks import Search, alert

TEXT = "# Queue\n\n## QueueGrows\n\n1. Look at `queue_depth`.\n2. Wait.\n"


@pytest.fixture
def says():
    incident = alert("QueueGrows")
    consultation = asyncio.run(consult(incident, Search({"runbooks/queue.md": TEXT})))
    return receipt_of(message_of(incident, consultation), consultation, "2026-11-24T03:00:00+00:00")


@pytest.fixture
def receipts(tmp_path):
    return Receipts(tmp_path / "receipts")


def test_a_receipt_has_the_hash_of_every_cited_line(says):
    lines = TEXT.split("\n")
    assert says["evidence"]
    for one in says["evidence"]:
        text = "\n".join(lines[one["start_line"] - 1 : one["end_line"]])
        assert one["text_sha256"] == hashlib.sha256(text.encode()).hexdigest()
        assert one["document_sha256"] == hashlib.sha256(TEXT.encode()).hexdigest()
    assert says["question"] == "QueueGrows"


def test_a_receipt_is_found_by_its_id(says, receipts, tmp_path):
    number = receipts.add(says)
    other = receipts.add({**says, "question": "Other"})
    assert number == receipts.add(says) != other
    found = receipts.find(other)
    assert (found.says["question"], found.problems) == ("Other", ())
    (path,) = (tmp_path / "receipts").iterdir()
    assert path.name == "2026-11-24.jsonl"
    assert path.stat().st_mode & 0o077 == 0
    assert len(path.read_bytes().splitlines()) == 2


@pytest.mark.parametrize("change", ["question", "remove", "swap", "id", "cut"])
def test_whatever_is_changed_in_a_day_is_noticed(says, receipts, tmp_path, change):
    numbers = [receipts.add({**says, "question": name}) for name in ("a", "b", "c")]
    path = tmp_path / "receipts" / "2026-11-24.jsonl"
    lines = path.read_bytes().split(b"\n")
    if change == "question":
        lines[0] = lines[0].replace(b'"question":"a"', b'"question":"x"')
    elif change == "remove":
        del lines[0]
    elif change == "swap":
        lines[0], lines[1] = lines[1], lines[0]
    elif change == "id":
        one = json.loads(lines[2])
        one["says"]["status"] = "no_match"
        lines[2] = json.dumps(one).encode()
    else:
        lines[1] = lines[1][:50]
    path.write_bytes(b"\n".join(lines))
    assert receipts.find(numbers[2]).problems


@pytest.mark.parametrize("kept", [0, 1, -1])
@pytest.mark.parametrize("before", [0, 2])
def test_a_receipt_that_a_full_disk_cut_off_harms_no_other(says, receipts, tmp_path, before, kept):
    path = tmp_path / "receipts" / "2026-11-24.jsonl"
    first = [receipts.add({**says, "question": str(n)}) for n in range(before)]
    whole = path.read_bytes() if first else b""
    receipts.add({**says, "question": "cut off"})
    line = path.read_bytes()[len(whole) :]
    path.write_bytes(whole + line[:kept])
    later = [receipts.add({**says, "question": name}) for name in ("cut off", "last")]
    assert [receipts.find(it).problems for it in first + later] == [()] * (before + 2)


def test_two_processes_that_keep_receipts_in_one_folder_break_no_chain(says, tmp_path):
    def keep(who):
        own = Receipts(tmp_path / "receipts")  # as another process has it
        return [own.add({**says, "question": f"{who} {n}"}) for n in range(25)]

    with ThreadPoolExecutor(4) as pool:
        kept = [number for one in pool.map(keep, "abcd") for number in one]
    assert len(set(kept)) == 100
    (path,) = (tmp_path / "receipts").iterdir()
    assert len(path.read_bytes().splitlines()) == 100
    last = json.loads(path.read_bytes().splitlines()[-1])["id"]
    assert not Receipts(tmp_path / "receipts").find(last).problems


def test_reports_of_a_receipt_are_kept_apart_from_the_chain_and_once_for_each_person(
    says, receipts
):
    number, other = receipts.add(says), receipts.add({**says, "question": "Other"})
    wrong = citation_in(says["evidence"][0])
    assert receipts.report(number, wrong, "a", "2026-11-24T03:00:00+00:00")
    assert not receipts.report(number, wrong, "a", "2026-11-24T04:00:00+00:00")
    assert receipts.report(number, wrong, "b", "2026-11-24T05:00:00+00:00")
    assert [it["by"] for it in receipts.reports(number)] == ["a", "b"]
    assert receipts.reports(other) == []
    assert not receipts.find(other).problems


def test_an_id_that_is_none_is_said_to_be_none(receipts):
    with pytest.raises(InvalidRequest, match="no receipt kr-x"):
        receipts.find("kr-x")


def test_an_id_is_of_what_is_said_alone():
    assert id_of({"a": 1, "b": 2}) == id_of({"b": 2, "a": 1}) != id_of({"a": 1, "b": 3})
