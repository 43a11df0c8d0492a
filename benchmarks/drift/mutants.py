"""Measures how many changed commands and renamed resources `knowledge-rag drift` finds, and its false findings.

Commands in real documents are changed in one place each: a command renamed or misspelt, an option misspelt
or replaced, a required option left out. For names, a repository is created that defines the documents' names;
its second commit renames all of them. Then half of the names are left undefined, as if they belonged to another
repository. Documents are split in halves by their path: rules are chosen on one half, the other is reported.
"""

from __future__ import annotations

import random
import re
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.table import Table

from knowledge_rag.drift import aws_model
from knowledge_rag.drift.check import World, check_documents
from knowledge_rag.drift.code import Code, read_code, tails
from knowledge_rag.drift.commands import check_commands, tools
from knowledge_rag.drift.findings import Check, Kind
from knowledge_rag.drift.names import Names, mentions_in
from knowledge_rag.drift.page import read_page
from knowledge_rag.drift.shell import commands_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.drift.names import Mention
    from knowledge_rag.drift.page import Page
    from knowledge_rag.drift.shell import Command, Word

FOUND: Final = 0.95
FALSE: Final = 0.01
PER_DOCUMENT: Final = 10
_VERBS: Final = {"describe": "list", "list": "describe", "get": "fetch", "create": "make", "delete": "remove",
                 "put": "set", "update": "change", "start": "begin", "stop": "end", "send": "issue"}  # fmt: skip
_OTHER_OPTIONS: Final = ("--legacy-mode", "--force-renewal", "--old-format", "--server-timeout")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A document with one change, and the line on which drift has to find it."""

    kind: str
    path: str
    text: str
    line: int
    change: str


@dataclass(slots=True)
class Report:
    """Numbers of mutants made and found, by half and kind, and findings in unmutated documents."""

    made: Counter[tuple[str, str]] = field(default_factory=Counter)
    found: Counter[tuple[str, str]] = field(default_factory=Counter)
    missed: list[str] = field(default_factory=list)
    commands: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    documents: int = 0
    seconds: float = 0.0
    names_asked: int = 0
    names_false: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "documents": self.documents,
            "documents_a_minute": round(self.documents / self.seconds * 60)
            if self.seconds
            else None,
            "mutants": [
                {"half": half, "kind": kind, "made": made, "found": self.found[half, kind]}
                for (half, kind), made in sorted(self.made.items())
            ],
            "commands": dict(self.commands),
            "errors_unmutated": dict(self.errors),
            "names_of_others": self.names_asked,
            "names_of_others_found": self.names_false,
            "missed": self.missed[:200],
        }

    @property
    def reached(self) -> bool:
        """Whether enough mutants of the reported half are found, and few names of other repositories."""
        shares = [self.found[key] / made for key, made in self.made.items() if key[0] == "report"]
        return min(shares, default=0) >= FOUND and self.names_false <= FALSE * max(
            1, self.names_asked
        )


def half(path: str) -> str:
    """Return the name of a document's half, by its path."""
    return "choose" if sha256(path.encode()).digest()[0] % 2 else "report"


def run(folders: Sequence[Path], seed: int = 0) -> Report:
    """Mutate the commands and names of all Markdown below some folders."""
    report = Report()
    chance = random.Random(seed)  # noqa: S311 - the same mutants each time
    mentions: dict[str, list[Mention]] = defaultdict(list)
    for folder in folders:
        for file in sorted(folder.rglob("*.md")):
            if not file.is_file():
                continue
            path = f"{folder.name}/{file.relative_to(folder).as_posix()}"
            text = file.read_text(encoding="utf-8", errors="replace")
            begun = time.perf_counter()
            check_documents(
                [(path, text)], World(lambda _: True, frozenset({Check.COMMANDS, Check.LINKS}))
            )
            report.seconds += time.perf_counter() - begun
            report.documents += 1
            page = read_page(path, text)
            mentions[half(path)] += (each for each in mentions_in(page) if each.kind)
            _mutate(report, page, text, chance)
    for of, mentioned in sorted(mentions.items()):
        _rename(report, of, mentioned, chance)
    return report


def _mutate(report: Report, page: Page, text: str, chance: random.Random) -> None:
    of = half(page.path)
    before = list(check_commands(page))
    commands = list(commands_in(page.codes, tools()))
    report.commands[of] += len(commands)
    report.errors[of] += sum(each.kind.level != "note" for each in before)
    at_fault = {each.line for each in before if each.kind.level != "note"}
    mutants = [
        mutant
        for command in commands
        if not at_fault & {word.line for word in command.words}
        for mutant in _mutants(page.path, text, command, chance)
    ]
    for mutant in chance.sample(mutants, min(PER_DOCUMENT, len(mutants))):
        kinds = {
            each.kind
            for each in check_commands(read_page(mutant.path, mutant.text))
            if each.line == mutant.line
        }
        report.made[of, mutant.kind] += 1
        if kinds - {Kind.ABBREVIATED, Kind.DEPRECATED}:
            report.found[of, mutant.kind] += 1
        else:
            report.missed.append(f"{of} {mutant.kind} {mutant.path}:{mutant.line}: {mutant.change}")


def _mutants(path: str, text: str, command: Command, chance: random.Random) -> Iterator[Mutant]:
    literal = [word for word in command.words if word.is_literal]
    if len(literal) < 2 or not re.fullmatch(r"[a-z][a-z0-9-]+", literal[1].text):
        return
    tool = literal[0].text
    operation = literal[2] if tool == "aws" and len(literal) > 2 else literal[1]
    if (
        tool == "psql"
        or literal[1] is not command.words[1]
        or not re.fullmatch(r"[a-z][a-z0-9-]{3,}", operation.text)
        or (tool != "aws" and not _has(tool, operation.text))
    ):
        return
    for kind, new in (
        ("misspelt-command", _misspelt(operation.text, chance)),
        ("renamed-command", _renamed(tool, operation.text)),
    ):
        if new and not (tool == "aws" and new in aws_model.below(literal[1].text)):
            yield _replaced(path, text, operation, new, kind)
    options = [word for word in literal if re.match(r"--[a-z][a-z-]{3,}", word.text)]
    if options and _limit(command) and tool != "git":
        option = chance.choice(options)
        name, equals, value = option.text.partition("=")
        yield _replaced(
            path,
            text,
            option,
            "--" + _misspelt(name[2:], chance) + equals + value,
            "misspelt-option",
        )
        yield _replaced(
            path, text, option, chance.choice(_OTHER_OPTIONS) + equals + value, "replaced-option"
        )
    if tool == "aws" and not command.is_span and command.is_whole:
        yield from _without(path, text, command, operation)


def _has(tool: str, name: str) -> bool:
    """Whether a command is the tool's own: what a plugin adds is unknown before any change."""
    commands = aws_model.read_table("tools")[tool]["commands"]
    return name in commands[""]["below"] or any(
        name in c.get("aliases", ()) for c in commands.values()
    )


def _limit(command: Command) -> bool:
    """Whether the command doesn't run another one, so that all its options are its own."""
    return not {"exec", "run", "debug", "compose"} & {word.text for word in command.words[:3]}


def _renamed(tool: str, name: str) -> str:
    verb, dash, rest = name.partition("-")
    return _VERBS[verb] + dash + rest if tool == "aws" and dash and verb in _VERBS else ""


def _misspelt(name: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(name) - 1)
    ways = [
        name[:at] + name[at + 1 :],
        name[:at] + name[at] + name[at:],
        name[:at] + name[at + 1] + name[at] + name[at + 2 :],
    ]
    ways = [way for way in ways if way != name]
    return chance.choice(ways)


def _without(path: str, text: str, command: Command, operation: Word) -> Iterator[Mutant]:
    service = command.words[1].text
    options = aws_model.operation(f"{service} {operation.text}").options or {}
    if any(
        not word.is_literal and not before.text.startswith("--")
        for before, word in zip(command.words, command.words[1:], strict=False)
    ):
        return
    for at, word in enumerate(command.words):
        about = options.get(word.text[2:]) if word.text.startswith("--") else None
        if about and about.required and at + 1 < len(command.words):
            following = command.words[at + 1]
            if following.line == word.line and not following.text.startswith("--"):
                behind = at + 2 == len(command.words) or command.words[at + 2].text.startswith("--")
                if behind and len(command.words) > 5:
                    yield _cut(path, text, word, following, operation)


def _cut(path: str, text: str, word: Word, following: Word, operation: Word) -> Mutant:
    lines = text.split("\n")
    line = lines[word.line - 1]
    lines[word.line - 1] = line[: word.column - 1] + line[following.end_column - 1 :]
    return Mutant("missing-option", path, "\n".join(lines), operation.line, f"without {word.text}")


def _replaced(path: str, text: str, word: Word, new: str, kind: str) -> Mutant:
    lines = text.split("\n")
    line = lines[word.line - 1]
    lines[word.line - 1] = line[: word.column - 1] + new + line[word.end_column - 1 :]
    return Mutant(kind, path, "\n".join(lines), word.line, f"{word.text} -> {new}")


def _rename(report: Report, of: str, mentions: Sequence[Mention], chance: random.Random) -> None:
    """Rename every name of a repository in its second commit; then define only half of them."""
    kinds = {mention.kind for mention in mentions}
    names = sorted({(mention.kind, mention.name) for mention in mentions})
    new = {name: _new_name(name, chance) for _, name in names}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _commit(root, [(kind, name) for kind, name in names], "Define")
        _commit(root, [(kind, new[name]) for kind, name in names], "Rename")
        code = read_code([root], frozenset(name for _, name in names), root / "docs")
    found = {finding.subject for finding in Names(code).check(mentions)}
    standing = {tail for name in new.values() for tail in tails(name)}
    for kind, name in names:
        if name not in standing:
            report.made[of, "renamed-resource"] += 1
            report.found[of, "renamed-resource"] += name in found
            if name not in found:
                report.missed.append(f"{of} renamed-resource {kind} {name} -> {new[name]}")
    here = {pair for pair in names if chance.random() < 0.5}
    ours: dict[str, dict[str, str]] = {kind: {} for kind in kinds}
    for kind, name in here:
        ours[kind][name] = "ours.yaml"
    others = [each for each in mentions if (each.kind, each.name) not in here]
    findings = list(Names(Code(ours)).check(others))
    report.names_asked += len(others)
    report.names_false += len(findings)
    report.missed += [f"{of} of-others {finding.message}" for finding in findings]


def _commit(root: Path, names: Sequence[tuple[str, str]], message: str) -> None:
    """Commit a file for each name, so that a renamed one is a changed line."""
    for number, (kind, name) in enumerate(names):
        text = f"kind: {kind}\nmetadata:\n  name: {name}\n"
        (root / f"{number}.yaml").write_text(text, encoding="utf-8")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", message]):
        subprocess.run(["git", *command], cwd=root, check=True, capture_output=True)  # noqa: S603, S607


def _new_name(name: str, chance: random.Random) -> str:
    parts = name.split("-")
    if len(parts) > 1 and chance.random() < 0.5:
        at = chance.randrange(len(parts))
        parts[at] = chance.choice(("cluster", "worker", "blue", "main", "gateway"))
        return "-".join(parts)
    return _misspelt(name, chance)


def as_table(report: Report) -> Table:
    """Return the report as a table."""
    table = Table(
        title=f"drift: {report.documents} documents, {sum(report.commands.values())} commands"
    )
    for column in ("half", "kind", "mutants", "found"):
        table.add_column(column)
    for (of, kind), made in sorted(report.made.items()):
        table.add_row(of, kind, str(made), f"{report.found[of, kind] / made:.1%}")
    table.add_row(
        "both",
        "errors, unmutated",
        str(sum(report.commands.values())),
        str(sum(report.errors.values())),
    )
    table.add_row("both", "names of others", str(report.names_asked), str(report.names_false))
    return table
