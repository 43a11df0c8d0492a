"""Where a page is saved: a path below the corpus that its address alone decides, safe on any disk.

``https://docs.example.org/rds/failover.html`` becomes ``web/docs.example.org/rds/failover.html``. An
address that can't be a path as it stands (a query, no ending, capitals, odd characters) has a part of its
hash in the name: no two addresses share a file, and if ever two did, the second would not be saved.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from urllib.parse import SplitResult

FOLDER: Final = "web"
ENDINGS: Final = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "application/x-pdf": ".pdf",
    "text/markdown": ".md",
    "text/plain": ".txt",
}
"""Kinds of pages that are saved, and how their files end."""

_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9_-]+)*")
_UNFIT: Final = re.compile(r"[^a-z0-9_-]+")
_NO_HOST: Final = re.compile(r"[^a-z0-9.-]+")
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")
_SAME: Final = {".htm": ".html", ".markdown": ".md"}
_MAX_SEGMENT: Final = 60
_MAX_SEGMENTS: Final = 8
_HASHED: Final = 24
"""Hexadecimal digits, 96 bits: so that nobody can write a page whose file is another page's."""
_HASHED_BEFORE: Final = 10
"""What earlier versions wrote; such files are still known until their pages change."""
_HASHED_NAME: Final = re.compile(rf"-(?:[0-9a-f]{{{_HASHED_BEFORE}}}|[0-9a-f]{{{_HASHED}}})\.")
_PLAIN_HOST: Final = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*")


def file_of(address: str, ending: str, hashed: int = _HASHED) -> str:
    """Give the path of a page's file below the corpus, ``/``-separated.

    Args:
        address: http or https, without a fragment.
        ending: of its kind, one of :data:`ENDINGS`.
        hashed: digits of the hash, where the address alone can't be a path.
    """
    parts = urlsplit(address)
    segments = parts.path.removeprefix("/").split("/")
    if _is_plain(parts, segments, ending):
        return "/".join((FOLDER, parts.netloc, *segments))
    readable = [_readable(unquote(segment)) for segment in segments[:_MAX_SEGMENTS]]
    *folders, name = [segment for segment in readable if segment] or ["index"]
    digest = hashlib.sha256(address.encode()).hexdigest()[:hashed]
    return "/".join((FOLDER, _host(parts.netloc), *folders, f"{name}-{digest}{ending}"))


def files_of(address: str) -> frozenset[str]:
    """Give all files that a page may be saved as, whatever its kind, by earlier versions too."""
    return frozenset(
        file_of(address, ending, hashed)
        for ending in ENDINGS.values()
        for hashed in (_HASHED, _HASHED_BEFORE)
    )


def _is_plain(parts: SplitResult, segments: list[str], ending: str) -> bool:
    """Whether an address can be a path as it stands, and no other address has that path."""
    *folders, name = segments
    given = "." + name.rpartition(".")[2]
    return (
        parts.scheme == "https"
        and not parts.query
        and len(segments) <= _MAX_SEGMENTS
        and _PLAIN_HOST.fullmatch(parts.netloc) is not None
        and all(_fits(folder) and "." not in folder for folder in folders)
        and _fits(name)
        and not _HASHED_NAME.search(name)
        and "." in name
        and _SAME.get(given, given) == ending
    )


def _fits(segment: str) -> bool:
    plain = len(segment) <= _MAX_SEGMENT and _PLAIN.fullmatch(segment) is not None
    return plain and not _RESERVED.match(segment)


def _readable(segment: str) -> str:
    stem = segment.rpartition(".")[0] or segment
    name = _UNFIT.sub("-", stem.lower()).strip("-_")[:_MAX_SEGMENT]
    return f"{name}-" if _RESERVED.match(name) else name


def _host(netloc: str) -> str:
    return _NO_HOST.sub("_", netloc.lower()).strip("._") or "host"
