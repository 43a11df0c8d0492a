"""Whether names in runbooks are still such as the code defines.

A name that stands nowhere in the code is a finding if the code's history removed it, or if a similar one of
the same kind is defined; a heading, if nearly all headings of its level are names of one kind.
"""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from operator import or_
from typing import TYPE_CHECKING, Final

from knowledge_rag.drift.code import PART, tails
from knowledge_rag.drift.findings import Finding, Kind, near
from knowledge_rag.drift.shell import HOLE, commands_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knowledge_rag.drift.code import Code
    from knowledge_rag.drift.page import Code as Span
    from knowledge_rag.drift.page import Page
    from knowledge_rag.drift.shell import Command, Word

_TOOLS: Final = frozenset(("aws", "kubectl", "helm", "docker", "docker-compose"))
OPTIONS: Final[Mapping[str, str]] = {
    "--alarm-name": "alarm", "--alarm-names": "alarm", "--dashboard-name": "dashboard",
    "--metric-name": "metric",
    "--function-name": "function", "--queue-name": "queue", "--queue-url": "queue",
    "--table-name": "table", "--db-cluster-identifier": "database",
    "--db-instance-identifier": "database", "--cluster": "cluster", "--cluster-name": "cluster",
    "--service": "service", "--services": "service", "--log-group-name": "log group",
    "--topic-arn": "topic", "--bucket": "bucket", "--secret-id": "secret",
    "--state-machine-arn": "state machine", "--auto-scaling-group-name": "auto scaling group",
    "--auto-scaling-group-names": "auto scaling group", "--repository-name": "repository",
    "--stream-name": "stream",
}  # fmt: skip
"""Options of ``aws`` whose value is a name, and the kind that it is of."""
_PATHS: Final = frozenset(("queue", "topic", "state machine"))
"""Kinds whose names end an address or an ARN."""
_OF_SERVICES: Final = frozenset(("restart", "stop", "start", "logs", "kill", "pause", "rm"))
"""Commands of Docker Compose whose arguments are services."""
_RESOURCES: Final[Mapping[str, str]] = {
    short: kind
    for kind, names in {
        "deployment": "deployments deploy", "statefulset": "statefulsets sts", "daemonset": "daemonsets ds",
        "service": "services svc", "configmap": "configmaps cm", "secret": "secrets", "job": "jobs",
        "cronjob": "cronjobs cj", "ingress": "ingresses ing", "namespace": "namespaces ns",
        "persistentvolumeclaim": "persistentvolumeclaims pvc", "horizontalpodautoscaler": "hpa",
    }.items()
    for short in (kind, *names.split())
}  # fmt: skip
_IDENTIFIER: Final = re.compile(
    r"(?=.{6,80}$)(?:[A-Za-z][\w]*(?:[-_.][\w]+)+|(?:[A-Z][a-z0-9]+){2,})"
)
"""A code span that counts as a name: of several parts, or in CamelCase."""
_NAME: Final = re.compile(
    r"(?!my|your|some|example|foo|test)/?[A-Za-z0-9][\w.-]{3,}(?:/[\w.-]+)*(?<!ml)(?<!json)"
)
_FILE: Final = re.compile(
    r"\.(?:md|ya?ml|json|py|sh|tf|go|rb|js|ts|txt|conf|log|html?|xml|ini|toml|lock|service)$"
)
_DASHBOARD: Final = re.compile(
    r"^https?://[^\s#?]*/d/(?P<grafana>[\w-]{3,40})(?:[/?#]|$)"
    r"|^https://[\w.-]*console\.aws\.[\w./-]*\?*[^#]*#dashboards(?:/dashboard/|:name=)(?P<cloudwatch>[\w-]{3,255})"
)
"""The dashboard that a link opens: of Grafana, by its uid, and of CloudWatch, by its name."""
_LEAST_HEADINGS: Final = 5
_SHARE: Final = 0.8


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a document: its kind, ``""`` if that isn't known, and where it stands."""

    path: str
    line: int
    column: int
    name: str
    kind: str = ""
    level: int = 0
    """Of a heading that is a name; 0 elsewhere."""
    is_id: bool = False
    """Whether it is an id that resembles others by chance alone."""


def mentions_in(page: Page) -> Iterator[Mention]:
    """Find what may be names of resources: in commands, code spans and headings."""
    for command in commands_in(page.codes, _TOOLS):
        for kind, word, name in _named(command):
            if HOLE not in name and _NAME.fullmatch(name):
                yield Mention(page.path, word.line, word.column, name, kind)
    for code in page.codes:
        if not code.is_block:
            yield from _of_span(page, code)
    for link in page.links:
        if shown := _DASHBOARD.search(link.target):
            name = shown["grafana"] or shown["cloudwatch"]
            column = link.column + shown.start("grafana" if shown["grafana"] else "cloudwatch")
            by_id = shown["grafana"] is not None
            yield Mention(page.path, link.line, column, name, "dashboard", is_id=by_id)
    for line, level, text in page.headings:
        if re.fullmatch(r"[\w.-]{3,80}", text):
            yield Mention(page.path, line, level + 2, text, level=level)


def _of_span(page: Page, code: Span) -> Iterator[Mention]:
    text = code.text.strip()
    line, column = code.places[0]
    kind, slash, name = text.partition("/")
    kind = _kind_of(kind)
    if slash and kind and _NAME.fullmatch(name):
        yield Mention(page.path, line, column + text.index("/") + 1, name, kind)
    elif _IDENTIFIER.fullmatch(text) and not _FILE.search(text):
        yield Mention(page.path, line, column, text)


def _kind_of(resource: str) -> str:
    """Return the kind of a resource of kubectl, which may have its group behind it: ``deployments.apps``."""
    return _RESOURCES.get(resource.partition(".")[0], "")


def _named(command: Command) -> Iterator[tuple[str, Word, str]]:
    tool, *words = command.words
    texts = [word.text for word in words]
    if tool.text == "aws":
        yield from _of_aws(words, texts)
    elif tool.text in ("kubectl", "helm"):
        yield from _namespaces(words, texts)
        if tool.text == "kubectl":
            yield from _of_kubectl(words, texts)
    elif tool.text == "docker-compose" or texts[:1] == ["compose"]:
        services = words if tool.text == "docker-compose" else words[1:]
        if services and services[0].text in _OF_SERVICES:
            for word in services[1:]:
                if not word.text.startswith("-"):
                    yield "compose service", word, word.text


def _of_aws(words: Sequence[Word], texts: Sequence[str]) -> Iterator[tuple[str, Word, str]]:
    for at, text in enumerate(texts):
        option, equals, value = text.partition("=")
        if option in OPTIONS and (equals or at + 1 < len(words)):
            word = words[at] if equals else words[at + 1]
            name = value or word.text
            if OPTIONS[option] in _PATHS:
                name = re.split("[/:]", name)[-1]
            yield OPTIONS[option], word, name


def _namespaces(words: Sequence[Word], texts: Sequence[str]) -> Iterator[tuple[str, Word, str]]:
    for at, text in enumerate(texts):
        option, equals, value = text.partition("=")
        if at and texts[at - 1] in ("-n", "--namespace"):
            yield "namespace", words[at], text
        elif equals and option in ("-n", "--namespace"):
            yield "namespace", words[at], value


def _of_kubectl(words: Sequence[Word], texts: Sequence[str]) -> Iterator[tuple[str, Word, str]]:
    for at, text in enumerate(texts):
        before = texts[at - 1] if at else ""
        kind, slash, name = text.removeprefix("--from=").partition("/")
        if before in ("-n", "--namespace"):
            continue
        if slash and _kind_of(kind):
            yield _kind_of(kind), words[at], name
        elif _kind_of(before) and not text.startswith("-") and "create" not in texts[:2]:
            yield _kind_of(before), words[at], text


class Names:
    """The names that code defines, to compare documents with."""

    def __init__(self, code: Code) -> None:
        self._code = code

    @cached_property
    def _known(self) -> dict[str, _Known]:
        return {kind: _Known(names) for kind, names in self._code.names.items()}

    @cached_property
    def _everything(self) -> _Known:
        return _Known({it: file for of in self._code.names.values() for it, file in of.items()})

    def check(self, mentions: Sequence[Mention]) -> Iterator[Finding]:
        """Find names that the code seems to define otherwise; whole documents' names are to be given."""
        code, known, everything = self._code, self._known, self._everything
        lists = _lists(mentions, known)
        for mention in mentions:
            kind = lists.get((mention.path, mention.level), "") if mention.level else ""
            if kind:
                if not known[kind].is_called(mention.name):
                    like = known[kind].like(mention.name, typed=True)
                    yield _undefined(mention, kind, like, known[kind])
            elif mention.name not in code.words and not everything.has(mention.name):
                of = known.get(mention.kind) if mention.kind else everything
                if removal := code.removed.get(mention.name):
                    commit = f"commit {removal.commit} of {removal.day}"
                    message = f"{commit} removed {mention.name} from {removal.file}"
                    yield _finding(mention, message, removal.instead)
                elif of and not mention.is_id and not mention.level:
                    like = of.like(mention.name, typed=bool(mention.kind))
                    yield from [_undefined(mention, mention.kind or "name", like, of)] if like else []  # fmt: skip


def _finding(mention: Mention, message: str, fix: str) -> Finding:
    end = mention.column + len(mention.name)
    return Finding(
        mention.path, mention.line, mention.column, end, Kind.UNKNOWN_NAME, mention.name, message, fix
    )  # fmt: skip


def _undefined(mention: Mention, kind: str, like: str, known: _Known) -> Finding:
    where = f", but {like} in {known.files[like]}" if like else ""
    return _finding(mention, f"the code defines no {kind} {mention.name}{where}", like)


def _lists(mentions: Sequence[Mention], known: Mapping[str, _Known]) -> dict[tuple[str, int], str]:
    """Return the levels of documents whose headings are names of a kind, nearly all."""
    headings: dict[tuple[str, int], list[str]] = defaultdict(list)
    for mention in mentions:
        if mention.level:
            headings[mention.path, mention.level].append(mention.name)
    found: dict[tuple[str, int], str] = {}
    for key, names in headings.items():
        for kind, of in known.items():
            share = sum(map(of.is_called, names)) / len(names)
            if len(names) >= _LEAST_HEADINGS and _SHARE <= share < 1:
                found[key] = kind
    return found


class _Known:
    """Names of one kind; each also as what is behind its first parts, which a deployment may fill in."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.files: dict[str, str] = {}
        self._called = _without_prefix(names)
        self._has: dict[str, bool] = {}
        self._like: dict[tuple[str, bool], str] = {}
        for name, file in names.items():
            for tail in tails(name.rpartition(HOLE)[2].strip("-_./:") if HOLE in name else name):
                if tail:
                    self.files.setdefault(tail, file)
        self._patterns = [
            re.split(f"{HOLE}+", name)
            for name in names
            if HOLE in name and len(name.strip(HOLE)) > 3
        ]

    def has(self, name: str) -> bool:
        """Whether a name is defined, or the end of one is."""
        if name not in self._has:
            self._has[name] = name in self.files or any(_fits(name, it) for it in self._patterns)
        return self._has[name]

    def is_called(self, name: str) -> bool:
        """Whether a name is defined, or is all of one but what each of its file's begins with, or a deployment fills in."""
        return name in self._called or any(_fits(name, it) for it in self._patterns)

    def like(self, name: str, *, typed: bool) -> str:
        """Return the defined name that may be meant."""
        if (name, typed) not in self._like:
            least = 0.8 if typed else 0.87
            found = near(name, self._possible(name, least), least)
            self._like[name, typed] = "" if found and _is_counterpart(name, found) else found
        return self._like[name, typed]

    def _possible(self, name: str, least: float) -> Iterator[str]:
        """Yield the names that may be so like one: comparing all with all takes minutes.

        Likeness is twice the matching characters by all of both. Between two runs of them stands one that
        doesn't match, which bounds the pairs of characters that only one of both has.
        """
        own = _pairs(name)
        for length, names in self._by_length.items():
            total = len(name) + length
            matching = math.ceil(least * total / 2 - 1e-9)
            missing = len(name) + total - 3 * matching
            if matching <= min(len(name), length):
                yield from (it for it, pairs in names if (own & ~pairs).bit_count() <= missing)

    @cached_property
    def _by_length(self) -> dict[int, list[tuple[str, int]]]:
        found: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for name in self.files:
            found[len(name)].append((name, _pairs(name)))
        return found


def _without_prefix(names: Mapping[str, str]) -> frozenset[str]:
    """Return names, and their ends: behind what a deployment fills in, else behind parts that all names of a file begin with."""
    of_file: dict[str, list[str]] = defaultdict(list)
    for name, file in names.items():
        of_file[file].append(name)
    found = set(names)
    for every in of_file.values():
        plain = [name for name in every if HOLE not in name]
        prefix = os.path.commonprefix(plain) if len(plain) > 1 else ""  # noqa: RUF071 - cut at separators below
        begins = [separator.end() for separator in PART.finditer(prefix)]
        found |= {name[at:] for name in plain for at in begins}
        found |= {name.rpartition(HOLE)[2].strip("-_./:") for name in every if HOLE in name}
    return frozenset(found)


def _fits(name: str, parts: Sequence[str]) -> bool:
    """Whether a name is made of these parts, with anything between them."""
    first, *inner, last = parts
    at, end = len(first), len(name) - len(last)
    if at > end or not (name.startswith(first) and name.endswith(last)):
        return False
    for part in inner:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _pairs(name: str) -> int:
    """Return a set of a name's pairs of characters, as bits; two pairs may share one."""
    return reduce(or_, (1 << (ord(a) * 31 + ord(b)) % 509 for a, b in pairwise(name)), 0)


def _is_counterpart(name: str, other: str) -> bool:
    """Whether two names differ in a number or a word of their own, as those of siblings do."""
    mine, theirs = (re.sub(r"[-_.\d]+", " ", each).split() for each in (name, other))
    if mine == theirs:
        return True
    return len(mine) == len(theirs) and any(
        a != b and not near(a, [b], 0.7) for a, b in zip(mine, theirs, strict=True)
    )
