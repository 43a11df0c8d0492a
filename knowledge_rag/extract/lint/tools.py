"""Text in the shape of a model's call of a tool, and sentences that ask a model for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.anchors import rules
from knowledge_rag.extract.lint.wording import wording

if TYPE_CHECKING:
    from knowledge_rag.extract.lint.anchors import Rule

_SHAPE: Final = "has the shape of a model's call of a tool"
_ASKED: Final = "asks a model to call a tool"

TOOL_CALLS: Final[tuple[Rule, ...]] = (
    *rules(
        _SHAPE,
        {"tool_": "tool", "function_call": "function", "<invoke": "invoke", ":invoke": "invoke"},
        r"</?(?:antml:)?(?:tool_(?:call|use|code)s?|function_calls?|invoke name=[\"'])",
        before=8,
    ),
    *rules(_SHAPE, {"[tool_call": "tool"}, r"\[tool_calls?\]"),
    *rules(_SHAPE, {"<|": "tool python"}, r"<\|(?:tool_calls?(?:_begin|_start)?|python_tag)\|>"),
    *rules(
        _SHAPE,
        {'"arguments': "arguments", '\\"arguments': "arguments"},
        r"\\?[\"']name\\?[\"']\s{0,4}:\s{0,4}\\?[\"'][\w.-]{1,64}\\?[\"']\s{0,4},\s{0,8}"
        r"\\?[\"']arguments\\?[\"']\s{0,4}:\s{0,4}(?:\\?[\"'])?\{",
        before=110,
    ),
    *rules(
        _SHAPE,
        {"action input:": "input"},
        r"action:[ \t]{0,4}\w{1,64}[ \t]{0,4}\n{1,2}action input:",
        before=85,
    ),
    *wording(
        _ASKED,
        {" tool": "tool"},
        r"(?:START(?:(?:please|now|then|next|first|(?:dear )?assistant|you must) ){0,3}"
        r"(?:use|call|invoke|run|execute) (?:"
        r"the `?[a-z0-9]{1,20}(?:_[a-z0-9]{1,20}){1,4}`? tool\b(?! (?:in|from|of|on) ))"
        r"|\b(?:use|using|call|invoke|run) your (?:shell|bash|terminal|browser|web|search|python|code"
        r"|file|email|http|function|database|sql|mcp) (?:\w{1,14} )?tools?\b)",
        before=70,
    ),
)
