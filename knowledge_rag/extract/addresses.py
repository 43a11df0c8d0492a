"""Recognises web addresses that are safe to show and follow."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

MAX_ADDRESS: Final = 2_000
"""Maximum characters; browsers and servers accept hardly more."""

_UNFIT: Final = re.compile(
    r"[\x00-\x20\x7f-\xa0\"'<>\\^`{|}\ud800-\udfff\u200b-\u200f\u2028-\u202e]"
)
"""Characters that no address has unescaped, or that could break out of a link or hide in one."""


def web_address(text: str) -> str | None:
    """Return an http or https address without surrounding blanks, ``None`` if it isn't one.

    One with a user or a password is refused: it is made to look like another host.
    """
    address = text.strip(" \t\r\n")
    if not 1 <= len(address) <= MAX_ADDRESS or _UNFIT.search(address):
        return None
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises if it isn't a number
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return None
    return address
