"""The function's settings: its environment, read once and checked as a whole.

======================== =========================================================== ==========
variable                 value                                                       default
======================== =========================================================== ==========
KNOWLEDGE_BASE_ID        id of the one knowledge base, 10 letters and digits         (required)
AWS_REGION               its region; Lambda sets it (AWS_DEFAULT_REGION counts too)  (required)
KNOWLEDGE_BASE_TYPE      VECTOR, or MANAGED, which goes with SOURCE_BUCKET           VECTOR
SOURCE_BUCKET            bucket of the documents of a knowledge base that this       none
                         project didn't ingest: lines are located in them
SOURCE_PREFIX            folder in it that citations are relative to                 the bucket
SEARCH_TYPE              HYBRID or SEMANTIC                                          HYBRID
EVIDENCE_FLOOR_HYBRID    lowest score that counts as evidence with HYBRID, a number  no floor
EVIDENCE_FLOOR_SEMANTIC  the same with SEMANTIC                                      no floor
FLOOR_PARAMETER          name of a parameter whose value replaces the floor          none
GUARDRAIL_ID             Bedrock guardrail that Retrieve applies                     none
GUARDRAIL_VERSION        its version, a number or DRAFT; goes with GUARDRAIL_ID      none
SOURCE_POLICY            off or website-first, which goes with HYBRID                off
SECONDARY_SCOPE          metadata filter in JSON, searched in addition; goes with    none
                         SOURCE_POLICY=website-first
POLICY_TODAY             day that counts as today, YYYY-MM-DD (testing)              the real one
MAX_QUERIES_PER_TURN     queries in one agent turn, 0..100; 0 for no limit           3
DEADLINE_SECONDS         when a query is given up, 0.1..1.8                          1.8
LOG_QUERY_TEXT           true or false: write query texts to the log (debugging)     false
RAISE_INTERNAL_ERRORS    true or false: raise defects, don't degrade (debugging)     false
======================== =========================================================== ==========

An empty value counts as absent. ``AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME``, credentials, proxies
and ``AWS_CA_BUNDLE`` are botocore's own settings and work as documented there.
``POWERTOOLS_METRICS_DISABLED`` and ``POWERTOOLS_LOG_LEVEL`` (or ``LOG_LEVEL``) are Powertools' own,
except that an unknown level counts as INFO and is reported once in the log.
``POWERTOOLS_SERVICE_NAME`` is the deployment's name in logs and metrics, by default ``knowledge-rag``.
"""

from __future__ import annotations

import math
import re
from datetime import date
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from knowledge_rag.core.citations import check_source_file
from knowledge_rag.core.errors import InvalidCitation, InvalidSettings
from knowledge_rag.core.net.deadline import DEFAULT_DEADLINE_SECONDS
from knowledge_rag.core.policy_settings import SourcePolicy, SourcePriority, present_day, read_scope
from knowledge_rag.core.retrieval import Guardrail, KnowledgeBaseType, SearchSettings, SearchType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MIN_DEADLINE_SECONDS: Final = 0.1
MAX_DEADLINE_SECONDS: Final = DEFAULT_DEADLINE_SECONDS
DEFAULT_QUERIES_PER_TURN: Final = 3
MAX_QUERIES_PER_TURN: Final = 100

# the patterns of botocore's service model, which refuses a shorter id without a call
_KNOWLEDGE_BASE_ID: Final = re.compile(r"[0-9a-zA-Z]{10}")
_REGION: Final = re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]+")
_PARAMETER: Final = re.compile(r"/[a-zA-Z0-9_.\-/]{1,1010}")
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_GUARDRAIL_ID: Final = re.compile(r"[a-z0-9]{1,64}")
_GUARDRAIL_VERSION: Final = re.compile(r"[1-9][0-9]{0,4}|DRAFT")

_T = TypeVar("_T")
_Kind = TypeVar("_Kind", SearchType, KnowledgeBaseType)


class Settings(NamedTuple):
    """The function's settings; :func:`load_settings` checks each value."""

    search: SearchSettings
    region: str
    floor_parameter: str = ""
    deadline_seconds: float = DEFAULT_DEADLINE_SECONDS
    max_queries_per_turn: int = DEFAULT_QUERIES_PER_TURN
    log_query_text: bool = False
    raise_internal_errors: bool = False


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings from an environment.

    Raises:
        InvalidSettings: one or more values are wrong; the message names each.
    """
    read = _Reader(environ)
    region_variable = "AWS_REGION" if environ.get("AWS_REGION") else "AWS_DEFAULT_REGION"
    search_type = read.get("SEARCH_TYPE", _one_of(SearchType), SearchType.HYBRID)
    source_root = read.source_root()
    kind = read.get("KNOWLEDGE_BASE_TYPE", _one_of(KnowledgeBaseType), KnowledgeBaseType.VECTOR)
    if kind is KnowledgeBaseType.MANAGED and not source_root:
        read.problems.append(f"KNOWLEDGE_BASE_TYPE={kind} goes with SOURCE_BUCKET")
    floors = {kind: read.optional(f"EVIDENCE_FLOOR_{kind}", _finite) for kind in SearchType}
    settings = Settings(
        SearchSettings(
            read.required("KNOWLEDGE_BASE_ID", _matching(_KNOWLEDGE_BASE_ID)),
            search_type,
            floors[search_type],
            read.guardrail(),
            read.priority(search_type, source_root),
            kind,
            source_root,
        ),
        read.required(region_variable, _matching(_REGION)),
        read.get("FLOOR_PARAMETER", _matching(_PARAMETER), ""),
        read.get("DEADLINE_SECONDS", _deadline, DEFAULT_DEADLINE_SECONDS),
        read.get("MAX_QUERIES_PER_TURN", _queries, DEFAULT_QUERIES_PER_TURN),
        read.get("LOG_QUERY_TEXT", _switch, default=False),
        read.get("RAISE_INTERNAL_ERRORS", _switch, default=False),
    )
    if read.problems:
        raise InvalidSettings("; ".join(read.problems))
    return settings


class _Reader:
    """Reads variables and collects their errors."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self.problems: list[str] = []

    def optional(self, name: str, parse: Callable[[str], _T]) -> _T | None:
        text = self._environ.get(name, "").strip()
        if not text:
            return None
        try:
            return parse(text)
        except ValueError as error:
            self.problems.append(f"{name}={text[:40]!r}: {error}")
            return None

    def get(self, name: str, parse: Callable[[str], _T], default: _T) -> _T:
        value = self.optional(name, parse)
        return default if value is None else value

    def required(self, name: str, parse: Callable[[str], str]) -> str:
        if not self._environ.get(name, "").strip():
            self.problems.append(f"{name} is not set")
        return self.get(name, parse, "")

    def guardrail(self) -> Guardrail | None:
        guardrail_id = self.get("GUARDRAIL_ID", _matching(_GUARDRAIL_ID), "")
        version = self.get("GUARDRAIL_VERSION", _matching(_GUARDRAIL_VERSION), "")
        if bool(self._environ.get("GUARDRAIL_ID")) != bool(self._environ.get("GUARDRAIL_VERSION")):
            self.problems.append("GUARDRAIL_ID and GUARDRAIL_VERSION go together")
        return Guardrail(guardrail_id, version) if guardrail_id and version else None

    def source_root(self) -> str:
        bucket = self.get("SOURCE_BUCKET", _matching(_BUCKET), "")
        prefix = self.get("SOURCE_PREFIX", _prefix, "")
        if prefix and not self._environ.get("SOURCE_BUCKET"):
            self.problems.append("SOURCE_PREFIX goes with SOURCE_BUCKET")
        return f"s3://{bucket}/{prefix}" if bucket else ""

    def priority(self, search_type: SearchType, source_root: str) -> SourcePriority | None:
        policy = self.get("SOURCE_POLICY", _policy, SourcePolicy.OFF)
        scope = self.optional("SECONDARY_SCOPE", read_scope)
        today = self.optional("POLICY_TODAY", _day)
        if policy is SourcePolicy.OFF:
            if scope is not None:
                self.problems.append("SECONDARY_SCOPE goes with SOURCE_POLICY=website-first")
            return None
        if search_type is not SearchType.HYBRID:
            self.problems.append(f"SOURCE_POLICY={policy} goes with SEARCH_TYPE=HYBRID")
            return None
        if source_root:
            self.problems.append(
                f"SOURCE_POLICY={policy} needs dates, which documents of SOURCE_BUCKET don't have"
            )
            return None
        return SourcePriority(scope, (lambda: today) if today else present_day)


def _matching(pattern: re.Pattern[str]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"must match {pattern.pattern}")
        return text

    return parse


def _one_of(kind: type[_Kind]) -> Callable[[str], _Kind]:
    def parse(text: str) -> _Kind:
        if text.upper() not in kind.__members__:
            raise ValueError(f"must be {' or '.join(kind)}")
        return kind[text.upper()]

    return parse


def _prefix(text: str) -> str:
    prefix = text.rstrip("/")
    try:
        return f"{check_source_file(prefix)}/"
    except InvalidCitation:
        raise ValueError("must be a folder in the bucket, such as docs/runbooks/") from None


def _policy(text: str) -> SourcePolicy:
    if text.lower() not in tuple(SourcePolicy):
        raise ValueError(f"must be {' or '.join(SourcePolicy)}")
    return SourcePolicy(text.lower())


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError("must be a day, YYYY-MM-DD") from None


def _finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError("must be a number")
    return value


def _deadline(text: str) -> float:
    value = _finite(text)
    if not MIN_DEADLINE_SECONDS <= value <= MAX_DEADLINE_SECONDS:
        raise ValueError(f"must be {MIN_DEADLINE_SECONDS} to {MAX_DEADLINE_SECONDS} seconds")
    return value


def _queries(text: str) -> int:
    whole = text.isascii() and text.isdigit() and len(text) <= 3
    if not whole or int(text) > MAX_QUERIES_PER_TURN:
        raise ValueError(f"must be a whole number, 0 to {MAX_QUERIES_PER_TURN}")
    return int(text)


def _switch(text: str) -> bool:
    value = {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    if value is None:
        raise ValueError("must be true or false")
    return value
