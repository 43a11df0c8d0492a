"""The second embedding model: its files, its cache, and which model a question is compared by."""

import hashlib
import importlib.metadata
import shutil
import struct
from dataclasses import replace

import numpy as np
import pytest

from knowledge_rag.local import multilingual
from knowledge_rag.local.embeddings import DIMENSIONS, placed
from knowledge_rag.local.errors import ModelUnavailable
from knowledge_rag.local.model_files import packaged_folder
from knowledge_rag.local.multilingual import SIZE, Multilingual, UniversalSentenceEncoder
from knowledge_rag.local.settings import LocalSettings
from tests.support.local import WordHashes

PIECES = [
    "<unk>",
    "<s>",
    "</s>",
    "\u2581disk",
    "\u2581full",
    "\u2581",
    "d",
    "i",
    "s",
    "k",
    "\u6ee1",
]
NORMALISER = struct.pack("<I", 2048) + bytes(2048) + b"\0"
"""Rules that change no character: an empty trie."""


def field(number, value):
    return bytes([number << 3 | 2, *_varint(len(value))]) + value


def _varint(value):
    while value > 0x7F:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value


def sentencepiece(pieces):
    made = b""
    for place, piece in enumerate(pieces):
        score = bytes([2 << 3 | 5]) + struct.pack("<f", -float(place))
        made += field(1, field(1, piece.encode()) + score + bytes([3 << 3, 1]))
    return (
        made + bytes([2 << 3 | 1]) + b"\0" * 8 + field(3, field(1, b"rules") + field(2, NORMALISER))
    )


def weights(seed=1):
    random = np.random.default_rng(seed)

    def some(*shape):
        return (random.standard_normal(shape) / 16).astype(np.float32)

    made = {f"q{n}": random.integers(0, 64, (2, SIZE)).astype(np.uint8) for n in range(1, 18)}
    made |= {"lo": some(17), "scale": some(17), "bits": np.array([6], dtype=np.int8)}
    for order in (2, 3, 5):
        made |= {f"proj{order}": some(SIZE, 256), f"proj_b{order}": some(256)}
        made |= {f"ln_g{order}": some(256), f"ln_b{order}": some(256)}
        made |= {f"{name}_{order}": some(order * 256, 256) for name in ("w1", "w2")}
        made |= {f"{name}_{order}": some(256) for name in ("b1", "b2")}
    made |= {"ln_g": some(1280), "ln_b": some(1280), "cnn_W": some(1280, SIZE), "cnn_b": some(SIZE)}
    made |= {
        "d0": some(SIZE, 320),
        "d1": some(320, 320),
        "p1": some(SIZE, 320),
        "d2": some(320, SIZE),
    }
    made |= {"p3": some(320, SIZE), "d3": some(SIZE, SIZE), "eps": np.array(1e-6)}
    return made


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "sp.model").write_bytes(sentencepiece(PIECES))
    np.savez(folder / "weights.npz", **weights())
    return folder


@pytest.fixture
def settings(tmp_path, published, monkeypatch):
    """Return the settings of a small model with the real one's form."""
    folder = shutil.copytree(published, tmp_path / "model")
    for name, constant in (("sp.model", "PIECES_SHA256"), ("weights.npz", "WEIGHTS_SHA256")):
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        monkeypatch.setattr(multilingual, constant, digest)
    return LocalSettings(tmp_path / "cache", tmp_path, model_dir=folder)


class TestModel:
    def test_a_vector_has_unit_length_and_depends_on_the_text_alone(self, settings):
        model = UniversalSentenceEncoder(settings)
        vectors = [model.embed(text) for text in ("disk full", "full disk", "disk full")]
        assert [vector.shape for vector in vectors] == [(SIZE,)] * 3
        assert np.allclose([np.linalg.norm(vector) for vector in vectors], 1, atol=1e-5)
        assert np.array_equal(vectors[0], vectors[2])
        assert vectors[0] @ vectors[1] < 0.9999

    def test_text_is_split_into_the_likeliest_pieces(self, settings):
        pieces = UniversalSentenceEncoder(settings).load().pieces
        assert pieces.split("disk  full") == [1, 3, 4, 2]
        assert pieces.split("dis") == [1, 5, 6, 7, 8, 2]
        assert pieces.split("disk 满x") == [1, 3, 5, 10, 0, 2]
        assert pieces.split("  ") == [1, 0, 2]

    def test_usual_words_are_those_with_a_piece_of_their_own(self, settings):
        model = UniversalSentenceEncoder(settings)
        assert model.knows("disk")
        assert not model.knows("disks")

    def test_any_text_has_a_vector(self, settings):
        model = UniversalSentenceEncoder(settings)
        for text in ("", "\ud800", "\0", "x" * 100_000):
            assert np.isfinite(model.embed(text)).all(), text[:9]

    def test_a_second_run_needs_the_cache_alone(self, settings):
        first = UniversalSentenceEncoder(settings).embed("disk full")
        for file in settings.model_dir.iterdir():
            file.unlink()
        assert np.array_equal(UniversalSentenceEncoder(settings).embed("disk full"), first)

    @pytest.mark.parametrize(
        ("pattern", "damaged"),
        [("*.npy", b""), ("*.npy", b"no array"), ("*.npz", b"no array"), ("*.npz", None)],
    )
    def test_a_damaged_cache_is_made_again(self, settings, pattern, damaged):
        first = UniversalSentenceEncoder(settings).embed("disk full")
        cached = list(settings.cache_dir.glob(pattern))
        assert cached
        for path in cached:
            path.unlink() if damaged is None else path.write_bytes(damaged)
        assert np.array_equal(UniversalSentenceEncoder(settings).embed("disk full"), first)

    def test_without_a_cache_folder_it_works_from_memory(self, settings, tmp_path):
        (tmp_path / "file").write_text("")
        unwritable = replace(settings, cache_dir=tmp_path / "file/cache")
        assert UniversalSentenceEncoder(unwritable).embed("disk").shape == (SIZE,)

    @pytest.mark.parametrize("name", ["sp.model", "weights.npz"])
    def test_another_file_is_refused(self, settings, name):
        path = settings.model_dir / name
        path.write_bytes(path.read_bytes() + b"\0")
        with pytest.raises(ModelUnavailable, match=r"is not the published one .*--languages"):
            UniversalSentenceEncoder(settings).load()

    def test_a_missing_package_says_what_to_do(self, tmp_path, monkeypatch):
        monkeypatch.setattr(multilingual, "PACKAGE", "no-such-package")
        with pytest.raises(ModelUnavailable, match="model install --languages"):
            UniversalSentenceEncoder(LocalSettings(tmp_path, tmp_path)).load()


class TestBothModels:
    @pytest.fixture
    def both(self, settings):
        return Multilingual(WordHashes(), UniversalSentenceEncoder(settings))

    def test_an_english_question_is_compared_by_the_english_model(self, both):
        english = WordHashes()
        stored, asked = (
            both.embed("disk full now"),
            both.embed_question("the disk is full", in_english=True),
        )
        expected = english.embed("disk full now") @ english.embed("the disk is full")
        assert stored @ asked == pytest.approx(expected, abs=1e-5)

    def test_any_other_question_is_compared_by_the_multilingual_one(self, both, settings):
        other = UniversalSentenceEncoder(settings)
        stored, asked = both.embed("disk full"), both.embed_question("disk 满", in_english=False)
        assert stored @ asked == pytest.approx(
            other.embed("disk full") @ other.embed("disk 满"), abs=1e-5
        )

    def test_the_context_counts_for_the_english_model_alone(self, both):
        text, context = both.embed("disk full"), both.embed("runbook")
        together = placed(text, context)
        assert together.shape == (DIMENSIONS + SIZE,) == (both.dimensions,)
        assert np.linalg.norm(together) == pytest.approx(1, abs=1e-5)
        assert np.array_equal(together[DIMENSIONS:], text[DIMENSIONS:])
        english = WordHashes()
        alone = placed(english.embed("disk full"), english.embed("runbook"))
        assert together[:DIMENSIONS] * np.sqrt(2) == pytest.approx(alone, abs=1e-5)

    def test_the_fingerprint_names_both_models(self, both, monkeypatch):
        before = both.fingerprint
        assert before.startswith("word-hashes+use-multilingual-3-")
        monkeypatch.setattr(multilingual, "WEIGHTS_SHA256", "another")
        assert both.fingerprint != before

    def test_words_of_either_model_are_usual(self, both):
        assert both.knows("disk")
        assert not both.knows("qwxz")


REAL = [
    ("The disk of the log server is full.", "Die Festplatte des Logservers ist voll.", 0.6),
    ("How do I renew the certificate?", "如何更新证书?", 0.5),
    ("A node is not ready.", "Узел не готов.", 0.5),
    ("The backup failed.", "バックアップが失敗した。", 0.5),
]


def test_the_published_model_puts_translations_near_each_other(tmp_path):
    try:
        packaged_folder(multilingual.PACKAGE, multilingual.WEIGHTS_FILE, multilingual.INSTALL)
    except ModelUnavailable:
        pytest.skip("the second model is not installed: knowledge-rag model install --languages")
    assert importlib.metadata.version(multilingual.PACKAGE)
    model = UniversalSentenceEncoder(LocalSettings(tmp_path, tmp_path))
    for english, other, least in REAL:
        assert model.embed(english) @ model.embed(other) > least
    assert model.embed(REAL[0][0]) @ model.embed(REAL[3][1]) < 0.5
