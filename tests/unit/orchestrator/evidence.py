"""Evidence as retrieval gives it, for tests."""

import hashlib

from knowledge_rag.core.chunking import chunk_text
from knowledge_rag.core.documents import read_document
from knowledge_rag.core.metadata import prove, stored_text, to_metadata
from knowledge_rag.core.outcome import RetrievalOutcome, Status
from knowledge_rag.core.retrieval import Query
from knowledge_rag.orchestrator.retrieval import Asked, Findings


def results_of(source_file, text):
    """Give all chunks of a document as results, proven as retrieval proves them."""
    document, decoded = read_document(source_file, text.encode())
    return [
        prove(stored_text(chunk), to_metadata(chunk), 0.5)
        for chunk in chunk_text(document, decoded)
    ]


def findings_of(*queries):
    """Give the findings of queries, each with its results."""
    return Findings(
        tuple(
            Asked(
                Query(f"query {number}"),
                RetrievalOutcome(Status.OK if found else Status.NO_MATCH, tuple(found)),
            )
            for number, found in enumerate(queries)
        )
    )


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


RUNBOOK = """\
---
title: RDS failover
service: rds
---
# RDS failover

For the writer of orders-db.

## Symptoms

- Alarm `orders-db-writer-unavailable`.

## Diagnosis

1. Verify replica health.

   ```bash
   aws rds describe-events
   ```

2. Find out who is writer now.

## Resolution

> **Warning**: a failover drops every open connection.

1. Tell the incident commander.
2. Initiate manual failover if replication lag > 60s:

   - Cluster: promote the reader.

     ```bash
     aws rds failover-db-cluster
     ```

   - Instance: there is no choice.

## Verification

| Check | Wanted |
|---|---|
| writer of orders-db | available |
| unrelated | nothing |

## Rollback

Nothing to undo.
"""
POSTMORTEM = """\
---
incident_id: INC-2024-001
service: rds
---
# INC-2024-001: writer stalled

The orders-db writer stalled.

## Resolution

Manual failover was successful:

```bash
aws rds failover-db-cluster --db-cluster-identifier orders-db
```

## Action items

- A failover drill was restored to the calendar.
"""
RUNBOOK_FILE, POSTMORTEM_FILE = "runbooks/rds-failover.md", "postmortems/2024-01-rds.md"
RUNBOOK_RESULTS = results_of(RUNBOOK_FILE, RUNBOOK)
POSTMORTEM_RESULTS = results_of(POSTMORTEM_FILE, POSTMORTEM)
FINDINGS = findings_of(RUNBOOK_RESULTS, RUNBOOK_RESULTS, POSTMORTEM_RESULTS)
