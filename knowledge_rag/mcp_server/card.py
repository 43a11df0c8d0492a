"""The card that hosts show beside an answer of ``ask``: MCP Apps (SEP-1865, ``io.modelcontextprotocol/ui``).

The card is one page without any data; the host passes it the tool's structured content. It runs only its own script,
which its policy names by hash, and loads nothing.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp import types
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID, client_supports_apps

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowledge_rag.core.citations import Citation
    from knowledge_rag.guardrails.ledger import Ledger

EXTENSION: Final = EXTENSION_ID
URI: Final = "ui://knowledge-rag/answer.html"
OF_TOOL: Final[dict[str, Any]] = {"ui": {"resourceUri": URI}}
"""``_meta`` of the tool whose results the card shows."""

MAX_CHARACTERS: Final = 200_000
"""Maximum length of all cited lines together; for further ones, the card shows their places."""

shown_by = client_supports_apps
"""Whether a request's client shows cards."""

_STATIC: Final = Path(__file__).parent / "static"


@cache
def page() -> str:
    """Return the card's HTML."""
    style, script = ((_STATIC / name).read_text("utf-8") for name in ("card.css", "card.js"))
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hashed(script)}'",
            f"style-src '{_hashed(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>Answer with cited lines</title>\n<style>{style}</style>\n</head>\n"
        f'<body>\n<main></main>\n<script type="module">{script}</script>\n</body>\n</html>\n'
    )


def _hashed(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def read() -> types.ReadResourceResult:
    """Return the card as a resource."""
    nothing: dict[str, list[str]] = {
        name: [] for name in ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")
    }
    contents = types.TextResourceContents(
        uri=URI,
        mime_type=APP_MIME_TYPE,
        text=page(),
        _meta={"ui": {"csp": nothing, "prefersBorder": True}},
    )
    return types.ReadResourceResult(contents=[contents])


def cited_lines(citations: Iterable[Citation], ledger: Ledger) -> list[dict[str, Any]]:
    """Return the lines of citations as retrieval returned them, up to MAX_CHARACTERS.

    A citation whose lines aren't all in one passage has none.
    """
    found, room = [], MAX_CHARACTERS
    for it in dict.fromkeys(citations):
        held = ledger.lines(it.source_file, it.start_line, it.end_line)
        if held is None or (room := room - len(held.content)) < 0:
            continue
        place = {"source_file": it.source_file, "start_line": it.start_line}
        found.append({**place, "end_line": it.end_line, "text": held.content})
    return found
