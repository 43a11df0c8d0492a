"""Which text is the address of a web page, fit to be shown and followed."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

MAX_ADDRESS: Final = 2_000
"""Characters; browsers and servers take hardly more."""

_UNFIT: Final = re.compile(
    r"[\x00-\x20\x7f-\xa0\"'<>\\^`{|}\ud800-\udfff\u200b-\u200f\u2028-\u202e]"
)
"""What no address holds unescaped, and what could lead out of a link or hide in one."""


def web_address(text: str) -> str | None:
    """Return an http or https address without blanks around it, ``None`` if it is none.

    One with a user or a password in it is refused: it is made to look like another host.
    """
    address = text.strip(" \t\r\n")
    if not 1 <= len(address) <= MAX_ADDRESS or _UNFIT.search(address):
        return None
    try:
        parts = urlsplit(address)
        _ = parts.port  # raises where it is no number
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        return None
    return address
