"""Receives the answers of custom resources, like the pre-signed address in S3."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_ECHOED = ("StackId", "RequestId", "LogicalResourceId")


class Answers:
    """Listens on loopback; close it when done."""

    def __init__(self) -> None:
        self._taken: dict[str, dict[str, Any]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def address(self, request: str) -> str:
        """Return the address that answers one request."""
        return f"http://127.0.0.1:{self._server.server_port}/{request}"

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()

    def of(self, event: dict[str, Any]) -> dict[str, Any]:
        """Return the data in a custom resource's answer.

        Raises:
            RuntimeError: it failed, did not answer, or sent an answer that CloudFormation would ignore.
        """
        answer = self._taken.get(event["RequestId"])
        if answer is None:
            raise RuntimeError("no answer: CloudFormation would wait for an hour")
        wrong = [key for key in _ECHOED if answer.get(key) != event[key]]
        if wrong or not answer.get("PhysicalResourceId"):
            raise RuntimeError(f"the answer lacks {', '.join(wrong) or 'PhysicalResourceId'}")
        if answer.get("Status") != "SUCCESS":
            raise RuntimeError(f"failed: {answer.get('Reason', 'no reason given')}")
        return answer

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        taken = self._taken

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                size = int(self.headers["Content-Length"])
                if self.headers.get("Content-Type"):  # S3 compares it with the signed one: none
                    self.send_error(403, "SignatureDoesNotMatch")
                    return
                taken[self.path.lstrip("/")] = json.loads(self.rfile.read(size))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        return Handler
