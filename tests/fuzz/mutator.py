"""Mutates a fuzzed input as what it holds: JSON whose chunks can go on proving themselves.

Bytes mutated blindly break the JSON, then the hash, and seldom get further. Here most mutations
change one place of the parsed value, and some then make an item's proof anew for what it now says.
"""

from __future__ import annotations

import hashlib
import json
import random
from typing import TYPE_CHECKING, Any

from tests.support.strategies import AWKWARD, NUMBERS, places

if TYPE_CHECKING:
    from collections.abc import Callable

BLIND = 0.3
"""Share of mutations that are left to the fuzzer, byte by byte."""


def mutate(data: bytes, most: int, seed: int, blindly: Callable[[bytes, int], bytes]) -> bytes:
    """Give another input.

    Args:
        data: the input: a byte of its own, then JSON or anything.
        most: bytes that the result may have.
        seed: of this mutation.
        blindly: the fuzzer's own mutation of bytes.
    """
    rng = random.Random(seed)
    try:
        value = json.loads(data[1:])
    except (ValueError, RecursionError):
        return blindly(data, most)
    if rng.random() < BLIND or not isinstance(value, dict | list):
        return blindly(data, most)
    for _ in range(rng.randint(1, 3)):
        value = _changed(value, rng)
    if rng.random() < 0.5:
        _prove_anew(value)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    mutated = data[:1] + text.encode(errors="surrogatepass")
    return mutated if len(mutated) <= most else blindly(data, most)


def _changed(value: Any, rng: random.Random) -> Any:
    found = list(places(value))
    if not found:
        return rng.choice([{}, [], [value], {"query": value}])
    holder, key = rng.choice(found)
    how = rng.random()
    if how < 0.15:
        del holder[key]
    elif how < 0.3:
        other, at = rng.choice(found)
        holder[key] = json.loads(json.dumps(other[at])) if at in _keys(other) else None
    elif how < 0.5 and isinstance(holder[key], str):
        at = rng.randint(0, len(holder[key]))
        holder[key] = holder[key][:at] + rng.choice(AWKWARD) + holder[key][at:]
    elif how < 0.6 and isinstance(holder, list):
        holder.insert(key, json.loads(json.dumps(holder[key])))
    else:
        holder[key] = rng.choice([None, True, {}, [], *AWKWARD, *NUMBERS])
    return value


def _keys(holder: Any) -> Any:
    return holder if isinstance(holder, dict) else range(len(holder))


def _prove_anew(value: Any) -> None:
    items = value.get("retrievalResults") if isinstance(value, dict) else None
    for found in items if isinstance(items, list) else ():
        try:
            _prove_item_anew(found)
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
            continue


def _prove_item_anew(found: Any) -> None:
    metadata, text = found["metadata"], found["content"]["text"]
    content = text[int(metadata["context_length"]) :]
    start, source_file = int(metadata["start_line"]), metadata["source_file"]
    end = start + content.count("\n")
    metadata["end_line"] = float(end)
    metadata["content_sha256"] = hashlib.sha256(content.encode()).hexdigest()
    key = f"{source_file}\0{start}\0{end}\0{content}"
    metadata["chunk_id"] = hashlib.sha256(key.encode()).hexdigest()[:32]
