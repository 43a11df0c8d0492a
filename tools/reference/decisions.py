"""``docs/decisions/README.md``: the decisions, by title."""

from __future__ import annotations

import re

from tests.support.local import PROJECT
from tools.reference.markdown import page


def decisions_page() -> str:
    """Return the list of decisions, in order of number."""
    lines = []
    for path in sorted((PROJECT / "docs" / "decisions").glob("[0-9]*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0]
        lines.append(f"- [{re.sub('^# ', '', title)}]({path.name})")
    about = "Design decisions, with the alternatives that were rejected."
    return page("Decisions", about, "\n".join(lines))
