"""Addresses: of a document and its lines in the console, and in the repository it comes from."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from knowledge_rag.core.errors import InvalidSettings

if TYPE_CHECKING:
    from knowledge_rag.core.citations import Citation

_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")


def document_url(source_file: str, start_line: int = 0, end_line: int = 0) -> str:
    """Return the path of a document's page, with the lines in its fragment where they are given."""
    lines = f"#L{start_line}-L{end_line}" if start_line else ""
    return "/doc/" + quote(source_file) + lines


def citation_url(citation: Citation) -> str:
    """Return the path of the page that shows what a citation cites."""
    return document_url(citation.source_file, citation.start_line, citation.end_line)


def is_web_address(url: object) -> bool:
    """Whether a browser may be led there: metadata and payloads may hold anything."""
    if not isinstance(url, str):
        return False
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname)
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class RepositoryLinks:
    """Links to where documents can be changed.

    Args:
        template: an http(s) address with ``{path}`` and optionally ``{start}`` and ``{end}``, e.g.
            ``https://host/org/repo/blob/main/{path}#L{start}-L{end}``; no field in its host.
    """

    template: str

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
        if address.scheme not in ("http", "https") or not _HOST.fullmatch(address.netloc):
            raise InvalidSettings(f"{about}: no http(s) address of a host")

    def url(self, source_file: str, start_line: int, end_line: int) -> str:
        """Return the address of lines of a document."""
        return self.template.format(path=quote(source_file), start=start_line, end=end_line)
