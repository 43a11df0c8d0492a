"""Reads values out of JSON of any shape: they may be absent, of another type, or far too large."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from knowledge_rag.orchestrator.links import RUNBOOK_KEYS
from knowledge_rag.orchestrator.names import fold
from knowledge_rag.orchestrator.pager_texts import MAX_RAW, says_runbook
from knowledge_rag.orchestrator.state import MAX_ITEMS, MAX_NAME, MAX_TEXT, one_line

MAX_NODES: Final = 200
"""Objects of a payload that are searched for runbook links and, if it is unknown, for its texts."""

Facts = Mapping[str, Any]


def mapping(value: object) -> Facts:
    """Return a mapping as it is, an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def members(value: object) -> list[Any]:
    """Return the first MAX_ITEMS members of a list, none of anything else."""
    return value[:MAX_ITEMS] if isinstance(value, list) else []


def at(facts: Facts, path: str) -> Any:  # noqa: ANN401 - JSON is of any type
    """Return the value at a path such as ``"priority.summary"``; ``None`` if there is none."""
    value: object = facts
    for key in path.split("."):
        value = mapping(value).get(key)
    return value


def first(*values: object, limit: int = MAX_NAME) -> str:
    """Return the first value that is a text or a number and not blank, as one line."""
    return next((text for value in values if (text := one_line(value, limit))), "")


def pick(facts: Facts, *paths: str, limit: int = MAX_NAME) -> str:
    """Return the first text at any of the paths, as :func:`first` does."""
    return first(*(at(facts, path) for path in paths), limit=limit)


def passage(facts: Facts, *paths: str) -> str:
    """Return the first text at any of the paths with its lines, at most MAX_RAW characters."""
    return next((text for path in paths if (text := raw(at(facts, path)).strip())), "")


def raw(value: object) -> str:
    """Return a text with its lines, ``""`` for anything else."""
    return value[:MAX_RAW] if isinstance(value, str) else ""


def texts(value: object, limit: int = MAX_NAME) -> list[str]:
    """Return the texts of a list, or the one that stands there instead of a list."""
    found = members(value) if isinstance(value, list) else [value]
    return [text for member in found if (text := first(member, limit=limit))]


def scalars(value: object) -> dict[str, str]:
    """Return the members of a mapping that are texts or numbers, as labels are."""
    pairs = islice(mapping(value).items(), MAX_ITEMS)
    named = ((first(key), first(member)) for key, member in pairs)
    return {key: text for key, text in named if key and text}


def folded(value: object) -> dict[str, Any]:
    """Return a mapping by its folded keys: ``alert_title``, ``alertTitle`` and ``ALERT.TITLE`` are one."""
    return {fold(first(key)): it for key, it in islice(mapping(value).items(), MAX_NODES)}


def tags(value: object) -> dict[str, str]:
    """Return tags as labels: ``"a:b, c:d"``, a list of such, of objects or of pairs, or a mapping."""
    if isinstance(value, Mapping):
        value = [[key, text] for key, it in islice(value.items(), MAX_ITEMS) for text in texts(it)]
    found: dict[str, list[str]] = {}
    for tag in members(raw(value).split(",") if isinstance(value, str) else value):
        match tag:
            case str():
                key, _, text = tag.strip().partition(":")
                key, text = (key, text) if text else ("tags", key)
            case [key, text]:
                pass
            case (
                {"tag": key, "value": text}
                | {"key": key, "value": text}
                | {"name": key, "value": text}
            ):
                pass
            case _:
                continue
        if (name := first(key)) and (said := first(text)):
            found.setdefault(name, []).append(said)
    return {key: first(", ".join(said)) for key, said in found.items()}


def walk(payload: object) -> list[tuple[tuple[str, ...], Facts]]:
    """Return a payload's objects, the outer ones first, with the keys that lead to them.

    At most MAX_NODES, and MAX_ITEMS members of each.
    """
    found: list[tuple[tuple[str, ...], Facts]] = []
    waiting: deque[tuple[tuple[str, ...], object]] = deque([((), payload)])
    looked_at = 0
    while waiting and len(found) < MAX_NODES and looked_at < MAX_NODES * MAX_ITEMS:
        path, value = waiting.popleft()
        looked_at += 1
        if isinstance(value, Mapping):
            found.append((path, value))
            pairs = islice(value.items(), MAX_ITEMS)
            waiting += [
                ((*path, first(key)), it) for key, it in pairs if isinstance(it, Mapping | list)
            ]
        else:
            waiting += [(path, it) for it in members(value) if isinstance(it, Mapping | list)]
    return found


def runbooks_in(payload: object) -> list[str]:
    """Return the values of what is called a runbook anywhere in a payload, and links with such a text."""
    found: list[str] = []
    for _, facts in walk(payload):
        for key, value in islice(facts.items(), MAX_ITEMS):
            if fold(first(key)) in RUNBOOK_KEYS:
                found += texts(value, MAX_TEXT)
        target = pick(facts, "href", "url", "link", "value_link", limit=MAX_TEXT)
        if target and any(
            says_runbook(pick(facts, key)) for key in ("text", "name", "title", "label")
        ):
            found.append(target)
    return list(dict.fromkeys(found))
