"""JSON that any text fits into."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse


class Json(JSONResponse):
    """A response of JSON in ASCII: half a character in a model's text travels, and breaks nothing."""

    def render(self, content: Any) -> bytes:  # noqa: ANN401 - whatever JSON can hold
        """Write it."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
