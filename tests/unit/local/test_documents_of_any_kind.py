"""Web pages and PDFs in a folder: ingested, left alone when unchanged, opened and checked by lines."""

import json
import sqlite3
from contextlib import closing

import pytest

from knowledge_rag.extract.documents import extract
from knowledge_rag.guardrails.staleness import CitedLines, State, compare
from knowledge_rag.local import ingest as ingesting
from knowledge_rag.local.corpus import CorpusFile, find_documents
from knowledge_rag.local.corpus_files import CorpusFiles, read_extracted
from knowledge_rag.local.errors import UnusableCorpus
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.knowledge_base import KnowledgeBaseDocuments
from knowledge_rag.mcp_server.resources import read as read_resource
from tests.support.local import joined, write_files
from tests.support.pdfs import scanned_pdf, text_pdf

PAGE = (
    "<title>Calendar</title><nav>menu</nav><h1>Conferences</h1><p>On Monday.<p>password: k9Vq2mZx"
)
HANDBOOK = text_pdf(
    [["Bus schedule", "Line 4 leaves at eight."], ["Lunch", "Noon."]], title="Handbook"
)


def beside(**attributes):
    return json.dumps({"metadataAttributes": attributes})


@pytest.fixture
def folder(tmp_path):
    return write_files(
        tmp_path / "corpus",
        {
            "a.md": "# A\n\none\n",
            "a.md.metadata.json": beside(source_url="https://a.example/a"),
            "web/calendar.html": PAGE,
            "web/calendar.html.metadata.json": beside(source_url="https://a.example/calendar"),
            "handbook.pdf": HANDBOOK,
        },
    )


def metadata_of(kb_path, source_file):
    with closing(sqlite3.connect(kb_path)) as connection:
        rows = connection.execute(
            "SELECT metadata FROM chunks JOIN documents ON document = documents.id "
            "WHERE source_file = ? ORDER BY start_line",
            (source_file,),
        ).fetchall()
    return [json.loads(row) for (row,) in rows]


def test_every_kind_is_ingested_with_what_lies_beside_it(folder, kb_path, hashes):
    report = ingest(folder, kb_path, embedder=hashes)
    assert report.added == ("a.md", "handbook.pdf", "web/calendar.html")
    assert (report.skipped, report.warnings) == ((), ())
    assert [m["page"] for m in metadata_of(kb_path, "handbook.pdf")] == [1, 2]
    (page,) = metadata_of(kb_path, "web/calendar.html")
    assert (page["title"], page["source_url"]) == ("Calendar", "https://a.example/calendar")
    assert metadata_of(kb_path, "a.md")[0]["source_url"] == "https://a.example/a"


def test_what_is_unchanged_is_neither_extracted_nor_embedded_again_and_linted_still(
    folder, kb_path, hashes, monkeypatch
):
    first = ingest(folder, kb_path, embedder=hashes)
    assert [(f.source_file, f.line) for f in first.lint] == [("web/calendar.html", 5)]
    monkeypatch.setattr(ingesting, "extract", lambda *_: pytest.fail("extracted again"))
    again = ingest(folder, kb_path, embedder=hashes)
    assert (again.unchanged, again.embedded, again.lint) == (3, 0, first.lint)


def test_of_what_lies_beside_a_file_only_what_is_used_makes_it_a_changed_one(
    folder, kb_path, hashes
):
    ingest(folder, kb_path, embedder=hashes)
    name = "web/calendar.html.metadata.json"
    write_files(folder, {name: beside(source_url="https://a.example/calendar", etag="2")})
    assert ingest(folder, kb_path, embedder=hashes).unchanged == 3
    write_files(folder, {name: beside(source_url="https://a.example/new")})
    report = ingest(folder, kb_path, embedder=hashes)
    assert (report.changed, report.embedded) == (("web/calendar.html",), 0)
    (folder / name).unlink()
    assert ingest(folder, kb_path, embedder=hashes).changed == ("web/calendar.html",)


def test_what_can_not_be_read_is_skipped_with_its_reason_and_the_others_go_on(
    folder, kb_path, hashes
):
    write_files(
        folder,
        {
            "deep.html": "<div>" * 100_000,
            "empty.pdf": b"",
            "latin.htm": b"<p>caf\xe9",
            "locked.pdf": text_pdf([["x"]], password="secret"),
            "scan.pdf": scanned_pdf(2),
            "cut.pdf": HANDBOOK[:200],
            "half.pdf": text_pdf([["x"], []]),
            "web/hides.html": "<p>seen<p hidden>not",
            "b.md": "# B\n",
            "b.md.metadata.json": "{",
        },
    )
    report = ingest(folder, kb_path, embedder=hashes)
    assert [str(skipped) for skipped in report.skipped] == [
        "cut.pdf: a damaged PDF: it ends early, or its parts can't be found",
        "deep.html: elements nested too deeply, or too many never closed",
        "empty.pdf: empty file",
        "latin.htm: not UTF-8, and no encoding is declared: byte 0xe9 at offset 6",
        "locked.pdf: encrypted: it needs a password",
        ("scan.pdf: no text on any of its 2 pages: pictures of text need recognition (OCR) first"),
    ]
    assert report.warnings == (
        "b.md: .metadata.json is not a JSON object with metadataAttributes",
        "half.pdf: no text on page 2",
        ("web/hides.html: left out text that the page hides from readers: 1 element, 3 characters"),
    )
    assert len(report.added) == 6


def test_the_text_as_ingested_can_be_had_back_and_opened_by_its_lines(folder, kb_path, hashes):
    ingest(folder, kb_path, embedder=hashes)
    documents = KnowledgeBaseDocuments(kb_path)
    for name in ("handbook.pdf", "web/calendar.html"):
        passages = documents.passages(name)
        kept = joined((one.citation.start_line, one.content) for one in passages)
        assert kept == extract(name, (folder / name).read_bytes()).text
    (line,) = read_resource(documents, "knowledge:///handbook.pdf?lines=5-5").contents
    assert (line.text, line.mime_type) == ("Noon.", "text/plain")


def test_a_citation_of_extracted_text_is_held_against_the_file_as_it_is_now(
    folder, kb_path, hashes
):
    ingest(folder, kb_path, embedder=hashes)
    cited = CitedLines.of(KnowledgeBaseDocuments(kb_path).passages("handbook.pdf")[1])
    corpus = CorpusFiles(folder)
    assert compare(cited, corpus.now("handbook.pdf")).state is State.SAME
    longer = [["Bus schedule", "Line 4 leaves at eight.", "Or at nine."], ["Lunch", "Noon."]]
    write_files(folder, {"handbook.pdf": text_pdf(longer, title="Handbook")})
    moved = compare(cited, corpus.now("handbook.pdf"))
    assert (moved.state, str(moved.moved_to)) == (State.MOVED, "lines 5-6")
    write_files(folder, {"handbook.pdf": scanned_pdf()})
    changed = compare(cited, corpus.now("handbook.pdf"))
    assert (changed.state, changed.document_changed) == (State.CHANGED, True)
    assert changed.not_searched.startswith("no text on its one page")


def test_what_lies_beside_a_file_is_no_document_and_is_not_followed_out_of_the_folder(
    folder, tmp_path
):
    (tmp_path / "secret.json").write_text(beside(title="Secret"))
    (folder / "handbook.pdf.metadata.json").symlink_to(tmp_path / "secret.json")
    files = {file.source_file: file for file in find_documents(folder)}
    assert sorted(files) == ["a.md", "handbook.pdf", "web/calendar.html"]
    assert files["handbook.pdf"].beside is None
    assert read_extracted(CorpusFile.alone(folder / "a.md")).document.front_matter == {
        "source_url": "https://a.example/a"
    }


def test_a_folder_of_nothing_but_scans_is_refused(tmp_path, kb_path, hashes):
    folder = write_files(tmp_path / "scans", {"a.pdf": scanned_pdf()})
    with pytest.raises(UnusableCorpus, match=r"none of 1 documents can be read: a\.pdf: no text"):
        ingest(folder, kb_path, embedder=hashes)
