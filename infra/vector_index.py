"""The vector index's fields, and names that follow from what they name.

Whatever can only be replaced gets a name with a hash of what it is made of: CloudFormation makes the
new one before it deletes the old one, and the two must not want one name.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from infra.settings import StoreSettings

VECTOR_FIELD: Final = "embedding"
TEXT_FIELD: Final = "AMAZON_BEDROCK_TEXT"
METADATA_FIELD: Final = "AMAZON_BEDROCK_METADATA"
INDEX_PREFIX: Final = "knowledge"

PLAIN_TEXT_FIELDS: Final = ("title", "section_header", "section_path", "last_reviewed")
"""Metadata that may read like a date. Bedrock writes each key as a field of its own, and an index takes
the first ``2026-01-15`` for proof that all values are dates: every other heading would then fail to be
indexed. Declared as text, they never are dates."""


def index_fields(store: StoreSettings) -> dict[str, Any]:
    """Give the fields of the OpenSearch index, as "Create a vector index" of the Bedrock user guide.

    Faiss is the engine that filters on metadata, Euclidean distance what floating-point vectors are
    documented with; the text is indexed, so that hybrid search finds its words.
    """
    return {
        VECTOR_FIELD: {
            "type": "knn_vector",
            "dimension": store.embedding_dimension,
            "method": {
                "name": "hnsw",
                "engine": "faiss",
                "spaceType": "l2",
                "parameters": {"efConstruction": 512, "m": 16},
            },
        },
        TEXT_FIELD: {"type": "text", "index": True},
        METADATA_FIELD: {"type": "text", "index": False},
        **{name: {"type": "text", "index": True} for name in PLAIN_TEXT_FIELDS},
    }


def short_hash(value: object, length: int = 8) -> str:
    """Hash any JSON value to a few hexadecimal digits, enough to tell two states of a stack apart."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:length]
