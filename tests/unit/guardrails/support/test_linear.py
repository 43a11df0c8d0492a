"""Hostile text takes time that grows with its length and no faster."""

import pytest

from knowledge_rag.guardrails.support.check import check_support
from tests.support.linear import assert_linear

SIZE = 12_000
HOSTILE = {
    "backticks of all lengths": " ".join("`" * (i % 50 + 1) + "a" for i in range(SIZE // 27)),
    "open tags": "<a " * (SIZE // 3),
    "open references": "[source [1," * (SIZE // 11),
    "thousands": "1,000," * (SIZE // 6),
    "one long number": "1" * SIZE,
    "ranges": "1-" * (SIZE // 2),
    "negations": "not a." * (SIZE // 6),
    "months": "5 March " * (SIZE // 8),
    "slots": "--a <b> " * (SIZE // 8),
    "names with placeholders": " ".join(f"a{i}/<b>/c{i}" for i in range(SIZE // 16)),
    "open braces": "{{ ${" * (SIZE // 5),
    "one long name": "a-" * (SIZE // 2) + ".com",
    "block quotes": "> - 1. # \n" * (SIZE // 10),
    "dashes": "-- - --a " * (SIZE // 9),
    "slashes": "a/b/ // " * (SIZE // 8),
    "names with colons": "a:b: " * (SIZE // 5),
    "escaped placeholders": "your\\_a $A " * (SIZE // 11),
    "spaces": "a" + " " * SIZE + "1",
    "single backticks": "`a b " * (SIZE // 5),
    "lines": "\n".join(f"not a{i}x b_{i}" for i in range(SIZE // 16)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_takes_linear_time(text):
    assert_linear(lambda part: check_support(part, (part + "q").split("\n")[::-1]), text)
    assert_linear(
        lambda part: check_support("b " + part, ["other"], elsewhere=part.split("\n")[:100]), text
    )


def test_many_short_claims_that_cite_much_come_to_an_end():
    lines = [f"not a{i}x b_{i} <name>" for i in range(1_000)]
    for i in range(200):
        check_support(f"Use `b_{i}` and `c_{i}`.", list(lines), elsewhere=lines[:50])
