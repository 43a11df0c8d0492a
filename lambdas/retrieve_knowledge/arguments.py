"""From the arguments of a call, as any caller writes them, to a validated query.

An agent sends every value as text, an orchestrator sends JSON types; both mean the same here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.citations import MAX_PATH, check_source_file
from knowledge_rag.core.errors import InvalidCitation, InvalidRequest
from knowledge_rag.core.metadata import SOURCE_FILE
from knowledge_rag.core.retrieval import FILTER_KEYS, MAX_QUERY_CHARACTERS, Query
from knowledge_rag.core.tool import MAX_FILTER_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ARGUMENTS: Final = ("query", "max_results", *FILTER_KEYS)
"""What every caller may send: the properties of the OpenAPI schema's request."""

DEFAULT_MAX_RESULTS: Final = 5

_SHOWN_CHARACTERS: Final = 60
_WHOLE: Final = re.compile(r"[+-]?[0-9]+(\.0*)?")


def to_query(
    arguments: Mapping[str, object], most_results: int, *, most_of_document: int | None = None
) -> Query:
    """Validate the arguments of a call.

    Args:
        arguments: from name to value, as they came.
        most_results: what ``max_results`` is clamped to.
        most_of_document: what it is clamped to with ``source_file``; ``None`` for no difference.

    Raises:
        InvalidRequest: an argument is missing, unknown, or makes no sense.
    """
    unknown = [name for name in arguments if name not in ARGUMENTS]
    if unknown:
        names = ", ".join(repr(str(name)[:40]) for name in unknown[:3])
        raise InvalidRequest(f"unknown argument {names}; known are {', '.join(ARGUMENTS)}")
    given = {key: _FILTERS[key](key, arguments[key]) for key in FILTER_KEYS if key in arguments}
    filters = {key: value for key, value in given.items() if value}
    if SOURCE_FILE in filters and most_of_document is not None:
        most_results = most_of_document
    return Query(
        _query(arguments.get("query")),
        _max_results(arguments.get("max_results", DEFAULT_MAX_RESULTS), most_results),
        filters,
    )


def _query(value: object) -> str:
    if value is None:
        raise InvalidRequest("query is missing")
    if not isinstance(value, str):
        raise InvalidRequest("query must be text")
    if not value.strip():
        raise InvalidRequest("query is blank")
    if len(value) > MAX_QUERY_CHARACTERS:
        raise InvalidRequest(
            f"query is {len(value)} characters long; at most {MAX_QUERY_CHARACTERS} are allowed"
        )
    return _encodable("query", value)


def _max_results(value: object, most: int) -> int:
    whole = f"max_results must be a whole number from 1 to {most}"
    if isinstance(value, str):
        if not _WHOLE.fullmatch(value.strip()):
            raise InvalidRequest(f"{whole}, not {value[:40]!r}")
        value = float(value)  # a number too long for a float becomes infinite, and is clamped
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidRequest(f"{whole}, not {type(value).__name__}")
    elif isinstance(value, float) and not value.is_integer():
        raise InvalidRequest(f"{whole}, not {value}")
    return int(min(max(value, 1), most))


def _filter(name: str, value: object) -> str:
    # Agents fill in what they don't know with blanks: no filter, rather than one nothing passes.
    return _encodable(name, _text(name, value, MAX_FILTER_CHARACTERS).strip())


def _source_file(name: str, value: object) -> str:
    path = _encodable(name, _text(name, value, MAX_PATH))
    if not path.strip():
        return ""
    try:
        return check_source_file(path)
    except InvalidCitation as error:
        raise InvalidRequest(
            f"{name} {path[:_SHOWN_CHARACTERS]!r} is not the path of a document as citations give it: "
            "relative to the root of the corpus, parted by /, without .. or a backslash"
        ) from error


_FILTERS: Final[Mapping[str, Callable[[str, object], str]]] = {
    key: _source_file if key == SOURCE_FILE else _filter for key in FILTER_KEYS
}


def _text(name: str, value: object, longest: int) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(f"{name} must be text")
    if len(value) > longest:
        raise InvalidRequest(f"{name} is longer than {longest} characters")
    return value


def _encodable(name: str, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidRequest(f"{name} holds a lone surrogate, which is no character") from error
    return value
