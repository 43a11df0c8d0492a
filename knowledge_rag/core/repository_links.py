"""Web addresses: of cited lines in a document's repository, and those that are safe to show and follow."""

from __future__ import annotations

import json
import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlsplit

from knowledge_rag.core.errors import InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST: Final = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")
"""A host name, with or without a port."""


@dataclass(frozen=True, slots=True)
class RepositoryLinks:
    """Links to lines of documents in their repository.

    Args:
        template: an http(s) address with ``{path}`` and optionally ``{start}`` and ``{end}``, e.g.
            ``https://host/org/repo/blob/main/{path}#L{start}-L{end}``; no field in its host.
        unlinked: documents that the repository doesn't have as they were ingested.
    """

    template: str
    unlinked: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        about = f"repository URL {self.template!r}"
        try:
            fields = [it for it in string.Formatter().parse(self.template) if it[1] is not None]
            address = urlsplit(self.template)
        except ValueError as error:
            raise InvalidSettings(f"{about}: {error}") from error
        if any(spec or conversion for _, _, spec, conversion in fields):
            raise InvalidSettings(f"{about}: only plain fields are allowed")
        names = {name for _, name, _, _ in fields}
        if "path" not in names or not names <= {"path", "start", "end"}:
            raise InvalidSettings(f"{about}: needs {{path}}, and may have {{start}} and {{end}}")
        if address.scheme not in ("http", "https") or not HOST.fullmatch(address.netloc):
            raise InvalidSettings(f"{about}: not an http(s) address of a host")

    def url(self, source_file: str, start_line: int, end_line: int) -> str:
        """Return the address of lines of a document; ``""`` for a document without a link."""
        if source_file in self.unlinked:
            return ""
        return self.template.format(path=quote(source_file), start=start_line, end=end_line)

    def to_json(self) -> str:
        """Return the form in which a knowledge base stores it."""
        return json.dumps({"template": self.template, "unlinked": sorted(self.unlinked)})

    @classmethod
    def from_json(cls, stored: str) -> RepositoryLinks | None:
        """Return the stored links of a knowledge base; ``None`` if it has none in this form."""
        try:
            wire: Mapping[str, Any] = json.loads(stored)
            return cls(str(wire["template"]), frozenset(map(str, wire["unlinked"])))
        except (ValueError, KeyError, TypeError):
            return None


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
