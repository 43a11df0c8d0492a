"""Commands in shell code: their words, which of them are literal, and where they stand.

Bash is parsed by tree-sitter-bash. Placeholders (``<name>``, ``{{ x }}``, ``$X``, ``...``) become part of
a word that is not literal; nothing is ever said about such a part.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tree_sitter import Node, Parser, Tree

    from knowledge_rag.drift.page import Code

HOLE: Final = "\x02"
"""Stands for every character of a placeholder, and for what only a shell can know."""
MAX_CODE: Final = 100_000
"""Characters of one block that are parsed."""
PIECE: Final = 4096
"""Bytes that a parser reads at once."""
MAX_PIECES: Final = 1_000
"""More than a text has that a parser may read of it: some look for an end behind every beginning."""

_SHELLS: Final = frozenset(
    ("", "sh", "bash", "shell", "zsh", "console", "terminal", "shell-session", "shellsession", "ksh",
     "bash-session", "sh-session", "text", "plaintext", "txt", "none", "cmd", "shellscript", "command")
)  # fmt: skip
_ELLIPSIS: Final = r"\.\.\.+|…"
"""Stands for any number of words."""
_PLACEHOLDER: Final = re.compile(
    r"\{\{[^}\n]{0,200}+(?:\}[^}\n]{1,200}+){0,20}+\}\}"
    r"|\{%[^%\n]{0,200}+(?:%(?!\})[^%\n]{0,200}+){0,20}+%\}"
    r"|<%[^%\n]{0,200}+(?:%(?!>)[^%\n]{0,200}+){0,20}+%>"
    r"|<<[A-Za-z][^<>\n]{0,60}>>|<(?=[A-Za-z_$/.\"'])[^<>|&;\n]{0,80}>"
    r"|\[\[[^\[\]\n]{1,60}\]\]|(?<![\w.])\[[^\[\]\n]{1,80}\](?!\w)|(?<!\$)(?<![\w.=%'])\{[A-Za-z_][\w .-]{0,60}\}"
    rf"|{_ELLIPSIS}"
    r"|%[({]\w+[)}]|@@?[A-Z_]{2,}@@?|__[A-Z_]+__"
)
"""Each ends within 200 characters, for an end isn't searched far behind each of many beginnings."""
_PROMPT: Final = re.compile(
    r"^(?P<prompt>\s*(?:[\w.~/:@\[\] ()-]{0,60}[\w\])~:-] ?)?(?:\$|❯|➜|%) +|\s*(?:\[[^\]\n]+\]|[\w.-]+@[\w.:~/-]+)[#$>]? *[#$] *)(?=\S)"
)
_CONTINUED: Final = re.compile(r"(?:\\|(?<=\s)[\^`])([ \t]*)$", re.MULTILINE)
"""How a line ends that goes on: in a shell, in ``cmd``, in PowerShell; blanks behind it are a slip."""
_ENDED: Final = re.compile(r"\\(?=\n[ \t]*(?:\n|\Z))")
"""A line that goes on in a blank one, or in none."""
_ASIDE: Final = re.compile(
    r"(?:^|(?<=\s))#.*$|^[^\S\n]*+\[?\d{4}[-/]\d\d[-/]\d\d[T ].*$", re.MULTILINE
)
"""Comments, and lines of a log."""
_WRAPPERS: Final = frozenset(
    ("sudo", "time", "watch", "xargs", "nohup", "env", "exec", "command", "timeout", "nice", "doas", "stdbuf", "chpst")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Word:
    """One argument: its text without quotes, HOLE where it is not literal, and where it begins."""

    text: str
    line: int
    column: int
    end_column: int

    @property
    def is_literal(self) -> bool:
        """Whether every character is known."""
        return HOLE not in self.text


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Args:
        words: its name and its arguments.
        is_whole: whether these are all; not behind a syntax error or ``xargs``, nor where an
            argument may stand for several.
        is_span: whether it stands in a code span, where a command may be named and not called.
    """

    words: tuple[Word, ...]
    is_whole: bool = True
    is_span: bool = False


@cache
def _parser() -> Parser:
    import tree_sitter_bash  # noqa: PLC0415 - most starts of the chunk function see no command
    from tree_sitter import Language, Parser  # noqa: PLC0415 - likewise

    return Parser(Language(tree_sitter_bash.language()))


@cache
def _mentions(tools: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w./-])(?:{'|'.join(map(re.escape, sorted(tools)))})(?=[ \t\\])")


def is_shell(code: Code) -> bool:
    """Whether a block holds shell commands, by its language."""
    return code.language in _SHELLS


def script_of(code: Code) -> str:
    """Return a block's commands in their places, and blanks for prompts, comments and what it shows as output."""
    return _ASIDE.sub(_blank, _shell_of(code.text))


def commands_in(codes: Iterable[Code], tools: frozenset[str]) -> Iterator[Command]:
    """Find the commands of these tools in blocks and spans of a document."""
    for code in codes:
        if code.is_block and not is_shell(code):
            continue
        if len(code.text) <= MAX_CODE and _mentions(tools).search(code.text):
            yield from _commands(code, tools)


def _commands(code: Code, tools: frozenset[str]) -> Iterator[Command]:
    shell = _shell_of(code.text) if code.is_block else _PROMPT.sub(_blank, code.text)
    shell = _ENDED.sub(" ", _PLACEHOLDER.sub(_hole, _CONTINUED.sub(r"\1\\", shell)) + "\n")
    # one byte for one character, so that places are the same
    data = "".join(c if c < "\x7f" else "\x01" for c in shell).encode()
    tree = parsed(_parser(), data)
    todo: list[tuple[Node, Node | None]] = [(tree.root_node, None)] if tree else []
    while todo:
        node, behind = todo.pop()
        if node.type == "command":
            words, whole = _words(node, shell, code)
            whole = whole and not (behind and (behind.is_error or behind.type == "ERROR"))
            yield from _of_tools(words, tools, is_whole=whole, is_span=not code.is_block)
        children = node.children
        todo += reversed(list(zip_longest(children, children[1:])))


def parsed(parser: Parser, data: bytes) -> Tree | None:
    """Return the tree of a text, ``None`` if the parser reads MAX_PIECES more of it than there are."""
    pieces = -(-len(data) // PIECE)
    left = 2 * pieces + MAX_PIECES

    def read(offset: int, _: object) -> bytes:
        nonlocal left
        left -= 1
        return data[offset : offset + PIECE]

    try:
        return parser.parse(read, progress_callback=lambda *_: left < 0)
    except ValueError:
        parser.reset()
        return None


def _shell_of(text: str) -> str:
    """Blank out prompts, and what lines without one show, if any line has one."""
    rows = text.split("\n")
    if not any(map(_PROMPT.match, rows)):
        return text
    shown = []
    inside = False
    for row in rows:
        prompt = _PROMPT.match(row)
        kept = _PROMPT.sub(_blank, row) if prompt or inside else " " * len(row)
        inside = (prompt is not None or inside) and _CONTINUED.search(row) is not None
        shown.append(kept)
    return "\n".join(shown)


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _hole(found: re.Match[str]) -> str:
    return "".join(HOLE if c != "\n" else c for c in found[0])


def _words(node: Node, shell: str, code: Code) -> tuple[list[Word], bool]:
    words: list[Word] = []
    is_whole = True
    for child in node.children:
        if child.is_error or child.is_missing or (child.has_error and child.type != "command_name"):
            return words, False
        if child.type in ("variable_assignment", "file_redirect", "herestring_redirect"):
            continue
        text = _text(child, shell)
        line, column = code.place(child.start_byte)
        end = shell.find("\n", child.start_byte, child.end_byte)
        length = (end if end >= 0 else child.end_byte) - child.start_byte
        words.append(Word(text, line, column, column + length))
        is_whole &= re.fullmatch(_ELLIPSIS, code.text[child.start_byte : child.end_byte]) is None
    return words, is_whole


def _text(node: Node, shell: str) -> str:
    """Return what a word is when its quotes are removed."""
    if node.type in ("word", "number", "string_content"):
        raw = shell[node.start_byte : node.end_byte]
        return re.sub(r"\\(.)", r"\1", raw) if node.type == "word" else raw
    if node.type == "raw_string":
        return shell[node.start_byte + 1 : node.end_byte - 1]
    if node.type in ("command_name", "concatenation"):
        return "".join(_text(child, shell) for child in node.children)
    if node.type == "string":
        inner = (child for child in node.children if child.type != '"')
        return "".join(_text(child, shell) for child in inner)
    return HOLE


def _of_tools(
    words: Sequence[Word], tools: frozenset[str], *, is_whole: bool, is_span: bool
) -> Iterator[Command]:
    """Return the command if it is of a tool, and what it starts: ``sudo x``, ``kubectl exec p -- x``."""
    at = 0
    while at < len(words):
        name = words[at].text
        if name in tools:
            dashes = next((n for n in range(at, len(words)) if words[n].text == "--"), len(words))
            yield Command(tuple(words[at:dashes]), is_whole, is_span)
            at = dashes + 1
        elif name in _WRAPPERS:
            at = _started(words, at)
            is_whole = is_whole and name != "xargs"
        else:
            return


def _started(words: Sequence[Word], wrapper: int) -> int:
    """Return where the command begins that a wrapper starts: behind its options and their values."""
    for at in range(wrapper + 1, len(words)):
        word, before = words[at].text, words[at - 1].text
        if word.startswith("-") or "=" in word or word[:1].isdigit():
            continue
        if not before.startswith("-") or at + 1 == len(words) or word in _WRAPPERS:
            return at
        following = words[at + 1].text
        return at + 1 if re.fullmatch(r"-[a-zA-Z]", before) and following.isalpha() else at
    return len(words)
