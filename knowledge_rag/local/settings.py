"""Locations of the local files, and the time limits of local queries."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from platformdirs import user_cache_dir, user_data_dir

if TYPE_CHECKING:
    from collections.abc import Mapping


APP_NAME: Final = "knowledge-rag"
MODEL_DIR_VARIABLE: Final = "KNOWLEDGE_RAG_MODEL_DIR"
CACHE_DIR_VARIABLE: Final = "KNOWLEDGE_RAG_CACHE_DIR"
DATA_DIR_VARIABLE: Final = "KNOWLEDGE_RAG_DATA_DIR"
KNOWLEDGE_BASE_VARIABLE: Final = "KNOWLEDGE_RAG_KB"


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Folders of the local knowledge base.

    Args:
        cache_dir: for data that can be rebuilt (the model's graph).
        data_dir: for the default knowledge base.
        model_dir: a folder with ``model.safetensors`` and ``tokenizer.json``; ``None`` uses the
        installed model package.
        knowledge_base: the default of ``--kb``; ``None`` for ``knowledge.kb`` in ``data_dir``, or the
        sample until that exists.
    """

    cache_dir: Path
    data_dir: Path
    model_dir: Path | None = None
    knowledge_base: Path | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> LocalSettings:
        """Read the settings; a variable that is missing or empty leaves the platform's default."""
        model_dir = environment.get(MODEL_DIR_VARIABLE)
        knowledge_base = environment.get(KNOWLEDGE_BASE_VARIABLE)
        return cls(
            cache_dir=Path(environment.get(CACHE_DIR_VARIABLE) or user_cache_dir(APP_NAME)),
            data_dir=Path(environment.get(DATA_DIR_VARIABLE) or user_data_dir(APP_NAME)),
            model_dir=Path(model_dir) if model_dir else None,
            knowledge_base=Path(knowledge_base) if knowledge_base else None,
        )

    @property
    def default_knowledge_base(self) -> Path:
        """The knowledge base that commands use, and ``ingest`` creates, without ``--kb``."""
        return self.knowledge_base or self.data_dir / "knowledge.kb"


LOCAL_TIMEOUT_SECONDS: Final = 30.0
"""Time limit of a local query without ``--timeout``."""

LONGEST_TIMEOUT_SECONDS: Final = 600.0
"""The largest ``--timeout``."""

_LONGER: Final = 4


def timed_out(seconds: float) -> str:
    """Return the notice for a local query that timed out."""
    notice = f"timed out after {seconds:g} s: this machine is busy, or the knowledge base is large"
    if seconds >= LONGEST_TIMEOUT_SECONDS:
        return notice
    return f"{notice}; try --timeout {min(_LONGER * seconds, LONGEST_TIMEOUT_SECONDS):g}"
