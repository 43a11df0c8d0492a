"""Whatever a citation says, nothing but the corpus's own documents is read."""

import os

import pytest

from knowledge_rag.core.citations import MAX_PATH
from knowledge_rag.guardrails.staleness import FileNow
from knowledge_rag.local.corpus import SETTLED_SECONDS, changes
from knowledge_rag.local.corpus_files import CorpusFiles
from knowledge_rag.local.errors import UnusableCorpus
from tests.support.local import write_files

TEXT = "# Kept\n\nknown\n"
SECRET = "# Secret\n\nnever read\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "secret.md").write_text(SECRET)
    (tmp_path / "corpus-too").mkdir()
    (tmp_path / "corpus-too/b.md").write_text(SECRET)
    return write_files(tmp_path / "corpus", {"a.md": TEXT, "docs/b.md": TEXT})


def test_its_files_are_the_documents_that_ingest_would_read(folder):
    (folder / ".hidden.md").write_text(SECRET)
    (folder / "program.py").write_text(SECRET)
    assert list(CorpusFiles(folder).files()) == ["a.md", "docs/b.md"]
    assert CorpusFiles(folder).now("docs/b.md") == FileNow.of("docs/b.md", TEXT.encode())


@pytest.mark.parametrize(
    "name",
    [
        "../secret.md", "docs/../../secret.md", "docs/../a.md", "./a.md", "docs//b.md", "/a.md", "a.md/",
        "..", ".", "", "/", "docs", "a.md\0", "a.md\0.txt", "\0", "A.md", "docs\\b.md", "~/secret.md",
        "../corpus-too/b.md", "a" * 10_000 + ".md", "d/" * 5_000 + "a.md", "a" * MAX_PATH, "\ud800.md",
        "/etc/passwd", "/proc/self/environ", "file:///etc/passwd", ".git/config", "a.md ", "%2e%2e/secret.md",
    ],
)  # fmt: skip
def test_a_hostile_path_names_no_document(folder, name):
    assert CorpusFiles(folder).now(name) is None


def test_an_absolute_path_of_a_document_names_none(folder):
    assert CorpusFiles(folder).now(str(folder / "a.md")) is None


def test_a_link_that_leaves_the_folder_is_no_document(folder, tmp_path):
    (folder / "out.md").symlink_to(tmp_path / "secret.md")
    (folder / "beside").symlink_to(tmp_path / "corpus-too")
    (folder / "in.md").symlink_to(folder / "docs/b.md")
    corpus = CorpusFiles(folder)
    assert [corpus.now(name) for name in ("out.md", "beside/b.md")] == [None, None]
    assert list(corpus.files()) == ["a.md", "docs/b.md", "in.md"]
    assert corpus.now("in.md").text == TEXT


def test_a_document_that_became_a_link_since_it_was_listed_is_not_followed_outside(
    folder, tmp_path
):
    corpus = CorpusFiles(folder)
    for name in ("a.md", "docs/b.md"):
        (folder / name).unlink()
    (folder / "a.md").symlink_to(tmp_path / "secret.md")
    (folder / "docs/b.md").symlink_to(folder / "docs/b.md")  # a loop
    assert corpus.now("a.md") is None
    assert corpus.now("docs/b.md").text is None


def test_a_folder_reached_by_a_link_is_read_like_any_other(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert CorpusFiles(tmp_path / "link").now("a.md").text == TEXT


def test_a_folder_in_place_of_a_file_is_no_document(folder):
    (folder / "c.md").mkdir()
    (folder / "c.md/d.md").write_text(TEXT)
    corpus = CorpusFiles(folder)
    assert corpus.now("c.md") is None
    assert corpus.now("c.md/d.md").text == TEXT


def test_a_file_that_can_not_be_read_says_why_and_is_no_error(folder, monkeypatch):
    monkeypatch.setattr("knowledge_rag.local.corpus.MAX_FILE_BYTES", 100)
    os.mkfifo(folder / "pipe.md")
    (folder / "gone.md").write_text(TEXT)
    (folder / "large.md").write_text("x" * 101)
    (folder / "latin.md").write_bytes("é".encode("latin-1"))
    corpus = CorpusFiles(folder)
    (folder / "gone.md").unlink()
    assert [corpus.now(f"{name}.md").unreadable for name in ("pipe", "gone", "large", "latin")] == [
        "not a regular file",
        "No such file or directory",
        "larger than 9.54e-05 MiB",
        "not UTF-8: byte 0xe9 at offset 0",
    ]
    assert corpus.now("pipe.md").text is None


def test_a_folder_without_documents_is_refused_instead_of_calling_everything_gone(tmp_path):
    with pytest.raises(UnusableCorpus, match="no documents"):
        CorpusFiles(tmp_path)
    with pytest.raises(UnusableCorpus, match="no such folder"):
        CorpusFiles(tmp_path / "nowhere")


class TestChanges:
    """Of a folder that is watched."""

    def test_come_once_nothing_more_is_written(self, folder):
        steps = iter(
            [
                lambda: None,
                lambda: write_files(folder, {"new.md": "# New"}),
                lambda: write_files(folder, {"new.md": "# New, longer"}),
                lambda: None,
                lambda: None,
                (folder / "new.md").unlink,
                lambda: None,
            ]
        )
        pauses = []

        def pause(seconds):
            pauses.append(seconds)
            next(steps)()

        changed = changes(folder, pause=pause)
        next(changed)
        assert len(pauses) == 4
        next(changed)
        assert len(pauses) == 7
        assert min(pauses) >= SETTLED_SECONDS

    def test_that_are_none_yield_nothing(self, folder):
        pauses = []

        def pause(seconds):
            pauses.append(seconds)
            if len(pauses) == 5:
                raise KeyboardInterrupt

        folder.rename(folder.with_name("away"))
        with pytest.raises(KeyboardInterrupt):
            next(changes(folder, pause=pause))

    def test_count_from_the_call_on(self, folder):
        changed = changes(folder, pause=lambda _seconds: None)
        write_files(folder, {"new.md": "# New"})
        next(changed)
