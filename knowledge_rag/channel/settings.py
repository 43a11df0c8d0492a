"""Settings of ``knowledge-rag serve --hooks`` and of the function in AWS: a TOML file that names keys but has none."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from knowledge_rag.core.errors import InvalidSettings
from knowledge_rag.core.repository_links import RepositoryLinks
from knowledge_rag.extract.lint.patterns import Folded
from knowledge_rag.extract.lint.secrets import find_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Maker(StrEnum):
    """The sender of a webhook."""

    ALERTMANAGER = "alertmanager"
    GRAFANA = "grafana"
    PAGERDUTY = "pagerduty"
    OPSGENIE = "opsgenie"
    DATADOG = "datadog"
    INCIDENT_IO = "incident.io"
    CLOUDWATCH = "cloudwatch"
    """Alarms from EventBridge."""
    OTHER = "other"


class Kind(StrEnum):
    """The kind of a destination for answers."""

    SLACK = "slack"
    PAGERDUTY = "pagerduty"
    OPSGENIE = "opsgenie"
    INCIDENT_IO = "incident.io"
    GITHUB = "github"
    WEBHOOK = "webhook"
    SNS = "sns"
    OPS_ITEM = "opsitem"


ADDRESSES: Final = {
    Kind.SLACK: "https://slack.com/api",
    Kind.PAGERDUTY: "https://api.pagerduty.com",
    Kind.OPSGENIE: "https://api.opsgenie.com",
    Kind.INCIDENT_IO: "https://api.incident.io",
    Kind.GITHUB: "https://api.github.com",
}
"""Address of each maker's API; ``url`` overrides it, as for Opsgenie in the EU or GitHub Enterprise."""

SUBJECTS: Final = {
    Kind.PAGERDUTY: Maker.PAGERDUTY,
    Kind.OPSGENIE: Maker.OPSGENIE,
    Kind.INCIDENT_IO: Maker.INCIDENT_IO,
}
"""Kinds that add a note to the incident or alert of an event, and the maker of those events."""

_KEYS: Final = {
    Kind.SLACK: ("token_env", "channel"),
    Kind.PAGERDUTY: ("token_env", "sender"),
    Kind.OPSGENIE: ("token_env",),
    Kind.INCIDENT_IO: ("token_env",),
    Kind.GITHUB: ("token_env", "repository", "issue"),
    Kind.WEBHOOK: ("secret_env", "url"),
    Kind.SNS: ("topic",),
    Kind.OPS_ITEM: ("region",),
}
"""Required settings of each kind."""
_FORMS: Final = {
    "channel": (r"[CGD][A-Z0-9]{6,20}", "the channel's id, such as C0123ABCDEF (its name can change)"),
    "repository": (r"[\w.-]{1,100}/[\w.-]{1,100}", "owner/name"),
    "sender": (r"[^@\s]{1,64}@[^@\s]{1,255}", "the e-mail address of a PagerDuty user, who signs the notes"),
    "topic": (
        r"arn:aws[a-z-]*:sns:[a-z0-9-]{1,30}:[0-9]{12}:[A-Za-z0-9_-]{1,256}",
        "the ARN of a standard topic of SNS",
    ),
    "region": (r"[a-z]{2,4}(-[a-z]{1,12}){1,3}-[0-9]{1,2}", "an AWS region, such as eu-west-1"),
}  # fmt: skip
"""Pattern of a setting, and what an error says of it."""
_LIMITS: Final = {"answers_a_minute": 60, "quiet_minutes": 1_440, "model_answers_a_day": 10_000}


@dataclass(frozen=True, slots=True)
class Destination:
    """A place to post to.

    Args:
        url: of the API, without a final slash; for a webhook the whole address.
        secret: its key, or the secret that signs webhooks.
        sender: PagerDuty user who signs notes.
        repository: GitHub's ``owner/name``, and the number of an ``issue`` there.
        buttons: whether the Slack app runs, which answers them.
        topic: ARN of an SNS topic.
        region: of Systems Manager.
    """

    name: str
    kind: Kind
    url: str
    secret: str = field(repr=False)
    channel: str = ""
    sender: str = ""
    repository: str = ""
    issue: int = 0
    buttons: bool = False
    topic: str = ""
    region: str = ""

    @property
    def is_shared(self) -> bool:
        """Whether all alerts are posted to the same place."""
        return self.kind not in SUBJECTS

    @property
    def aws(self) -> tuple[str, str] | None:
        """The AWS service and region of its API, whose requests are signed with a role and not a key."""
        if self.kind is Kind.SNS:
            return "sns", self.topic.split(":")[3]
        return ("ssm", self.region) if self.kind is Kind.OPS_ITEM else None


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook that is received at ``/hooks/NAME``."""

    name: str
    maker: Maker
    secret: str = field(repr=False)
    to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HookSettings:
    """The webhooks to receive, and the destinations of answers.

    Args:
        links: to cited lines; ``None`` for those that ingest found.
        answers_a_minute: to each shared destination; further alerts are counted in a summary.
        quiet_minutes: how long a name must have been quiet before it is answered there again.
        model_answers_a_day: that a model may write; further ones are the documents' own lines.
    """

    hooks: Mapping[str, Hook]
    destinations: Mapping[str, Destination]
    links: RepositoryLinks | None = None
    answers_a_minute: int = 5
    quiet_minutes: int = 30
    model_answers_a_day: int = 200

    @property
    def keyed(self) -> tuple[str, ...]:
        """The destinations that need a key; AWS's own don't."""
        return tuple(it.name for it in self.destinations.values() if it.aws is None)


def read_settings(text: str, environment: Mapping[str, str]) -> HookSettings:
    """Read the settings, in TOML, with keys from the environment; all errors are reported together.

    Raises:
        InvalidSettings: something in it is wrong.
    """
    reader = _Reader(environment, "the environment variable {} is not set")
    return _read(text, reader, received=True)


def read_destinations(text: str, keys: Mapping[str, str] | None) -> HookSettings:
    """Read the same file for alerts from a queue: those of every maker go to all destinations.

    Args:
        text: TOML; its hooks are not used.
        keys: by their names in the file; ``None`` if they aren't needed.

    Raises:
        InvalidSettings: something in it is wrong.
    """
    found = _read(text, _Reader(keys, "the secret has no key {}"), received=False)
    to = tuple(found.destinations)
    return replace(found, hooks={it.value: Hook(it.value, it, "", to) for it in Maker})


MAX_DEPLOYED_BYTES: Final = 3_000
"""Maximum bytes of the destinations of a function in AWS, whose variables have 4 KB together."""


def to_deploy(text: str) -> str:
    """Return the destinations for a function in AWS: without comments and blanks.

    Raises:
        InvalidSettings: something in them is wrong, or they are too long.
    """
    read_destinations(text, None)
    lines = (line.strip() for line in text.splitlines())
    short = "\n".join(line for line in lines if line and not line.startswith("#"))
    if (size := len(short.encode())) > MAX_DEPLOYED_BYTES:
        raise InvalidSettings(
            f"{size} bytes without comments; a function accepts {MAX_DEPLOYED_BYTES}"
        )
    return short


def read_keys(text: str) -> dict[str, str]:
    """Return the keys of a secret by name.

    Raises:
        InvalidSettings: it is not a JSON object; the message quotes nothing of it.
    """
    try:
        wire = json.loads(text)
    except ValueError:
        wire = None
    if not isinstance(wire, dict):
        raise InvalidSettings("the secret is not a JSON object of keys")
    return {str(name): str(key) for name, key in wire.items()}


def _read(text: str, reader: _Reader, *, received: bool) -> HookSettings:
    try:
        wire = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettings(f"not valid TOML: {error}") from error
    found = reader.settings(wire if received else {**wire, "hooks": {}}, received=received)
    if reader.wrong:
        raise InvalidSettings("; ".join(reader.wrong))
    return found


def _endpoint(service: str, region: str) -> str:
    """Return the address of a service."""
    return f"https://{service}.{region}.amazonaws.com" + (".cn" if region.startswith("cn-") else "")


def _is_key(name: str) -> bool:
    """Whether a variable's name looks like it contains a key itself, which no error may show."""
    texts = (name, *(f"token = {it}" for it in name.split("_")))
    return any(find_secrets(it, Folded(it)) for it in texts)


class _Reader:
    def __init__(self, environment: Mapping[str, str] | None, missing: str) -> None:
        self._environment = environment
        self._missing = missing
        self.wrong: list[str] = []

    def settings(self, wire: Mapping[str, Any], *, received: bool) -> HookSettings:
        self._unknown("", wire, {"hooks", "destinations", "links", *_LIMITS})
        destinations = {
            name: found
            for name, own in self._tables(wire, "destinations")
            if (found := self._destination(name, own)) is not None
        }
        known = set(wire.get("destinations", ()))
        hooks = {
            name: hook
            for name, own in self._tables(wire, "hooks")
            if (hook := self._hook(name, own, known)) is not None
        }
        for hook in hooks.values():
            for it in (destinations[name] for name in hook.to if name in destinations):
                if SUBJECTS.get(it.kind, hook.maker) is not hook.maker:
                    own = f"{it.kind} notes need its own incidents, and this hook is {hook.maker}'s"
                    self.wrong.append(f"hooks.{hook.name}: to {it.name}: {own}")
        if received and not hooks:
            self.wrong.append("no [hooks.NAME]: nothing is received")
        if not received:
            self.wrong += [
                f"destinations.{it.name}: buttons need the data folder of `serve --hooks`; it isn't available here"
                for it in destinations.values()
                if it.buttons
            ]
        if not received and not destinations and not self.wrong:
            self.wrong.append("no [destinations.NAME]: nothing is posted")
        links = None
        if template := wire.get("links"):
            try:
                links = RepositoryLinks(str(template))
            except InvalidSettings as error:
                self.wrong.append(f"links: {error}")
        made = HookSettings(hooks, destinations, links)
        given: dict[str, Any] = {
            key: self._number(wire, key, getattr(made, key), most) for key, most in _LIMITS.items()
        }
        return replace(made, **given)

    def _tables(self, wire: Mapping[str, Any], key: str) -> Iterator[tuple[str, dict[str, Any]]]:
        tables = wire.get(key, {})
        for name, own in tables.items() if isinstance(tables, dict) else ():
            if not _NAME.fullmatch(name) or not isinstance(own, dict):
                self.wrong.append(f"{key}.{name}: a table with a name of a-z, 0-9, - and _")
            else:
                yield name, own

    def _destination(self, name: str, own: Mapping[str, Any]) -> Destination | None:
        about = f"destinations.{name}"
        if own.get("kind") not in set(Kind):
            self.wrong.append(f"{about}: kind must be one of {', '.join(Kind)}")
            return None
        kind = Kind(own["kind"])
        buttons = own.get("buttons", False)
        optional = {"kind", "url"} | ({"buttons"} if kind is Kind.SLACK else set())
        self._unknown(f"{about}: ", own, {*_KEYS[kind], *optional})
        if not isinstance(buttons, bool):
            self.wrong.append(f"{about}: buttons must be true or false")
        texts = {key: self._text(about, own, key) for key in _KEYS[kind] if key != "issue"}
        secret = self._secret(about, texts.get("token_env") or texts.get("secret_env") or "")
        issue = self._number(own, "issue", 0, 10**9, f"{about}: ") if kind is Kind.GITHUB else 0
        more = {key: texts[key] for key in _FORMS if key in texts}
        if kind is Kind.SNS and not more["topic"]:  # the topic contains the region
            return None
        made = Destination(name, kind, "", secret, issue=issue, buttons=buttons is True, **more)
        usual = _endpoint(*made.aws) if made.aws else ADDRESSES.get(kind, "")
        return replace(made, url=self._url(about, str(own.get("url") or usual)))

    def _hook(self, name: str, own: Mapping[str, Any], known: set[str]) -> Hook | None:
        about = f"hooks.{name}"
        self._unknown(f"{about}: ", own, {"from", "secret_env", "to"})
        if own.get("from") not in set(Maker):
            self.wrong.append(f"{about}: from must be one of {', '.join(Maker)}")
            return None
        to = own.get("to")
        wrong = [str(it)[:80] for it in to if str(it) not in known] if isinstance(to, list) else []
        if not isinstance(to, list) or not to or wrong:
            missing = f"; there is no [destinations.{wrong[0]}]" if wrong else ""
            self.wrong.append(f"{about}: to must list names of destinations{missing}")
            return None
        if repeated := sorted({it for it in map(str, to) if to.count(it) > 1}):
            self.wrong.append(f"{about}: to lists {', '.join(repeated)} more than once")
            return None
        secret = self._secret(about, self._text(about, own, "secret_env"))
        return Hook(name, Maker(own["from"]), secret, tuple(map(str, to)))

    def _text(self, about: str, own: Mapping[str, Any], key: str) -> str:
        value = own.get(key)
        form, hint = _FORMS.get(key, (r"\S{1,1000}", "a text"))
        if not isinstance(value, str) or not re.fullmatch(form, value):
            self.wrong.append(f"{about}: {key} must be {hint}")
            return ""
        return value

    def _secret(self, about: str, variable: str) -> str:
        if not variable:
            return ""
        if not _VARIABLE.fullmatch(variable) or _is_key(variable):
            self.wrong.append(f"{about}: name the environment variable of the key, not the key")
            return ""
        if self._environment is None:
            return ""
        if not (value := self._environment.get(variable, "")):
            self.wrong.append(f"{about}: {self._missing.format(variable)}")
        return value

    def _url(self, about: str, url: str) -> str:
        try:
            address = urlsplit(url)
            host, safe = address.hostname, address.scheme == "https"
        except ValueError:
            host, safe = None, False
        if not host or not (safe or (address.scheme == "http" and host in LOOPBACK)):
            self.wrong.append(f"{about}: url must be an https address")
        return url.rstrip("/")

    def _number(
        self, own: Mapping[str, Any], key: str, default: int, most: int, about: str = ""
    ) -> int:
        value = own.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            self.wrong.append(f"{about}{key} must be 1 to {most}")
            return default
        return value

    def _unknown(self, about: str, own: Mapping[str, Any], known: set[str]) -> None:
        listed = ", ".join(sorted(known))
        self.wrong += [
            f"{about}unknown setting {key[:80]!r}; known: {listed}"
            for key in sorted(set(own) - known)
        ]
