"""States of graphs as mappings: a state, and what is in it, may be dataclasses or pydantic models."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from itertools import islice
from typing import Final

from knowledge_rag.orchestrator.state import MAX_ITEMS

_NESTED: Final = ("incident", "signals", "evidence", "history", "labels", "annotations")
"""Keys of a state that hold more than a text."""

_DEPTH: Final = 3
"""A list of signals, a signal, its labels: deeper nothing is read."""


def as_mapping(state: object) -> object:
    """Give a state with what has fields (dataclasses, pydantic models) as mappings of its fields.

    Of each list and mapping only the members that are read are looked into.

    Args:
        state: of any type; what has no fields is given back as it is.
    """
    fields = _fields(state)
    if fields is None:
        return state
    plain: dict[object, object] = dict(fields)
    plain.update((key, _plain(fields[key], _DEPTH)) for key in _NESTED if key in fields)
    return plain


def _plain(value: object, depth: int) -> object:
    if depth == 0:
        return value
    if isinstance(value, list | tuple):
        return [*(_plain(member, depth - 1) for member in value[:MAX_ITEMS]), *value[MAX_ITEMS:]]
    fields = _fields(value)
    if fields is None:
        return value
    read = islice(fields.items(), MAX_ITEMS)
    return {**fields, **{key: _plain(member, depth - 1) for key, member in read}}


def _fields(value: object) -> Mapping[object, object] | None:
    if isinstance(value, Mapping):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    names = getattr(type(value), "model_fields", None)  # as pydantic's models have them
    if isinstance(names, Mapping):
        return {name: getattr(value, name, None) for name in names}
    return None
