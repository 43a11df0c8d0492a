"""What tests see of a terminal."""

import os

from tests.support.cli import terminal


def test_a_character_of_which_half_is_shown_is_not_seen_yet():
    bar = "━".encode()
    with terminal() as (screen, end):
        os.write(end, b"embedding " + bar[:2])
        assert screen.until("embedding") == "embedding "
        os.write(end, bar[2:])
        assert screen.until("━") == "embedding ━"
        os.close(end)
