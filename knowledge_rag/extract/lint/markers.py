"""Marks that part the turns of a conversation with a model, forged in a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.anchors import rules

if TYPE_CHECKING:
    from knowledge_rag.extract.lint.anchors import Rule

_MESSAGE: Final = "holds a mark that parts a model's turns"


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
    *_marker(
        "instruction instructions system assistant human",
        "### ",
        r"### (?:system|instructions?|assistant|human)(?: (?:prompt|message|override))?:(?!\w)",
    ),
    # a lone [system] opens a section of an INI file
    *_marker("system", "[system]", r"(?<![\w.$`\[\]])\[system\][ \t]{0,4}(?:\[system\]|\(#|[a-z])"),
    *_marker("instruction instructions", "<instruction", r"<instructions?>"),
    *_marker("system", "system>", r"</?system>", before=2),
    *_marker(
        "system",
        "system:",
        r"(?<![^\n])system:[ \t]{1,4}(?:this|you|the|ignore|new|from|please|all|override|do)\b",
    ),
    *_marker(
        "user",
        "\nuser:",
        r"\nuser:[ \t][^\n]{1,400}(?:\n{1,2}assistant:|(?<=!)|please|repeat|ignore|next)",
    ),
    *_marker("human", "\nhuman:", r"\nhuman:[ \t][^\n]{1,400}\n{1,2}(?:assistant|ai):"),
)
