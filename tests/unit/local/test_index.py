"""The index beside a knowledge base: made by an ingest, mapped by readers, made again where it can't be used."""

from __future__ import annotations

import hashlib
import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.filters import parse_filter
from knowledge_rag.local.errors import Damage
from knowledge_rag.local.index import (
    TAIL,
    MetadataColumns,
    Parts,
    SortedTerms,
    Strings,
    build,
    column_arrays,
    open_index,
)
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.keywords import ENTRY
from knowledge_rag.local.knowledge_base import KnowledgeBase
from tests.support.local import write_files


def index_of(kb_path):
    (index,) = kb_path.parent.glob(f"{kb_path.name}.*.index")
    return index


def found(kb_path, hashes):
    with KnowledgeBase(kb_path, hashes) as opened:
        return opened.search("failover", limit=9)


@given(st.sets(st.text(max_size=5), max_size=40), st.text(max_size=5))
def test_a_term_has_the_number_of_its_place(terms, other):
    terms = {term for term in terms if term.isprintable()}
    ordered = sorted(terms, key=str.encode)
    parts = Parts()
    for term in ordered:
        parts.add(term.encode())
    numbers = SortedTerms(Strings(parts.data, parts.starts))
    assert [numbers.get(term) for term in ordered] == [*range(len(ordered))]
    if other not in terms:
        assert numbers.get(other) is None


def test_an_index_is_made_in_little_more_memory_than_it_has():
    terms = [f"term{number}" for number in range(500)]
    vector = np.full(384, 384**-0.5, dtype="<f4").tobytes()
    entries = np.array([(number, 1.0) for number in range(80)], dtype=ENTRY).tobytes()
    rows = (
        (
            number,
            1,
            2,
            f"chunk{number}",
            json.dumps({"source_file": f"{number}.md", "chunk_id": f"chunk{number}"}),
            "x" * 500 + str(number),
            bytes(vector),
            bytes(entries),
        )
        for number in range(4000)
    )
    tracemalloc.start()
    try:
        arrays = build(rows, terms, "{}")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(arrays["documents"]) == 4000
    assert peak < 2 * sum(array.nbytes for array in arrays.values())


def test_an_ingest_leaves_the_index_of_its_last_state_alone(ingested, corpus, hashes):
    first = index_of(ingested)
    left = first.with_name(first.name + "killed.part")
    left.touch()
    notes = first.with_name(first.name + ".txt")
    notes.touch()
    ingest(corpus, ingested, embedder=hashes)
    assert index_of(ingested) == first
    write_files(corpus, {"new.md": "# New\n\nfailover\n"})
    ingest(corpus, ingested, embedder=hashes)
    assert index_of(ingested) != first
    assert not left.exists()
    assert notes.exists()


@pytest.mark.parametrize("place", [0, 100, 5_000, -100, -60, -20, -1])
def test_a_damaged_index_is_made_again(ingested, hashes, place):
    hits = found(ingested, hashes)
    index = index_of(ingested)
    whole = index.read_bytes()
    data = bytearray(whole)
    data[place] ^= 0xFF
    index.write_bytes(data)
    with pytest.raises(Damage):
        open_index(index)
    assert found(ingested, hashes) == hits
    assert len(open_index(index)) == len(hits)


@pytest.mark.parametrize(
    ("old", "new"), [('"<f4"', '"|O8"'), ('"<f4"', '"<x9"'), (", [4, 384]", ", [4, 999]")]
)
def test_an_index_that_somebody_else_made_up_is_made_again(ingested, hashes, old, new):
    hits = found(ingested, hashes)
    index = index_of(ingested)
    data = index.read_bytes()
    length, _, magic = TAIL.unpack(data[-TAIL.size :])
    head = data[-TAIL.size - length : -TAIL.size]
    assert old.encode() in head
    forged = head.replace(old.encode(), new.encode())
    tail = TAIL.pack(len(forged), hashlib.sha256(forged).digest(), magic)
    index.write_bytes(data[: -TAIL.size - length] + forged + tail)
    with pytest.raises(Damage):
        open_index(index)
    assert found(ingested, hashes) == hits


@pytest.mark.parametrize("size", [0, 7, 64, 4_000])
def test_an_index_cut_short_is_made_again(ingested, hashes, size):
    hits = found(ingested, hashes)
    index = index_of(ingested)
    index.write_bytes(index.read_bytes()[:size])
    assert found(ingested, hashes) == hits
    assert len(open_index(index)) == len(hits)


def test_a_copy_of_the_knowledge_base_alone_is_searched_all_the_same(ingested, hashes, tmp_path):
    hits = found(ingested, hashes)
    folder = tmp_path / "copy"
    folder.mkdir()
    copy = folder / "team.kb"
    copy.write_bytes(ingested.read_bytes())
    assert found(copy, hashes) == hits
    assert index_of(copy).read_bytes()
    assert found(copy, hashes) == hits


def test_an_open_index_stays_as_it_was_opened(ingested, corpus, hashes):
    with KnowledgeBase(ingested, hashes) as opened:
        before = opened.index
        texts = [*before.texts]
        write_files(corpus, {"runbooks/rds-failover.md": "# RDS\n\nchanged\n"})
        ingest(corpus, ingested, embedder=hashes)
        assert opened.index is not before
        assert [*before.texts] == texts
        assert before.vectors.shape == (len(texts), 384)


def test_an_attribute_of_which_nearly_all_are_distinct_is_filtered_on_too():
    rows = [{"id": f"x{number}", "service": "rds", "tags": ["a", "b"]} for number in range(10)]
    arrays = column_arrays(rows, len(rows))
    assert not any(name.endswith(":id") for name in arrays)
    columns = MetadataColumns(arrays, len(rows), lambda: rows)
    one = columns.mask(parse_filter({"equals": {"key": "id", "value": "x3"}}))
    assert np.flatnonzero(one).tolist() == [3]
    tagged = columns.mask(parse_filter({"listContains": {"key": "tags", "value": "b"}}))
    assert tagged.all()
