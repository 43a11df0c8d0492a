"""One form of baselines for every command that has them."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.drift.baseline import Baseline, Form

FORM = Form(("file", "what"), mark="why")


@dataclass(frozen=True)
class Found:
    file: str
    what: str
    line: int = 1

    @property
    def key(self):
        return self.file, self.what


A, A2, B = Found("a", "x"), Found("a", "x", 9), Found("b", "y")


def test_what_is_written_is_read_again_in_the_order_of_files():
    text = FORM.text([B, A2, A], {("b", "y"): "because"})
    assert json.loads(text)["known"] == [
        {"file": "a", "what": "x", "count": 2}, {"file": "b", "what": "y", "why": "because"},
    ]  # fmt: skip
    assert FORM.text([A, B, A2], {("b", "y"): "because"}) == text
    assert FORM.read(text, "f") == Baseline({("a", "x"): 2, ("b", "y"): 1}, {("b", "y"): "because"})


def test_more_than_are_known_are_new_and_fewer_are_mended():
    baseline = Baseline({("a", "x"): 1, ("c", "z"): 1})
    assert baseline.split([A, A2, B]) == ((A2, B), (A,))
    assert baseline.mended([A, A2, B]) == [("c", "z")]


@pytest.mark.parametrize(
    "entry",
    [{}, [], None, {"file": "a"}, {"file": "a", "what": 1}, {"file": "a", "what": "x", "count": 0},
     {"file": "a", "what": "x", "count": True}, {"file": "a", "what": "x", "count": "2"}],
)  # fmt: skip
def test_an_entry_of_another_form_is_refused(entry):
    with pytest.raises(InvalidRequest, match=r"f: an entry is file, what and, above 1, count"):
        FORM.read(json.dumps({"version": 1, "known": [entry]}), "f")
