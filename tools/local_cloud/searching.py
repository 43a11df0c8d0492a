"""Collections of OpenSearch Serverless, with the requests that a deployment uses: mapping and search of an index.

As in AWS, a new index can't be searched immediately, and calls are refused unless they are signed for this service
by the knowledge base's role.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from tests.support.loopback import Loopback, Raw


class Searching(Loopback):
    """Every collection's endpoint.

    Attributes:
        mappings: path of each index -> its mapping, in the service's form.
        not_yet: number of failed searches of each index before it is ready.
        refuses_mapping: whether to answer a mapping with 400.
        dates: whether texts in undeclared fields may become dates.
        calls: ``(what, status)`` in order of arrival.
    """

    def __init__(self) -> None:
        self.mappings: dict[str, dict[str, Any]] = {}
        self.not_yet: dict[str, list[int]] = {}
        self.refuses_mapping = False
        self.dates = True
        self.calls: list[tuple[str, int]] = []
        super().__init__()

    def add(self, index: str, properties: dict[str, Any]) -> None:
        """Create an index; the path has the collection's id and the index's name."""
        self.mappings[index] = {
            name: {key.lower(): value for key, value in declared.items()}
            for name, declared in properties.items()
        }
        self.not_yet[index] = [404]

    def respond(self, method: str, path: str, headers: Any, body: bytes) -> Raw:
        """Answer one request."""
        index, _, what = path.rpartition("/")
        status, answer = self._answer(method, index, what, headers, body)
        self.calls.append((what, status))
        return Raw(json.dumps(answer).encode(), status=status)

    def _answer(
        self, method: str, index: str, what: str, headers: Any, body: bytes
    ) -> tuple[int, dict[str, Any]]:
        signed = headers.get("Authorization", "")
        if not re.search(r"/aoss/aws4_request, SignedHeaders=[^,]*x-amz-content-sha256", signed):
            return 403, {"status": 403, "error": "Forbidden"}
        if headers["X-Amz-Content-SHA256"] != hashlib.sha256(body).hexdigest():
            return 403, {"status": 403, "error": "Forbidden"}
        if (method, what) == ("PUT", "_mapping"):
            return self._map(index, json.loads(body))
        if headers.get("X-Amz-Security-Token") == "testing":  # the deploying user's
            return 403, {"status": 403, "error": "Forbidden"}
        status = self.not_yet[index].pop(0) if self.not_yet[index] else 200
        return status, {"error": f"no such index [{index}]"} if status > 200 else {"hits": {}}

    def _map(self, index: str, mapping: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Merge a mapping, as the service does: a field's type can't be changed."""
        there = self.mappings[index]
        for name, wanted in mapping["properties"].items():
            if there.get(name, wanted)["type"] != wanted["type"]:
                return 400, {"error": f"mapper [{name}] cannot be changed"}
        if self.refuses_mapping:
            return 400, {"error": "unsupported"}
        there |= mapping["properties"]
        self.dates = mapping.get("date_detection", True)
        return 200, {"acknowledged": True}
