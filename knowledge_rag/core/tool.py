"""The retrieval function as a tool: what a gateway may call it, what it takes and gives at once."""

from __future__ import annotations

from typing import Final

TOOL_NAMES: Final = ("retrieve_knowledge", "retrieveKnowledge")
"""What a gateway's target may call the tool; the gateway puts ``<target>___`` before it."""

TARGET_SEPARATOR: Final = "___"

MAX_TOOL_RESULTS: Final = 5
"""Most results for an agent or a gateway: what a model is asked to read at once."""

MAX_FILTER_CHARACTERS: Final = 200
"""Longer than any document type or service name; a longer filter is a mistake."""
