"""A file that says which runbook an alert has: alert name -> ``file`` or ``file#heading``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knowledge_rag.core.errors import InvalidRequest
from knowledge_rag.evaluation.coverage_files import MAX_BYTES
from knowledge_rag.evaluation.coverage_yaml import read_yaml
from knowledge_rag.evaluation.named_files import read_text

if TYPE_CHECKING:
    from pathlib import Path


def read_map(path: Path) -> dict[str, str]:
    """Read a map, YAML or JSON.

    Raises:
        InvalidRequest: it is no mapping of names to files; the message names the line.
        UnreadableDocument: the file can't be read.
    """
    documents = read_yaml(read_text(path, MAX_BYTES), str(path))
    mapping: dict[str, str] = {}
    for document in documents:
        if document.kind != "mapping":
            raise InvalidRequest(
                f"{path}:{document.place.line}: a map is `AlertName: file#heading`"
            )
        for alert, node in document.entries.items():
            if not node.text:
                raise InvalidRequest(f"{path}:{node.place.line}: {alert[:80]!r} has no file")
            mapping[alert] = node.text
    return mapping
