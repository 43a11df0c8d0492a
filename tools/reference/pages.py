"""The pages of the reference, each with its generator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tests.support.local import PROJECT
from tools.reference.commands import commands_page
from tools.reference.contracts import mcp_page, recommendation_page, tool_page
from tools.reference.markdown import page
from tools.reference.monitoring import monitoring_page
from tools.reference.outcomes import checks_page, outcomes_page
from tools.reference.settings import settings_page

if TYPE_CHECKING:
    from collections.abc import Callable


def decisions_page() -> str:
    """Return the list of decisions, in order of number."""
    lines = []
    for path in sorted((PROJECT / "docs" / "decisions").glob("[0-9]*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0]
        lines.append(f"- [{re.sub('^# ', '', title)}]({path.name})")
    about = "Design decisions, with the alternatives that were rejected."
    return page("Decisions", about, "\n".join(lines))


FOLDER: Final = PROJECT / "docs"

PAGES: Final[dict[str, Callable[[], str]]] = {
    "decisions/README.md": decisions_page,
    "reference/commands.md": commands_page,
    "reference/settings.md": settings_page,
    "reference/tool.md": tool_page,
    "reference/mcp.md": mcp_page,
    "reference/recommendation.md": recommendation_page,
    "reference/monitoring.md": monitoring_page,
    "reference/outcomes.md": outcomes_page,
    "reference/checks.md": checks_page,
}
