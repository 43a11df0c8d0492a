"""The console's limits: sizes in bytes or characters, times in seconds, numbers of things."""

from __future__ import annotations

from typing import Final

MAX_BODY_BYTES: Final = 256 * 1024
"""Maximum size of a request: the longest question, each character of it escaped, and its filters."""

MAX_CONVERSATION_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of a chat client's request, which repeats all earlier turns."""

MAX_SHORT_BODY_BYTES: Final = 32 * 1024
"""Maximum size of other requests: a comment, each character of it escaped."""

MAX_EVIDENCE_BYTES: Final = 2 * 1024 * 1024
"""Maximum size of a request to verify an answer."""

MAX_VERIFIED_CHARACTERS: Final = 100_000
"""Maximum length of an answer to verify."""

CHECK_SECONDS: Final = 900.0
"""Maximum time of one check of the health page: a first one embeds all documents."""

MAX_FINDINGS: Final = 500
"""Maximum findings to list in a section of the health page; the others are counted."""

MAX_ASKS: Final = 8
"""Maximum questions to answer at a time; further ones are refused with 503."""

ASK_SECONDS: Final = 120.0
"""Maximum time of one answer, a model's included; nobody waits longer at 3 a.m."""

READY_SECONDS: Final = 30.0
"""Maximum time that the first question waits for the function to start."""

PING_SECONDS: Final = 10
"""Time between two keep-alive messages while there are no events."""

MAX_FILTER_CHARACTERS: Final = 200

MAX_TOKENS: Final = 1_000_000
"""Largest limit that a request may set for an answer."""

MAX_ANSWERS: Final = 200
"""Maximum answers to store; the oldest is dropped first."""

MAX_ANSWERS_BYTES: Final = 64 * 1024 * 1024
"""Maximum size of all stored answers together."""

MAX_LISTED: Final = 20_000
"""Maximum documents to list."""

MAX_EXAMPLES: Final = 4
"""Maximum questions that the start page offers, from the first documents' titles."""

MAX_DOCUMENT_CHARACTERS: Final = 5_000_000
"""Maximum length of a document to show: browsers struggle with more."""

MAX_RENDERED_CHARACTERS: Final = 250_000
"""Maximum length of a document to render; a longer one is shown line by line only."""

MAX_SEARCHED_FILES: Final = 2_000
"""Maximum files to search for lines that are gone from their own file."""

MAX_RANGES: Final = 50
"""Maximum cited ranges of one document to compare with the current file."""

MAX_COMMENT_CHARACTERS: Final = 2_000
MAX_REPORTS: Final = 1_000
MAX_REPORTS_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of the file of reports: a person reads it, and a faulty page must not fill the disk."""

MAX_COUNTED_SOURCES: Final = 500
"""Maximum documents whose citations are counted."""

MAX_AGENT_ASKS: Final = MAX_ASKS // 2
"""Maximum questions of other agents to answer at a time, which leaves room for people; further ones wait."""

MAX_AGENT_WAITING: Final = 100
"""Maximum questions of other agents that wait; further ones are refused."""

MAX_TASKS: Final = 200
MAX_TASKS_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of finished tasks of other agents to store; beyond either limit, the oldest is dropped."""

MAX_CONTEXTS: Final = 1_000
MAX_CONTEXTS_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of other agents' conversations to store; beyond either limit, the oldest is dropped."""

MAX_CONTEXT_ID: Final = 200
"""Maximum characters of a conversation's id."""
