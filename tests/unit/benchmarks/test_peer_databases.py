"""A peer's database goes with the search that asks it."""

from __future__ import annotations

import gc
import sqlite3

import numpy as np
import pytest

from benchmarks.speed import search_peers
from benchmarks.speed.search_corpus import MadeUp


def test_a_search_that_nobody_holds_any_more_has_closed_its_database(monkeypatch):
    opened = []
    connect = sqlite3.connect
    monkeypatch.setattr(
        search_peers.sqlite3, "connect", lambda name: opened.append(connect(name)) or opened[0]
    )
    texts = tuple(f"word number{n}" for n in range(9))
    ask = search_peers.fts5_numpy(MadeUp(texts, np.eye(9, dtype=np.float32), ()))
    assert len(ask("number3", np.eye(9)[3])) == 5
    del ask
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        opened[0].execute("SELECT 1")
