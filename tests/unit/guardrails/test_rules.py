"""The rules as people read them."""

import re

from knowledge_rag.guardrails.rules import Rule
from tests.support.local import PROJECT


def test_the_docs_list_every_rule_as_it_is():
    text = (PROJECT / "docs" / "verify.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|warning) \| (.+) \|$", text, re.MULTILINE)
    assert rows == [(rule.value, rule.level.value, rule.description) for rule in Rule]
