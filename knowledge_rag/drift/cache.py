"""Keeps what was found in unchanged files, so that a further run checks only what changed.

An entry's key is a digest of everything that its value depends on: the bytes of the file, what it is compared
with, this program's own code and the libraries that it reads with. So an entry is never out of date, and a
run with a cache finds what one without it does.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_BYTES: Final = 64 << 20
"""Of all values, compressed; those that were not asked for longest go first."""
VERSION: Final = 1
"""Of the file's form."""
_LIBRARIES: Final = ("botocore", "markdown-it-py", "PyYAML", "tree-sitter", "tree-sitter-bash", "tree-sitter-hcl")  # fmt: skip
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS found (key BLOB PRIMARY KEY, value BLOB NOT NULL, run INTEGER NOT NULL)"
    " WITHOUT ROWID"
)


def afresh(_parts: Sequence[bytes | str], make: Callable[[], Any]) -> Any:  # noqa: ANN401 - JSON
    """Make a value, without a cache."""
    return make()


class Cache:
    """A SQLite file of values. Where it can't be read or written, everything is made afresh.

    Use it as a context manager: what was made is written at the end.

    Args:
        path: of the file; it and its folder are made.
        max_bytes: that all values may take.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._made: dict[bytes, bytes] = {}
        self._used: set[bytes] = set()
        self._connection = self._opened()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *failed: object) -> None:
        """Write what was made, unless the run failed, and close the file."""
        if self._connection is None:
            return
        with suppress(sqlite3.Error):
            if failed == (None, None, None):
                self._write(self._connection)
        with suppress(sqlite3.Error):
            self._connection.close()

    def recall(self, parts: Sequence[bytes | str], make: Callable[[], Any]) -> Any:  # noqa: ANN401 - JSON
        """Return a value as it was made before, or make it.

        Args:
            parts: everything that the value depends on.
            make: returns the value, which JSON can hold; tuples come back as lists.
        """
        key = digest(program(), *parts)
        known = self._made.get(key) or self._read(key)
        if isinstance(known, bytes) and known[:_CHECKED] == digest(key, known[_CHECKED:])[:_CHECKED]:  # fmt: skip
            self._used.add(key)
            return json.loads(zlib.decompress(known[_CHECKED:]))
        value = make()
        data = zlib.compress(json.dumps(value, separators=(",", ":")).encode(), 1)
        self._made[key] = digest(key, data)[:_CHECKED] + data
        return value

    def _opened(self) -> sqlite3.Connection | None:
        with suppress(OSError, sqlite3.Error):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            for _ in range(2):
                connection = sqlite3.connect(self._path, timeout=5)
                try:
                    if connection.execute("PRAGMA user_version").fetchone()[0] in (0, VERSION):
                        connection.execute(_TABLE)
                        connection.execute(f"PRAGMA user_version = {VERSION}")
                        connection.commit()
                        return connection
                except sqlite3.DatabaseError as error:
                    if isinstance(error, sqlite3.OperationalError):  # busy, or read-only
                        connection.close()
                        return None
                connection.close()
                self._path.unlink(missing_ok=True)  # of another version, or no cache at all
        return None

    def _read(self, key: bytes) -> bytes | None:
        if self._connection is None:
            return None
        try:
            row = self._connection.execute("SELECT value FROM found WHERE key = ?", (key,)).fetchone()  # fmt: skip
        except sqlite3.Error:
            return None
        return row[0] if row else None

    def _write(self, connection: sqlite3.Connection) -> None:
        with connection:
            run = connection.execute("SELECT coalesce(max(run), 0) + 1 FROM found").fetchone()[0]
            connection.executemany(
                "UPDATE found SET run = ? WHERE key = ?", [(run, key) for key in self._used]
            )
            connection.executemany(
                "INSERT OR REPLACE INTO found VALUES (?, ?, ?)",
                [(key, value, run) for key, value in self._made.items()],
            )
            self._prune(connection)

    def _prune(self, connection: sqlite3.Connection) -> None:
        (size,) = connection.execute("SELECT total(length(value)) FROM found").fetchone()
        gone = []
        oldest = connection.execute("SELECT key, length(value) FROM found ORDER BY run, key")
        while size > self._max_bytes and (row := oldest.fetchone()):
            gone.append((row[0],))
            size -= row[1]
        oldest.close()
        connection.executemany("DELETE FROM found WHERE key = ?", gone)


_CHECKED: Final = 16
"""Bytes before a value that show that it is the one that was written under its key."""


def digest(*parts: bytes | str) -> bytes:
    """Return a digest that is another one for other parts."""
    found = sha256()
    for part in parts:
        data = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "big"))
        found.update(data)
    return found.digest()


@cache
def program() -> bytes:
    """Return a digest of this program's code and tables, and of the versions of its libraries."""
    own = Path(__file__).parents[1]
    files = sorted(path for path in own.rglob("*") if path.suffix in (".py", ".json"))
    code = [part for path in files for part in (path.relative_to(own).as_posix(), path.read_bytes())]  # fmt: skip
    return digest(*code, *(f"{name} {metadata.version(name)}" for name in _LIBRARIES))
