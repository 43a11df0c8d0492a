"""Problems for a team to fix, with file and line: gaps that the command line finds, and those that the console knows.

Each check of the command line is a process of its own at low priority, one at a time, so that no answer waits for one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from knowledge_rag.console.documents import document_url
from knowledge_rag.console.events import utc_now
from knowledge_rag.console.limits import CHECK_SECONDS, MAX_FINDINGS, MAX_LISTED
from knowledge_rag.core.chunks import DocumentType
from knowledge_rag.core.metadata import DOCUMENT_TYPE, LAST_CHANGED, LAST_REVIEWED
from knowledge_rag.core.outcome import Status
from knowledge_rag.orchestrator.retrieval import log_defect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from knowledge_rag.console.answers import Answers
    from knowledge_rag.console.documents import KeptDocuments
    from knowledge_rag.core.repository_links import RepositoryLinks

STALE_DAYS: Final = 365
"""Days since a review after which a document is reported."""
_LOW_PRIORITY: Final = 10
_RUN: Final = frozenset({0, 1})
"""Exit codes of a check that succeeded: without findings, and with findings."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of one check.

    Each finding has file, line, level, kind and message, as far as it has them; ``of`` says in one word what was
    checked.
    """

    findings: Sequence[Mapping[str, Any]]
    checked: int
    of: str


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    ``run`` raises :exc:`CheckError`. It is ``None`` if a setting is missing; then ``missing`` says how to add that.
    """

    name: str
    run: Callable[[], Checked] | None
    missing: str = ""


class CheckError(Exception):
    """A check failed; the message says why."""


@dataclass(slots=True)
class Health:
    """Runs checks in the background, and stores their results; thread-safe.

    ``may_have`` says whether the console has a document at a path.
    """

    checks: Sequence[Check]
    may_have: Callable[[str], bool]
    repository: RepositoryLinks | None = None
    _sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    _since: str = ""
    _running: threading.Thread | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        """Start the checks, unless they are running."""
        with self._lock:
            if self._running is not None and self._running.is_alive():
                return
            self._since = utc_now()
            self._sections = {
                one.name: {"state": "waiting"}
                if one.run is not None
                else {"state": "missing", "message": one.missing}
                for one in self.checks
            }
            self._running = threading.Thread(target=self._work, name="health", daemon=True)
            self._running.start()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form: ``state`` is unchecked, computing or ready."""
        with self._lock:
            busy = self._running is not None and self._running.is_alive()
            state = "computing" if busy else "ready" if self._since else "unchecked"
            sections = [{"name": name} | section for name, section in self._sections.items()]
        return {"state": state, "since": self._since, "sections": sections}

    def _work(self) -> None:
        for one in reversed(self.checks):  # the slowest one, of the alerts, is first
            if one.run is None:
                continue
            self._put(one.name, {"state": "computing"})
            try:
                self._put(one.name, self._section(one.run()))
            except CheckError as error:
                self._put(one.name, {"state": "failed", "message": str(error)})
            except Exception as error:  # noqa: BLE001 - logged without its message; the page must not keep waiting
                log_defect(error, f"the check of {one.name} failed")
                self._put(one.name, {"state": "failed", "message": "it failed; see the log"})

    def _put(self, name: str, section: dict[str, Any]) -> None:
        with self._lock:
            self._sections[name] = section

    def _section(self, done: Checked) -> dict[str, Any]:
        linked = cache(self.may_have)
        shown = [dict(one) | self._links(one, linked) for one in done.findings[:MAX_FINDINGS]]
        return {
            "state": "ready",
            "findings": shown,
            "count": len(done.findings),
            "checked": done.checked,
            "of": done.of,
        }

    def _links(self, finding: Mapping[str, Any], linked: Callable[[str], bool]) -> dict[str, str]:
        """Return the addresses of a finding's line: in the console, and for changing it."""
        file, line = finding.get("file"), finding.get("line", 1)
        if not file or not linked(file):
            return {}
        links = {"url": document_url(file, line, line)}
        if self.repository is not None and (url := self.repository.url(file, line, line)):
            links["repositoryUrl"] = url
        return links


def checks_of(
    folder: Path | None,
    rules: Sequence[str],
    documents: KeptDocuments,
    answers: Answers,
    commands: Commands,
) -> list[Check]:
    """Return the checks of a console; ``folder`` is the ingested one, ``None`` if unknown."""
    needs_folder = "Start serve with --corpus DIR, the folder that was ingested."
    needs_rules = "Start serve with --rules PATH, your alert rules."
    docs = str(folder)
    drift = partial(_drift, commands, "--max-age", str(STALE_DAYS), "--", docs)
    coverage = partial(
        _coverage, commands, "--docs", docs, *(part for one in rules for part in ("--rules", one))
    )
    is_known = folder is not None
    return [
        Check(
            "alerts",
            coverage if is_known and rules else None,
            needs_rules if is_known else needs_folder,
        ),
        Check("drift", drift if is_known else None, needs_folder),
        Check("reviews", partial(_never_reviewed, documents)),
        Check("lint", partial(_lint, commands, "--", docs) if is_known else None, needs_folder),
        Check("questions", partial(_unanswered, answers)),
    ]


class Commands:
    """Runs commands of this program one at a time, each in a process of its own at low priority."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def run(self, *command: str) -> Any:  # noqa: ANN401 - JSON of a command
        """Run a command, and return its JSON.

        Raises:
            CheckError: it failed or took too long.
        """
        with self._lock:
            if self._closed:
                raise CheckError("the console is shutting down")
            self._running = subprocess.Popen(  # noqa: S603 - this program's own
                [sys.executable, "-m", "knowledge_rag", *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        with self._running as running:
            with suppress(OSError, AttributeError):  # it is over, or Windows has no priorities
                os.setpriority(os.PRIO_PROCESS, running.pid, _LOW_PRIORITY)
            try:
                written, said = running.communicate(timeout=CHECK_SECONDS)
            except subprocess.TimeoutExpired as error:
                running.kill()
                raise CheckError(f"knowledge-rag {command[0]} took too long") from error
        if running.returncode in _RUN:
            with suppress(ValueError):
                return json.loads(written)
        lines = said.decode(errors="replace").strip().splitlines()
        raise CheckError(lines[-1] if lines else f"knowledge-rag {command[0]} failed")

    def close(self) -> None:
        """End the running command, and start no others."""
        with self._lock:
            self._closed = True
        if self._running is not None and self._running.poll() is None:
            self._running.kill()


def _coverage(commands: Commands, *arguments: str) -> Checked:
    report = commands.run("coverage", "--json", *arguments)
    gaps = [
        _finding(one["file"], one["line"], level, one["kind"], one["message"])
        for name, level in (("findings", "error"), ("warnings", "warning"))
        for one in report[name]
    ]
    return Checked(gaps, report["alerts"], "alert")


def _drift(commands: Commands, *arguments: str) -> Checked:
    report = commands.run("drift", "--json", *arguments)
    found = []
    for one in report["findings"]:
        said = one["message"] + (f"; did you mean {one['fix']}?" if "fix" in one else "")
        found.append(_finding(one["path"], one["line"], one["severity"], one["kind"], said))
    return Checked(found, report["documents"], "document")


def _lint(commands: Commands, *arguments: str) -> Checked:
    report = commands.run("lint", "--json", *arguments)
    found = [
        _finding(one["document"], 1, "error", "unreadable", one["reason"])
        for one in report["skipped"]
    ]
    for one in report["findings"]:
        said = ": ".join(filter(None, (one["message"], one["excerpt"])))
        found.append(_finding(one["source_file"], one["line"], "warning", one["kind"], said))
    return Checked(found, report["documents"], "document")


def _finding(file: str, line: int, level: str, kind: str, message: str) -> dict[str, Any]:
    return {"file": file, "line": line, "level": level, "kind": kind, "message": message}


def _never_reviewed(documents: KeptDocuments) -> Checked:
    listed = documents.listed(MAX_LISTED)
    if listed is None:
        raise CheckError("the documents of this knowledge base can't be listed")
    runbooks = [one for one in listed if one.get(DOCUMENT_TYPE) == DocumentType.RUNBOOK.value]
    never = [one for one in runbooks if not one.get(LAST_REVIEWED)]
    found = []
    for one in sorted(never, key=lambda one: str(one.get(LAST_CHANGED, ""))):  # the oldest first
        said = f"{one['title']}: front matter has no {LAST_REVIEWED}"
        if one.get(LAST_CHANGED):
            said += f"; last commit {one[LAST_CHANGED]}"
        found.append(_finding(one["source"], 1, "warning", "never-reviewed", said))
    return Checked(found, len(runbooks), "runbook")


def _unanswered(answers: Answers) -> Checked:
    """Return the questions of stored answers for which nothing is documented, the most frequent first."""
    asked = list(answers.outcomes())
    counts = Counter(question for question, status in asked if status == Status.NO_MATCH)
    found = [
        {"level": "warning", "kind": "nothing-found", "message": question, "times": times}
        for question, times in counts.most_common()
    ]
    return Checked(found, len(asked), "answer")
