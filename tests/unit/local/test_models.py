"""Which model a knowledge base is made with, and how one with both models is searched."""

from typing import ClassVar

import numpy as np
import pytest

from knowledge_rag.core.languages import ENGLISH
from knowledge_rag.local import models
from knowledge_rag.local.embeddings import MiniLm
from knowledge_rag.local.errors import UnusableCorpus, UnusableKnowledgeBase
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBase
from knowledge_rag.local.models import embedder_of, is_multilingual, other_languages
from knowledge_rag.local.multilingual import SIZE, Multilingual
from knowledge_rag.local.settings import LocalSettings
from tests.support.local import WordHashes, write_files

PAGE = "# Disk full\n\nThe disk of the log server is full, delete what is old.\n"
GERMAN = "# Platte voll\n\nDie Platte ist voll, dann muss man alte Dateien löschen.\n"
REGION = (
    "# Cache EU\n\nRegion eu.\n\n1. `redis-cli -h eu INFO`\n2. Flush eu: `redis-cli -h eu UNLINK`\n"
)
CHINESE = "# 磁盘写满\n\n日志服务器的磁盘满了,删除旧的文件。\n"


class Translated(WordHashes):
    """Stands in for the second model: a few words of other languages are the English ones."""

    WORDS: ClassVar = {"platte": "disk", "voll": "full", "磁盘": "disk", "满了": "full"}

    def embed(self, text):
        for word, english in self.WORDS.items():
            text = text.lower().replace(word, f" {english} ")
        plain = "".join(it if it.isalnum() else " " for it in text)
        vector = np.resize(super().embed(plain), SIZE)
        return vector / np.linalg.norm(vector)


class Both(Multilingual):
    """Both models, small ones; notes by which one a question was embedded."""

    def __init__(self):
        super().__init__(WordHashes(), Translated())
        self.by_english = []

    def embed_question(self, text, *, in_english):
        self.by_english.append(in_english)
        return super().embed_question(text, in_english=in_english)


class TestSearching:
    @pytest.fixture
    def opened(self, tmp_path, request):
        both = Both()
        docs = write_files(
            tmp_path / "docs", {f"{n}.md": text for n, text in enumerate(request.param)}
        )
        ingest(docs, tmp_path / "both.kb", embedder=both)
        with KnowledgeBase(tmp_path / "both.kb", both) as knowledge_base:
            yield knowledge_base, both

    @pytest.mark.parametrize("opened", [[PAGE]], indirect=True)
    @pytest.mark.parametrize(
        ("text", "in_english"),
        [("the printer jams", True), ("die Platte ist voll", False), ("磁盘满了", False)],
    )
    def test_the_questions_language_decides(self, opened, text, in_english):
        knowledge_base, both = opened
        assert knowledge_base.search(text)
        assert both.by_english == [in_english]

    @pytest.mark.parametrize("opened", [[CHINESE, CHINESE + "\n再见\n"]], indirect=True)
    def test_of_documents_in_another_language_the_second_model_finds_more(self, opened):
        knowledge_base, both = opened
        assert knowledge_base.index.language == "zh"
        assert knowledge_base.search("the disk is full")
        assert both.by_english == [False]

    @pytest.mark.parametrize("opened", [[PAGE]], indirect=True)
    def test_words_that_no_document_has_dont_lower_the_score(self, opened):
        knowledge_base, _ = opened
        (hit,) = knowledge_base.search("die Platte ist voll", limit=1)
        assert hit.score > 0.157

    @pytest.mark.parametrize("opened", [[PAGE]], indirect=True)
    def test_the_name_of_a_product_that_no_document_has_does(self, opened):
        knowledge_base, _ = opened
        (known,) = knowledge_base.search("disk 磁盘满了", limit=1)
        (strange,) = knowledge_base.search("oracle 磁盘满了", limit=1)
        assert strange.score == 0 < known.score


class TestChoosing:
    def test_a_knowledge_base_says_which_model_made_it(self, tmp_path, corpus):
        settings = LocalSettings(tmp_path, tmp_path)
        assert isinstance(embedder_of(tmp_path / "missing.kb", settings), MiniLm)
        ingest(corpus, tmp_path / "english.kb", embedder=WordHashes())
        ingest(corpus, tmp_path / "both.kb", embedder=Both())
        assert not is_multilingual(tmp_path / "english.kb")
        assert is_multilingual(tmp_path / "both.kb")
        assert isinstance(embedder_of(tmp_path / "both.kb", settings), Multilingual)

    def test_one_model_can_neither_read_nor_extend_what_both_made(self, tmp_path, corpus):
        path = tmp_path / "both.kb"
        ingest(corpus, path, embedder=Both())
        with pytest.raises(UnusableKnowledgeBase, match="another embedding model"):
            KnowledgeBase(path, WordHashes())
        again = ingest(corpus, path, embedder=WordHashes())
        assert again.embedded == again.chunks
        with KnowledgeBase(path, WordHashes()) as opened:
            assert opened.index.vectors.shape[1] == 384

    @pytest.mark.parametrize(
        ("english", "others", "found"),
        [
            (1, [], {}),
            (1, [GERMAN], {"de": "x0.md"}),
            (30, [GERMAN], {}),
            (30, [GERMAN, CHINESE, CHINESE], {"zh": "x1.md", "de": "x0.md"}),
            (1, [REGION], {}),
        ],
    )
    def test_a_share_of_documents_in_other_languages_is_told(
        self, tmp_path, english, others, found
    ):
        files = {f"en{n}.md": PAGE for n in range(english)}
        files |= {f"x{n}.md": text for n, text in enumerate(others)}
        given = other_languages(write_files(tmp_path / "docs", files))
        assert list(given.items()) == list(found.items())

    def test_files_that_are_no_text_are_in_no_language(self, tmp_path):
        folder = write_files(tmp_path / "docs", {"a.pdf": b"%PDF", "b.md": b"\xff\xfe\x00"})
        assert other_languages(folder) == {}
        with pytest.raises(UnusableCorpus):
            other_languages(tmp_path / "missing")

    def test_the_second_model_may_be_missing(self, tmp_path, monkeypatch):
        monkeypatch.setattr("knowledge_rag.local.multilingual.PACKAGE", "no-such-package")
        assert not models.has_multilingual(LocalSettings(tmp_path, tmp_path))


def test_an_empty_knowledge_base_counts_as_english(knowledge_base):
    assert knowledge_base.index.language == ENGLISH
