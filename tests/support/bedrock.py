"""What a Bedrock knowledge base would return for chunks of this product."""

from __future__ import annotations

import hashlib
from typing import Any

from knowledge_rag.core.chunks import chunk_id

FILE = "runbooks/rds-failover.md"


def item(
    content: str = "Promote the replica.\nCheck the lag.",
    *,
    start: int = 5,
    source_file: str = FILE,
    score: float | None = 0.5,
    prefix: str = "runbooks > rds failover > Resolution\n\n",
    **metadata: Any,
) -> dict[str, Any]:
    """Give one retrieval result as Retrieve's JSON has it: numbers are doubles."""
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
            "content_sha256": hashlib.sha256(content.encode()).hexdigest(),
            "context_length": float(len(prefix)),
            "chunk_id": chunk_id(source_file, start, start + content.count("\n"), content),
            **metadata,
        },
    }
    if score is not None:
        result["score"] = score
    return result


def retrieved(*items: Any, **extra: Any) -> dict[str, Any]:
    """Give the body of a Retrieve response."""
    return {"retrievalResults": list(items), **extra}
