import hashlib

import pytest

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.context import PREFIX_TOKENS, split_words
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.errors import InvalidCitation
from knowledge_rag.core.metadata import stored_text
from knowledge_rag.core.tokens import token_cost


def kind(name, text="# A\n"):
    return read_document(name, text.encode())[0].document_type


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("runbooks/a.md", DocumentType.RUNBOOK),
        ("team/play-books/a.md", DocumentType.RUNBOOK),
        ("dfds-postmortems/PM1.md", DocumentType.POSTMORTEM),
        ("runbooks/post-mortems/a.md", DocumentType.POSTMORTEM),
        ("postmortems/runbooks/a.md", DocumentType.RUNBOOK),
        ("docs/playbooks.md", DocumentType.RUNBOOK),
        ("docs/a.html", DocumentType.WEB),
        ("docs/a.PDF", DocumentType.PDF),
        ("README.md", DocumentType.OTHER),
    ],
)
def test_the_nearest_folder_tells_the_kind(name, expected):
    assert kind(name) is expected


def test_front_matter_overrules_the_folder():
    assert kind("runbooks/a.md", "---\ndocument_type: postmortem\n---\n") is DocumentType.POSTMORTEM
    assert kind("runbooks/a.md", "---\ndocument_type: nonsense\n---\n") is DocumentType.RUNBOOK


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From front matter\n---\n# Heading\n", "From front matter"),
        ("text\n\nHeading\n=======\n", "Heading"),
        ("no heading\n", "Kube Pod crash looping"),
        ("#\n", "Kube Pod crash looping"),
    ],
)
def test_the_title_is_the_best_name_that_the_file_gives(text, title):
    assert read_document("runbooks/KubePod_crash-looping.md", text.encode())[0].title == title


def test_the_hash_is_that_of_the_bytes_as_they_lie_on_disk():
    data = b"\xef\xbb\xbf# A\r\n"
    assert read_document("a.md", data)[0].sha256 == hashlib.sha256(data).hexdigest()


def test_a_path_outside_the_corpus_is_refused():
    with pytest.raises(InvalidCitation):
        read_document("../a.md", b"# A\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("KubePodCrashLooping", "Kube Pod Crash Looping"),
        ("rds-failover_2", "rds failover 2"),
        ("ALB5xxErrors", "ALB5xx Errors"),
        ("HTTPServer.timeout", "HTTP Server timeout"),
        ("", ""),
    ],
)
def test_names_are_split_into_words(name, words):
    assert split_words(name) == words


def test_a_prefix_stays_within_its_tokens_and_drops_the_outermost_parts_first():
    text = "".join(f"{'#' * n} heading number {n} with quite some words\n" for n in range(1, 7))
    document, decoded = read_document(
        "a/very/deep/folder/structure/file.md", (text + "x\n").encode()
    )
    chunk = chunk_text(document, decoded)[-1]
    prefix = stored_text(chunk)[: -len(chunk.content)]
    assert token_cost(prefix) <= PREFIX_TOKENS
    assert prefix.endswith("heading number 6 with quite some words\n\n")
    assert "deep" not in prefix


def test_a_heading_longer_than_the_prefix_is_cut_at_a_word():
    document, decoded = read_document("a.md", ("# " + "word " * 300 + "\ntext\n").encode())
    chunk = chunk_text(document, decoded)[-1]
    prefix = stored_text(chunk)[: -len(chunk.content)]
    assert 0 < token_cost(prefix) <= PREFIX_TOKENS
    assert prefix.endswith("word\n\n")
