#!/usr/bin/env python3
"""A stop hook for Claude Code: checks the agent's last message against what the knowledge base returns.

It reads from the transcript only what the agent asked, with the tool ``retrieve_knowledge`` or with ``knowledge-rag
retrieve``. The knowledge base is asked the same again: what it returns is the evidence, and nothing that stands in the
transcript. An answer with errors is sent back once, with what is wrong in it. If the next one has errors, too, the
person is told instead. Needs Python 3.11 and ``knowledge-rag`` on the path.

Arguments are passed on to ``knowledge-rag retrieve``, such as ``--kb /home/me/team.kb``.

Exit codes: 0 if nothing is wrong, or the person was told; 2 if the answer goes back to the agent; 1 if it couldn't be
checked, which Claude Code shows to the person.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

TOOL = "retrieve_knowledge"
MOST = 10
"""The last searches of a session that count as evidence, and the findings that the agent is told."""
FILTERS = ("document_type", "service", "source_file")
SECONDS = 45
"""For one command; Claude Code gives a hook 60 seconds unless its ``timeout`` says more."""
UNASKED = "You cite runbooks, and did not ask the knowledge base. Call retrieve_knowledge, and cite only what it returns."
WRONG = "Your answer was checked against the runbooks, and this is wrong:"
REPAIR = "Correct or remove these statements, and answer again. Cite only references that retrieve_knowledge returned."


class UncheckedError(Exception):
    """The answer could not be checked."""


def main() -> int:
    """Check the answer of the payload on standard input, and return the exit code."""
    try:
        payload = json.load(sys.stdin)
        entries = list(entries_of(Path(payload["transcript_path"]).expanduser()))
        answer = payload.get("last_assistant_message") or last_text(entries)
        findings = check(answer, entries, sys.argv[1:])
    except (UncheckedError, OSError, ValueError, KeyError, TypeError) as error:
        print(f"the answer was not checked: {error!r}", file=sys.stderr)
        return 1
    if not findings:
        return 0
    listed = "\n".join(f"- {one}" for one in findings)
    if payload.get("stop_hook_active"):
        told = f"Not backed by the runbooks, and not corrected by the agent:\n{listed}"
        print(json.dumps({"systemMessage": told}))
        return 0
    print(f"{WRONG}\n{listed}\n{REPAIR}", file=sys.stderr)
    return 2


def check(answer: str, entries: list[dict[str, Any]], options: list[str]) -> list[str]:
    """Return what is wrong with an answer.

    An answer is checked if the knowledge base was asked in its turn, or if it cites runbooks.
    """
    turn = max((n for n, one in enumerate(entries) if is_prompt(one)), default=0)
    cites = "[source" in answer.casefold()
    if not answer.strip() or not (cites or any(map(searches_in, entries[turn:]))):
        return []
    searches = [tuple(one) for entry in entries for one in searches_in(entry)]
    searches = list(dict.fromkeys(searches))[-MOST:]
    if not searches:
        return [UNASKED]
    with ThreadPoolExecutor(4) as pool:
        evidence = list(
            pool.map(lambda it: run(["retrieve", "--json", *options, *it], ok=(0, 1)), searches)
        )
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, body in enumerate(evidence):
            file = Path(folder, f"{number}.json")
            file.write_text(body, encoding="utf-8")
            files += ["--evidence", str(file)]
        report = json.loads(run(["verify", "--json", "--answer", "-", *files], answer, ok=(0, 1)))
    wrong = [one["message"] for one in report["removed"]]
    wrong += [one["message"] for one in report["warnings"] if one["level"] == "error"]
    return list(dict.fromkeys(wrong))[:MOST]


def run(arguments: list[str], given: str = "", *, ok: tuple[int, ...]) -> str:
    """Return what a command of knowledge-rag prints."""
    try:
        ran = subprocess.run(  # noqa: S603 - no shell
            ["knowledge-rag", *arguments],  # noqa: S607 - on the path, as the agent's own
            input=given, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise UncheckedError(
            f"knowledge-rag {arguments[0]} took more than {SECONDS} seconds"
        ) from error
    if ran.returncode not in ok:
        raise UncheckedError(
            f"knowledge-rag {arguments[0]}: {ran.stderr.strip() or ran.stdout.strip()}"
        )
    return ran.stdout


def entries_of(transcript: Path) -> list[dict[str, Any]]:
    """Return the entries of a transcript; a line that is still being written is left out."""
    entries = []
    for line in transcript.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            entries.append(entry)
    return entries


def blocks_of(entry: dict[str, Any], role: str) -> list[dict[str, Any]]:
    """Return the blocks of an entry's message, if it is one of this role."""
    message = entry.get("message")
    if not isinstance(message, dict) or message.get("role") != role:
        return []
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return [one for one in blocks if isinstance(one, dict)]


def is_prompt(entry: dict[str, Any]) -> bool:
    """Whether an entry is a person's message, so that a turn begins with it."""
    kinds = {one.get("type") for one in blocks_of(entry, "user")}
    return "text" in kinds and not entry.get("isMeta")


def last_text(entries: list[dict[str, Any]]) -> str:
    """Return the agent's last message, for versions that don't send it."""
    for entry in reversed(entries):
        texts = [one["text"] for one in blocks_of(entry, "assistant") if one.get("type") == "text"]
        if texts:
            return "\n".join(texts)
    return ""


def searches_in(entry: dict[str, Any]) -> list[list[str]]:
    """Return the searches that an entry begins, as arguments of ``knowledge-rag retrieve``."""
    used = [one for one in blocks_of(entry, "assistant") if one.get("type") == "tool_use"]
    return [arguments for one in used if (arguments := arguments_of(one))]


def arguments_of(block: dict[str, Any]) -> list[str]:
    """Return a tool call as arguments of ``knowledge-rag retrieve``; none if it is no search."""
    name, given = str(block.get("name")), block.get("input")
    if not isinstance(given, dict):
        return []
    if name == "Bash":
        query = query_in(str(given.get("command", "")))
        return ["--", query] if query else []
    if not name.endswith(TOOL) or not str(given.get("query", "")).strip():
        return []
    made = [f"--filter={key}={given[key]}" for key in FILTERS if given.get(key)]
    if given.get("max_results"):
        made.append(f"--max-results={given['max_results']}")
    return [*made, "--", str(given["query"])]


def query_in(command: str) -> str:
    """Return the query of a command that begins with ``knowledge-rag retrieve "..."``; ``""`` for another."""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""
    is_search = len(words) > 2 and Path(words[0]).name == "knowledge-rag" and words[1] == "retrieve"
    return words[2] if is_search and not words[2].startswith("-") else ""


if __name__ == "__main__":
    sys.exit(main())
