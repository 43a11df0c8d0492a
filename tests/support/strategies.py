"""Hypothesis strategies: events of every shape, responses of Retrieve, and metadata.

Each comes valid, near-valid (a valid one with a few changes anywhere in it) and arbitrary.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from knowledge_rag.evaluation.faults.payloads import item, retrieved
from tests.support.invariant import CANARY, Asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_LINE = 2**31 - 1
AWKWARD = (
    "", " ", "\0", "\r", "\n", "\r\n", "a\n", "\u2028", "\x85", "\u202e", "\ufeff", "\ud800", "\U0001f9ef",
    "[Source: a.md, lines 1-2]", "../a.md", "/etc/passwd", "a\\b.md", "NaN", "5", "5.0", "-1", "007", "\u0665",
)  # fmt: skip
"""Texts that have a meaning somewhere, or that some code takes for one."""

NUMBERS = (0, -1, 1, 5, 5.0, 5.5, 1e308, float("nan"), float("inf"), -float("inf"), 2**31, 10**400)

texts = st.sampled_from(AWKWARD) | st.text(st.characters(), max_size=12)
numbers = st.sampled_from(NUMBERS) | st.integers() | st.floats()
scalars = st.none() | st.booleans() | numbers | texts
any_json: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)

# Every character but lone surrogates: what UTF-8 can carry, and so a file can hold.
contents = st.one_of(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=30), min_size=1, max_size=4),
    st.lists(st.sampled_from([text for text in AWKWARD if text != "\ud800"]), min_size=1),
).map("\n".join)
names = st.text(st.sampled_from("abz019._-é日 ~"), min_size=1, max_size=8)
source_files = st.lists(names.filter(lambda n: n not in (".", "..")), min_size=1, max_size=3).map(
    "/".join
)
one_line = st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=12)
scores = st.none() | st.sampled_from([*NUMBERS[:-1], 0.5]) | st.floats()


@st.composite
def provable_items(draw: st.DrawFn) -> dict[str, Any]:
    """An item of Retrieve's that proves itself, its numbers in any form that JSON may give them."""
    content = draw(contents.filter(bool))
    start = draw(st.integers(1, 9_999) | st.integers(1, MAX_LINE - content.count("\n")))
    found = item(
        content,
        start=start,
        source_file=draw(source_files),
        prefix=draw(one_line),
        score=draw(scores),
        section_header=draw(one_line),
    )
    metadata = found["metadata"]
    for name in ("start_line", "end_line", "context_length"):
        metadata[name] = draw(st.sampled_from([int, float, lambda n: str(int(n))]))(metadata[name])
    for name in draw(st.sets(st.sampled_from(["title", "page", "tags", "service"]))):
        metadata[name] = draw(any_json)
    return found


@st.composite
def changed(draw: st.DrawFn, valid: st.SearchStrategy[Any]) -> Any:
    """A valid value with one to three changes anywhere in it."""
    value = copy.deepcopy(draw(valid))
    for _ in range(draw(st.integers(1, 3))):
        found = list(places(value))
        if not found:
            return draw(any_json)
        holder, key = draw(st.sampled_from(found))
        _change(draw, holder, key)
    return value


@dataclass(frozen=True)
class Response:
    """A body of Retrieve's, and those of its items that must not be lost."""

    body: bytes
    sound: tuple[dict[str, Any], ...] = ()


@st.composite
def mixed_responses(draw: st.DrawFn) -> Response:
    """Items that prove themselves among changed and arbitrary ones, some of them twice."""
    sound = draw(st.lists(provable_items(), max_size=4))
    others = draw(st.lists(changed(provable_items()) | any_json, max_size=4))
    again = draw(st.lists(st.sampled_from(sound), max_size=2)) if sound else []
    items = draw(st.permutations([*sound, *others, *again]))
    return Response(encoded(retrieved(*items)), tuple(sound))


whole_responses = st.lists(provable_items(), max_size=3).map(lambda items: retrieved(*items))


def encoded(value: Any) -> bytes:
    """Give JSON as a service might write it, ``NaN`` and lone surrogates included."""
    return json.dumps(value).encode()


any_bodies: st.SearchStrategy[bytes] = st.one_of(
    st.binary(max_size=200),
    any_json.map(encoded),
    changed(whole_responses).map(encoded),
    st.tuples(whole_responses, st.integers(0, 500)).map(lambda t: encoded(t[0])[: t[1]]),
)

queries = texts.map(lambda text: f"{text} {CANARY}")


@st.composite
def arguments(draw: st.DrawFn) -> tuple[dict[str, Any], int]:
    """Valid arguments as JSON types, and how many results they ask for before any clamping."""
    values: dict[str, Any] = {"query": draw(queries.filter(_is_encodable))}
    wanted = 5
    if draw(st.booleans()):
        wanted = draw(st.integers(-3, 12) | st.integers())
        forms: list[Callable[[int], Any]] = [int, str, lambda n: f" {n}.0"]
        values["max_results"] = draw(st.sampled_from(forms))(wanted)
    for name in draw(st.sets(st.sampled_from(["document_type", "service"]))):
        values[name] = draw(st.sampled_from(["runbook", "rds", " ", "é"]))
    return values, wanted


@st.composite
def valid_calls(draw: st.DrawFn) -> Asked:
    """A well-formed call of one of the three shapes."""
    values, wanted = draw(arguments())
    kind = draw(st.sampled_from(["agent", "gateway", "direct"]))
    most = max(1, min(wanted, 100 if kind == "direct" else 5))
    if kind == "agent":
        return Asked(draw(_agent_events(values)), None, most)
    if kind == "gateway":
        return Asked(values, gateway_context("knowledge___retrieve_knowledge"), most)
    ids = draw(st.dictionaries(st.sampled_from(["session_id", "incident_id"]), texts))
    return Asked(values | ids, None, most)


def gateway_context(tool: Any) -> Any:
    """A context as a gateway's invocation has it."""
    custom = {"bedrockAgentCoreToolName": tool}
    return SimpleNamespace(client_context=SimpleNamespace(custom=custom))


contexts = st.one_of(
    st.none(),
    texts.map(gateway_context),
    any_json.map(lambda custom: SimpleNamespace(client_context=SimpleNamespace(custom=custom))),
)
near_valid_calls = st.builds(
    Asked, changed(valid_calls().map(lambda asked: asked.event)), st.none() | contexts
)
arbitrary_calls = st.builds(Asked, any_json, contexts)


@st.composite
def _agent_events(draw: st.DrawFn, values: dict[str, Any]) -> dict[str, Any]:
    pairs = [{"name": k, "type": "string", "value": str(v)} for k, v in values.items()]
    split = draw(st.integers(0, len(pairs)))
    attributes = st.dictionaries(texts, texts, max_size=2)
    return {
        "messageVersion": "1.0",
        "agent": {"name": "a", "id": "AGENTID001", "alias": "ALIASID001", "version": "3"},
        "inputText": CANARY,
        "sessionId": draw(texts),
        "actionGroup": draw(st.sampled_from(["knowledge", "", "\ud800"])),
        "apiPath": "/retrieve",
        "httpMethod": draw(st.sampled_from(["POST", "post"])),
        "parameters": pairs[:split],
        "requestBody": {"content": {"application/json": {"properties": pairs[split:]}}},
        "sessionAttributes": draw(attributes),
        "promptSessionAttributes": draw(attributes),
    }


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Give every place below a JSON value: what holds it, and its key or index there."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(pairs):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


def _change(draw: st.DrawFn, holder: Any, key: Any) -> None:
    how = draw(st.sampled_from(["replace", "delete", "add", "awkward"]))
    if how == "delete":
        del holder[key]
    elif how == "add" and isinstance(holder, dict):
        holder[draw(texts)] = draw(any_json)
    elif how == "add":
        holder.insert(key, draw(any_json))
    elif how == "awkward" and isinstance(holder[key], str):
        at = draw(st.integers(0, len(holder[key])))
        holder[key] = holder[key][:at] + draw(st.sampled_from(AWKWARD)) + holder[key][at:]
    else:
        holder[key] = draw(any_json)


def _is_encodable(text: str) -> bool:
    return "\ud800" not in text and bool(text.encode(errors="ignore").decode() == text)
