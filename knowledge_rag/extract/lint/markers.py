"""Marks that separate the turns of a conversation with a model, forged in a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.anchors import rules

if TYPE_CHECKING:
    from knowledge_rag.extract.lint.anchors import Rule

_MESSAGE: Final = "has the form of a mark between a model's turns"


def _marker(words: str, anchor: str, pattern: str, *, before: int = 0) -> tuple[Rule, ...]:
    return rules(_MESSAGE, {anchor: words}, pattern, before=before)


MARKERS: Final = (
    *_marker(
        "im header endoftext endofturn eot begin system user assistant end",
        "|>",
        r"<\|(?:im_(?:start|end)|(?:start|end)_header_id|endof(?:text|turn)|eot_id|begin_of_text"
        r"|system|user|assistant|end)\|>",
        before=20,
    ),
    *_marker("inst", "inst]", r"(?<![\w$}])\[/?inst\](?!\()", before=6),
    *_marker("sys", "sys>>", r"<</?sys>>", before=4),
    *_marker("turn", "_of_turn>", r"<(?:start|end)_of_turn>", before=6),
    *rules(
        _MESSAGE,
        {
            "### instruction": "instruction instructions",
            "### system": "system",
            "### assistant": "assistant",
            "### human": "human",
        },
        r"### (?:system|instructions?|assistant|human)(?: (?:prompt|message|override))?:(?!\w)",
    ),
    # a lone [system] opens a section of an INI file
    *_marker(
        "system",
        "[system]",
        r"(?<!\] )(?<![\w.$`\[\]])\[system\][ \t]{0,4}(?:\[system\]|\(#|[a-z])",
    ),
    *_marker(
        "system",
        "[system ",
        r"(?<![\w$`\]])\[system (?:override|prompt|message|instructions?|notice|note|update|admin)\b[^\]\n]{0,40}\]",
    ),
    *rules(
        _MESSAGE,
        {
            "system message": "message",
            "system prompt": "prompt",
            "system instruction": "instruction instructions",
            "user input": "input",
            "of prompt": "prompt",
            "of context": "context",
            "of conversation": "conversation",
            "of input": "input",
            "stop input": "input",
        },
        r"(?<![\w&;])(?:[-=#*\[<]{1,10}[ \t]?(?:begin|start|end|stop|new)(?: of)?(?: the)?"
        r" (?:system (?:message|prompt|instructions?)|(?:user )?(?:input|prompt|context|conversation))\b(?! ?\w)"
        r"|stop input\b)",
        before=24,
    ),
    *_marker(
        "override", " override:", r"(?<![^\n>\"'.] )(?<![\w-])(?:system|admin) override:", before=8
    ),
    *_marker("instruction instructions", "<instruction", r"<instructions?>"),
    *_marker("system", "system>", r"</?system>", before=2),
    *_marker(
        "system",
        "system:",
        r"(?<![^\n\"'>(])system:[ \t]{1,4}(?:(?:this|the) (?:user|assistant|model|operator|domain|document"
        r"|above|following|previous|conversation)\b|(?:you|ignore|all previous|override|disregard|new instructions?"
        r"|from now)\b)",
    ),
    *rules(
        _MESSAGE,
        {'"role"': "role", "'role'": "role"},
        r"[\"']role[\"']\s{0,4}:\s{0,4}[\"'](?:system|assistant|developer)[\"']\s{0,4},\s{0,8}[\"']content[\"']",
    ),
    *_marker(
        "user",
        "\nuser:",
        r"\nuser:[ \t][^\n]{1,400}(?:\n{1,2}assistant:|(?<=!)|please|repeat|ignore|next)",
    ),
    *_marker("human", "human:", r"(?<![^\n])human:[ \t][^\n]{1,400}\n{1,3}(?:assistant|ai):"),
)
