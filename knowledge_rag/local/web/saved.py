"""Saves pages as files of the corpus, with notes for conditional requests.

Only the address determines the path: ``https://docs.example.org/rds/failover.html`` becomes
``web/docs.example.org/rds/failover.html``. An address that isn't a valid path as it is (a query, no suffix,
capitals, unusual characters) has a part of its hash in the name: no two addresses share a file, and if they
ever did, the second would not be saved.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from knowledge_rag.core.files import written_atomically
from knowledge_rag.core.repository_links import web_address
from knowledge_rag.extract import sidecar
from knowledge_rag.extract.html import codec_named, declared_codec
from knowledge_rag.local.web.fetching import NotFetched

if TYPE_CHECKING:
    from pathlib import Path
    from urllib.parse import SplitResult

    from knowledge_rag.local.web.fetching import Fetched


FOLDER: Final = "web"
ENDINGS: Final = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "application/pdf": ".pdf",
    "application/x-pdf": ".pdf",
    "text/markdown": ".md",
    "text/plain": ".txt",
}
"""Kinds of pages that are saved, and their files' suffixes."""

_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9_-]*(?:\.[a-z0-9_-]+)*")
_UNFIT: Final = re.compile(r"[^a-z0-9_-]+")
_NO_HOST: Final = re.compile(r"[^a-z0-9.-]+")
_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)")
_SAME: Final = {".htm": ".html", ".markdown": ".md"}
_MAX_SEGMENT: Final = 60
_MAX_SEGMENTS: Final = 8
_HASHED: Final = 24
"""Hexadecimal digits, 96 bits: so that nobody can craft a page whose file is another page's."""
_HASHED_NAME: Final = re.compile(rf"-[0-9a-f]{{{_HASHED}}}\.")
_PLAIN_HOST: Final = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*")


def file_of(address: str, ending: str) -> str:
    """Return the path of a page's file below the corpus, ``/``-separated."""
    parts = urlsplit(address)
    segments = parts.path.removeprefix("/").split("/")
    if _is_plain(parts, segments, ending):
        return "/".join((FOLDER, parts.netloc, *segments))
    readable = [_readable(unquote(segment)) for segment in segments[:_MAX_SEGMENTS]]
    *folders, name = [segment for segment in readable if segment] or ["index"]
    digest = hashlib.sha256(address.encode()).hexdigest()[:_HASHED]
    return "/".join((FOLDER, _host(parts.netloc), *folders, f"{name}-{digest}{ending}"))


def files_of(address: str) -> frozenset[str]:
    """Return all files under which a page may be saved, whatever its kind."""
    return frozenset(file_of(address, ending) for ending in ENDINGS.values())


def _is_plain(parts: SplitResult, segments: list[str], ending: str) -> bool:
    """Whether an address is a valid path as it is, and no other address has that path."""
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


NOTES: Final = f"{FOLDER}/.fetched.json"
"""Notes on the saved pages; a hidden file, so not a document. Without it every page is fetched again."""
_MAX_NOTE: Final = 500
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Note:
    """A saved page: its file below the corpus, that file's sha256, and the server's version of it."""

    file: str
    sha256: str
    fetched_at: str
    etag: str = ""
    last_modified: str = ""


class SavedPages:
    """The pages below one corpus."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._notes, self.warnings = _read_notes(root / NOTES)

    def known(self, address: str) -> Note | None:
        """Return the note on a page whose file is unchanged."""
        note = self._notes.get(address)
        if note is None or self._link_above(note.file):
            return None
        try:
            data = (self._root / note.file).read_bytes()
        except OSError:
            return None
        return note if hashlib.sha256(data).hexdigest() == note.sha256 else None

    def save(self, address: str, answer: Fetched, now: str) -> tuple[str, bool]:
        """Save a page under the requested address, and record a note on it.

        Returns:
            The file's path below the corpus, and whether it is new or has changed.

        Raises:
            NotFetched: its kind isn't supported, or its file belongs to another page.
            OSError: it can't be written.
        """
        kind, charset = _kind(answer)
        data = as_served(answer.body, ENDINGS[kind], charset)
        file = file_of(address, ENDINGS[kind])
        self._check_own(address, file)
        before = self.known(address)
        sha256 = hashlib.sha256(data).hexdigest()
        same = before is not None and (before.file, before.sha256) == (file, sha256)
        etag, modified = (answer.headers.get(name, "") for name in ("etag", "last-modified"))
        fetched_at = before.fetched_at if same and before else now
        note = Note(file, sha256, fetched_at, _sendable(etag), _sendable(modified))
        if not same:
            self._forget(address, keep=file)
            _write(self._root / file, data)
            self._write_beside(file, answer.address, now)
        self._notes[address] = note
        return file, not same

    def write_notes(self) -> None:
        """Write the notes on all pages."""
        whole = {address: asdict(note) for address, note in sorted(self._notes.items())}
        _write(self._root / NOTES, (json.dumps(whole, indent=1) + "\n").encode())

    def _check_own(self, address: str, file: str) -> None:
        other = next(
            (a for a, note in self._notes.items() if note.file == file and a != address), ""
        )
        if other:
            raise NotFetched(f"its file {file} belongs to {other}")
        link = self._link_above(file)
        if link:
            raise NotFetched(f"{link} is a symbolic link, so no page is saved there")

    def _link_above(self, file: str) -> str:
        """Return the first folder above a file that is a link; ``""`` if there is none."""
        folders = file.split("/")[:-1]
        above = ("/".join(folders[:depth]) for depth in range(1, len(folders) + 1))
        return next((folder for folder in above if (self._root / folder).is_symlink()), "")

    def _write_beside(self, file: str, address: str, now: str) -> None:
        said = {"metadataAttributes": {"source_url": address, sidecar.FETCHED_AT: now}}
        # not as \u....: the longest address has to fit the size limit of this file
        data = (json.dumps(said, indent=1, ensure_ascii=False) + "\n").encode()
        _write(self._root / (file + sidecar.SUFFIX), data)

    def _forget(self, address: str, keep: str) -> None:
        """Remove the file of a page that now has another kind."""
        note = self._notes.get(address)
        if note is None or note.file == keep or self._link_above(note.file):
            return
        for name in (note.file, note.file + sidecar.SUFFIX):
            with suppress(OSError):
                (self._root / name).unlink()


def as_served(body: bytes, ending: str, charset: str) -> bytes:
    """Return a page that declares its encoding itself, if only the server declared it."""
    codec = codec_named(charset) if charset else None
    if ending == ".pdf" or codec is None or body.startswith((_BOM, b"\xff\xfe", b"\xfe\xff")):
        return body
    if codec in ("utf-8", "utf8") and (ending != ".html" or declared_codec(body) == "utf-8"):
        return body
    try:
        text = body.decode(codec)
    except UnicodeDecodeError:
        return body  # ingest will determine its kind
    return (_BOM if ending == ".html" else b"") + text.encode()


def _kind(answer: Fetched) -> tuple[str, str]:
    kind, _, parameters = answer.headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    if kind not in ENDINGS:
        raise NotFetched(f"type {kind[:80] or 'unknown'} is not supported")
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return kind, value.strip().strip("\"'")
    return kind, ""


def _sendable(value: str) -> str:
    """Return the server's version of a page, if it can be sent back in a header."""
    return value if len(value) <= _MAX_NOTE and value.isascii() and value.isprintable() else ""


def _read_notes(path: Path) -> tuple[dict[str, Note], tuple[str, ...]]:
    """Return the notes, and sentences about invalid entries."""
    try:
        given = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}, ()
    except (OSError, ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return {}, (f"{NOTES} can't be read; every page is fetched again",)
    read = {address: _as_note(address, said) for address, said in given.items()}
    notes = {address: note for address, note in read.items() if note is not None}
    if len(notes) == len(read):
        return notes, ()
    ignored = f"{len(read) - len(notes)} of {len(read)} entries ignored"
    return notes, (f"{NOTES}: {ignored}: not pages that were fetched",)


def _as_note(address: str, said: object) -> Note | None:
    """Return an entry if its file is the one for its address, and no other."""
    if not isinstance(said, dict) or web_address(address) != address:
        return None
    try:
        note = Note(**said)
    except TypeError:
        return None
    values = (note.file, note.sha256, note.fetched_at, note.etag, note.last_modified)
    if not all(isinstance(value, str) for value in values) or note.file not in files_of(address):
        return None
    return replace(note, etag=_sendable(note.etag), last_modified=_sendable(note.last_modified))


def _write(path: Path, data: bytes) -> None:
    with written_atomically(path) as file:
        file.write(data)
