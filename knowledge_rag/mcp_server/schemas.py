"""JSON schemas of the tools' arguments and results."""

from __future__ import annotations

import json
from typing import Any, Final

from knowledge_rag.core.files import shipped
from knowledge_rag.guardrails.rules import Level, Rule
from knowledge_rag.guardrails.support.report import Change

RECOMMENDATION: Final = "schemas/recommendation.schema.json"
OPENAPI: Final = "schemas/retrieve_knowledge.openapi.json"

MAX_ANSWER_CHARACTERS: Final = 50_000
"""Maximum length of an answer to verify: some forty pages."""

MAX_EVIDENCE_IDS: Final = 32

Schema = dict[str, Any]


def retrieval_schemas() -> tuple[Schema, Schema]:
    """Return the schemas of ``retrieve_knowledge``: the function's, with a token limit and the search's id."""
    operation = json.loads(shipped(OPENAPI).read_bytes())["paths"]["/retrieve"]["post"]
    taken: Schema = operation["requestBody"]["content"]["application/json"]["schema"]
    given: Schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
    evidence_id = _text("Names this search and what it gave, for verify_citations.")
    properties = {**given["properties"], "evidence_id": evidence_id}
    most = {**_MAX_TOKENS, "description": "Longest text, in tokens: the first passages that fit."}
    return {**taken, "properties": {**taken["properties"], "max_tokens": most}}, {
        **given,
        "properties": properties,
        "required": [*given["required"], "evidence_id"],
    }


def _described(schema: Schema, description: str) -> Schema:
    return schema | {"description": description} if description else schema


def _text(description: str = "") -> Schema:
    return _described({"type": "string"}, description)


def _count(minimum: int = 0) -> Schema:
    return {"type": "integer", "minimum": minimum}


def _object(properties: dict[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in properties if name not in optional],
        "properties": properties,
    }


def _list(items: Schema, description: str = "") -> Schema:
    return _described({"type": "array", "items": items}, description)


def answer_schema() -> Schema:
    """Return the schema of an answer of ``ask``: the recommendation, the id of its evidence, the cited lines."""
    schema: Schema = json.loads(shipped(RECOMMENDATION).read_bytes())
    evidence_id = _text("Names the evidence of this answer, for verify_citations.")
    place = {"source_file": _text(), "start_line": _count(1), "end_line": _count(1)}
    lines = _list(
        _object({**place, "text": _text("The lines, as they were ingested.")}),
        "The cited lines; only for clients that show MCP Apps.",
    )
    own = {"evidence_id": evidence_id, "cited_lines": lines}
    return {
        **schema,
        "properties": {**schema["properties"], **own},
        "required": [*schema["required"], "evidence_id"],
    }


_MAX_TOKENS: Final = {
    "type": "integer",
    "minimum": 100,
    "description": "Longest text, in tokens as kinds of characters let estimate them: the first procedures that fit, "
    "whole, and the others by their lines.",
}
ASK_INPUT: Final = _object(
    {
        "question": _text("The alert's text or JSON, or a question, as it came."),
        "at": _text("Document and line of the procedure that was chosen, as an answer offered it."),
        "max_tokens": _MAX_TOKENS,
    },
    optional=("at", "max_tokens"),
)
FIND_INPUT: Final = _object(
    {
        "alert": _text("The alert's text or JSON."),
        "max_tokens": {**_MAX_TOKENS, "description": "Longest text, in tokens; 500 by default."},
    },
    optional=("max_tokens",),
)
_SKILL: Final = _object(
    {
        "name": _text(),
        "description": _text(),
        "source_file": _text(),
        "start_line": _count(1),
        "end_line": _count(1),
        "digest": _text("sha256 of the SKILL.md."),
        "flagged": _list(_text(), "Kinds of text aimed at a model; such a skill isn't served."),
        "uri": _text("Where it is served."),
    },
    optional=("uri",),
)
FIND_OUTPUT: Final = _object(
    {
        "status": _text("ok with a skill to load, no_match or degraded."),
        "reasoning": _text(),
        "load": _described(_SKILL, "The skill to load; absent unless status is ok."),
        "read": _described(
            _SKILL,
            "In place of load: lint found text aimed at a model in it, so that a person has to read its lines.",
        ),
        "could_be": _list(_SKILL, "Skills that may be meant, the likeliest first."),
        "closest": _list(
            _SKILL, "The closest ones where nothing is documented: to read, not to follow."
        ),
    },
    optional=("load", "read"),
)
DOCUMENTS_INPUT: Final = _object(
    {
        "containing": _text("Only paths that hold this text, whatever its case."),
        "after": _text(
            "Only paths that come after this one, the last of the list before; not with containing."
        ),
    },
    optional=("containing", "after"),
)
DOCUMENTS_OUTPUT: Final = _object(
    {
        "documents": _list(
            _object({"source_file": _text(), "title": _text()}, optional=("title",))
        ),
        "more": {"type": "boolean"},
    }
)
DRIFT_INPUT: Final = _object({"source_file": _text("The document's path, as citations have it.")})
DRIFT_OUTPUT: Final = _object(
    {"source_file": _text(), "findings": _list(_object({"line": _count(1), "message": _text()}))}
)

VERIFICATION_INPUT: Final = _object(
    {
        "answer": {
            "type": "string",
            "maxLength": MAX_ANSWER_CHARACTERS,
            "description": "The answer as it was written, Markdown or text, references and all.",
        },
        "evidence_ids": {
            "type": "array",
            "maxItems": MAX_EVIDENCE_IDS,
            "items": {"type": "string"},
            "description": "The evidence_id of each search that the answer is based on, in the "
            "order of asking. Leave it out for all searches of this session. Evidence itself "
            "can't be handed in.",
        },
    },
    optional=("evidence_ids",),
)

_POSITION: Final = _object(
    {"start": _count(), "end": _count(), "line": _count(1), "column": _count(1)}
)
_CITATION: Final = {
    "source_file": _text(),
    "start_line": _count(1),
    "end_line": _count(1),
    "section_header": _text(),
}
_LEVEL: Final = {"type": "string", "enum": [level.value for level in Level]}
_MISSING: Final = _object(
    {
        "kind": _text(),
        "text": _text(),
        "elsewhere": _list(_object({"source_file": _text(), "line": _count(1)})),
    }
)
_CHANGE: Final = _object(
    {
        "kind": {"type": "string", "enum": [change.value for change in Change]},
        "text": _text(),
        "lines_say": _text(),
        "certain": {"type": "boolean"},
    }
)
_CLAIM: Final = _object(
    {
        "text": _text(),
        "citations": _list(_object(_CITATION)),
        "supported": {"type": "boolean"},
        "coverage": {"type": ["number", "null"]},
        "missing": _list(_MISSING),
        "missing_words": _list(_text()),
        "changes": _list(_CHANGE, "What the claim changes in the sentence that it repeats."),
        "doubt": {"type": ["number", "null"]},
        "checked": _text("What was looked for in the lines, and how much of it is there."),
    }
)
_METRICS: Final = _object(
    {
        "words": {"type": "integer"},
        "references": _count(),
        "invalid_references": _count(),
        "cited": {"type": "boolean"},
        "density": {"type": "number"},
        "sources": _count(),
        "sources_cited": _count(),
        "source_coverage": {"type": "number"},
        "claims": _count(),
        "claims_supported": _count(),
        "errors": _count(),
        "warnings": _count(),
        "by_kind": {
            "type": "object",
            "propertyNames": {"enum": [rule.value for rule in Rule]},
            "additionalProperties": _count(1),
        },
    }
)

VERIFICATION_OUTPUT: Final = _object(
    {
        "text": _text("What may be shown of the answer: references that nothing backs are out."),
        "citations": _list(
            _object({**_CITATION, "number": _count(1), "position": _POSITION}),
            "References that the evidence backs, at their places in text.",
        ),
        "removed": _list(
            _object(
                {"reference": _text(), "reason": _text(), "message": _text(), "position": _POSITION}
            ),
            "Removed references, at their places in the answer.",
        ),
        "warnings": _list(
            _object(
                {
                    "kind": {"type": "string", "enum": [rule.value for rule in Rule]},
                    "level": _LEVEL,
                    "message": _text(),
                    "position": _POSITION,
                }
            ),
            "What else is wrong, at its place in the answer; with an error, don't rely on it.",
        ),
        "claims": _list(_CLAIM, "Cited claims, and whether the cited lines hold what they say."),
        "metrics": _METRICS,
        "evidence": _described(
            _object(
                {
                    "searches": _count(),
                    "passages": _count(),
                    "degraded": {"type": "object", "additionalProperties": _count(1)},
                }
            ),
            "The evidence that the answer was compared with: only searches of this server.",
        ),
    }
)
