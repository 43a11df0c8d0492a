"""What to do where an optional part is not installed."""

from __future__ import annotations


def how_to_install(extra: str) -> str:
    """Say how an extra is installed: never by name alone, which is another's on the public index.

    Args:
        extra: of pyproject.toml, such as ``console``.
    """
    return f"pip install '.[{extra}]' in a checkout, or 'knowledge_rag-VERSION-py3-none-any.whl[{extra}]'"
