"""The pages of the reference, each with its generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.support.local import PROJECT
from tools.reference.checks import checks_page
from tools.reference.commands import commands_page
from tools.reference.decisions import decisions_page
from tools.reference.mcp import mcp_page
from tools.reference.monitoring import monitoring_page
from tools.reference.outcomes import outcomes_page
from tools.reference.recommendation import recommendation_page
from tools.reference.settings import settings_page
from tools.reference.tool import tool_page

if TYPE_CHECKING:
    from collections.abc import Callable

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
