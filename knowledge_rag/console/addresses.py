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

DOCUMENTS: Final = "/doc/"
"""Below which each document has its page."""

_FIELDS: Final = frozenset({"path", "start", "end"})
_HOST: Final = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?")


def document_url(source_file: str, start_line: int = 0, end_line: int = 0) -> str:
    """Return the path of a document's page, with the lines in its fragment where they are given."""
    lines = f"#L{start_line}-L{end_line}" if start_line else ""
    return DOCUMENTS + quote(source_file) + lines


def citation_url(citation: Citation) -> str:
    """Return the path of the page that shows what a citation cites."""
    return document_url(citation.source_file, citation.start_line, citation.end_line)


@dataclass(frozen=True, slots=True)
class RepositoryLinks:
    """Where documents can be changed.

    Args:
        template: an http(s) address with ``{path}`` and, as wanted, ``{start}`` and ``{end}``, e.g.
            ``https://host/org/repo/blob/main/{path}#L{start}-L{end}``.

    Raises:
        InvalidSettings: it is no such address, or has a field in its host.
    """

    template: str

    def __post_init__(self) -> None:
        try:
            parsed = list(string.Formatter().parse(self.template))
            address = urlsplit(self.template)
        except ValueError as error:
            raise InvalidSettings(f"repository URL {self.template!r}: {error}") from error
        fields = [
            name
            for _, name, spec, conversion in parsed
            if name is not None and _plain(spec, conversion)
        ]
        if len(fields) != sum(name is not None for _, name, _, _ in parsed):
            raise InvalidSettings(
                f"repository URL {self.template!r}: only plain fields are allowed"
            )
        if "path" not in fields or not set(fields) <= _FIELDS:
            raise InvalidSettings(
                f"repository URL {self.template!r}: needs {{path}}, and may have {{start}} and {{end}}"
            )
        if address.scheme not in ("http", "https") or not _HOST.fullmatch(address.netloc):
            raise InvalidSettings(f"repository URL {self.template!r}: no http(s) address of a host")

    def url(self, source_file: str, start_line: int, end_line: int) -> str:
        """Return the address of lines of a document."""
        return self.template.format(path=quote(source_file), start=start_line, end=end_line)


def _plain(spec: str | None, conversion: str | None) -> bool:
    return not spec and conversion is None
