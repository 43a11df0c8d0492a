"""A defect of this code in one line, for the log; a client learns nothing of it."""

from __future__ import annotations

from typing import Final

from knowledge_rag.core.neutral import neutralise

_SHOWN: Final = 300


def described(error: Exception) -> str:
    """Give an exception's type, message and place in one line that steers no terminal."""
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    frame = f" ({where.tb_frame.f_code.co_name}, line {where.tb_lineno})" if where else ""
    text = " ".join(str(error).split())[:_SHOWN]
    return neutralise(f"{type(error).__name__}: {text}{frame}")
