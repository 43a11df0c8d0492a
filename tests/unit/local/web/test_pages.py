"""Pages of a web site become files of a corpus, and only if they changed."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.extract.documents import extract
from knowledge_rag.local.ingest import ingest
from knowledge_rag.local.web.fetching import AGENT
from knowledge_rag.local.web.pages import MAX_BYTES, PageState, read_addresses, read_rules
from tests.support.pdfs import text_pdf
from tests.support.website import Page, website
from tests.unit.local.web.bringing import HTML, bring


def test_a_page_is_saved_with_its_address_beside_it_and_ingested(tmp_path, kb_path, hashes):
    with website(rds=Page(HTML)) as site:
        (outcome,) = bring(tmp_path, f" {site.url}/rds#part".strip())
        address = f"{site.url}/rds"
    assert outcome.state is PageState.SAVED
    assert outcome.file.startswith(f"web/{address.split('/')[2].replace(':', '_')}/rds-")
    assert (tmp_path / outcome.file).read_bytes() == HTML
    assert json.loads((tmp_path / f"{outcome.file}.metadata.json").read_bytes()) == {
        "metadataAttributes": {"source_url": address, "fetched_at": "2026-11-21T10:00:00+00:00"}
    }
    assert ingest(tmp_path, kb_path, embedder=hashes).added == (outcome.file,)
    assert [headers["user-agent"] for _, headers in site.asked] == ["knowledge-rag"] * 2
    assert site.paths() == ["/robots.txt", "/rds"]


def test_an_unchanged_page_is_used_again_and_a_changed_one_is_saved_anew(tmp_path, kb_path, hashes):
    with website(
        tagged=Page(HTML, headers={"ETag": '"1"'}),
        plain=Page(HTML),
        dated=Page(HTML, headers={"Last-Modified": "Sat, 21 Nov 2026 09:00:00 GMT"}),
    ) as site:
        addresses = [f"{site.url}/{name}" for name in ("tagged", "plain", "dated")]
        first = bring(tmp_path, *addresses)
        ingest(tmp_path, kb_path, embedder=hashes)
        again = bring(tmp_path, *addresses)
        sent = dict(site.asked)
        assert sent["/tagged"]["if-none-match"] == '"1"'
        assert sent["/dated"]["if-modified-since"] == "Sat, 21 Nov 2026 09:00:00 GMT"
        assert [outcome.state for outcome in again] == [PageState.UNCHANGED] * 3
        assert [outcome.file for outcome in again] == [outcome.file for outcome in first]
        assert ingest(tmp_path, kb_path, embedder=hashes).unchanged == 3
        site.pages["/tagged"] = Page(HTML + b" Now.", headers={"ETag": '"2"'})
        changed = bring(tmp_path, *addresses)
    assert [outcome.state for outcome in changed] == [
        PageState.SAVED, PageState.UNCHANGED, PageState.UNCHANGED,
    ]  # fmt: skip
    assert ingest(tmp_path, kb_path, embedder=hashes).changed == (changed[0].file,)


def test_a_saved_file_that_was_touched_or_lost_is_fetched_whole(tmp_path):
    with website(a=Page(HTML, headers={"ETag": '"1"'})) as site:
        (first,) = bring(tmp_path, f"{site.url}/a")
        (tmp_path / first.file).write_bytes(b"edited")
        assert bring(tmp_path, f"{site.url}/a")[0].state is PageState.SAVED
        (tmp_path / first.file).unlink()
        assert bring(tmp_path, f"{site.url}/a")[0].state is PageState.SAVED
        (tmp_path / "web/.fetched.json").write_text("{broken")
        assert bring(tmp_path, f"{site.url}/a")[0].state is PageState.SAVED
    assert (tmp_path / first.file).read_bytes() == HTML


def test_a_page_that_can_not_be_fetched_any_more_stays_as_it_was_saved_and_is_told(tmp_path):
    with website(a=Page(HTML)) as site:
        (first,) = bring(tmp_path, f"{site.url}/a")
        site.pages["/a"] = Page(status=410)
        (gone,) = bring(tmp_path, f"{site.url}/a")
    assert (gone.state, gone.file, gone.is_failure) == (PageState.KEPT, first.file, True)
    assert gone.reason == "HTTP 410; the version saved on 2026-11-21 is kept"
    assert (tmp_path / first.file).is_file()


def test_other_kinds_of_documents_are_saved_as_what_they_are(tmp_path):
    handbook = text_pdf([["Bus schedule"]])
    with website(
        pdf=Page(handbook, kind="application/pdf"),
        note=Page(b"plain", kind="text/plain"),
        guide=Page("# Caf\u00e9\n".encode("latin-1"), kind="text/markdown; charset=iso-8859-1"),
    ) as site:
        outcomes = bring(tmp_path, *[f"{site.url}/{name}" for name in ("pdf", "note", "guide")])
        site.pages["/pdf"] = Page(HTML)
        (now_html,) = bring(tmp_path, f"{site.url}/pdf")
    assert [outcome.file.rpartition(".")[2] for outcome in outcomes] == ["pdf", "txt", "md"]
    assert (tmp_path / outcomes[2].file).read_bytes() == "# Caf\u00e9\n".encode()
    assert (tmp_path / now_html.file).read_bytes() == HTML
    assert not (tmp_path / outcomes[0].file).exists()
    assert not (tmp_path / f"{outcomes[0].file}.metadata.json").exists()


def test_an_encoding_that_only_the_server_names_is_not_lost(tmp_path):
    page = "<p>caf\u00e9".encode("latin-1")
    with website(a=Page(page, kind="text/html; charset=ISO-8859-1")) as site:
        (outcome,) = bring(tmp_path, f"{site.url}/a")
    data = (tmp_path / outcome.file).read_bytes()
    assert extract("a.html", data).text == "caf\u00e9\n"


def test_a_redirect_leads_to_the_address_that_is_cited(tmp_path):
    with website(new=Page(HTML), old=Page(status=301, headers={"Location": "new"})) as site:
        (outcome,) = bring(tmp_path, f"{site.url}/old")
    said = json.loads((tmp_path / f"{outcome.file}.metadata.json").read_bytes())
    assert said["metadataAttributes"]["source_url"] == f"{site.url}/new"
    assert "/old-" in outcome.file


def test_what_is_no_address_is_told(tmp_path):
    outcomes = bring(tmp_path, "ftp://a.example/x", "a.example", "https://u:p@a.example")
    assert [outcome.reason for outcome in outcomes] == ["not an http or https address"] * 3
    assert list(tmp_path.iterdir()) == []


def test_a_list_has_one_address_a_line_and_comments():
    data = b"# docs\nhttps://a.example/x#y\n\n  https://b.example \r\nhttps://b.example\n"
    assert read_addresses("urls.txt", data) == ["https://a.example/x#y", "https://b.example"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"# nothing\n\n", "lists no address: put one on each line"),
        (b"\xff", "is not a list of addresses: not UTF-8"),
        (
            b"".join(b"https://a.example/%d\n" % n for n in range(1_001)),
            "lists more than 1000 addresses",
        ),
    ],
)
def test_a_list_that_is_none_says_why(data, why):
    with pytest.raises(InvalidRequest, match=f"urls.txt {why}"):
        read_addresses("urls.txt", data)


def allows(text, target):
    return read_rules(text).can_fetch(f"https://a.example{target}", AGENT)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("", True),
        ("User-agent: *\nDisallow: /", False),
        ("User-agent: a\n\nUser-agent: Knowledge-RAG/1.0 # us\n\nDisallow: /x", False),
        ("User-agent: *\nDisallow: /\n\nUser-agent: knowledge-rag\nAllow: /", True),
        ("User-agent: *\nDisallow: /\n\nUser-agent: knowledge-ragtime\nAllow: /", False),
    ],
)
def test_rules_for_this_program_go_before_those_for_all(text, allowed):
    assert allows(text, "/x") is allowed


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_whatever_it_says_it_is_read(text):
    assert allows(text, "/x") in (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "Disallow: /*a*a*a*a*a*a*b\n" * 20_000,
        "".join(f"User-agent: a{n}\n" for n in range(30_000)) + "Disallow: /\n",
    ],
)
def test_the_largest_that_is_read_takes_a_few_seconds_at_most(text):
    started = time.process_time()
    rules = read_rules(f"User-agent: *\n{text}"[:MAX_BYTES])
    rules.can_fetch("https://a.example/" + "a" * 1_900, AGENT)
    assert time.process_time() - started < 5
