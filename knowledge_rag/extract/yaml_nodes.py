"""YAML and JSON with the place of every value, so that a finding can name the line of its rule.

No tag creates an object, CloudFormation's short forms (``!Sub``) stay tags, and depth and size, with aliases
expanded, are limited. JSON is read as the YAML that it nearly is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import yaml

from knowledge_rag.core.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_DEPTH: Final = 100
"""Maximum levels of a document; templates and rules have a dozen."""

MAX_NODES: Final = 1_000_000
"""Maximum values of one file, each alias counting as its expansion."""

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's loader, if PyYAML was built with it."""
_MERGE: Final = "<<"
_NULL: Final = "tag:yaml.org,2002:null"
_HELM: Final = re.compile(r"\{\{-|\{\{ *(?:include|if|range|with|end|define)\b|\{\{ *\.Values\b")
_FORBIDDEN: Final = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
_BREAKS: Final = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""Characters that end a line in YAML and are ordinary characters in JSON."""
_PAIR: Final = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE
)


class WrongRules(InvalidRequest):
    """An error at a line (1-based) of a file."""

    def __init__(self, file: str, line: int, why: str) -> None:
        super().__init__(f"{file}:{line}: {why}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a value in a file: 1-based, columns in characters, ``end_column`` exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Node:
    """One value.

    Args:
        place: in the file.
        kind: ``scalar``, ``sequence`` or ``mapping``.
        tag: a short form such as ``!Sub``, or ``""``.
        text: a scalar's, without quotes; ``None`` for null and for other kinds.
        items: of a sequence.
        entries: of a mapping, by key; ``keys`` are the keys themselves.
        size: number of values in it, including itself, with aliases expanded.
    """

    place: Place
    kind: str
    tag: str = ""
    text: str | None = None
    items: tuple[Node, ...] = ()
    entries: Mapping[str, Node] = field(default_factory=dict)
    keys: Mapping[str, Node] = field(default_factory=dict)
    size: int = 1

    def get(self, *path: str) -> Node | None:
        """Return the value below these nested keys, if there is one."""
        node: Node | None = self
        for key in path:
            node = node.entries.get(key) if node is not None else None
        return node

    def text_at(self, *path: str) -> str:
        """Return the scalar below these nested keys, or ``""``."""
        node = self.get(*path)
        return (node.text or "") if node is not None else ""


def read_yaml(text: str, name: str) -> tuple[Node, ...]:
    """Read the documents of a file that are not empty.

    Raises:
        WrongRules: it is neither YAML nor JSON, has a key twice, or is too deep or too large.
    """
    if text.lstrip()[:1] in ("{", "["):
        text = _PAIR.sub(_joined, text.replace("\t", " ").translate(_BREAKS))
    wrong = _FORBIDDEN.search(text)
    if wrong:
        line = text.count("\n", 0, wrong.start()) + 1
        raise WrongRules(name, line, f"character U+{ord(wrong[0]):04X} is not allowed in YAML")
    return tuple(_Reader(text, name).documents())


def _joined(pair: re.Match[str]) -> str:
    """Return the character that JSON writes as two escapes, which YAML doesn't support."""
    high, low = int(pair[2], 16) - 0xD800, int(pair[3], 16) - 0xDC00
    return pair[1] + chr(0x10000 + high * 0x400 + low)


class _Reader:
    def __init__(self, text: str, name: str) -> None:
        self._text = text
        self._name = name
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._made: dict[int, Node] = {}
        self._size = 0

    def documents(self) -> Iterator[Node]:
        try:
            self._check_depth()
            for document in yaml.compose_all(self._text, Loader=_LOADER):
                self._made.clear()
                node = self._node(document, 1)
                if node.kind != "scalar" or node.text is not None:
                    yield node
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = self._position(mark.index)[0] if mark else 1
            problem = " ".join(filter(None, (error.context, error.problem)))
            hint = "; render it first: `helm template`" if _HELM.search(self._text) else ""
            why = f"neither YAML nor JSON: {problem}{hint}"
            raise WrongRules(self._name, line, why) from error
        except yaml.YAMLError as error:
            raise WrongRules(self._name, 1, f"neither YAML nor JSON: {error}") from error

    def _check_depth(self) -> None:
        """Refuse a document that is too deep before it is composed: libyaml would overflow the stack."""
        depth = 0
        for event in yaml.parse(self._text, Loader=_LOADER):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise self._refused(event, f"more than {MAX_DEPTH} levels deep")

    def _node(self, node: yaml.Node, depth: int) -> Node:
        known = self._made.get(id(node))  # an alias
        if known is None:
            if depth > MAX_DEPTH:  # an alias inside its own anchor
                raise self._refused(node, f"more than {MAX_DEPTH} levels deep")
            known = self._made[id(node)] = self._converted(node, depth)
        else:
            self._count(known.size, node)
        return known

    def _converted(self, node: yaml.Node, depth: int) -> Node:
        self._count(1, node)
        place = Place(
            *self._position(node.start_mark.index),
            *self._position(max(node.start_mark.index, node.end_mark.index)),
        )
        tag = node.tag if node.tag.startswith("!") else ""
        if isinstance(node, yaml.MappingNode):
            entries, keys = self._mapping(node, depth)
            size = 1 + sum(each.size + 1 for each in entries.values())
            merged = entries.pop(_MERGE, None)
            keys.pop(_MERGE, None)
            for source in (merged, *merged.items) if merged is not None else ():
                entries = {**source.entries, **entries}
                keys = {**source.keys, **keys}
            return Node(place, "mapping", tag, entries=entries, keys=keys, size=size)
        if isinstance(node, yaml.SequenceNode):
            items = tuple(self._node(item, depth + 1) for item in node.value)
            size = 1 + sum(item.size for item in items)
            return Node(place, "sequence", tag, items=items, size=size)
        return Node(place, "scalar", tag, None if node.tag == _NULL else node.value)

    def _mapping(
        self, node: yaml.MappingNode, depth: int
    ) -> tuple[dict[str, Node], dict[str, Node]]:
        entries: dict[str, Node] = {}
        keys: dict[str, Node] = {}
        for key_node, value in node.value:
            key = self._node(key_node, depth + 1)
            if key.kind != "scalar":
                raise self._refused(key_node, "a key is not text")
            name = key.text or ""
            if name in entries:
                raise self._refused(key_node, f"duplicate key {name[:80]!r}")
            entries[name], keys[name] = self._node(value, depth + 1), key
        return entries, keys

    def _count(self, size: int, node: yaml.Node) -> None:
        self._size += size
        if self._size > MAX_NODES:
            raise self._refused(node, f"more than {MAX_NODES:,} values, aliases expanded")

    def _refused(self, at: yaml.Node | yaml.Event, why: str) -> WrongRules:
        mark = at.start_mark
        return WrongRules(self._name, self._position(mark.index)[0] if mark else 1, why)

    def _position(self, index: int) -> tuple[int, int]:
        line = bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1
