"""Whether the commands of a document are such as their tools accept.

The AWS CLI is checked against botocore's models (:mod:`aws_model`), other tools against tables that
``tools/command_tables.py`` makes from their own help. What is no literal text is never a finding, and
neither is anything that a placeholder could stand for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final

import botocore

from knowledge_rag.drift import aws_model
from knowledge_rag.drift.findings import Finding, Kind, near
from knowledge_rag.drift.shell import HOLE, commands_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.drift.aws_model import Option
    from knowledge_rag.drift.page import Page
    from knowledge_rag.drift.shell import Command, Word

MAX_COMMANDS: Final = 1_000
"""Of one document that are checked: one that names service after service loads a model for each."""
_PLURAL: Final = 5
"""Minimum letters of a plural: "lss" is a slip."""
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")
"""How commands are written; anything else is no misspelt one."""
_EXAMPLE: Final = re.compile(r"(?:my|your|some|example|foo|bar)(?![a-z]{0,2}$)")
"""How a word begins that stands for another."""
_CONTINUED: Final = "\\^`"
"""Characters at the end of a line behind which a command goes on, in sh, cmd and PowerShell."""
_LONG: Final = re.compile(r"--[A-Za-z][\w.-]*")
_PLUGGABLE: Final = frozenset(("kubectl", "helm", "docker", "git"))
"""Tools that people add commands to: an unknown one is a finding if it is like a known one."""
_GETOPT: Final = frozenset(("git", "psql", "systemctl"))
"""Tools that accept the beginning of a long option."""
_WITHOUT_OPTIONS: Final = frozenset(
    ("cli-input-json", "cli-input-yaml", "generate-cli-skeleton", "cli-auto-prompt", "help")
)
"""Options of ``aws`` with which no other is needed."""
REMOVED: Final[Mapping[str, str]] = {
    "aws ecr get-login": "aws ecr get-login-password",
    "helm init": "", "helm reset": "", "helm serve": "",
    "kubectl rolling-update": "kubectl rollout", "kubectl run-container": "kubectl run",
    "kubectl namespace": "kubectl config set-context", "kubectl resize": "kubectl scale",
    "kubectl stop": "kubectl delete", "kubectl update": "kubectl replace",
    "docker daemon": "dockerd", "docker app": "",
    "terraform push": "", "terraform remote": "terraform init", "terraform debug": "",
    "terraform 0.12upgrade": "", "terraform 0.13upgrade": "", "terraform env": "terraform workspace",
    "kubectl drain --delete-local-data": "--delete-emptydir-data",
    "kubectl apply --server-dry-run": "--dry-run=server", "kubectl run --replicas": "kubectl create deployment",
    "helm install --name": "the name as an argument", "helm delete --purge": "helm uninstall",
    "terraform destroy -force": "-auto-approve",
}  # fmt: skip
"""Commands and options that a current version of the tool doesn't have, and what replaces them."""


@dataclass(frozen=True, slots=True)
class _Node:
    flags: Mapping[str, int]
    below: Mapping[str, str]
    is_open: bool
    is_called: bool
    """Whether it also does something itself, without one of the commands below it."""
    passes_on: int | None
    """Behind how many arguments the rest is for another program, if it is."""


@cache
def tools() -> frozenset[str]:
    """Return the tools whose commands are checked."""
    return frozenset((*aws_model.read_table("tools"), "aws"))


def versions() -> dict[str, str]:
    """Return the version that each tool is checked against."""
    return {"aws": f"botocore {botocore.__version__}"} | {
        k: v["version"] for k, v in aws_model.read_table("tools").items()
    }


@cache
def _node(tool: str, path: str) -> _Node:
    commands = aws_model.read_table("tools")[tool]["commands"]
    own = commands.get(path) or {**commands[""], "below": []}  # systemctl's take the same options
    start = f"{path} " if path else ""
    below = {}
    for name in own["below"]:
        below[name] = name
        below |= dict.fromkeys(commands.get(start + name, {}).get("aliases", ()), name)
    flags = own["flags"] | (commands[""]["flags"] if tool in ("kubectl", "docker", "helm") else {})
    is_called = bool(path and own["flags"] and tool != "helm" and not own.get("group"))
    return _Node(flags, below, bool(own.get("open")), is_called, own.get("passes_on"))


def check_commands(page: Page) -> Iterator[Finding]:
    """Find commands that their tools don't accept."""
    for command in islice(commands_in(page.codes, tools()), MAX_COMMANDS):
        if command.words[0].text == "aws":
            yield from _Aws(page.path, command, _lacking(page, command)).findings()
        else:
            found = _Tool(page.path, command).findings()
            yield from (it for it in found if not _is_added(page, it))


def _is_added(page: Page, finding: Finding) -> bool:
    """Whether a page, or its path, names a program or an alias that adds the command to its tool.

    ``git-imerge`` adds `git imerge`, and ``alias.wdiff`` in git's settings adds `git wdiff`.
    """
    tool, _, command = finding.subject.partition(" ")
    if finding.kind is not Kind.UNKNOWN_COMMAND or tool not in _PLUGGABLE or " " in command:
        return False
    named = re.compile(rf"(?<![\w-])(?:{tool}-|alias\.){re.escape(command)}(?![\w-])")
    return any(named.search(it) for it in (page.path, *page.lines))


def _lacking(page: Page, command: Command) -> str:
    """Return what a command's last line lacks to go on in the next, if that one begins with an option."""
    last = command.words[-1].line
    following = "".join(page.lines[last:][:1]).strip()
    if _LONG.match(following) is None or page.lines[last - 1].rstrip()[-1:] in _CONTINUED:
        return ""
    first = page.lines[command.words[0].line - 1].rstrip()[-1:]
    return f"a {first if first in _CONTINUED else _CONTINUED[0]} at the end of line {last}"


def _is_thing(word: str, like: str, known: Sequence[str]) -> bool:
    """Whether a word that ends a code span is a thing's name rather than a slip: `git submodules`, "a `git patch`"."""
    is_plural = len(word) >= _PLURAL and word.removesuffix("s") in known
    return is_plural or (bool(like) and abs(len(like) - len(word)) > 1)


class _Checker:
    def __init__(self, path: str, command: Command, lacking: str = "") -> None:
        self._path = path
        self._command = command
        self._lacking = lacking
        self._tool = command.words[0].text
        self._said: list[str] = [self._tool]
        """The tool and its commands, as far as they are read, as the document writes them."""

    def _finding(self, word: Word, kind: Kind, *texts: str) -> Finding:
        return Finding(self._path, word.line, word.column, word.end_column, kind, *texts)

    @property
    def _name(self) -> str:
        return " ".join(self._said)

    @property
    def _is_called(self) -> bool:
        """Whether the command as far as it is read does something without one of the commands below it."""
        return False

    def _unknown_command(self, word: Word, known: Sequence[str]) -> Finding | None:
        full = f"{self._name} {word.text}"
        if full in REMOVED:
            fix = REMOVED[full]
            return self._finding(
                word, Kind.REMOVED, full, f"{full} was removed from {self._tool}", fix
            )
        if not _NAME.fullmatch(word.text) or len(word.text) < 2 or _EXAMPLE.match(word.text):
            return None
        like = near(word.text, known)
        is_named = self._command.is_span and word is self._command.words[-1]
        if is_named and _is_thing(word.text, like, known):
            return None
        if not like and not self._is_surely_command(word):
            return None
        message = f"{self._name} has no command {word.text}"
        return self._finding(word, Kind.UNKNOWN_COMMAND, full, message, like)

    def _is_surely_command(self, word: Word) -> bool:
        """Whether a word can only be a command: no plugin, no argument, no prose in a code span."""
        if self._is_called:
            return False
        if self._tool in _PLUGGABLE and (len(self._said) == 1 or self._command.is_span):
            return False
        return not self._command.is_span or "-" in word.text

    def _unknown_option(self, word: Word, option: str, known: Sequence[str]) -> Finding:
        full = f"{self._name} {option}"
        like = REMOVED.get(full) or near(option, known)
        message = f"{self._name} has no option {option}"
        return self._finding(word, Kind.UNKNOWN_OPTION, full, message, like)


class _Aws(_Checker):
    def findings(self) -> Iterator[Finding]:
        words = self._command.words[1:]
        at, path = 0, ""
        while True:
            at = self._past_globals(words, at)
            if at >= len(words) or not words[at].is_literal or words[at].text == "help":
                return
            known = aws_model.below(path) if path else aws_model.services()
            word = words[at]
            if f"{self._name} {word.text}" in REMOVED or word.text not in known:
                found = self._unknown_command(word, sorted(known))
                if found:
                    yield found
                return
            path = f"{path} {word.text}".lstrip()
            self._said.append(word.text)
            at += 1
            if not self._goes_on(path):
                break
        yield from self._of_operation(aws_model.operation(path), words[at:], words[at - 1])

    @staticmethod
    def _goes_on(path: str) -> bool:
        return " " not in path or path.endswith(" wait") or bool(aws_model.below(path))

    @staticmethod
    def _past_globals(words: Sequence[Word], at: int) -> int:
        while at < len(words) and words[at].text.startswith("--"):
            name, given, _ = words[at].text[2:].partition("=")
            at += 1 + (aws_model.GLOBAL_OPTIONS.get(name, False) and not given)
        return at

    def _of_operation(
        self, operation: aws_model.Operation, words: Sequence[Word], name: Word
    ) -> Iterator[Finding]:
        if operation.deprecated:
            message = f"{self._name} is deprecated"
            yield self._finding(name, Kind.DEPRECATED, self._name, message)
        options = operation.options
        if options is None or any(word.text == "help" for word in words[:1]):
            return
        given: set[str] = set()
        takes_value = False
        is_whole = self._command.is_whole
        for at, word in enumerate(words):
            if not word.text.startswith("--"):
                is_whole = is_whole and (takes_value or word.is_literal)
                continue
            written, equals, value = word.text.partition("=")
            option = self._resolved(written[2:], options) if _LONG.fullmatch(written) else ""
            takes_value = option not in options or options[option].takes_value
            if option:
                given |= {option, options[option].negates if option in options else ""}
                if option != written[2:]:
                    message = f"{self._name} has no option {written}, but only one that begins so"
                    yield self._finding(
                        word, Kind.ABBREVIATED, f"{self._name} {written}", message, f"--{option}"
                    )
            else:
                is_whole = False
                if _LONG.fullmatch(written):
                    known = [f"--{name}" for name in (*options, *aws_model.GLOBAL_OPTIONS)]
                    yield self._unknown_option(word, written, known)
            if option in options:
                values = [value] if equals else [w.text for w in words[at + 1 : at + 2]]
                yield from self._of_option(word, option, options[option], values)
        if is_whole and (given or not self._command.is_span):
            yield from self._missing(given, options, name)

    @staticmethod
    def _resolved(name: str, options: Mapping[str, Option]) -> str:
        """Return the option that is meant, which may be its unambiguous beginning."""
        if name in options or name in aws_model.GLOBAL_OPTIONS:
            return name
        begun = [
            option for option in (*options, *aws_model.GLOBAL_OPTIONS) if option.startswith(name)
        ]
        return begun[0] if len(begun) == 1 else ""

    def _of_option(
        self, word: Word, name: str, option: Option, values: Sequence[str]
    ) -> Iterator[Finding]:
        subject = f"{self._name} --{name}"
        if option.deprecated:
            yield self._finding(
                word, Kind.DEPRECATED, subject, f"--{name} of {self._name} is deprecated"
            )
        for value in values:
            literal = HOLE not in value and re.fullmatch(r"[A-Za-z][\w.:-]*", value)
            if not option.enum or not literal or value in option.enum:
                continue
            if any(one.lower() == value.lower() for one in option.enum):
                continue  # some services read capitals either way
            like = near(value, option.enum)
            if like:  # else it may stand for a value: `--type type`
                message = f"--{name} of {self._name} doesn't accept {value}"
                yield self._finding(word, Kind.WRONG_VALUE, f"{subject} {value}", message, like)

    def _missing(
        self, given: set[str], options: Mapping[str, Option], name: Word
    ) -> Iterator[Finding]:
        if given & _WITHOUT_OPTIONS:
            return
        for option, about in options.items():
            if about.required and option not in given and f"no-{option}" not in given:
                message = f"{self._name} needs --{option}"
                subject = f"{self._name} --{option}"
                yield self._finding(name, Kind.MISSING_OPTION, subject, message, self._lacking)


class _Tool(_Checker):
    def __init__(self, path: str, command: Command) -> None:
        super().__init__(path, command)
        self._node = _node(self._tool, "")
        self._path_of: list[str] = []
        """The commands by the names of the tables."""
        self._arguments = 0
        self._early: list[Word] = []
        """Unknown options before a subcommand, which may be that one's."""
        self._is_done = False

    @property
    def _is_called(self) -> bool:
        return self._node.is_called

    def findings(self) -> Iterator[Finding]:
        words = self._command.words[1:]
        at = 0
        while at < len(words) and not self._is_done:
            word = words[at]
            at += 1
            if word.text.startswith("-") and len(word.text) > 1:
                found, skip = self._option(word)
                if self._node.below and skip < 0 and found:
                    self._early.append(word)
                    found, skip = [], int("=" not in word.text)
                yield from found
                self._is_done = skip < 0
                at += skip
            else:
                yield from self._argument(word)
        if self._node.is_called and not self._is_done:
            yield from self._of_early()

    def _of_early(self) -> Iterator[Finding]:
        for option in self._early:
            yield from self._option(option)[0]
        self._early = []

    def _argument(self, word: Word) -> Iterator[Finding]:
        known = self._node.below
        if known and not word.is_literal:
            self._is_done = True
        elif word.text in known and f"{self._name} {word.text}" not in REMOVED:
            self._said.append(word.text)
            self._path_of.append(known[word.text])
            self._node = _node(self._tool, " ".join(self._path_of))
            self._is_done = self._node.is_open
            if not (self._node.below or self._is_done):
                yield from self._of_early()
        elif known and not self._arguments:
            self._is_done = not self._node.is_called
            self._arguments += self._node.is_called
            unknown = self._unknown_command(word, sorted(known))
            if unknown:
                yield unknown
        else:
            self._arguments += 1
        limit = self._node.passes_on
        self._is_done |= limit is not None and self._arguments >= limit

    def _option(self, word: Word) -> tuple[list[Finding], int]:
        """Return findings, and how many of the next words are the option's; -1 if that is unknown."""
        written, equals, _ = word.text.partition("=")
        if HOLE in written or not re.fullmatch(r"--?[A-Za-z?][\w.-]*", written):
            return [], 0 if word.text == "--" else -1
        flags = self._node.flags
        if self._tool == "terraform":
            return self._resolved(word, "-" + written.lstrip("-"), flags, has_value=True)
        if written.startswith("--"):
            return self._resolved(word, written, flags, has_value=bool(equals))
        return self._short(word, flags)

    def _resolved(
        self, word: Word, written: str, flags: Mapping[str, int], *, has_value: bool
    ) -> tuple[list[Finding], int]:
        if written in ("--help", "-help"):
            return [], -1
        takes = flags.get(written)
        if takes is None and self._tool in _GETOPT:
            takes = max((v for k, v in flags.items() if k.startswith(written)), default=None)
            negated = written.replace("--no-", "--", 1)
            takes = 0 if takes is None and negated != written and negated in flags else takes
        if takes is None:
            if not flags and self._tool == "git":
                return [], -1
            return [self._unknown_option(word, written, sorted(flags))], -1
        return [], 0 if has_value else takes

    def _short(self, word: Word, flags: Mapping[str, int]) -> tuple[list[Finding], int]:
        letters = word.text[1:]
        for at, letter in enumerate(letters):
            takes = flags.get(f"-{letter}")
            if letter in "h?":
                return [], -1
            if takes is None:
                if at or letter.isdigit():  # the value of an option that may take one
                    return [], -1
                if len(letters) > 2 and "-" + word.text in flags:
                    return [self._unknown_option(word, word.text, [f"-{word.text}"])], -1
                return [self._unknown_option(word, f"-{letter}", [])], -1
            if takes:
                return [], int(at == len(letters) - 1)
        return [], 0
