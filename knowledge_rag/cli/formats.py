"""Which form of output was asked for, where there are more than text and JSON."""

from __future__ import annotations

from knowledge_rag.core.errors import InvalidRequest


def chosen_form(form: str, *, json: bool) -> str:
    """Give the form; ``--json`` is short for ``--format json``.

    Args:
        form: of ``--format``; ``text`` is its default.
        json: whether ``--json`` was given.

    Raises:
        InvalidRequest: both were, and say different things.
    """
    if json and form not in ("text", "json"):
        raise InvalidRequest(f"--json and --format {form}: choose one")
    return "json" if json else form
