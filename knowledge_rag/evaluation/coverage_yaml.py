"""YAML and JSON with the place of every value, so that a finding can name the line of its rule.

Built from the parser's events and nothing else: no tag makes an object, CloudFormation's short forms
(``!Sub``) stay tags, and how deep and how large a document becomes, aliases followed, is bounded
while it is read. JSON is read as the YAML that it nearly is; what differs is evened out before.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.local.errors import NotInstalled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_DEPTH: Final = 100
"""Levels of a document; templates and rules have a dozen."""

MAX_NODES: Final = 1_000_000
"""Values of one file, each alias counting as all that it stands for."""

MERGE: Final = "<<"
_HELM: Final = re.compile(r"\{\{-|\{\{ *(?:include|if|range|with|end|define)\b|\{\{ *\.Values\b")
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_FORBIDDEN: Final = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)
_BREAKS: Final = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""What ends a line in YAML and is a character of a text in JSON."""
_PAIR: Final = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})", re.IGNORECASE
)


class WrongRules(InvalidRequest):
    """An error in a file, at a line.

    Args:
        file: as people are told of it.
        line: 1-based.
        why: what is wrong there, in one clause.
    """

    def __init__(self, file: str, line: int, why: str) -> None:
        super().__init__(f"{file}:{line}: {why}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in a file; lines and columns are 1-based, columns in characters.

    Args:
        line: of its first character.
        column: likewise.
        end_line: of its last character.
        end_column: of the character behind it.
    """

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Node:
    """One value: a scalar, a sequence or a mapping.

    Args:
        place: where it stands.
        tag: as written, such as ``!Sub``; ``""`` without one.
        text: a scalar's, as written but for its quotes; ``None`` for null and for what is no scalar.
        items: of a sequence.
        entries: of a mapping, by key.
        keys: the mapping's keys themselves.
        kind: ``scalar``, ``sequence`` or ``mapping``.
        size: values in it, itself included, aliases followed.
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
        """Give what stands below these keys, one inside the other; ``None`` if it isn't there."""
        node: Node | None = self
        for key in path:
            node = node.entries.get(key) if node is not None else None
        return node

    def text_at(self, *path: str) -> str:
        """Give the scalar there; ``""`` if there is none."""
        node = self.get(*path)
        return (node.text or "") if node is not None else ""


def check_installed() -> None:
    """Say at once if what reads YAML is missing.

    Raises:
        NotInstalled: PyYAML is missing.
    """
    try:
        import yaml  # noqa: F401, PLC0415 - only here
    except ImportError as error:
        raise NotInstalled("reading rules needs PyYAML: `pip install pyyaml`") from error


def read_yaml(text: str, name: str) -> tuple[Node, ...]:
    """Read the documents of a file; an empty one is left out.

    Args:
        text: of the file.
        name: of the file, for messages.

    Raises:
        WrongRules: it is neither YAML nor JSON, has a key twice, or is too deep or too large.
    """
    if text.lstrip()[:1] in ("{", "["):
        text = _PAIR.sub(_joined, text.replace("\t", " ").translate(_BREAKS))
    wrong = _FORBIDDEN.search(text)
    if wrong:
        line = text.count("\n", 0, wrong.start()) + 1
        raise WrongRules(name, line, f"character U+{ord(wrong[0]):04X} can't stand in YAML")
    return tuple(_Builder(text, name).documents())


def _joined(pair: re.Match[str]) -> str:
    """Give the character that JSON writes as two escapes, which YAML knows nothing of."""
    high, low = int(pair[2], 16) - 0xD800, int(pair[3], 16) - 0xDC00
    return pair[1] + chr(0x10000 + high * 0x400 + low)


class _Builder:
    def __init__(self, text: str, name: str) -> None:
        self._name = name
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._events = _events(text)
        self._hint = "; render it first: `helm template`" if _HELM.search(text) else ""
        self._anchors: dict[str, Node] = {}
        self._size = 0

    def documents(self) -> Iterator[Node]:
        import yaml  # noqa: PLC0415 - only here

        try:
            for event in self._events:
                if _kind(event) == "DocumentStart":
                    self._anchors.clear()
                    node = self._node(next(self._events), 1)
                    if node.kind != "scalar" or node.text is not None:
                        yield node
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = self._position(mark.index)[0] if mark else 1
            problem = " ".join(filter(None, (error.context, error.problem)))
            why = f"neither YAML nor JSON: {problem}{self._hint}"
            raise WrongRules(self._name, line, why) from error
        except yaml.YAMLError as error:
            raise WrongRules(self._name, 1, f"neither YAML nor JSON: {error}") from error

    def _node(self, event: Any, depth: int) -> Node:  # noqa: ANN401 - any of the parser's events
        kind = _kind(event)
        if depth > MAX_DEPTH:
            raise self._refused(event, f"more than {MAX_DEPTH} levels deep")
        if kind == "Alias":
            node = self._anchors.get(event.anchor or "")
            if node is None:
                raise self._refused(event, f"alias *{event.anchor} stands for nothing above it")
            self._count(node.size, event)
            return node
        self._count(1, event)
        if kind == "SequenceStart":
            node = self._sequence(event, depth)
        elif kind == "MappingStart":
            node = self._mapping(event, depth)
        else:
            node = self._scalar(event)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _scalar(self, event: Any) -> Node:  # noqa: ANN401 - likewise
        is_null = event.implicit[0] and event.value in _NULLS
        return Node(
            self._place(event, event),
            "scalar",
            event.tag or "",
            None if is_null else event.value,
        )

    def _sequence(self, event: Any, depth: int) -> Node:  # noqa: ANN401 - likewise
        items = []
        while _kind(inner := next(self._events)) != "SequenceEnd":
            items.append(self._node(inner, depth + 1))
        size = 1 + sum(item.size for item in items)
        place = self._place(event, inner)
        return Node(place, "sequence", event.tag or "", items=tuple(items), size=size)

    def _mapping(self, event: Any, depth: int) -> Node:  # noqa: ANN401 - likewise
        entries: dict[str, Node] = {}
        keys: dict[str, Node] = {}
        while _kind(inner := next(self._events)) != "MappingEnd":
            key = self._node(inner, depth + 1)
            if key.kind != "scalar":
                raise self._refused(inner, "a key is no text")
            name = key.text or ""
            if name in entries:
                raise self._refused(inner, f"key {name[:80]!r} stands here twice")
            entries[name], keys[name] = self._node(next(self._events), depth + 1), key
        size = 1 + sum(node.size + 1 for node in entries.values())
        self._merge(entries, keys)
        place = self._place(event, inner)
        return Node(place, "mapping", event.tag or "", entries=entries, keys=keys, size=size)

    def _merge(self, entries: dict[str, Node], keys: dict[str, Node]) -> None:
        """Take over what ``<<`` names, as far as it does not stand here itself."""
        merged = entries.pop(MERGE, None)
        keys.pop(MERGE, None)
        if merged is not None:
            for source in (merged, *merged.items):
                for name, node in source.entries.items():
                    entries.setdefault(name, node)
                    keys.setdefault(name, source.keys[name])

    def _count(self, size: int, event: Any) -> None:  # noqa: ANN401 - likewise
        self._size += size
        if self._size > MAX_NODES:
            raise self._refused(event, f"more than {MAX_NODES:,} values, aliases followed")

    def _refused(self, event: Any, why: str) -> WrongRules:  # noqa: ANN401 - likewise
        return WrongRules(self._name, self._position(event.start_mark.index)[0], why)

    def _place(self, first: Any, last: Any) -> Place:  # noqa: ANN401 - likewise
        start, end = first.start_mark.index, last.end_mark.index
        return Place(*self._position(start), *self._position(max(start, end)))

    def _position(self, index: int) -> tuple[int, int]:
        line = bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1


def _kind(event: Any) -> str:  # noqa: ANN401 - likewise
    """Give what an event tells of, without making every step of the way import the parser."""
    return type(event).__name__.removesuffix("Event")


def _events(text: str) -> Iterator[Any]:
    import yaml  # noqa: PLC0415 - likewise

    fast = getattr(
        yaml, "CSafeLoader", yaml.SafeLoader
    )  # libyaml's, where PyYAML was built with it
    events: Iterator[Any] = yaml.parse(text, Loader=fast)
    return events
