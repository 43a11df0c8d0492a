"""Names of metrics, dimensions and log fields: one place for the runtime and the infrastructure."""

from __future__ import annotations

from typing import Final

NAMESPACE: Final = "KnowledgeRag"
SERVICE: Final = "knowledge-rag"

RETRIEVAL_COUNT: Final = "KnowledgeRetrievalCount"
"""Queries that were carried out, however they ended."""
RETRIEVAL_LATENCY: Final = "KnowledgeRetrievalLatency"
"""Milliseconds, everything included."""
RETRIEVAL_RESULT_COUNT: Final = "KnowledgeRetrievalResultCount"
"""Results of a query that was answered."""
RETRIEVAL_ERRORS: Final = "KnowledgeRetrievalErrors"
"""Queries that ended ``degraded``."""
RETRIEVAL_PERMANENT_ERRORS: Final = "KnowledgeRetrievalPermanentErrors"
"""Errors that no retry mends: access, configuration. The first one is worth waking someone."""
RETRIEVAL_TIMEOUTS: Final = "KnowledgeRetrievalTimeouts"
"""Of these, the ones that were given up at the deadline."""
RETRIEVAL_ZERO_RESULTS: Final = "KnowledgeRetrievalZeroResults"
"""Successful searches that found nothing; failed ones do not count."""
RETRIEVAL_DROPPED_RESULTS: Final = "KnowledgeRetrievalDroppedResults"
"""Results that could not be proven (no_citation, not_text, not_proven)."""
RETRIEVAL_UNLOCATED_RESULTS: Final = "KnowledgeRetrievalUnlocatedResults"
"""Results of an existing knowledge base whose lines were not found in their documents, or not in time."""
RETRIEVAL_GUARDRAIL_INTERVENED: Final = "KnowledgeRetrievalGuardrailIntervened"
"""Queries whose results the guardrail withheld."""
RETRIEVAL_INIT_FAILURES: Final = "KnowledgeRetrievalInitFailures"
"""Starts and restores that failed, counted from Lambda's own log: the function can't say so."""

CANARY_FAILURES: Final = "KnowledgeCanaryFailures"
"""Canary questions that found nothing or went unanswered; 0 for one that was answered. They count in no
other metric."""

CHUNKED_FILES: Final = "KnowledgeChunkedFiles"
"""Documents that were cut into chunks."""
CHUNKED_CHUNKS: Final = "KnowledgeChunkedChunks"
"""Chunks that they were cut into."""
CHUNKING_FAILED_FILES: Final = "KnowledgeChunkingFailedFiles"
"""Documents that could not be read or cut."""
CHUNKING_MISMATCHES: Final = "KnowledgeChunkingMismatches"
"""Files whose parsed text differs from the original; the original's lines are what is kept."""
CHUNKING_LINT_FINDINGS: Final = "KnowledgeChunkingLintFindings"
"""Secrets, hidden Unicode and text aimed at a model in documents, which are ingested all the same."""

INGESTION_JOBS: Final = "KnowledgeIngestionJobs"
"""Ingestion jobs that ended."""
INGESTION_FAILED_JOBS: Final = "KnowledgeIngestionFailedJobs"
"""Of these, the ones that failed or were stopped."""
INGESTION_DOCUMENTS: Final = "KnowledgeIngestionDocuments"
"""Documents that a job indexed: new or modified ones."""
INGESTION_FAILED_DOCUMENTS: Final = "KnowledgeIngestionFailedDocuments"
"""Documents that a job could not index; those that it had indexed before stay as they were."""

SESSION_ID: Final = "session_id"
INCIDENT_ID: Final = "incident_id"
"""Searchable properties of each metric record, for queries per incident."""
