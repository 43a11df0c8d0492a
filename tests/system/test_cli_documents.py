"""Web pages and PDFs on the command line: cut, shown, linted, ingested, fetched, verified."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.local import write_files
from tests.support.pdfs import scanned_pdf, text_pdf
from tests.support.website import Page, website

HANDBOOK = text_pdf(
    [["Bus schedule", "Line 4 leaves at eight."], ["Lunch is at noon."]], title="Handbook"
)
HTML = (
    "<title>Staff</title><h1>Executive directors</h1><p>Ada Example leads the district.<p hidden>x"
)


@pytest.fixture
def folder(tmp_path):
    return write_files(
        tmp_path / "docs",
        {"handbook.pdf": HANDBOOK, "staff.html": HTML, "scan.pdf": scanned_pdf(), "a.md": "# A\n"},
    )


def test_chunk_gives_lines_and_pages_and_the_text_that_they_are_counted_in(cli, folder):
    ran = cli("chunk", folder / "handbook.pdf")
    assert [(line["start_line"], line["end_line"], line["page"]) for line in ran.json_lines] == [
        (1, 2, 1),
        (4, 4, 2),
    ]
    assert cli("chunk", folder / "handbook.pdf", "--text").out == (
        "Bus schedule\nLine 4 leaves at eight.\n\nLunch is at noon.\n"
    )
    page = cli("chunk", folder / "staff.html")
    assert page.json["section_header"] == "Executive directors"
    assert "page" not in page.json
    assert page.err == (
        "warning staff.html: left out text that the page hides from readers: 1 element, 1 characters\n"
    )


def test_what_can_not_be_read_is_bad_input_alone_and_a_finding_in_a_folder(cli, folder):
    alone = cli("chunk", folder / "scan.pdf")
    assert alone.code == 2
    assert alone.err == (
        "error: scan.pdf: no text on its one page: pictures of text need recognition (OCR) first\n"
    )
    linted = cli("lint", folder)
    assert linted.code == 1
    assert "skipped scan.pdf: no text on its one page" in linted.err
    whole = cli("chunk", folder, "--text")
    assert whole.code == 2
    assert whole.err.startswith("error: --text is for one document")


def test_a_question_that_only_a_pdf_answers_is_answered_with_its_page(cli, folder, tmp_path):
    kb = tmp_path / "x.kb"
    ran = cli("ingest", folder, "--kb", kb, "--json")
    assert ran.code == 1
    report = ran.json
    assert report["added"] == ["a.md", "handbook.pdf", "staff.html"]
    assert [skipped["document"] for skipped in report["skipped"]] == ["scan.pdf"]
    found = cli("retrieve", "When does bus line 4 leave?", "--kb", kb, "--json").json["results"]
    assert found[0]["citation"] == {
        "source_file": "handbook.pdf",
        "start_line": 1,
        "end_line": 2,
        "section_header": "",
    }
    assert (found[0]["metadata"]["page"], found[0]["metadata"]["document_type"]) == (1, "pdf")


def test_pages_of_a_list_are_fetched_ingested_and_used_again(cli, tmp_path):
    kb, urls = tmp_path / "x.kb", tmp_path / "urls.txt"
    with website(staff=Page(HTML.encode(), headers={"ETag": '"1"'})) as site:
        urls.write_text(f"# staff\n{site.url}/staff\n{site.url}/gone\n")
        arguments = ("ingest", tmp_path / "docs", "--kb", kb, "--urls", urls, "--delay", "0")
        missing = cli(*arguments, "--allow-private")
        assert (missing.code, missing.err) == (2, f"error: no such folder: {tmp_path / 'docs'}\n")
        assert site.asked == []
        (tmp_path / "docs").mkdir()
        refused = cli(*arguments)
        assert refused.code == 2
        assert "127.0.0.1 is a private address; --allow-private" in refused.err
        report = cli(*arguments, "--allow-private", "--json").json
        saved, gone = report["pages"]
        assert (saved["state"], gone["state"], gone["reason"]) == ("saved", "failed", "HTTP 404")
        assert report["added"] == [saved["file"]]
        again = cli(*arguments, "--allow-private")
        assert again.code == 1
        assert "(2 web pages: 1 unchanged, 1 failed)" in again.out
        assert f"failed {site.url}/gone: HTTP 404\n" in again.err
    found = cli("retrieve", "Who leads the district?", "--kb", kb, "--json").json["results"]
    assert found[0]["metadata"]["source_url"] == f"{site.url}/staff"


def test_a_list_that_is_none_fetches_and_changes_nothing(cli, folder, tmp_path):
    missing = cli("ingest", folder, "--kb", tmp_path / "x.kb", "--urls", tmp_path / "no.txt")
    assert missing.code == 2
    assert missing.err.endswith("no.txt: No such file or directory\n")
    assert not (tmp_path / "x.kb").exists()


def test_five_hundred_pages_are_cut_in_little_memory(tmp_path):
    status = Path("/proc/self/status")
    if not status.is_file():
        pytest.skip("no /proc here, which tells a process's own memory")
    pages = [[f"Page {n}: step {i} of the drill." for i in range(40)] for n in range(500)]
    (tmp_path / "long.pdf").write_bytes(text_pdf(pages))
    program = (
        "from pathlib import Path; from knowledge_rag.extract.documents import cut, extract;"
        "chunks = cut(extract('long.pdf', Path('long.pdf').read_bytes()));"
        "print(len({chunk.page for chunk in chunks}));"
        "print(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    count, kibibytes = map(int, done.stdout.split())
    assert count == 500
    assert kibibytes < 200_000
