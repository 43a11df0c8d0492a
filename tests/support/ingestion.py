"""A loopback server in the place of Bedrock's ingestion jobs and of CloudFormation's answer address."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.support.loopback import Loopback, Raw

KNOWLEDGE_BASE_ID = "KBKBKBKB01"
DATA_SOURCE_ID = "DSDSDSDS01"
_SOURCE = f"/knowledgebases/{KNOWLEDGE_BASE_ID}/datasources/{DATA_SOURCE_ID}/ingestionjobs/"
_TIME = "2026-11-21T09:00:00Z"


class Ingestion(Loopback):
    """Speaks the four operations of ingestion jobs, as boto3 sends them, and takes answers.

    A job goes through the states of its script, one a look; the last one stays.

    Attributes:
        scripts: for each job that will be started, its states: a status, or a whole job as a map.
        refusals: ``(status, code, message)`` for the next starts, before any job is made.
        stop_refusals: the same for the next stops.
        get_refusals: the same for the next looks at a job.
        jobs: id -> states that are left, in the order of their start.
        bases: id -> a knowledge base that others made, as GetKnowledgeBase has it.
        calls: operations in the order of their arrival.
        tokens: client tokens of the starts.
        answers: bodies that were put to the answer address.
        answer_types: their content types.
        answer_sizes: their lengths, bytes.
        refused_answers: how many puts are refused first.
    """

    def __init__(self) -> None:
        self.scripts: list[list[Any]] = []
        self.refusals: list[tuple[int, str, str]] = []
        self.stop_refusals: list[tuple[int, str, str]] = []
        self.get_refusals: list[tuple[int, str, str]] = []
        self.jobs: dict[str, list[Any]] = {}
        self.bases: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.tokens: list[str] = []
        self.answers: list[dict[str, Any]] = []
        self.answer_types: list[str | None] = []
        self.answer_sizes: list[int] = []
        self.refused_answers = 0
        super().__init__()

    def respond(self, method: str, path: str, headers: Any, body: bytes) -> Raw:
        if path.startswith("/answer"):
            self.answer_types.append(headers.get("Content-Type"))
            self.answer_sizes.append(len(body))
        status, code, answer = self.serve(method, path, body)
        named = (("x-amzn-ErrorType", code),) if code else ()
        return Raw(json.dumps(answer).encode(), status=status, headers=named)

    def serve(self, method: str, path: str, body: bytes) -> tuple[int, str, dict[str, Any]]:
        """Give the status, the error code and the body for one request."""
        if path.startswith("/answer"):
            return self._answer(body)
        if base := re.fullmatch(r"/knowledgebases/(\w+)", path):
            if base[1] not in self.bases:
                return 404, "ResourceNotFoundException", {"message": "no such knowledge base"}
            return 200, "", {"knowledgeBase": {"knowledgeBaseId": base[1]} | self.bases[base[1]]}
        assert path.startswith(_SOURCE), path
        rest = path.removeprefix(_SOURCE)
        if method == "PUT":
            self.calls.append("start")
            return self._start(json.loads(body))
        if method == "POST" and not rest:
            self.calls.append("list")
            return 200, "", {"ingestionJobSummaries": self._listed(json.loads(body))}
        stopped = re.fullmatch(r"(\w+)/stop", rest)
        return self._stop(stopped[1]) if stopped else self._look(rest)

    def _stop(self, job_id: str) -> tuple[int, str, dict[str, Any]]:
        self.calls.append("stop")
        if self.stop_refusals:
            return _refused(self.stop_refusals)
        self.jobs[job_id] = ["STOPPING", "STOPPED"]
        return 202, "", {"ingestionJob": self._job(job_id)}

    def _look(self, job_id: str) -> tuple[int, str, dict[str, Any]]:
        self.calls.append("get")
        if self.get_refusals:
            return _refused(self.get_refusals)
        return 200, "", {"ingestionJob": self._job(job_id)}

    def _answer(self, body: bytes) -> tuple[int, str, dict[str, Any]]:
        if self.refused_answers:
            self.refused_answers -= 1
            return 503, "", {}
        self.answers.append(json.loads(body))
        return 200, "", {}

    def _start(self, request: dict[str, Any]) -> tuple[int, str, dict[str, Any]]:
        self.tokens.append(request["clientToken"])
        if self.refusals:
            return _refused(self.refusals)
        job_id = f"JOB{len(self.jobs):07d}"
        self.jobs[job_id] = ["STARTING", *self.scripts.pop(0)]
        return 202, "", {"ingestionJob": self._job(job_id)}

    def _listed(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        oldest_first = list(self.jobs)
        sort = request.get("sortBy", {})
        if sort.get("order") == "DESCENDING" and sort.get("attribute") == "STARTED_AT":
            oldest_first.reverse()
        return [self._job(job_id) for job_id in oldest_first[: request.get("maxResults", 100)]]

    def _job(self, job_id: str) -> dict[str, Any]:
        states = self.jobs[job_id]
        state = states.pop(0) if len(states) > 1 else states[0]
        job = {"status": state} if isinstance(state, str) else state
        return {
            "knowledgeBaseId": KNOWLEDGE_BASE_ID,
            "dataSourceId": DATA_SOURCE_ID,
            "ingestionJobId": job_id,
            "startedAt": _TIME,
            "updatedAt": _TIME,
            **job,
        }


def _refused(refusals: list[tuple[int, str, str]]) -> tuple[int, str, dict[str, Any]]:
    status, code, message = refusals.pop(0)
    return status, code, {"message": message}


def existing_base(
    kind: str = "VECTOR", store: str = "OPENSEARCH_SERVERLESS", status: str = "ACTIVE"
) -> dict[str, Any]:
    """Return a knowledge base that others made, as GetKnowledgeBase does, without its id."""
    stored = {} if kind == "MANAGED" else {"storageConfiguration": {"type": store}}
    return {"status": status, "knowledgeBaseConfiguration": {"type": kind}, **stored}


def ended(
    status: str, *reasons: str, new: int = 0, modified: int = 0, failed: int = 0, deleted: int = 0
) -> dict[str, Any]:
    """Give a job's last state as GetIngestionJob tells it."""
    return {
        "status": status,
        "failureReasons": list(reasons),
        "statistics": {
            "numberOfDocumentsScanned": new + modified + failed,
            "numberOfNewDocumentsIndexed": new,
            "numberOfModifiedDocumentsIndexed": modified,
            "numberOfDocumentsDeleted": deleted,
            "numberOfDocumentsFailed": failed,
        },
    }
