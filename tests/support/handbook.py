"""What the handbook's page on both commands shows."""

from __future__ import annotations

import re

from tests.support.local import PROJECT

PAGE = PROJECT / "docs/operations/doctor-and-smoke.md"


def shown(command: str) -> str:
    """Give the output that the page shows below a command."""
    text = PAGE.read_text(encoding="utf-8")
    pattern = rf"^```console\n\$ {re.escape(command)}\n(.*?)^```$"
    (output,) = re.findall(pattern, text, flags=re.DOTALL | re.MULTILINE)
    return str(output)
