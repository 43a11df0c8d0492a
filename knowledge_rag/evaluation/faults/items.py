"""What a knowledge base that this product filled returns: sound items, to be spoilt one by one."""

from __future__ import annotations

import hashlib
import math
from typing import Any, Final

from knowledge_rag.core.chunks import chunk_id

FILE: Final = "runbooks/rds-failover.md"


def item(
    content: str = "Promote the replica.\nCheck the lag.",
    *,
    start: int = 5,
    source_file: str = FILE,
    score: object = 0.5,
    prefix: str = "runbooks > rds failover > Resolution\n\n",
    **metadata: object,
) -> dict[str, Any]:
    """Give one retrieval result as Retrieve's JSON has it: numbers are doubles.

    Args:
        content: the cited lines.
        start: the first of them.
        source_file: that they are cited from.
        score: ``None`` to leave it out.
        prefix: stored in front of the content.
        metadata: attributes that stand in place of the sound ones.
    """
    result: dict[str, Any] = {
        "content": {"type": "TEXT", "text": prefix + content},
        "location": {"type": "S3", "s3Location": {"uri": f"s3://corpus/{source_file}"}},
        "metadata": {
            "x-amz-bedrock-kb-source-uri": f"s3://corpus/{source_file}",
            "source_file": source_file,
            "start_line": float(start),
            "end_line": float(start + content.count("\n")),
            "section_header": "Resolution",
            "section_path": "RDS failover > Resolution",
            "document_type": "runbook",
            "title": "RDS failover",
            "document_sha256": "a" * 64,
            "content_sha256": hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest(),
            "context_length": float(len(prefix)),
            "chunk_id": _chunk_id(source_file, start, content),
            **metadata,
        },
    }
    if score is not None:
        result["score"] = score
    return result


def without(whole: dict[str, Any], *names: str) -> dict[str, Any]:
    """Give an item without some of its metadata, or without a member of its own."""
    metadata = {key: value for key, value in whole["metadata"].items() if key not in names}
    return {key: value for key, value in whole.items() if key not in names} | (
        {} if "metadata" in names else {"metadata": metadata}
    )


def retrieved(*items: object, **extra: object) -> dict[str, Any]:
    """Give the body of a Retrieve response."""
    return {"retrievalResults": list(items), **extra}


def evidence(sound: dict[str, Any]) -> dict[str, Any]:
    """Give what a reader must get of a sound item: content, citation and score, as stored.

    Worked out from the item alone and not by the code that is being tried.
    """
    metadata, text = sound["metadata"], sound["content"]["text"]
    shown: dict[str, Any] = {
        "content": text[int(metadata["context_length"]) :],
        "citation": {
            "source_file": metadata["source_file"],
            "start_line": int(metadata["start_line"]),
            "end_line": int(metadata["end_line"]),
            "section_header": metadata["section_header"],
        },
    }
    score = sound.get("score")
    if isinstance(score, float | int) and math.isfinite(score):
        shown["relevance_score"] = score
    return shown


def _chunk_id(source_file: str, start: int, content: str) -> str:
    try:
        return chunk_id(source_file, start, start + content.count("\n"), content)
    except UnicodeEncodeError:  # a lone surrogate: no chunk can hold one, so it has no id
        return "0" * 32
