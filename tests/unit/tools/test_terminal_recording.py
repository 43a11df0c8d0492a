"""The pictures of the page about the terminal."""

from __future__ import annotations

import re

import pytest
from rich.text import Text

from tests.support.local import PROJECT
from tools.terminal_recording import WIDTHS, _lasting, _picture, _wrapped


def test_progress_that_was_written_over_is_not_in_a_picture():
    shown = "\x1b[?25lsearching\r\x1b[2Kfound\r\n\x1b[?25h\r\x1b[1A\x1b[2KEvidence\r\nrow\r\n"
    assert _lasting(shown) == ["Evidence", "row", ""]


def test_a_row_is_broken_where_a_terminal_breaks_it():
    assert [it.plain for it in _wrapped(Text("a" * 5), 2)] == ["aa", "aa", "a"]
    assert [it.plain for it in _wrapped(Text(""), 2)] == [""]


def test_a_picture_says_how_many_rows_it_leaves_out():
    rows = "\r\n".join(
        [*map(str, range(60)), "", "Ask a follow-up [Enter to end] and how do I undo it?", "x"]
    )
    words = re.sub(r"<[^>]*>", "", _picture(rows, 80))
    assert "...&#160;16&#160;more&#160;rows&#160;..." in words


@pytest.mark.parametrize("width", WIDTHS)
def test_the_pictures_of_the_page_fetch_nothing_and_name_no_folder_of_a_machine(width):
    picture = (PROJECT / f"docs/images/terminal-{width}.svg").read_text()
    assert "url(http" not in picture
    assert not re.search(r"/(?:tmp|home|root|work|usr)/", picture)
    words = re.sub(r"<[^>]*>", "", picture).replace("&#160;", " ")
    assert "Evidence: strong (the alert links this procedure)" in words
    assert "RDS failover: and how do I undo it?" in words
