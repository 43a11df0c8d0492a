"""What is set in CDK's context: the file's object, and single values of the command line over it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from infra.setting_types import MISSING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from infra.setting_types import Problems

CONTEXT_KEY: Final = "knowledge-rag"


def given_values(
    context: Mapping[str, Any], known: Collection[str], problems: Problems
) -> dict[str, Any]:
    """Collect what is set, the command line over the file.

    Args:
        context: everything of ``cdk.json`` and the command line.
        known: names of settings, in the order in which people are told of them.
        problems: takes names that are none of these, and those that stand without the prefix.
    """
    file = context.get(CONTEXT_KEY, {})
    if isinstance(file, str):  # -c knowledge-rag='{"preset": "prod"}'
        try:
            file = json.loads(file)
        except (ValueError, RecursionError):
            file = None
    if not isinstance(file, dict):
        problems.add(CONTEXT_KEY, MISSING, "an object of settings")
        file = {}
    given = dict(file)
    for key, value in context.items():
        if key.startswith(CONTEXT_KEY + ":"):
            given[key.removeprefix(CONTEXT_KEY + ":")] = value
    for key in sorted(set(context) & set(known)):  # preset=prod, which would be no one's
        problems.add(key, context[key], f"{CONTEXT_KEY}:{key}, with its prefix")
    for key in sorted(set(given) - set(known)):
        problems.add(key, given.pop(key), f"one of {', '.join(known)}", unknown=True)
    return given
