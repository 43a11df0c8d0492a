"""Reads labelled questions: JSON Lines with a question and the lines, or the files, that answer it.

A row has ``id``, ``query`` and ``relevant``, a list of ``{"source_file": ...}`` with or without
``start_line`` and ``end_line``; optionally ``also_acceptable`` (other files that answer it as well),
``alert`` (the name of the alert that asks), ``runbook_url`` (its link, of which the anchor is used),
``answer_start_line`` and ``answer_end_line`` (the exact lines of the answer, in the first relevant
file). Other keys are ignored.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from knowledge_rag.core.citations import MAX_LINE, check_source_file
from knowledge_rag.core.errors import InvalidCitation, InvalidRequest, UnreadableDocument
from knowledge_rag.core.files import read_regular
from knowledge_rag.core.lines import decode, split_lines
from knowledge_rag.core.retrieval import MAX_QUERY_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.core.errors import KnowledgeRagError

_MEBIBYTE = 1 << 20
_Row = TypeVar("_Row")
_Labelled = TypeVar("_Labelled", bound="Labelled")


def read_text(path: Path, max_bytes: int) -> str:
    """Read a whole text file; a truncated one would go unnoticed in the figures.

    Raises:
        UnreadableDocument: it can't be read, is empty, larger than ``max_bytes``, or not UTF-8.
    """
    name = str(path)
    try:
        data = read_regular(path, max_bytes + 1)
    except OSError as error:
        raise UnreadableDocument(name, error.strerror or str(error)) from error
    if len(data) > max_bytes:
        raise UnreadableDocument(name, f"larger than {max_bytes / _MEBIBYTE:.3g} MiB")
    return decode(data, name)


def read_lines(path: Path, max_bytes: int) -> Iterator[tuple[int, str]]:
    """Return the non-blank lines of a text file, numbered; raises the same as :func:`read_text`."""
    yield from numbered(read_text(path, max_bytes))


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Return the non-blank lines of a text, each with its number, from 1."""
    return ((n, line) for n, line in enumerate(split_lines(text), start=1) if line.strip())


def read_rows(
    lines: Iterable[tuple[int, str]],
    row: Callable[[int, Any], _Row],
    wrong: Callable[[int], KnowledgeRagError],
) -> list[_Row]:
    """Read JSON Lines; the first invalid line raises its error.

    Args:
        lines: each with its number.
        row: creates a row from a line's number and JSON, or raises Python's exceptions for other JSON.
        wrong: returns the error for a line's number.
    """
    rows = []
    for number, line in lines:
        try:
            rows.append(row(number, json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise wrong(number) from error
    return rows


class Labelled(Protocol):
    """A labelled row."""

    @property
    def id(self) -> str:
        """Unique in a run."""


MAX_DATASET_BYTES: Final = 256 * 1024 * 1024
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
DOCS_FOLDER: Final = "docs"
"""Folder beside a dataset with the labelled documents."""


@dataclass(frozen=True, slots=True)
class Target:
    """A correct answer to a question.

    Args:
        source_file: relative to the documents' root.
        lines: first and last, 1-based and inclusive; ``None`` for the whole file.
        sha256: of the labelled file, ``""`` if unknown.
    """

    source_file: str
    lines: tuple[int, int] | None = None
    sha256: str = ""

    def reached_by(self, citation: Citation) -> bool:
        """Whether a citation is of this file and shares one of its lines, if it has any."""
        if citation.source_file != self.source_file:
            return False
        if self.lines is None:
            return True
        return citation.start_line <= self.lines[1] and citation.end_line >= self.lines[0]


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled question.

    Args:
        id: unique in a run.
        query: not blank, at most MAX_QUERY_CHARACTERS.
        targets: correct answers, at least one.
        also_acceptable: files that answer it equally well.
        alert: name of the alert that asks, ``""`` without one.
        anchor: the section in the link of that alert, ``""`` if it has none.
        answer: the exact lines of the answer, if known.
        dataset: name of its file.
    """

    id: str
    query: str
    targets: tuple[Target, ...]
    also_acceptable: tuple[str, ...] = ()
    alert: str = ""
    anchor: str = ""
    answer: Target | None = None
    dataset: str = ""

    def question(self, *, with_alert: bool) -> str:
        """Return the question to ask: the query, preceded by the alert's name if requested."""
        text = f"{self.alert} {self.query}" if with_alert and self.alert else self.query
        return text[:MAX_QUERY_CHARACTERS]


def load_datasets(paths: Sequence[Path]) -> tuple[Row, ...]:
    """Read the questions of several files, in order; raises the same as :func:`read_labelled`."""
    return read_labelled(paths, lambda path, fields: _row(fields, path.stem))


def read_labelled(
    paths: Sequence[Path], parse: Callable[[Path, Mapping[str, Any]], _Labelled]
) -> tuple[_Labelled, ...]:
    """Read the labelled rows of several files of JSON Lines, in order.

    ``parse`` creates a row from its file and JSON object, or raises ``ValueError`` with the problem.

    Raises:
        InvalidRequest: a file has no rows, two rows have one id, or a row is wrong; the message names
            file and line.
        UnreadableDocument: a file can't be read.
    """
    found: dict[str, _Labelled] = {}
    seen: dict[str, str] = {}
    for path in paths:
        before = len(found)
        for where, fields in read_objects(path):
            try:
                one = parse(path, fields)
            except (InvalidCitation, ValueError) as error:
                raise InvalidRequest(f"{where}: {error}") from error
            if one.id in found:
                raise InvalidRequest(
                    f"{where}: duplicate id {one.id[:80]!r}, first at {seen[one.id]}"
                )
            found[one.id], seen[one.id] = one, where
        if len(found) == before:
            raise InvalidRequest(f"{path}: no rows")
    return tuple(found.values())


def read_objects(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the place and the JSON object of each line.

    Raises:
        InvalidRequest: a line is not a JSON object.
        UnreadableDocument: the file can't be read.
    """
    for number, line in read_lines(path, MAX_DATASET_BYTES):
        where = f"{path}, line {number}"
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError) as error:
            hint = "labels are JSON Lines: one object per line"
            raise InvalidRequest(f"{where}: not JSON; {hint}") from error
        if not isinstance(fields, dict):
            raise InvalidRequest(f"{where}: a row must be a JSON object")
        yield where, fields


def sample(rows: Sequence[Row], limit: int | None, seed: int) -> tuple[Row, ...]:
    """Return ``limit`` rows, chosen by a seed, in order; all of them without a limit."""
    if limit is None or limit >= len(rows):
        return tuple(rows)
    chosen = random.Random(seed).sample(range(len(rows)), limit)  # noqa: S311 - no secret
    return tuple(rows[index] for index in sorted(chosen))


def fingerprint(rows: Iterable[Row]) -> str:
    """Return a sha256 that is equal for two runs if and only if they asked the same rows with the same truth."""
    digest = hashlib.sha256()
    for row in rows:
        truth = [[t.source_file, t.lines] for t in (*row.targets, *filter(None, [row.answer]))]
        fields = [row.id, row.query, truth, row.also_acceptable]
        digest.update(json.dumps(fields).encode() + b"\n")
    return digest.hexdigest()


def docs_beside(paths: Sequence[Path]) -> Path:
    """Return the folder of documents beside the datasets; raise :exc:`InvalidRequest` unless there is exactly one."""
    folders = {(path.parent / DOCS_FOLDER).resolve() for path in paths}
    found = sorted(folder for folder in folders if folder.is_dir())
    if len(found) != 1 or len(folders) != 1:
        raise InvalidRequest(
            f"no single folder {DOCS_FOLDER}/ beside the datasets: name the documents with --docs"
        )
    return found[0]


def _row(fields: Mapping[str, Any], dataset: str) -> Row:
    query = _text(fields, "query")
    if len(query) > MAX_QUERY_CHARACTERS:
        raise ValueError(f"query has {len(query)} characters, allowed: {MAX_QUERY_CHARACTERS}")
    relevant, others = fields.get("relevant"), fields.get("also_acceptable", [])
    if not isinstance(relevant, list) or not relevant:
        raise ValueError("relevant must be a list of at least one {source_file, ...}")
    if not isinstance(others, list):
        raise ValueError("also_acceptable must be a list of files")  # noqa: TRY004 - same
    targets = tuple(_target(each, "start_line", "end_line") for each in relevant)
    answer = _lines(fields, "answer_start_line", "answer_end_line")
    return Row(
        id=_text(fields, "id"),
        query=query,
        targets=tuple(dict.fromkeys(targets)),
        also_acceptable=tuple(_file(each) for each in others),
        alert=_text(fields, "alert") if fields.get("alert") else "",
        anchor=_text(fields, "runbook_url").partition("#")[2] if fields.get("runbook_url") else "",
        answer=Target(targets[0].source_file, answer) if answer else None,
        dataset=dataset,
    )


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} must be a text that is not blank")
    if not value.isascii() and _SURROGATE.search(value):
        raise ValueError(f"{name} contains a lone surrogate")
    return value


def _file(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("source_file must be a text")  # noqa: TRY004 - same
    return check_source_file(value)


def _target(value: object, first: str, last: str) -> Target:
    if not isinstance(value, Mapping):
        raise ValueError("relevant must be a list of {source_file, ...}")  # noqa: TRY004 - same
    sha256 = value.get("sha256") or ""
    if not isinstance(sha256, str):
        raise ValueError("sha256 must be a text")  # noqa: TRY004 - same
    return Target(_file(value.get("source_file")), _lines(value, first, last), sha256)


def _lines(fields: Mapping[str, Any], first: str, last: str) -> tuple[int, int] | None:
    start, end = fields.get(first), fields.get(last)
    if start is None and end is None:
        return None
    if type(start) is not int or type(end) is not int or not 1 <= start <= end <= MAX_LINE:
        raise ValueError(f"{first} and {last} must be whole numbers, 1 or more, in this order")
    return start, end
