#!/usr/bin/env python3
"""A stop hook for Claude Code: checks the agent's last message against what the knowledge base returns.

It reads from the transcript only what the agent asked: with the tools ``retrieve_knowledge``, ``ask`` and
``find_skill``, or with ``knowledge-rag`` ``retrieve``, ``ask`` and ``skills find`` in a shell. The knowledge base is
asked the same again: what it returns is the evidence, and nothing that stands in the transcript. An answer with errors
is sent back once, with what is wrong in it. If the next one has errors, too, the person is told instead. Needs Python
3.11 and ``knowledge-rag`` on the path.

``--kb /home/me/team.kb`` names the knowledge base, else ``KNOWLEDGE_RAG_KB`` does. One that the agent named counts for
nothing: it could have made it.

Exit codes: 0 if nothing is wrong, or the person was told; 2 if the answer goes back to the agent; 1 if it couldn't be
checked, which Claude Code shows to the person.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

MOST = 10
"""The last searches of a session that count as evidence, and the findings that the agent is told."""
SECONDS = 45
"""For one command; Claude Code gives a hook 60 seconds unless its ``timeout`` says more."""
TOOLS = {
    "retrieve_knowledge": ("retrieve", "query", ("document_type", "service", "source_file")),
    "ask": ("ask", "question", ("at",)),
    "find_skill": ("skills find", "alert", ()),
}
"""The tools that search: their command, the argument with the question, those that change what is found."""
COMMANDS = {
    "retrieve": ("--filter", "--max-results", "--search", "--policy"),
    "ask": ("--at", "--search"),
    "skills find": ("--search",),
}
"""The commands that search, and their options that change what is found."""
FLAGS = ("--json", "--explain")
"""Options without a value."""
WRAPPERS = ("command", "env", "exec", "run", "time", "uv", "uvx")
"""Words that may stand before a command."""
UNASKED = (
    "You cite runbooks, and did not ask the knowledge base. "
    "Call ask or retrieve_knowledge, and cite only what it returns."
)
WRONG = "Your answer was checked against the runbooks, and this is wrong:"
FEEDBACK = ("Stop hook feedback", WRONG)
"""What a user's entry with this hook's findings begins with."""
REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
OWN_FORM = re.compile(r"[\[\u3010\u3014][\W_]{0,9}sources?[\W_]|knowledge:/{2,3}\w")
"""Other notations are any code review's, such as ``app.py:12``."""
ADDED = ("isMeta", "isCompactSummary", "isSidechain")
"""What marks a user's entry that no person wrote."""
REPAIR = "Correct or remove these statements, and answer again. Cite only references that a search returned."


class UncheckedError(Exception):
    """The answer could not be checked."""


class RefusedError(UncheckedError):
    """A command's arguments are wrong."""


def main() -> int:
    """Check the answer of the payload on standard input, and return the exit code."""
    try:
        payload = read_payload(sys.stdin.read())
        entries = entries_of(Path(payload["transcript_path"]).expanduser())
        answer = payload.get("last_assistant_message")
        answer = answer if isinstance(answer, str) and answer else last_text(entries)
        findings = check(answer, entries, sys.argv[1:])
    except (UncheckedError, OSError, ValueError, KeyError, TypeError) as error:
        said = str(error) if isinstance(error, UncheckedError) else repr(error)
        print(f"the answer was not checked: {said}", file=sys.stderr)
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


def read_payload(text: str) -> dict[str, Any]:
    """Return what Claude Code sends a hook."""
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        payload = None
    if not isinstance(payload, dict) or not isinstance(payload.get("transcript_path"), str):
        raise UncheckedError(
            "standard input isn't what Claude Code sends a stop hook, JSON with transcript_path: "
            "set this file as the command of a Stop hook"
        )
    return payload


def check(answer: str, entries: list[dict[str, Any]], options: list[str]) -> list[str]:
    """Return what is wrong with an answer.

    An answer is checked if the knowledge base was asked in its turn, or if it cites runbooks.
    """
    turn = max((n for n, one in enumerate(entries) if is_prompt(one)), default=0)
    if not answer.strip() or not (cites(answer) or any(map(searches_in, entries[turn:]))):
        return []
    searches = [tuple(one) for entry in entries for one in searches_in(entry)]
    searches = list(dict.fromkeys(searches))[-MOST:]
    if not searches:
        return [UNASKED]
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda it: searched(it, options), searches))
    evidence = [body for one in made if isinstance(one, list) for body in one]
    if not evidence:  # what was refused found nothing for the agent either
        raise next(one for one in made if isinstance(one, UncheckedError))
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


def cites(answer: str) -> bool:
    """Whether an answer has a reference in the product's own form, whatever is hidden in it, or its address."""
    said = unicodedata.normalize("NFKC", answer).casefold()
    shown = "".join(it for it in said if unicodedata.category(it) != "Cf")
    return OWN_FORM.search(shown) is not None


def searched(search: tuple[str, ...], options: list[str]) -> list[str] | RefusedError:
    """Return what a search returns, as evidence for ``verify``, or that its arguments are wrong."""
    command, *arguments = search
    question = ["--", arguments[-1]]
    try:
        if command == "retrieve":
            return [run([command, "--json", *options, *arguments], ok=(0, 1))]
        shown = ["--json", "--explain", *options]
        bodies = [run(["ask", *shown, *arguments], ok=(0, 1))]
        if command == "skills find":
            found = json.loads(run(["skills", "find", "--json", *options, *arguments], ok=(0, 1)))
            if "load" in found:  # its procedure is whole, with lines that no search need return
                only = [f"--filter=source_file={found['load']['source_file']}", "--max-results=100"]
                bodies.append(run(["retrieve", "--json", *options, *only, *question], ok=(0, 1)))
    except RefusedError as error:
        return error
    return bodies


def run(arguments: list[str], given: str = "", *, ok: tuple[int, ...]) -> str:
    """Return what a command of knowledge-rag prints."""
    try:
        ran = subprocess.run(  # noqa: S603 - no shell
            ["knowledge-rag", *arguments],  # noqa: S607 - on the path, as the agent's own
            input=given, capture_output=True, encoding="utf-8", errors="replace", timeout=SECONDS, check=False,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise UncheckedError(
            "the program knowledge-rag is not on the path of this hook: install it, or add its folder to PATH"
        ) from error
    except (OSError, ValueError) as error:  # too long for an argument, a NUL, half a character
        raise RefusedError(
            f"knowledge-rag {arguments[0]} can't be run with this: {error}"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise UncheckedError(
            f"knowledge-rag {arguments[0]} took more than {SECONDS} seconds"
        ) from error
    if ran.returncode not in ok:
        kind = RefusedError if ran.returncode == 2 else UncheckedError
        raise kind(f"knowledge-rag {arguments[0]}: {ran.stderr.strip() or ran.stdout.strip()}")
    return ran.stdout


def entries_of(transcript: Path) -> list[dict[str, Any]]:
    """Return the entries of a transcript, one a line; a line that can't be read is left out.

    Lines end at line feeds only: JSON strings may hold U+2028 and others that ``splitlines`` ends lines at.
    """
    if transcript.exists() and not transcript.is_file():  # a pipe would be waited for
        raise UncheckedError(f"the session's transcript {transcript} isn't a regular file")
    try:
        text = transcript.read_bytes().decode(errors="replace")
    except OSError as error:
        raise UncheckedError(
            f"the session's transcript {transcript} can't be read ({error.strerror}): "
            "check the answer with `knowledge-rag verify`"
        ) from error
    entries = []
    for line in text.split("\n"):
        try:
            entry = json.loads(line, strict=False)
        except (ValueError, RecursionError):  # still being written, or nested too deeply
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


def texts_of(entry: dict[str, Any], role: str) -> list[str]:
    """Return what an entry's message says, if it is one of this role."""
    blocks = (one for one in blocks_of(entry, role) if one.get("type") == "text")
    return [one["text"] for one in blocks if isinstance(one.get("text"), str)]


def is_prompt(entry: dict[str, Any]) -> bool:
    """Whether an entry is a person's message, so that a turn begins with it.

    Nothing beside a tool's result is one, nor what Claude Code adds: this hook's feedback, reminders, summaries.
    """
    kinds = {one.get("type") for one in blocks_of(entry, "user")}
    if "tool_result" in kinds or any(map(entry.get, ADDED)):
        return False
    said = (REMINDER.sub("", one).strip() for one in texts_of(entry, "user"))
    return any(one and not one.startswith(FEEDBACK) for one in said)


def last_text(entries: list[dict[str, Any]]) -> str:
    """Return the agent's last message, for versions that don't send it."""
    for entry in reversed(entries):
        if texts := texts_of(entry, "assistant"):
            return "\n".join(texts)
    return ""


def searches_in(entry: dict[str, Any]) -> list[list[str]]:
    """Return the searches that an entry begins, each as its command, its options, ``--`` and the question."""
    used = [one for one in blocks_of(entry, "assistant") if one.get("type") == "tool_use"]
    return [
        search for one in used for search in searches_of(str(one.get("name")), one.get("input"))
    ]


def searches_of(name: str, given: object) -> list[list[str]]:
    """Return the searches of a tool call, often none."""
    if not isinstance(given, dict):
        return []
    if name == "Bash":
        made = map(search_in, commands_in(str(given.get("command", ""))))
        return [one for one in made if one]
    command, asked, others = TOOLS.get(name.rpartition("__")[2], ("", "", ()))
    question = given.get(asked)
    known = {asked, *others, "max_results", "max_tokens"}  # another server may have an "ask", too
    if not isinstance(question, str) or not question.strip() or not known.issuperset(given):
        return []
    named = {key: str(given[key]) for key in (*others, "max_results") if given.get(key)}
    if command == "retrieve":
        options = [f"--filter={key}={named[key]}" for key in others if key in named]
        options += [f"--max-results={named['max_results']}"] if "max_results" in named else []
    else:
        options = [f"--{key}={named[key]}" for key in others if key in named]
    return [[command, *options, "--", question]]


def commands_in(line: str) -> list[list[str]]:
    """Return the words of each command of a shell's line; none if its quotes are open."""
    words = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars="();<>|&\n")
    words.whitespace, words.whitespace_split, words.commenters = " \t\r", True, ""
    commands: list[list[str]] = [[]]
    try:
        for word in words:
            if word and not word.strip("();|&\n"):
                commands.append([])
            else:
                commands[-1].append(word)
    except ValueError:
        return []
    return commands


def search_in(words: list[str]) -> list[str]:
    """Return a command as a search; ``[]`` if it is none of COMMANDS."""
    while words and ("=" in words[0] or words[0] in WRAPPERS):
        words = words[1:]
    if not words or Path(words[0]).name != "knowledge-rag":
        return []
    given = words[3:] if words[1:3] == ["skills", "find"] else words[2:]
    command = " ".join(words[1 : len(words) - len(given)])
    rest, options, questions = iter(given), [], []
    for word in rest:
        if not word.strip("<>&"):  # 2> FILE
            next(rest, "")
            questions = questions[:-1] if questions and questions[-1].isdigit() else questions
        elif word == "--":
            questions += rest
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            value = value if equals or name in FLAGS else next(rest, "")
            options += [f"{name}={value}"] if name in COMMANDS.get(command, ()) else []
        elif not word.startswith("-"):
            questions.append(word)
    return [command, *options, "--", questions[0]] if command in COMMANDS and questions else []


if __name__ == "__main__":
    sys.exit(main())
