"""Bedrock's complete metadata filter language.

A filter is a JSON object with exactly one operator. Leaf operators compare one metadata attribute
with a value; ``andAll`` and ``orAll`` join at least two filters. As in the service, ``notEquals``
and ``notIn`` also match documents that lack the attribute; the other operators don't. Unlike in the
service, the values that people type (:data:`CASELESS_KEYS`) match regardless of case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from knowledge_rag.core.metadata import DOCUMENT_TYPE

MAX_KEY: Final = 100
MIN_MEMBERS: Final = 2
MAX_VALUES: Final = 1000
"""Maximum values of ``in`` or ``notIn``."""
MAX_COMPARISONS: Final = 100
"""Maximum comparisons in one filter. The service documents neither bound; each keeps a search within milliseconds."""
CASELESS_KEYS: Final = frozenset({DOCUMENT_TYPE, "service"})
"""Attributes whose values match regardless of case: a person who types ``Payments`` means
``payments``."""
MAX_DEPTH: Final = 32
"""Deeper nesting is refused, to avoid a recursion error."""


class InvalidFilter(ValueError):  # noqa: N818 - becomes the service's ValidationException
    """A filter that the service would refuse; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One attribute compared with a value of the operator's type; lists become sets."""

    operator: str
    key: str
    value: object

    @property
    def matches_absent(self) -> bool:
        """Whether documents without the attribute match."""
        return self.operator in ("notEquals", "notIn")

    def matches_value(self, found: object) -> bool:
        """Return whether one value of the attribute matches."""
        compare, _, _ = COMPARISONS[self.operator]
        return compare(_folded(self.key, found), self.value)


@dataclass(frozen=True, slots=True)
class Junction:
    """At least two filters joined by ``andAll`` (``every`` true) or ``orAll``."""

    members: tuple[Filter, ...]
    every: bool


Filter = Comparison | Junction


def parse_filter(wire: object) -> Filter:
    """Read a filter from its JSON form.

    Raises:
        InvalidFilter: the service wouldn't accept it.
    """
    parsed = _parse(wire, "filter", 0)
    if _comparisons(parsed) > MAX_COMPARISONS:
        raise InvalidFilter(f"filter: a filter makes at most {MAX_COMPARISONS} comparisons")
    return parsed


def _comparisons(parsed: Filter) -> int:
    return 1 if isinstance(parsed, Comparison) else sum(map(_comparisons, parsed.members))


def _parse(wire: object, where: str, depth: int) -> Filter:
    if depth > MAX_DEPTH:
        raise InvalidFilter(f"{where}: filters are nested deeper than {MAX_DEPTH} levels")
    if not isinstance(wire, dict) or len(wire) != 1:
        raise InvalidFilter(f"{where}: a filter is an object with exactly one operator")
    ((operator, body),) = wire.items()
    where = f"{where}.{operator}"
    if operator in ("andAll", "orAll"):
        if not isinstance(body, list) or len(body) < MIN_MEMBERS:
            raise InvalidFilter(f"{where}: takes a list of at least {MIN_MEMBERS} filters")
        if len(body) > MAX_COMPARISONS:
            raise InvalidFilter(f"{where}: takes at most {MAX_COMPARISONS} filters")
        members = [_parse(m, f"{where}.{i}", depth + 1) for i, m in enumerate(body, 1)]
        return Junction(tuple(members), every=operator == "andAll")
    if operator not in COMPARISONS:
        raise InvalidFilter(f"{where}: unknown filter operator")
    return _comparison(operator, body, where)


def _comparison(operator: str, body: object, where: str) -> Comparison:
    if not isinstance(body, dict) or body.keys() != {"key", "value"}:
        raise InvalidFilter(f"{where}: takes an object with key and value")
    key, value = body["key"], body["value"]
    if not isinstance(key, str) or not 1 <= len(key) <= MAX_KEY:
        raise InvalidFilter(f"{where}.key: must be a string of 1 to {MAX_KEY} characters")
    _, allowed, description = COMPARISONS[operator]
    if not allowed(value):
        raise InvalidFilter(f"{where}.value: must be {description}")
    value = _folded(key, value)
    if isinstance(value, list):
        return Comparison(operator, key, frozenset(map(_marked, value)))
    return Comparison(operator, key, value)


def _folded(key: str, value: object) -> object:
    if key not in CASELESS_KEYS:
        return value
    if isinstance(value, list):
        return [_folded(key, one) for one in value]
    return value.casefold() if isinstance(value, str) else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_scalar(value: object) -> bool:
    return isinstance(value, str | bool) or _is_number(value)


def _is_string(value: object) -> bool:
    return isinstance(value, str)


def _is_list(value: object) -> bool:
    return isinstance(value, list) and 0 < len(value) <= MAX_VALUES and all(map(_is_scalar, value))


def _marked(value: object) -> tuple[bool, object]:
    """Distinguish ``True`` from 1, which are equal in a set."""
    return isinstance(value, bool), value


def _same(found: object, wanted: object) -> bool:
    # 1 == True in Python, but a number isn't a boolean in the filter language
    return isinstance(found, bool) == isinstance(wanted, bool) and found == wanted


def _among(found: object, wanted: object) -> bool:
    return isinstance(wanted, frozenset) and _is_scalar(found) and _marked(found) in wanted


def _ordered(test: Callable[[float, float], bool]) -> Compare:
    def compare(found: object, wanted: object) -> bool:
        if not isinstance(found, int | float) or not isinstance(wanted, int | float):
            return False
        return not isinstance(found, bool) and test(found, wanted)

    return compare


def _starts_with(found: object, wanted: object) -> bool:
    return isinstance(found, str) and isinstance(wanted, str) and found.startswith(wanted)


def _contains(found: object, wanted: object) -> bool:
    """Match a substring of a string, or of any member of a list of strings, as documented."""
    if not isinstance(wanted, str):
        return False
    strings = found if isinstance(found, list) else [found]
    return any(isinstance(one, str) and wanted in one for one in strings)


def _list_contains(found: object, wanted: object) -> bool:
    return isinstance(found, list) and any(_same(one, wanted) for one in found)


_SCALAR = (_is_scalar, "a string, a number or a boolean")
_NUMBER = (_is_number, "a number")
_STRING = (_is_string, "a string")
_LIST = (_is_list, f"a list of 1 to {MAX_VALUES} strings, numbers or booleans")

Compare = Callable[[object, object], bool]
COMPARISONS: Final[dict[str, tuple[Compare, Callable[[object], bool], str]]] = {
    "equals": (_same, *_SCALAR),
    "notEquals": (lambda found, wanted: not _same(found, wanted), *_SCALAR),
    "greaterThan": (_ordered(lambda found, wanted: found > wanted), *_NUMBER),
    "greaterThanOrEquals": (_ordered(lambda found, wanted: found >= wanted), *_NUMBER),
    "lessThan": (_ordered(lambda found, wanted: found < wanted), *_NUMBER),
    "lessThanOrEquals": (_ordered(lambda found, wanted: found <= wanted), *_NUMBER),
    "in": (_among, *_LIST),
    "notIn": (lambda found, wanted: not _among(found, wanted), *_LIST),
    "startsWith": (_starts_with, *_STRING),
    "stringContains": (_contains, *_STRING),
    "listContains": (_list_contains, *_SCALAR),
}
"""By operator: its comparison, the values that it takes, and their description."""
