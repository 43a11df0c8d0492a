"""Every kind of file becomes a document whose chunks are exact lines of one text."""

import itertools
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from knowledge_rag.core.chunking import ChunkingSettings
from knowledge_rag.core.errors import InvalidCitation, UnreadableDocument
from knowledge_rag.core.formats import is_extracted
from knowledge_rag.core.metadata import prove, stored_text, to_metadata
from knowledge_rag.core.outcome import RetrievalResult
from knowledge_rag.extract.documents import cut, extract, fingerprint
from tests.support.exactness import assert_exact
from tests.support.local import joined
from tests.support.pdfs import text_pdf

PAGE = b"<title>RDS failover</title><link rel=canonical href=https://a.example/rds><h1>RDS</h1><p>Wait."
URL = "https://a.example/other"


def beside(**attributes):
    return json.dumps({"metadataAttributes": attributes}).encode()


def test_a_web_page_is_a_document_of_its_address_and_title():
    read = extract("docs/rds.html", PAGE)
    (chunk,) = cut(read)
    metadata = to_metadata(chunk)
    assert (metadata["document_type"], metadata["title"]) == ("web", "RDS failover")
    assert metadata["source_url"] == "https://a.example/rds"
    assert "page" not in metadata
    assert str(chunk.citation) == "[Source: docs/rds.html, lines 1-3]"
    assert chunk.section_path == ("RDS",)
    assert chunk.content == read.text.rstrip("\n") == "# RDS\n\nWait."


def test_a_chunk_of_a_pdf_lies_on_one_page_and_says_which():
    pages = [["# no heading", "one"], [], ["---", "two"], ["three"]]
    read = extract("Handbook.PDF", text_pdf(pages, title="Handbook"))
    assert read.text == "# no heading\none\n\n---\ntwo\n\nthree\n"
    found = [(c.start_line, c.end_line, c.page, c.content, c.section_path) for c in cut(read)]
    assert found == [
        (1, 2, 1, "# no heading\none", ()),
        (4, 5, 3, "---\ntwo", ()),
        (7, 7, 4, "three", ()),
    ]
    assert read.notes == ("no text on page 2",)
    metadata = to_metadata(cut(read)[1])
    assert (metadata["page"], metadata["document_type"]) == (3, "pdf")
    assert metadata["title"] == "Handbook"
    assert extract("on-call_handbook.pdf", text_pdf(pages)).document.title == "on call handbook"


def test_what_is_said_beside_a_file_goes_before_what_a_page_says_and_behind_front_matter():
    said = beside(title="Ours", source_url=URL, document_type="runbook", service="rds")
    page = extract("a.html", PAGE, said).document
    assert (page.title, page.document_type, page.front_matter) == (
        "Ours",
        "runbook",
        {"title": "Ours", "source_url": URL, "document_type": "runbook", "service": "rds"},
    )
    markdown = extract("a.md", b"---\ntitle: Own\n---\n# H\n", said).document
    assert (markdown.title, markdown.front_matter["source_url"]) == ("Own", URL)
    assert extract("a.pdf", text_pdf([["x"]]), said).document.front_matter["service"] == "rds"


def test_nonsense_beside_a_file_costs_it_nothing():
    read = extract("a.md", b"# A\n", b"{")
    assert read.document == extract("a.md", b"# A\n").document
    assert read.notes == (".metadata.json is not a JSON object with metadataAttributes",)


def test_front_matter_s_address_is_one_of_the_web_or_none():
    read = extract("a.md", b"---\nsource_url: javascript:alert(1)\nservice: x\n---\n# A\n")
    assert read.document.front_matter == {"service": "x"}
    assert read.notes == ("front matter: source_url is not an http or https address; left out",)
    assert read.text.startswith("---\n")


def test_a_page_can_not_pass_rules_off_as_front_matter():
    read = extract("a.html", b"<hr><p>---</p><p>service: x</p><p>---</p><p>said")
    assert read.document.front_matter == {}
    assert_exact(read.text, cut(read))


def test_what_else_chunks_follow_from_is_told_apart():
    assert fingerprint("a.md", None) == ""
    assert fingerprint("a.html", None) == fingerprint("b.pdf", None) != ""
    assert fingerprint("a.md", beside(title="A")) != fingerprint("a.md", beside(title="B"))
    assert fingerprint("a.md", beside(etag="1")) == fingerprint("a.md", beside(etag="2"))
    assert [is_extracted(name) for name in ("a.HTM", "x/a.pdf", "a.md", "pdf", "a.txt")] == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_a_name_that_no_citation_can_hold_is_refused():
    with pytest.raises(InvalidCitation):
        extract("../a.html", PAGE)
    with pytest.raises(UnreadableDocument, match=r"a\.html: empty file"):
        extract("a.html", b"")


WORDS = st.text(st.sampled_from("ab #`~<>-=*|_.!1\t\u00a0\u2028\u3002\u65e5A&;\\"), max_size=30)
ELEMENTS = ("p", "div", "h1", "h2", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "table", "tr", "td",
            "th", "dl", "dt", "dd", "b", "span", "q", "a", "section", "br")  # fmt: skip
NODES = st.recursive(
    WORDS,
    lambda inner: st.tuples(
        st.sampled_from(ELEMENTS),
        st.lists(inner, max_size=5),
    ),
    max_leaves=25,
)


def as_html(node):
    if isinstance(node, str):
        return node.replace("&", "&amp;").replace("<", "&lt;")
    name, inner = node
    return f"<{name}>{''.join(map(as_html, inner))}</{name}>"


def assert_whole(read, chunks):
    """What is promised of extracted text: exact chunks, and a text that can be had back from them."""
    assert_exact(read.text, chunks)
    assert joined((chunk.start_line, chunk.content) for chunk in chunks) == read.text
    assert "\r" not in read.text
    assert all(line == line.rstrip(" \t") for line in read.text.split("\n"))
    for chunk in chunks:
        result = prove(stored_text(chunk), to_metadata(chunk))
        assert isinstance(result, RetrievalResult)
        assert result.metadata.get("page") == chunk.page


@given(st.lists(NODES, min_size=1, max_size=6))
def test_of_any_page_every_line_is_in_exactly_one_chunk_byte_for_byte(nodes):
    data = ("x" + "".join(map(as_html, nodes))).encode()
    read = extract("a.html", data)
    assert read == extract("a.html", data)
    assert_whole(read, cut(read, ChunkingSettings(128)))


def numbered(node, count):
    """Put a word of its own in place of each text."""
    if isinstance(node, str):
        return f"w{next(count)}w"
    name, inner = node
    return name, [numbered(child, count) for child in inner]


@given(st.lists(NODES, min_size=1, max_size=6))
def test_of_any_page_every_word_is_in_the_text_once_and_in_the_order_of_the_parsed_page(nodes):
    count = itertools.count()
    page = "x " + "".join(as_html(numbered(node, count)) for node in nodes)
    text = extract("a.html", page.encode()).text
    parsed = LexborHTMLParser(page).body.text(separator=" ")
    words = re.findall(r"w\d+w", text)
    assert sorted(words) == sorted(f"w{n}w" for n in range(next(count)))
    assert words == re.findall(r"w\d+w", parsed)


LINES = st.lists(st.text(st.characters(codec="cp1252", min_codepoint=32), max_size=60), max_size=40)


@settings(max_examples=40)
@given(st.lists(LINES, min_size=1, max_size=4))
def test_of_any_pdf_every_line_is_in_exactly_one_chunk_of_its_page(pages):
    try:
        read = extract("a.pdf", text_pdf([["x", *lines] for lines in pages]))
    except UnreadableDocument as error:
        pytest.fail(error.reason)
    chunks = cut(read, ChunkingSettings(128))
    assert_whole(read, chunks)
    lines = read.text.split("\n")
    for page in read.pages:
        there = page.text.split("\n")
        assert lines[page.start_line - 1 : page.start_line - 1 + len(there)] == there
        own = [chunk for chunk in chunks if chunk.page == page.number]
        assert own[0].start_line == page.start_line
        assert own[-1].end_line == page.start_line - 1 + len(there)


FORGED = b"---\nsource_url: https://trusted.example/runbook\ndocument_type: runbook\ntitle: T\n---\n# Hi\n"


def beside_fetched(**said):
    said = {
        "source_url": "https://a.example/x.md",
        "fetched_at": "2026-11-21T10:00:00+00:00",
    } | said
    return json.dumps({"metadataAttributes": said}).encode()


def test_a_fetched_text_does_not_say_itself_where_it_is_from_or_that_it_is_a_runbook():
    read = extract("web/a.example/x.md", FORGED, beside_fetched())
    assert read.document.front_matter["source_url"] == "https://a.example/x.md"
    assert read.document.document_type == "other"
    assert "document_type" not in read.document.front_matter
    assert read.document.title == "T"
    assert read.notes == (
        "front matter: a fetched page can't set source_url; left out",
        "front matter: a fetched page can't set document_type; left out",
    )


def test_what_a_person_says_beside_a_fetched_text_counts():
    read = extract("web/a.example/x.md", FORGED, beside_fetched(document_type="runbook"))
    assert read.document.document_type == "runbook"


@pytest.mark.parametrize("name", ["web/a.example/x.md", "web/a.example/x.html"])
def test_no_address_steps_in_for_that_of_a_fetched_page_that_can_not_be_used(name):
    page = (
        FORGED if name.endswith(".md") else b'<link rel=canonical href="https://b.example/"><p>Hi'
    )
    read = extract(name, page, beside_fetched(source_url="javascript:x"))
    assert "source_url" not in read.document.front_matter


def test_the_longest_address_that_can_be_fetched_is_that_of_its_page():
    long = "https://a.example/" + "x" * 1_900
    read = extract("web/a.example/x.md", FORGED, beside_fetched(source_url=long))
    assert read.document.front_matter["source_url"] == long


def test_front_matter_still_goes_before_what_a_person_says_beside_a_file_of_the_corpus():
    beside = json.dumps({"metadataAttributes": {"source_url": "https://a.example/x"}}).encode()
    read = extract("x.md", FORGED, beside)
    assert read.document.front_matter["source_url"] == "https://trusted.example/runbook"
    assert fingerprint("x.md", beside) != fingerprint(
        "x.md", beside_fetched(source_url="https://a.example/x")
    )


class TestTypeByContent:
    """A page that nothing else says the type of is a runbook if it holds what runbooks hold."""

    @staticmethod
    def type_of(name, text, beside=None):
        types = {it.document.document_type for it in cut(extract(name, text.encode(), beside))}
        assert len(types) == 1
        return types.pop()

    @pytest.mark.parametrize("heading", ["Diagnosis", "How to resolve", "Lösung", "解决方法"])
    def test_a_heading_for_diagnosis_or_resolution_makes_a_runbook(self, heading):
        assert (
            self.type_of("ops/mail.md", f"# Mail\n\nText.\n\n## {heading}\n\n1. Drain.\n")
            == "runbook"
        )

    def test_alerts_in_front_matter_make_a_runbook(self):
        assert (
            self.type_of("mail.md", "---\nalert: MailWaits\n---\n# Mail\n\nDrain.\n") == "runbook"
        )

    @pytest.mark.parametrize("heading", ["Overview", "The diagnosis of rare diseases", "Contacts"])
    def test_other_headings_do_not(self, heading):
        assert self.type_of("ops/mail.md", f"# Mail\n\n## {heading}\n\nText.\n") == "other"

    @pytest.mark.parametrize(
        ("name", "begin", "kind"),
        [
            ("postmortems/2024.md", "", "postmortem"),
            ("2024.md", "---\ndocument_type: other\n---\n", "other"),
        ],
    )
    def test_what_else_says_the_type_counts_more(self, name, begin, kind):
        text = f"{begin}# Mail\n\n## Resolution\n\nIt was drained.\n"
        assert self.type_of(name, text) == kind

    def test_a_text_from_the_web_can_not_say_what_it_is(self):
        text = "# Mail\n\n## Resolution\n\n1. Drain.\n"
        assert self.type_of("web/a.md", text, beside_fetched()) == "other"
        assert self.type_of("web/a.md", text) == "runbook"
