"""PDFs: the text of each page, and a clear reason where there is none."""

from __future__ import annotations

import base64
import io
from contextlib import suppress

import pytest
from PIL import Image

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.extract import pdf
from knowledge_rag.extract.confined import PAGE, read_confined
from knowledge_rag.extract.pdf import DRAWN_WIDTH, draw_page, read_pdf
from tests.support.pdfs import bomb_pdf, pdf_of, scanned_pdf, text_pdf, without_table


def reason(data):
    with pytest.raises(UnreadableDocument) as caught:
        read_pdf("handbook.pdf", data)
    return caught.value.reason


def test_each_page_s_lines_are_given_in_their_order():
    read = read_pdf(
        "a.pdf",
        text_pdf([["RDS (failover)", "Promote it."], ["Page two \u20ac"]], title="Handbook"),
    )
    assert read == pdf.PdfText("Handbook", ("RDS (failover)\nPromote it.", "Page two \u20ac"), ())


def test_a_word_that_a_hyphen_parts_stays_on_its_two_lines():
    read = read_pdf("a.pdf", text_pdf([["promote the rep-", "lica now, the read-only one"]]))
    assert read.pages == ("promote the rep-\nlica now, the read-only one",)


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Microsoft Word - Plan", "Plan"),
        ("untitled", ""),
        (" A\n  B ", "A B"),
        ("x" * 2_000, "x" * 1_000),
        ("half a \ud800 character", ""),
    ],
)
def test_a_title_is_one_line_without_what_programs_add(title, shown):
    assert read_pdf("a.pdf", text_pdf([["x"]], title=title)).title == shown


def test_pages_without_text_are_told_and_the_others_are_read():
    read = read_pdf("a.pdf", text_pdf([[], ["x"], [], [" "]]))
    assert read.pages == ("", "x", "", "")
    assert read.notes == ("no text on pages 1, 3, 4",)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "empty file"),
        (b"# Markdown\n", "not a PDF, despite its name"),
        (text_pdf([["x"]])[:300], "a damaged PDF: it ends early, or its parts can't be found"),
        (b"%PDF-1.7\n", "a damaged PDF: it ends early, or its parts can't be found"),
        (text_pdf([["x"]], password="secret"), "encrypted: it needs a password"),
        (scanned_pdf(), "no text on its one page: pictures of text need recognition (OCR) first"),
        (scanned_pdf(3), "no text on any of its 3 pages: pictures of text need recognition (OCR) first"),
        (text_pdf([]), "a damaged PDF: it ends early, or its parts can't be found"),
    ],
)  # fmt: skip
def test_what_can_not_be_read_says_why(data, why):
    assert reason(data) == why


def test_one_that_opens_without_a_password_is_read():
    assert read_pdf("a.pdf", text_pdf([["x"]], password="")).pages == ("x",)


def test_one_whose_table_of_objects_is_broken_is_read_where_its_objects_are_whole():
    assert read_pdf("a.pdf", without_table(text_pdf([["x"], ["y"]]))).pages == ("x", "y")


def test_a_damaged_file_never_takes_the_process_along():
    whole = text_pdf([["some text"], ["more"]], title="T")
    for at in range(0, len(whole), 19):
        broken = whole[:at] + b"\xff\x00<<" + whole[at + 4 :]
        with suppress(UnreadableDocument):
            assert any(read_pdf("a.pdf", broken).pages)


def test_hundreds_of_pages_are_read():
    pages = [[f"Page {n}, line {i}" for i in range(40)] for n in range(200)]
    read = read_pdf("a.pdf", text_pdf(pages))
    assert read.pages == tuple("\n".join(lines) for lines in pages)


def test_more_pages_or_more_text_than_is_read_is_told(monkeypatch):
    monkeypatch.setattr(pdf, "MAX_PAGES", 3)
    assert reason(text_pdf([["x"]] * 4)) == "4 pages, at most 3 are read"
    monkeypatch.setattr(pdf, "MAX_CHARACTERS", 20)
    assert reason(text_pdf([["x" * 15]] * 2)) == "more than 20 characters of text by page 2"
    assert reason(text_pdf([["x" * 30]])) == "more than 20 characters of text by page 1"


def test_what_unpacks_to_much_more_than_it_is_is_read_as_nothing():
    assert "no text on its one page" in reason(bomb_pdf(20_000_000))


@pytest.mark.parametrize(
    ("marked", "text"),
    [("/Span <</ActualText (given)>>", "given"), ("/OC /L1", "drawn")],
)
def test_what_a_reader_of_a_pdf_may_not_see_is_extracted_as_the_documentation_says(marked, text):
    content = f"BT /F1 11 Tf 14 TL 56 780 Td {marked} BDC (drawn) Tj EMC T* (more) Tj ET"
    layer = b"90 0 obj\n<< /Type /OCG /Name (L1) >>\nendobj\n"
    off = b"/OCProperties << /OCGs [90 0 R] /D << /OFF [90 0 R] >> >>"
    data = pdf_of([content.encode()])
    data = data.replace(b"/Type /Catalog", b"/Type /Catalog " + off, 1)
    data = data.replace(b"/Resources <<", b"/Resources << /Properties << /L1 90 0 R >>", 1)
    table = data.rindex(b"\nxref") + 1
    data = without_table(data[:table] + layer + data[table:])
    assert read_pdf("x.pdf", data).pages == (f"{text}\nmore",)


# pages as pictures, drawn where a hostile file harms nothing

TWO = text_pdf([["Restart the zebra pump."], ["Wait."]])


def drawn(data, number):
    answer = read_confined(f"{PAGE}{number}", "a.pdf", data)
    picture = Image.open(io.BytesIO(base64.b64decode(answer["png"])))
    picture.load()  # its checksums are right
    return picture


def test_each_page_is_drawn_black_on_white():
    first, second = drawn(TWO, 1), drawn(TWO, 2)
    assert first.width == DRAWN_WIDTH
    assert first.getpixel((5, 5)) == (255, 255, 255)
    assert first.convert("L").getextrema()[0] < 64
    assert first.tobytes() != second.tobytes()


def test_colours_are_those_of_the_page():
    red = drawn(pdf_of([b"1 0 0 rg 0 0 1000 1000 re f"]), 1)
    assert red.getpixel((50, red.height - 50)) == (255, 0, 0)


@pytest.mark.parametrize("number", [0, 3, 99999])
def test_a_page_that_there_is_not_is_said(number):
    with pytest.raises(UnreadableDocument, match=f"it has no page {number}"):
        draw_page("a.pdf", TWO, number)


@pytest.mark.parametrize("data", [b"", b"no pdf", TWO[:200], text_pdf([["x"]], password="secret")])
def test_a_file_that_can_not_be_opened_is_unreadable(data):
    with pytest.raises(UnreadableDocument):
        read_confined(f"{PAGE}1", "a.pdf", data)
    assert drawn(scanned_pdf(), 1).width == DRAWN_WIDTH  # the reader goes on
