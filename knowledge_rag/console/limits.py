"""What the console bounds: sizes in bytes or characters, times in seconds, numbers of things."""

from __future__ import annotations

from typing import Final

MAX_BODY_BYTES: Final = 256 * 1024
"""Of a request: the longest question, each character of it escaped, and its filters."""

MAX_CONVERSATION_BYTES: Final = 4 * 1024 * 1024
"""Of a request of a chat client, which sends all earlier turns again."""

MAX_SHORT_BODY_BYTES: Final = 32 * 1024
"""Of the others: a comment, each character of it escaped."""

MAX_EVIDENCE_BYTES: Final = 2 * 1024 * 1024
"""Of a request to verify an answer."""

MAX_VERIFIED_CHARACTERS: Final = 100_000
"""Of an answer that is verified."""

CHECK_SECONDS: Final = 900.0
"""What one check of the health page may take: a first one embeds all documents."""

MAX_FINDINGS: Final = 500
"""Of a section of the health page that are listed; the others are counted."""

MAX_ASKS: Final = 8
"""Questions that are answered at a time; further ones are refused with 503."""

ASK_SECONDS: Final = 120.0
"""What one answer may take, a model's included; nobody waits longer at 3 a.m."""

READY_SECONDS: Final = 30.0
"""How long the first question may wait for the function to start."""

PING_SECONDS: Final = 10
"""Between two signs of life while there are no events."""

MAX_FILTER_CHARACTERS: Final = 200

MAX_TOKENS: Final = 1_000_000
"""That an answer may be allowed."""

MAX_ANSWERS: Final = 200
"""Answers that are kept; beyond it the oldest goes."""

MAX_ANSWERS_BYTES: Final = 64 * 1024 * 1024
"""That all of them may take together."""

MAX_LISTED: Final = 20_000
"""Documents of the list."""

MAX_EXAMPLES: Final = 4
"""Questions that the start page offers, of the first documents' titles."""

MAX_DOCUMENT_CHARACTERS: Final = 5_000_000
"""Of a document that is shown: no browser likes more."""

MAX_RENDERED_CHARACTERS: Final = 250_000
"""Of a document that is rendered; a longer one is shown line by line only."""

MAX_SEARCHED_FILES: Final = 2_000
"""Files that are searched for lines gone from their own file."""

MAX_RANGES: Final = 50
"""Cited ranges of one document that are compared with the file as it is now."""

MAX_COMMENT_CHARACTERS: Final = 2_000
MAX_REPORTS: Final = 1_000
MAX_REPORTS_BYTES: Final = 4 * 1024 * 1024
"""Of the file of reports: a person reads it, and a page that goes astray must not fill the disk."""

MAX_COUNTED_SOURCES: Final = 500
"""Documents whose citations are counted; further ones are not."""

MAX_AGENT_ASKS: Final = MAX_ASKS // 2
"""Questions of other agents that are answered at a time, so that people always find room; further ones wait."""

MAX_AGENT_WAITING: Final = 100
"""Questions of other agents that wait; further ones are refused."""

MAX_TASKS: Final = 200
MAX_TASKS_BYTES: Final = 16 * 1024 * 1024
"""Tasks of other agents that are kept; beyond either the oldest goes that is over."""

MAX_CONTEXTS: Final = 1_000
MAX_CONTEXTS_BYTES: Final = 16 * 1024 * 1024
"""Conversations of other agents that are remembered; beyond either the oldest goes."""

MAX_CONTEXT_ID: Final = 200
"""Characters of a conversation's id."""
