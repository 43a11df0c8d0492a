"""An incident, read from a graph's state or from a pager's payload."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.citations import check_source_file
from knowledge_rag.core.errors import InvalidCitation, InvalidRequest
from knowledge_rag.orchestrator.links import RUNBOOK_KEYS, fold, links_in
from knowledge_rag.orchestrator.pager_texts import (
    ALERT_KEYS,
    MAX_ITEMS,
    MAX_NAME,
    MAX_TEXT,
    clean_title,
    looks_like_name,
    names_in,
    one_line,
)
from knowledge_rag.orchestrator.pager_times import started
from knowledge_rag.orchestrator.pagers import opened, pasted, read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_PROBLEMS: Final = 20

_NAME_KEYS: Final = (*ALERT_KEYS, "name", "title", "type", "metric", "MetricName")
_DETAIL_KEYS: Final = (
    "summary", "message", "description", "text", "detail", "details", "content", "error",
    "reason", "AlarmDescription", "NewStateReason", "resolution", "value",
)  # fmt: skip
"""Keys of a signal's name and text, likeliest first."""

_NESTED: Final = ("labels", "annotations")

_PARAGRAPHS: Final = re.compile(r"\n[ \t]*\n")
_OUTPUT: Final = re.compile(
    r"[ \t]{2,}|[|#$>]|.*(?:\b(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL|PANIC|CRITICAL|LOG|DETAIL|HINT)\b"
    r"|\d\d:\d\d:\d\d|\b[A-Za-z]\w*(?:Exception|Error)\b|\b\w+=\S)"
)
"""A line of a program's output: indented, or with a level, a time to the second, an exception or ``key=value``."""

_NAMES: Final = ("incident_id", "alert_name", "service", "severity")
_TEXTS: Final = ("title", "description")
_LISTS: Final = ("signals", "evidence", "history")

Source = tuple[str, Mapping[object, object]]
"""A mapping of the state, and its path there."""


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident; every text is one line, ``""`` where unknown.

    Names have at most MAX_NAME characters, other texts MAX_TEXT, lists of them MAX_ITEMS.

    Args:
        signals: symptoms.
        links: to its runbook, as written, likeliest first, at most MAX_LINKS.
        problems: parts of the state that could not be read, for a log or a warning.
        alerts: an incident for each alert name of a group with several, at most MAX_ITEMS; this one's alert_name is
            the first one's.
        read_as: the payload's maker and the part that was read, such as ``"PagerDuty"`` or
            ``"Alertmanager (2 firing alerts, 1 resolved left out)"``; ``""`` for a graph's state.
        since: when it began, ISO 8601 in UTC; for a group, when its first alert began.
        is_over: whether its pager says that it, or each alert of the group, is resolved.
        at: document and line, >= 1, of the procedure that somebody chose; ``None`` to choose one.

    Raises:
        ValueError: a text or a list is longer than it may be, or a text has several lines.
    """

    incident_id: str = ""
    title: str = ""
    alert_name: str = ""
    service: str = ""
    severity: str = ""
    description: str = ""
    signals: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    alerts: tuple[Incident, ...] = ()
    read_as: str = ""
    since: str = ""
    is_over: bool = False
    at: tuple[str, int] | None = None

    def __post_init__(self) -> None:
        for name, limit in (*((n, MAX_NAME) for n in _NAMES), *((n, MAX_TEXT) for n in _TEXTS)):
            _check(name, getattr(self, name), limit)
        for name in _LISTS:
            texts = getattr(self, name)
            if len(texts) > MAX_ITEMS:
                raise ValueError(f"{len(texts)} {name}, allowed: {MAX_ITEMS}")
            for text in texts:
                _check(name, text, MAX_TEXT)

    @property
    def is_group(self) -> bool:
        """Whether it has several alerts, which are looked up separately, each by its own words."""
        return len(self.alerts) > 1

    @classmethod
    def from_state(cls, state: object) -> Incident:
        """Read an incident from a pager's payload or a graph's state; never raises.

        A payload is recognised by :func:`knowledge_rag.orchestrator.pagers.read`. A state has these
        members: ``incident`` (a mapping, a text that describes it, or a payload), ``signals``,
        ``evidence`` and ``history`` (lists of texts or mappings, such as alerts of Prometheus or
        CloudWatch, or mappings of them), ``labels`` and ``annotations``. Members of ``incident`` may
        also stand beside it, except ``at``, the chosen procedure in the form that :func:`read_place` reads.
        Other keys are ignored.

        Args:
            state: decoded JSON, or JSON as text; anything else yields an empty incident with a problem.
        """
        reading = read(state)
        incident = cls._of(reading.state)
        alerts = tuple(replace(cls._of(one), since=started(one)) for one in reading.alerts)
        since = [it for one in alerts if (it := one.since)] or [
            started(reading.state) or started(opened(state))
        ]
        return replace(
            incident,
            problems=(*reading.problems, *incident.problems)[:MAX_PROBLEMS],
            alerts=alerts,
            read_as=reading.read_as,
            since=min(since),
            is_over=reading.is_over,
        )

    @classmethod
    def pasted_in(cls, text: str) -> Incident | None:
        """Return the incident whose JSON was pasted in place of a question; ``None`` for words."""
        payload = pasted(text)
        incident = None if payload is None else cls.from_state(payload)
        return None if incident is None or incident.is_empty else incident

    @classmethod
    def asked(cls, question: str) -> Incident:
        """Return a question as an incident: what somebody says is the title, lines of programs' output the description.

        A paragraph that begins with output is output. If all of the question is, it is the title.
        """
        said: list[str] = []
        output: list[str] = []
        for part in _PARAGRAPHS.split(question):
            lines = part.splitlines()
            is_all = _OUTPUT.match(lines[0]) if lines else None
            for line in lines:
                (output if is_all or _OUTPUT.match(line) else said).append(line)
        if not any(map(str.strip, said)):
            return cls(title=one_line(question) or "")
        return cls(
            title=one_line(" ".join(said)) or "", description=one_line(" ".join(output)) or ""
        )

    @classmethod
    def _of(cls, state: object) -> Incident:
        reader = _StateReader(state)
        sources = list(_sources(reader))
        about = reader.state.get("incident")
        described = (one_line(about) or "") if isinstance(about, str) else ""
        return cls(
            incident_id=reader.name(sources, "incident_id", "id"),
            title=clean_title(reader.text(sources[:_OWN], "title", "name", "summary")),
            alert_name=reader.name(sources, *ALERT_KEYS),
            service=reader.name(sources, "service", "service_name", "job"),
            severity=reader.name(sources, "severity", "priority"),
            description=reader.text(sources[:_OWN], "description", "details", "AlarmDescription")
            or described,
            signals=reader.texts("signals"),
            evidence=reader.texts("evidence"),
            history=reader.texts("history"),
            labels=_labels(reader, sources),
            links=_links(sources),
            at=reader.place(about.get("at"), "incident.at") if isinstance(about, Mapping) else None,
            problems=tuple(reader.problems),
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Possible names of the alert, likeliest first, at most MAX_NAMES.

        Names from the payload's data come first, then words of title, signals and description that
        are written like alerts' names: in CamelCase, or in parts with - or _.
        """
        alias = (text for key, text in self.labels.items() if fold(key) in _NAMED)
        known = (self.alert_name, *(one.alert_name for one in self.alerts))
        words = (
            n for text in (self.title, *self.signals, self.description) for n in names_in(text)
        )
        names = (*filter(None, known), *filter(looks_like_name, alias), *words)
        return tuple(dict.fromkeys(names))[:MAX_NAMES]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to search for."""
        return not any((self.title, self.alert_name, self.service, self.description, self.signals))


MAX_LINKS: Final = 5
MAX_NAMES: Final = 20
MAX_NAMED: Final = 5
"""Maximum alerts of a group that its title names."""


_NAMED: Final = frozenset(
    {"alertname", "alarmname", "alias", "alert", "alarm", "check", "class", "monitor", "rule"}
)
"""Folded names of labels that contain a name of the alert."""

_OWN: Final = 6
"""Number of sources about the incident itself; the others are its signals."""


def _sources(reader: _StateReader) -> Iterator[Source]:
    """Yield the mappings to read facts from, most reliable first."""
    about = reader.state.get("incident")
    incident = {} if isinstance(about, str) else reader.mapping(about, "incident")
    for where, source in (("incident", incident), ("state", reader.state)):
        yield where, source
        for nested in ("labels", "annotations"):
            inner = source.get(nested)
            yield f"{where}.{nested}", inner if isinstance(inner, Mapping) else {}
    for where, member in reader.members("signals"):
        if isinstance(member, Mapping):
            # a signal's id is its own, not the incident's
            facts = {key: value for key, value in _flattened(member).items() if key != "id"}
            yield where, facts


def _links(sources: list[Source]) -> tuple[str, ...]:
    said = [
        text
        for _, source in sources
        for key, value in islice(source.items(), MAX_ITEMS)
        if isinstance(key, str) and fold(key[:MAX_NAME]) in RUNBOOK_KEYS
        for link in (value[:MAX_ITEMS] if isinstance(value, list) else [value])
        if (text := one_line(link))
    ]
    for _, source in sources:
        texts = (one_line(source.get(key)) for key in ("AlarmDescription", "description"))
        said += [link for text in texts if text for link in links_in(text)]
    return tuple(dict.fromkeys(said))[:MAX_LINKS]


def _labels(reader: _StateReader, sources: list[Source]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for where, source in reversed(sources[:_OWN]):
        if where.endswith(".labels"):
            labels.update(reader.labels(source, where))
    return dict(list(labels.items())[:MAX_ITEMS])


def _check(name: str, text: str, limit: int) -> None:
    if len(text) > limit:
        raise ValueError(f"{name} has {len(text)} characters, allowed: {limit}")
    if "\n" in text:
        raise ValueError(f"{name} has several lines")


class _StateReader:
    """Reads texts out of mappings, and collects ``problems``; a state that isn't a mapping is empty."""

    def __init__(self, state: object) -> None:
        self.problems: list[str] = []
        self.state = self.mapping(state, "state")

    def report(self, problem: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def mapping(self, value: object, where: str) -> Mapping[object, object]:
        if isinstance(value, Mapping):
            return value
        if value is not None:
            self.report(f"{where}: {type(value).__name__}, wanted: a mapping")
        return {}

    def name(self, sources: Iterable[tuple[str, Mapping[object, object]]], *keys: str) -> str:
        """Return the first text under any of the keys, source after source; ``""`` if none."""
        return self.text(sources, *keys, limit=MAX_NAME)

    def text(
        self,
        sources: Iterable[tuple[str, Mapping[object, object]]],
        *keys: str,
        limit: int = MAX_TEXT,
    ) -> str:
        """Return the first text found, as :meth:`name` does, but of up to ``limit`` characters."""
        for where, source in sources:
            for key in keys:
                if text := self._scalar(f"{where}.{key}", source.get(key), limit):
                    return text
        return ""

    def place(self, value: object, where: str) -> tuple[str, int] | None:
        """Return a document and a line; ``None`` if there is none or the text has another form."""
        text = self._scalar(where, value, MAX_TEXT)
        try:
            return read_place(text) if text else None
        except InvalidRequest as error:
            self.report(f"{where}: {error}")
            return None

    def texts(self, key: str) -> tuple[str, ...]:
        found = (self._of_member(where, member) for where, member in self.members(key))
        return tuple(dict.fromkeys(text for text in found if text))

    def members(self, key: str) -> Iterator[tuple[str, object]]:
        """Yield the members of a list (or the values of a mapping), each with its path."""
        value = self.state.get(key)
        if value is None:
            return
        if isinstance(value, Mapping):
            pairs: Iterable[tuple[object, object]] = value.items()
        elif isinstance(value, Sequence | AbstractSet) and not isinstance(
            value, str | bytes | bytearray
        ):
            pairs = enumerate(value)
        else:
            pairs = ((0, value),)
        for index, member in islice(pairs, MAX_ITEMS):
            yield f"{key}[{one_line(index, 60) or '?'}]", member
        if (
            isinstance(value, Mapping | Sequence)
            and not isinstance(value, str | bytes)
            and len(value) > MAX_ITEMS
        ):
            self.report(f"{key}: {len(value)} members, the first {MAX_ITEMS} are read")

    def labels(self, value: object, where: str) -> dict[str, str]:
        labels: dict[str, str] = {}
        for key, member in islice(self.mapping(value, where).items(), MAX_ITEMS):
            name, text = one_line(key, MAX_NAME), one_line(member, MAX_NAME)
            if not name or text is None:
                self.report(f"{where}[{name or '?'}]: {type(member).__name__}, wanted: a text")
            elif text:
                labels[name] = text
        return labels

    def _scalar(self, where: str, value: object, limit: int) -> str:
        text = one_line(value, limit)
        if text is None and value is not None:
            self.report(f"{where}: {type(value).__name__}, wanted: a text")
        return text or ""

    def _of_member(self, where: str, member: object) -> str:
        if not isinstance(member, Mapping):
            return self._scalar(where, member, MAX_TEXT)
        facts = _flattened(member)
        name = next((text for key in _NAME_KEYS if (text := one_line(facts.get(key)))), "")
        detail = next((text for key in _DETAIL_KEYS if (text := one_line(facts.get(key)))), "")
        if name or detail:
            return f"{name}: {detail}"[:MAX_TEXT] if name and detail else name or detail
        scalars = (one_line(value) for value in islice(facts.values(), MAX_ITEMS))
        text = " ".join(filter(None, scalars))[:MAX_TEXT]
        if not text:
            self.report(f"{where}: a mapping without any text")
        return text


def _flattened(member: Mapping[object, object]) -> dict[object, object]:
    """Return a signal's facts, and those of its labels and annotations unless it overrides them."""
    facts: dict[object, object] = {}
    for nested in _NESTED:
        inner = member.get(nested)
        if isinstance(inner, Mapping):
            facts.update(islice(inner.items(), MAX_ITEMS))
    facts.update(islice(member.items(), MAX_ITEMS))
    return facts


def read_place(text: str) -> tuple[str, int]:
    """Read a document and a line in the form that answers show: ``runbooks/rds.md:12`` or ``runbooks/rds.md:5-12``.

    The last of several lines counts, since a passage may begin with the headings of the sections around its own.

    Raises:
        InvalidRequest: it has another form.
    """
    file, _, last = read_lines(text)
    return file, last


def read_lines(text: str) -> tuple[str, int, int]:
    """Read a document, its first and its last line; see :func:`read_place`."""
    file, _, lines = text.strip().rpartition(":")
    found = _LINES.fullmatch(lines)
    try:
        check_source_file(file)
    except InvalidCitation:
        found = None
    if found is None:
        shown = text if len(text) <= MAX_NAME else f"{text[:MAX_NAME]}..."
        raise InvalidRequest(
            f"{shown!r} isn't a place: write FILE:LINE, such as runbooks/rds.md:12"
        )
    last = int(found["last"])
    return file, int(found["first"] or last), last


_LINES: Final = re.compile(r"(?:(?P<first>[1-9]\d{0,6})-)?(?P<last>[1-9]\d{0,6})")


def name_of(incident: Incident) -> str:
    """Return an incident's name, for titles and lists of questions."""
    if incident.is_group:
        names = [one.alert_name or one.title for one in incident.alerts]
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        return f"{len(names)} alerts: {', '.join(names[:MAX_NAMED])}{more}"
    name, title = incident.alert_name, incident.title
    texts = (title if name in title else name, incident.description, *incident.signals)
    return next(filter(None, texts), incident.service)
