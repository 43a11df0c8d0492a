"""Typing mistakes are corrected by the documents' words, and nothing else is touched."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing

import pytest

from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.spelling import (
    MOST_STRANGE_WORDS,
    Corrected,
    Spelling,
    corrected,
    from_json,
    to_json,
    words_in,
)
from tests.support.local import WordHashes, write_files

WORDS = {
    "certificate": 9, "certificates": 4, "expiry": 5, "queue": 7, "restart": 8, "restarted": 2,
    "linked": 3, "graph": 6, "carpenter": 2, "citadel": 2, "actively": 3, "link": 9, "node": 9,
    "pipeline": 4, "documented": 3, "recieve": 1, "throttling": 3, "cluster": 8, "light": 3,
    "right": 3,
}  # fmt: skip

PRODUCTS = (
    "Linkerd Cilium DocumentDB MongoDB Cassandra ScyllaDB CockroachDB TiDB Vitess PlanetScale "
    "Neo4j Dgraph ArangoDB Couchbase CouchDB RethinkDB InfluxDB TimescaleDB QuestDB ClickHouse "
    "Druid Pinot Snowflake Databricks Redshift BigQuery Spanner Bigtable Firestore DynamoDB "
    "Aurora Neptune Timestream Keyspaces Kinesis Firehose Pulsar NATS RabbitMQ ActiveMQ ZeroMQ "
    "Redpanda Flink Beam Airflow Prefect Dagster Temporal Nomad Consul Vault Istio Envoy Traefik "
    "Contour Kong Calico Longhorn Ceph MinIO Velero Spinnaker Tekton Zitadel Karpenter Pulumi"
)
NAMES = PRODUCTS.split()


def fixed(text, words=WORDS, usual=()):
    spelling = Spelling(words)
    return corrected(text, lambda word: word in words or word in usual, lambda: spelling)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("certifcate", "certificate"),  # left out
        ("certificcate", "certificate"),  # doubled
        ("certificaet", "certificate"),  # swapped
        ("certivicate", "certificate"),  # replaced
        ("cretifcate", "certificate"),  # two mistakes in a long word
        ("certificatess", "certificates"),
        ("ueueu", None),
        ("qeue", "queue"),
        ("uqeue", "queue"),  # the first two swapped
        ("ertificate", "certificate"),  # the first left out
        ("qeeu", None),  # two mistakes in a short one
        ("nodde", "node"),
        ("expirey", "expiry"),  # a vowel too many
        ("nodes", None),  # any other letter too many makes another word
        ("dgraph", None),
        ("linkerd", None),
        ("agraph", None),
        ("graphe", None),
        ("citadell", "citadel"),
        ("zitadel", None),  # the first letter is another
        ("karpenter", None),
        ("fight", None),  # light or right
        ("receive", None),  # that stands in one chunk only
    ],
)
def test_a_word_is_replaced_by_the_only_one_that_is_near(typed, meant):
    assert fixed(typed).text == (meant or typed)


def test_of_forms_of_one_word_it_is_the_one_that_ends_as_typed_else_the_most_frequent():
    forms = {"expire": 3, "expired": 4, "expiry": 5}
    assert fixed("expird", forms).text == "expired"
    assert fixed("expirx", forms).text == "expiry"
    assert fixed("expird", forms | {"export": 9, "expert": 9}).text == "expired"
    assert fixed("grafs", {"grass": 5, "grabs": 9}).text == "grafs"
    assert fixed("redo", {"repo": 5}).text == "redo"  # of four letters, one is too much


def test_what_was_meant_is_told_with_neighbours_joined():
    assert fixed("what to do on certifcate expirey, and a qeue?") == Corrected(
        "what to do on certificate expiry, and a queue?",
        ("certificate expiry", "queue"),
        ("certifcate expirey", "qeue"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "Certifcate", "CERTIFCATE", "certifcate2", "certifcate-rotation", "./certifcate",
        "certifcate.pem", "certifcate_expiry", "`certifcate`", '"certifcate"', "certifcate's",
        "--certifcate", "certifcate=1", "zertifcaté", "qeu", "ceritfcate" * 4,
    ],
)  # fmt: skip
def test_only_plain_lower_case_words_are_touched(text):
    assert fixed(text) == Corrected(text)


@pytest.mark.parametrize("text", ["(certifcate)", "certifcate.", "certifcate?!", "a certifcate, b"])
def test_punctuation_around_a_word_stays(text):
    assert fixed(text).text == text.replace("certifcate", "certificate")


def test_no_name_of_a_product_is_ever_replaced():
    # each in the company of a word that it would be mistaken for, had it been typed as one
    words = WORDS | {f"{name.lower()[:-1]}": 9 for name in NAMES if len(name) > 4}
    for name in NAMES:
        question = f"how do I restart {name} and its {name} nodes"
        assert fixed(question, words).text == question
    assert len(NAMES) >= 66


def test_usual_words_that_the_documents_lack_are_left_alone():
    assert fixed("nodde").text == "node"
    assert fixed("nodde", usual={"nodde"}).text == "nodde"


def test_a_pasted_text_is_left_alone():
    strange = " ".join(["certifcate"] * MOST_STRANGE_WORDS)
    assert fixed(strange).meant
    assert fixed(f"{strange} certifcate") == Corrected(f"{strange} certifcate")
    long = "certifcate " + "node " * 200
    assert fixed(long) == Corrected(long)


def test_the_words_are_those_of_names_too_and_counted_once_a_chunk():
    found = words_in(
        ["KubePodCrashLooping > Crash\n\nThe pod crashes, crashes", "looping Grüße x9"]
    )
    assert found == {"kube": 1, "crash": 1, "looping": 2, "crashes": 1}
    assert from_json(to_json(found)) == found
    assert from_json("") == {}


@pytest.fixture
def opened(tmp_path):
    files = {
        "runbooks/certificate-expiry.md": "# Certificate expiry\n\nRenew it.\n\n## Then\n\nDone.\n",
        "runbooks/queue.md": "# Queue backlog\n\nDrain the queue.\n\n## Then\n\nDone.\n",
    }
    folder = write_files(tmp_path / "corpus", files)
    ingest(folder, tmp_path / "x.kb", embedder=WordHashes())
    with KnowledgeBase(tmp_path / "x.kb", WordHashes()) as opened:
        yield opened


def test_a_knowledge_base_corrects_by_its_own_words(opened):
    assert opened.corrected("certifcate exipry").text == "certificate expiry"
    assert opened.corrected("renewing the certificate").meant == ()


def test_a_word_that_the_search_finds_by_its_stem_is_no_mistake(opened):
    assert opened.corrected("drained queues expiries").text == "drained queues expiries"


def test_a_common_word_without_its_apostrophe_is_no_mistake(tmp_path):
    folder = write_files(tmp_path / "corpus", {"a.md": "# A\n\nIt is done.\n\n# B\n\nThen done.\n"})
    ingest(folder, tmp_path / "x.kb", embedder=WordHashes())
    with KnowledgeBase(tmp_path / "x.kb", WordHashes()) as opened:
        assert opened.corrected("the seats dont exist").meant == ()
        assert opened.corrected("the work is donne").meant == ("done",)


def test_an_ingest_keeps_the_words_up_to_date_and_adds_them_where_they_are_missing(tmp_path):
    folder = write_files(tmp_path / "corpus", {"a.md": "# Failover\n\n## Failover\n\nFail over.\n"})
    path = tmp_path / "x.kb"

    def stored():
        with closing(sqlite3.connect(path)) as connection:
            found = connection.execute("SELECT value FROM meta WHERE key = 'words'").fetchone()
        return found and from_json(found[0])

    ingest(folder, path, embedder=WordHashes())
    assert stored().keys() == {"failover", "fail", "over"}
    write_files(folder, {"a.md": "# Rollback\n\nRoll back.\n"})
    ingest(folder, path, embedder=WordHashes())
    assert stored().keys() == {"rollback", "roll", "back"}
    _as_an_earlier_version_made_it(path)
    with KnowledgeBase(path, WordHashes()) as opened:
        assert opened.corrected("rolback").text == "rolback"
    write_files(folder, {"b.md": "# Failover\n"})
    ingest(folder, path, embedder=WordHashes())
    assert stored().keys() == {"failover", "rollback", "roll", "back"}


def _as_an_earlier_version_made_it(path):
    from tests.support.seals import seal_anew

    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM meta WHERE key = 'words'")
    seal_anew(path)


def test_random_mistakes_are_mended_twenty_times_as_often_as_made_worse():
    rng = random.Random(0)
    mended = wrong = 0
    for word in [each for each in WORDS if len(each) >= 5 and WORDS[each] > 1] * 20:
        typed = mistyped_word(word, rng)
        meant = fixed(typed).text
        if typed in WORDS or meant == typed:
            continue
        right = meant == word or meant.startswith(word[:6])
        mended, wrong = mended + right, wrong + (not right)
    assert mended > 200
    assert wrong * 20 <= mended


def mistyped_word(word, rng):
    """Swap, leave out, double or replace a letter."""
    at = rng.randrange(len(word) - 1)
    return rng.choice(
        [
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[: at + 1] + word[at:],
            word[:at] + rng.choice("abcdefghijklmnopqrstuvwxyz") + word[at + 1 :],
        ]
    )
