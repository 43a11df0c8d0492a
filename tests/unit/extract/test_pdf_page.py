"""A page of a PDF as a picture, drawn where a hostile file harms nothing."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.extract.confined import PAGE, read_confined
from knowledge_rag.extract.pdf import DRAWN_WIDTH, draw_page
from tests.support.pdfs import pdf_of, scanned_pdf, text_pdf

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
