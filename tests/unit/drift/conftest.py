"""A world whose code is a folder."""

from __future__ import annotations

from knowledge_rag.drift.cache import afresh
from knowledge_rag.drift.check import World
from knowledge_rag.drift.code import read_code


def world_of(code, *checks, exists=lambda _: True, recall=afresh, **more):
    """Return what documents are compared with: a folder of code, beside a folder ``docs``."""
    return World(
        exists,
        frozenset(checks),
        lambda words, keys: read_code([code], words, code.parent / "docs", recall, keys),
        recall=recall,
        **more,
    )
