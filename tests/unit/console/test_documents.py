"""A document as it was ingested: exactly, or with what was not kept left open."""

from __future__ import annotations

from hashlib import sha256

import pytest

from knowledge_rag.channel.json_requests import Refused
from knowledge_rag.console.document_view import read_ranges, view, without_known
from knowledge_rag.console.documents import KeptDocuments, citation_url, document_url
from knowledge_rag.console.events import cards
from knowledge_rag.core.citations import Citation
from knowledge_rag.core.repository_links import RepositoryLinks
from knowledge_rag.extract.documents import extract
from knowledge_rag.guardrails.staleness import FileNow
from tests.support.pdfs import text_pdf
from tests.unit.console.kept import NAME, TEXT, Folder, Pdfs, Shelf


def source(name):
    citation = {"source_file": name, "start_line": 3, "end_line": 3, "section_header": ""}
    return {"number": 1, "citation": citation, "content": "Promote the replica."}


FRONT = "---\ntitle: Failing over\nservice: rds\n---\n" + TEXT


def shown(documents, *ranges, name=NAME, repository=None, retrieved=()):
    return view(documents.read(name), ranges, documents, repository, retrieved)


def test_a_document_without_front_matter_is_whole_by_its_hash():
    for text in (TEXT, TEXT.removesuffix("\n"), "\ufeff" + TEXT):
        document = KeptDocuments(Shelf(runbooks__failover=text)).read(NAME)
        assert document.is_complete
        assert document.lines == ("# Failover", "", "Promote the replica.")


def test_what_was_not_kept_is_open_where_the_file_is_not_known():
    document = KeptDocuments(Shelf(runbooks__failover=FRONT)).read(NAME)
    assert not document.is_complete
    assert document.lines == (None, None, None, None, "# Failover", "", "Promote the replica.")


def test_what_was_not_kept_comes_from_the_file_if_that_is_the_very_one():
    kept = Shelf(runbooks__failover=FRONT)
    document = KeptDocuments(kept, Folder(runbooks__failover=FRONT)).read(NAME)
    assert document.is_complete
    assert document.lines[:4] == ("---", "title: Failing over", "service: rds", "---")
    changed = KeptDocuments(kept, Folder(runbooks__failover=FRONT + "More.\n")).read(NAME)
    assert changed.lines[0] is None


PDF = text_pdf([["Failover guide", "Promote the replica."], [], ["Then wait for it."]])


class Pages(Folder):
    """A folder of one PDF."""

    def __init__(self, data):
        self.texts = {PDF_NAME: extract(PDF_NAME, data).text}
        self.sha256 = sha256(data).hexdigest()

    def now(self, source_file):
        return FileNow(self.sha256, self.texts[source_file])


PDF_NAME = "guides/failover.pdf"


def test_a_pdf_is_whole_where_its_file_is_known_and_says_where_each_page_begins():
    view = shown(KeptDocuments(Pdfs(PDF), Pages(PDF)), name=PDF_NAME)
    assert view["isComplete"]
    assert [line for line in view["lines"] if line] == [
        "Failover guide",
        "Promote the replica.",
        "Then wait for it.",
    ]
    assert None not in view["lines"]
    assert [view["lines"][one["line"] - 1] for one in view["pages"]] == [
        "Failover guide",
        "Then wait for it.",
    ]
    assert [one["page"] for one in view["pages"]] == [1, 3]


@pytest.mark.parametrize(
    ("which", "now"),
    [
        (slice(None), None),  # every line that can be found; but nobody can tell
        (slice(-1, None), None),
        (slice(None), text_pdf([["Other"]])),
    ],
)
def test_a_pdf_is_not_called_whole_without_proof(which, now):
    documents = KeptDocuments(Pdfs(PDF, which), Pages(now) if now else None)
    view = shown(documents, name=PDF_NAME)
    assert not view["isComplete"]
    assert None in view["lines"]
    assert view["lines"][-1] == "Then wait for it."


def test_what_takes_long_to_read_is_not_read_for_every_answer():
    class Slow(Folder):
        def now(self, source_file):
            assert not source_file.endswith((".pdf", ".html")), source_file
            return super().now(source_file)

    (card,) = cards([source("guides/failover.pdf")], "now", Slow())
    assert "stale" not in card
    (card,) = cards([source("guides/failover.md")], "now", Slow())
    assert card["stale"]["state"] == "gone"


def test_each_file_is_read_once_for_a_view():
    class Counting(Folder):
        def __init__(self, **files):
            super().__init__(**files)
            self.read = []

        def now(self, source_file):
            self.read.append(source_file)
            return super().now(source_file)

    folder = Counting(runbooks__failover="# Other\n", runbooks__more=TEXT)
    documents = KeptDocuments(Shelf(), folder)
    document = documents.read(NAME)
    folder.read.clear()
    told = view(document, [(1, 1), (3, 3)], documents, None)
    assert sorted(folder.read) == ["runbooks/failover.md", "runbooks/more.md"]
    assert told["ranges"][1]["stale"]["now_in"][0]["source_file"] == "runbooks/more.md"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/etc/passwd",
        "../failover.md",
        "runbooks/../runbooks/failover.md",
        "runbooks//failover.md",
        "RUNBOOKS/failover.md",
        "runbooks/failover.md\0",
        "\ud800",
    ],
)
def test_only_exactly_what_was_ingested_can_be_had(name):
    assert KeptDocuments(Shelf(), Folder()).read(name) is None


def test_a_view_has_the_lines_the_outline_and_what_is_known():
    documents = KeptDocuments(Shelf(runbooks__failover=FRONT), Folder(runbooks__failover=FRONT))
    repository = RepositoryLinks("https://git.example/blob/{path}#L{start}-L{end}")
    view = shown(documents, (5, 7), repository=repository)
    assert view["lines"] == FRONT.removesuffix("\n").split("\n")
    assert (view["title"], view["file"], view["isComplete"]) == ("Failing over", "same", True)
    assert view["sections"] == [
        {"line": 5, "level": 1, "title": "Failover", "anchors": ["failover"]}
    ]
    assert view["metadata"]["service"] == "rds"
    assert view["ranges"] == [
        {
            "start": 5,
            "end": 7,
            "reference": f"[Source: {NAME}, lines 5-7]",
            "repositoryUrl": f"https://git.example/blob/{NAME}#L5-L7",
        }
    ]


def test_a_changed_file_and_one_that_is_gone_are_told_for_the_cited_lines():
    kept = Shelf(runbooks__failover=TEXT)
    moved = shown(
        KeptDocuments(kept, Folder(runbooks__failover="Read this first.\n" + TEXT)), (3, 3)
    )
    assert moved["file"] == "changed"
    assert moved["ranges"][0]["stale"]["state"] == "moved"
    gone = shown(KeptDocuments(kept, Folder(runbooks__new_name=TEXT)), (3, 3))
    assert gone["file"] == "gone"
    stale = gone["ranges"][0]["stale"]
    assert stale["state"] == "gone"
    assert stale["now_in"][0]["source_file"] == "runbooks/new_name.md"


def test_lines_that_an_answer_rests_on_are_told_from_a_newer_ingest():
    then = [source(NAME)]
    newer = "# Failover\n\nRead this first.\n\nPromote the replica.\n"
    documents = KeptDocuments(Shelf(runbooks__failover=newer))
    assert "stale" not in shown(documents, (3, 3))["ranges"][0]
    retrieved = cards(then, "now", None)
    stale = shown(documents, (3, 3), retrieved=retrieved)["ranges"][0]["stale"]
    assert (stale["state"], stale["moved_to"]["start_line"]) == ("moved", 5)


def test_lines_that_were_not_kept_are_not_called_stale():
    documents = KeptDocuments(
        Shelf(runbooks__failover=FRONT), Folder(runbooks__failover=FRONT + "More.\n")
    )
    assert "stale" not in shown(documents, (1, 4))["ranges"][0]


def test_lines_that_a_reader_has_are_not_given_again_until_they_are_others():
    documents = KeptDocuments(Shelf())
    first = shown(documents)
    again = without_known(shown(documents, (1, 1)), first["version"])
    assert first.keys() - again.keys() == {"lines", "pages", "sections"}
    assert [one["start"] for one in again["ranges"]] == [1]
    other = KeptDocuments(Shelf(runbooks__failover="# Failover\n\nWait.\n"))
    assert "lines" in without_known(shown(other), first["version"])


def test_ranges_are_read_strictly():
    assert read_ranges(["5-10", "L5-L10", "7", "L7"]) == ((5, 10), (5, 10), (7, 7), (7, 7))
    for wrong in ("", "0", "10-5", "a", "5-", "-5", "5-10-15", "5 - 10", "99999999999", "٥"):
        with pytest.raises(Refused, match="not a range"):
            read_ranges([wrong])
    with pytest.raises(Refused, match="51 ranges"):
        read_ranges(["1"] * 51)


def test_each_range_is_told_as_far_as_the_document_has_it():
    documents = KeptDocuments(Shelf(), Folder(runbooks__failover="# Failover\n\nOther.\n"))
    repository = RepositoryLinks("https://git.example/{path}#L{start}-L{end}")
    within, over, beyond = shown(documents, (1, 1), (3, 9), (4, 9), repository=repository)["ranges"]
    assert (within["start"], within["end"], "stale" in within) == (1, 1, False)
    assert (over["start"], over["end"], over["stale"]["state"]) == (3, 3, "changed")
    assert over["reference"] == f"[Source: {NAME}, lines 3-3]"
    assert over["repositoryUrl"].endswith("#L3-L3")
    assert beyond == {"start": 4, "end": 9, "missing": True}


def test_lines_of_an_answer_that_the_document_has_lost_are_told_of():
    (card,) = cards([source(NAME)], "now", None)
    documents = KeptDocuments(Shelf(runbooks__failover="Promote the replica.\n"))
    (told,) = shown(documents, (3, 3), retrieved=[card])["ranges"]
    assert (told["missing"], told["stale"]["state"]) == (True, "moved")
    assert told["stale"]["moved_to"]["start_line"] == 1


def test_a_path_is_quoted_so_that_it_stays_one():
    assert document_url("runbooks/a b?#%.md") == "/doc/runbooks/a%20b%3F%23%25.md"
    assert citation_url(Citation("runbooks/ä.md", 5, 10)) == "/doc/runbooks/%C3%A4.md#L5-L10"
