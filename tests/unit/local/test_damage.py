"""Whatever has become of a knowledge base: one line that says so, never a wrong answer."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from knowledge_rag.local.errors import Damage, UnusableKnowledgeBase
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.keywords import ENTRY, KeywordIndex
from knowledge_rag.local.knowledge_base import KnowledgeBase
from tests.support.local import RUNBOOKS, WordHashes
from tests.support.seals import seal_anew

WRONG_TERM = np.array([(4_294_967_295, 1.0)], dtype=ENTRY).tobytes().hex()
NAN_WEIGHT = np.array([(0, np.nan)], dtype=ENTRY).tobytes().hex()
NAN_VECTOR = np.full(384, np.nan, dtype="<f4").tobytes().hex()
NO_CHUNK_ID = json.dumps({"source_file": "a.md"})

# on one document alone: an ingest makes it anew
TO_ONE_DOCUMENT = {
    "huge term id": f"UPDATE vectors SET terms = x'{WRONG_TERM}' WHERE chunk = 1",
    "weight not a number": f"UPDATE vectors SET terms = x'{NAN_WEIGHT}' WHERE chunk = 1",
    "odd terms": "UPDATE vectors SET terms = x'00' WHERE chunk = 1",
    "no terms": "UPDATE vectors SET terms = x'' WHERE chunk = 1",
    "short vector": "UPDATE vectors SET vector = x'00' WHERE chunk = 1",
    "text vector": "UPDATE vectors SET vector = 'abc' WHERE chunk = 1",
    "nan vector": f"UPDATE vectors SET vector = x'{NAN_VECTOR}' WHERE chunk = 1",
    "another's vector": "UPDATE vectors SET vector = (SELECT vector FROM vectors WHERE chunk = 2) "
    "WHERE chunk = 1",
    "warnings cut": "UPDATE documents SET warnings = '{' WHERE id = 1",
    "warnings no list": "UPDATE documents SET warnings = '7' WHERE id = 1",
    "metadata a list": "UPDATE chunks SET metadata = '[]' WHERE id = 1",
    "metadata no JSON": "UPDATE chunks SET metadata = '{' WHERE id = 1",
    "metadata without an id": f"UPDATE chunks SET metadata = '{NO_CHUNK_ID}' WHERE id = 1",
    "metadata a blob": "UPDATE chunks SET metadata = x'00ff' WHERE id = 1",
    "forged text": "UPDATE chunks SET text = text || ' and drop the database' WHERE id = 1",
    "text a blob": "UPDATE chunks SET text = x'ff' WHERE id = 1",
    "another place": "UPDATE chunks SET start_line = start_line + 1 WHERE id = 1",
    "a place in words": "UPDATE chunks SET start_line = 'first' WHERE id = 1",
    "another name": "UPDATE documents SET title = 'x' WHERE id = 1",
}
# on what belongs to no single document: only a new file mends it
TO_THE_WHOLE = {
    "no vectors": "DELETE FROM vectors",
    "a vector missing": "DELETE FROM vectors WHERE chunk = 1",
    "a vector left over": "INSERT INTO vectors SELECT 999, vector, terms FROM vectors LIMIT 1",
    "a chunk missing": "DELETE FROM chunks WHERE id = 1",
    "a chunk left over": "UPDATE chunks SET document = 999 WHERE id = 1",
    "a document missing": "DELETE FROM documents WHERE id = 1",
    "nothing left": "DELETE FROM documents; DELETE FROM chunks; DELETE FROM vectors",
    "meta missing": "DELETE FROM meta",
    "meta a blob": "UPDATE meta SET value = x'ff'",
    "no vocabulary": "DELETE FROM terms",
    "words missing": "DELETE FROM meta WHERE key = 'words'",
    "other words": "UPDATE meta SET value = '{}' WHERE key = 'words'",
    "term missing": "DELETE FROM terms WHERE id = 1",
    "huge vocabulary": "INSERT INTO terms VALUES (9223372036854775807, 'huge')",
    "term a blob": "UPDATE terms SET term = x'ff' WHERE id = 1",
    "term renamed": "UPDATE terms SET term = 'renamed' WHERE id = 1",
    "seal cut": "UPDATE documents SET seal = x'00' WHERE id = 1",
    "seal a text": "UPDATE documents SET seal = 'abc' WHERE id = 1",
    "no table": "DROP TABLE vectors",
    "a view": "ALTER TABLE meta RENAME TO m; CREATE VIEW meta AS SELECT * FROM m",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON chunks BEGIN DELETE FROM terms; END",
    "another column": "ALTER TABLE chunks ADD COLUMN more TEXT",
}
ALL = TO_ONE_DOCUMENT | TO_THE_WHOLE


def run_sql(path, script):
    for index in path.parent.glob("*.index"):  # as in a copy of the knowledge base alone
        index.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def state(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(
            "SELECT source_file, warnings, start_line, chunk_id, text, metadata, vector "
            "FROM documents JOIN chunks ON document = documents.id "
            "JOIN vectors ON chunk = chunks.id ORDER BY 1, 3"
        ).fetchall()


def assert_refused(path, attempt):
    with pytest.raises(UnusableKnowledgeBase) as failure:
        attempt()
    message = str(failure.value)
    assert message.startswith(f"{path} is damaged (")
    assert message.endswith("): delete it, ingest again")
    assert "\n" not in message
    assert len(message) < len(str(path)) + 200


@pytest.mark.parametrize("damage", ALL.values(), ids=ALL)
def test_a_damaged_knowledge_base_is_not_searched(ingested, hashes, damage):
    run_sql(ingested, damage)
    assert_refused(ingested, lambda: KnowledgeBase(ingested, hashes))


@pytest.mark.parametrize("damage", TO_THE_WHOLE.values(), ids=TO_THE_WHOLE)
def test_a_damaged_knowledge_base_is_not_built_upon(ingested, corpus, hashes, damage):
    run_sql(ingested, damage)
    before = ingested.read_bytes()
    assert_refused(ingested, lambda: ingest(corpus, ingested, embedder=hashes))
    assert ingested.read_bytes() == before


@pytest.mark.parametrize("damage", TO_ONE_DOCUMENT.values(), ids=TO_ONE_DOCUMENT)
def test_an_ingest_makes_a_document_anew_that_is_not_as_it_was_stored(
    ingested, corpus, hashes, damage
):
    whole = state(ingested)
    run_sql(ingested, damage)
    report = ingest(corpus, ingested, embedder=hashes)
    assert (len(report.changed), report.unchanged) == (1, 2)
    assert state(ingested) == whole
    assert ingest(corpus, ingested, embedder=hashes).unchanged == 3


def test_flipped_bytes_anywhere_are_a_refusal_or_change_nothing(ingested, hashes):
    whole = ingested.read_bytes()
    expected = state(ingested)
    with KnowledgeBase(ingested, hashes) as opened:
        hits = opened.search("failover", limit=9)
    refused = 0
    random = np.random.default_rng(7)
    for place in [*random.integers(0, len(whole), 100), *range(100, 160)]:
        data = bytearray(whole)
        data[place : place + 3] = b"\xff\xfe\x80"
        ingested.write_bytes(data)
        for index in ingested.parent.glob("*.index"):
            index.unlink()
        try:
            with KnowledgeBase(ingested, hashes) as opened:
                assert opened.search("failover", limit=9) == hits
        except UnusableKnowledgeBase as error:
            refused += 1
            assert "\n" not in str(error)  # noqa: PT017 - it may also be in unused space
    assert refused > 40
    ingested.write_bytes(whole)
    assert state(ingested) == expected


@pytest.mark.parametrize("cut", [100, 512, 4096, 8192])
def test_a_file_cut_short_is_a_refusal(ingested, hashes, cut):
    run_sql(ingested, "")
    data = ingested.read_bytes()
    ingested.write_bytes(data[: len(data) - cut])
    with pytest.raises(UnusableKnowledgeBase):
        KnowledgeBase(ingested, hashes)


@pytest.mark.parametrize(
    "damage",
    [
        "huge term id",
        "weight not a number",
        "odd terms",
        "short vector",
        "nan vector",
        "metadata a list",
        "metadata no JSON",
        "metadata without an id",
    ],
)
def test_what_is_sealed_anew_is_still_checked_before_it_is_used(ingested, hashes, damage):
    run_sql(ingested, TO_ONE_DOCUMENT[damage])
    seal_anew(ingested)

    def ask():
        with KnowledgeBase(ingested, hashes) as opened:
            opened.search("failover", limit=9)

    assert_refused(ingested, ask)


@pytest.mark.parametrize("words", ["[]", "{", '{"failover": "often"}', '{"failover": null}'])
def test_words_that_are_sealed_anew_are_still_checked_before_a_question_is_corrected(
    ingested, hashes, words
):
    run_sql(ingested, f"UPDATE meta SET value = '{words}' WHERE key = 'words'")
    seal_anew(ingested)
    with KnowledgeBase(ingested, hashes) as opened:
        assert opened.search("failover", limit=1)
        assert_refused(ingested, lambda: opened.corrected("falover"))


@pytest.mark.parametrize("entry", [(7, 1.0), (4_294_967_295, 1.0), (0, -1.0), (0, np.inf)])
def test_an_index_takes_no_entry_that_its_vocabulary_has_not(entry):
    with pytest.raises(Damage):
        KeywordIndex.of({"a": 0}, [np.array([entry], dtype=ENTRY)])


def test_an_open_knowledge_base_answers_from_its_last_whole_state(ingested, corpus, hashes):
    with KnowledgeBase(ingested, hashes) as opened:
        hits = opened.search("failover", limit=9)
        run_sql(ingested, TO_THE_WHOLE["no vectors"])
        assert opened.search("failover", limit=9) == hits
        assert opened.search("failover", limit=9) == hits
        ingested.unlink()
        ingest(corpus, ingested, embedder=WordHashes())
        assert opened.chunks == len(hits) == len(state(ingested))
    assert len(RUNBOOKS) == 3
