"""Has answers read from line to line and token to token, nothing passed at once."""

from knowledge_rag.guardrails.brackets import Brackets
from knowledge_rag.guardrails.line_state import LineState


def _no_lines(_line, start, **_final):
    return start


def _no_reference(_brackets, _start, **_final):
    return None


def read_token_by_token(patch):
    """Switch off what passes plain lines and common references, as long as the patch lasts."""
    patch.setattr(LineState, "pass_plain", _no_lines)
    patch.setattr(Brackets, "common", _no_reference)
