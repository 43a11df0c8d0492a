"""The pictures of the page about the terminal."""

from __future__ import annotations

import re

import pytest

from tests.support.local import PROJECT
from tools.terminal_recording import WIDTHS


@pytest.mark.parametrize("width", WIDTHS)
def test_the_pictures_of_the_page_fetch_nothing_and_name_no_folder_of_a_machine(width):
    picture = (PROJECT / f"docs/images/terminal-{width}.svg").read_text()
    assert "url(http" not in picture
    assert not re.search(r"/(?:tmp|home|root|work|usr)/", picture)
    words = re.sub(r"<[^>]*>", "", picture).replace("&#160;", " ")
    assert "Evidence: strong (the alert links this procedure)" in words
    assert "RDS failover: and how do I undo it?" in words
