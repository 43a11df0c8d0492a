"""Where a link's text may have ended, and whether its destination or title is still open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.guardrails.tokens import is_in_link

if TYPE_CHECKING:
    from knowledge_rag.guardrails.outlet import Outlet


class LinkText:
    """Remembers the last closing bracket, while it may end a link's text.

    Args:
        outlet: holds the text.
    """

    def __init__(self, outlet: Outlet) -> None:
        self.end = -1
        """Index behind that bracket; -1 without one."""
        self._outlet = outlet

    def note(self, end: int) -> None:
        """Note the closing bracket that ``end`` is behind."""
        following = self._outlet.text[end : end + 1]
        self.end = end if not following or following == "(" else -1

    def is_open(self, at: int) -> bool:
        """Whether the link's destination or title is still open at ``at``, where something stands.

        It is not asked again: the bracket is forgotten, unless ``at`` is right behind it.
        """
        if at <= self.end:
            return False
        end, self.end = self.end, -1
        return is_in_link(self._outlet.text, end, at)

    def forget(self, count: int) -> None:
        """Follow the outlet in forgetting its first ``count`` characters."""
        self.end = max(self.end - count, -1)
