"""The user's settings file, ``knowledge-rag.toml``: defaults for frequent options."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from platformdirs import user_config_dir

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.repository_links import RepositoryLinks
from knowledge_rag.local.settings import APP_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME: Final = "knowledge-rag.toml"


@dataclass(frozen=True, slots=True)
class Config:
    """The content of a settings file; options and environment variables take precedence.

    Args:
        path: of the file; ``None`` if there is none.
        kb: knowledge base of commands without ``--kb``, relative to the file's folder.
        corpus: folder with the documents, for ``serve`` and ``ask --open``, relative to the file's folder.
        model: of ``--advisor model``, as ``provider:name``.
        links: template of links to cited lines, as for ``--repository-url``.
    """

    path: Path | None = None
    kb: Path | None = None
    corpus: Path | None = None
    model: str | None = None
    links: str | None = None


KEYS: Final = tuple(it.name for it in fields(Config) if it.name != "path")


def config() -> Config:
    """Return the settings of the current folder.

    Raises:
        InvalidSettings: the file is wrong; the message has its path and the line.
    """
    found = find(Path(user_config_dir(APP_NAME)))
    return read(found) if found else Config()


def find(user_folder: Path, here: Path | None = None) -> Path | None:
    """Return the path of the nearest settings file.

    Searches from the current folder up to the root of its repository, then the user's folder for settings; outside
    a repository only the current folder (``here``, absolute).
    """
    folders: list[Path] = []
    with suppress(OSError):  # the current folder may no longer exist
        folders += _up(here or Path.cwd())
    return next((it / NAME for it in (*folders, user_folder) if (it / NAME).is_file()), None)


def _up(here: Path) -> Iterator[Path]:
    above = [here, *here.parents]
    root = next((n for n, it in enumerate(above) if (it / ".git").exists()), 0)
    yield from above[: root + 1]


def read(path: Path) -> Config:
    """Read a settings file; all errors are reported together.

    Raises:
        InvalidSettings: it isn't TOML, has an unknown setting, or a value that isn't allowed.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
        wire = tomllib.loads(text)
    except OSError as error:
        raise InvalidSettings(f"{path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSettings(f"{path}: not valid TOML: {error}") from error
    wrong: list[str] = []
    for key, value in wire.items():
        at = f"{path}:{_line_of(key, text)}"
        if key not in KEYS:
            wrong.append(f"{at}: unknown setting {key[:80]!r}; known: {', '.join(sorted(KEYS))}")
        elif not isinstance(value, str) or not value.strip():
            wrong.append(f"{at}: {key} must be a text")
        elif key == "links":
            try:
                RepositoryLinks(value)
            except InvalidSettings as error:
                wrong.append(f"{at}: {error}")
    if wrong:
        raise InvalidSettings("; ".join(wrong))
    given: dict[str, Any] = {**wire}
    for name in {"kb", "corpus"} & wire.keys():
        given[name] = path.parent / Path(wire[name]).expanduser()
    return Config(path, **given)


def _line_of(key: str, text: str) -> int:
    """Return the line on which a setting or a table begins, from 1; 1 if it is written in another form."""
    begins = re.compile(rf"""[ \t]*\[?[ \t]*["']?{re.escape(key)}["']?[ \t]*[].=]""")
    return next((n for n, it in enumerate(text.split("\n"), start=1) if begins.match(it)), 1)
