"""Looks into JSON of unknown shape: what is not of the kind looked for counts as absent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def member(value: object, *names: str) -> Any:  # noqa: ANN401 - JSON is of any type
    """Give what stands under a name, and under the next name in that; ``None`` where nothing does."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def objects(value: object) -> Iterator[Mapping[str, Any]]:
    """Give the objects of a list, in order; none if it is no list."""
    if isinstance(value, list):
        yield from (one for one in value if isinstance(one, dict))


def text(value: object) -> str:
    """Give a text; ``""`` if it is none."""
    return value if isinstance(value, str) else ""
