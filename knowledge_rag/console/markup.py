"""Writes an answer's Markdown as HTML; each mark becomes its reference's link after the HTML has been sanitised."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML

from knowledge_rag.channel.marks import CLOSE, MARKS, OPEN, PLACE, make_parser
from knowledge_rag.orchestrator.answer import is_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.utils import EnvType, OptionsDict


WRITTEN: Final = "written"
"""Key of the rendering's ``env``: each reference as it stands in the answer, by its number."""

PLACED: Final = "placed"
"""Key of the rendering's ``env``: the numbers of the references that the HTML shows, in any form."""

LABEL: Final = "label"
"""Class of a paragraph that only names a part of the answer, so that it needs no citation."""

_LANGUAGE: Final = re.compile(r"[a-z0-9+#-]{1,20}")
_ALIGNED: Final = re.compile(r"text-align:(left|center|right)")
_HEADINGS: Final = {"h1": "h3", "h2": "h3", "h3": "h4", "h4": "h5", "h5": "h6"}
"""An answer's headings stand below the page's own."""


def mark_of(number: int) -> str:
    """Return the mark of a reference in HTML."""
    return f"{OPEN}{number}{CLOSE}"


@cache
def parser() -> MarkdownIt:
    """Return the Markdown parser of answers."""
    return make_parser(_Html)


class _Html(RendererHTML):
    """Writes HTML; each method is called by the parser for the kind of token that it is named for."""

    def cite(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        del options
        number = tokens[idx].meta["number"]
        env[PLACED].add(number)
        return mark_of(number)

    def text(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        del options
        return _shown(tokens[idx].content, env)

    def code_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        del options
        return f"<code>{_shown(tokens[idx].content, env)}</code>"

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        del options
        return f"<pre><code>{_shown(tokens[idx].content, env)}</code></pre>\n"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        del options
        token = tokens[idx]
        words = token.info.split()
        named = words and _LANGUAGE.fullmatch(words[0].lower())
        language = f' class="language-{words[0].lower()}"' if named else ""
        return f"<pre><code{language}>{_shown(token.content, env)}</code></pre>\n"

    def link_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """End a link, and say where it leads: its words may say something else."""
        del options, env
        host = urlsplit(str(tokens[idx].meta.get("href", ""))).hostname
        if not host:
            return ""
        return f'</a> <span class="host">({escapeHtml(host)})</span>'


def _shown(content: str, env: EnvType) -> str:
    """Escape words; a reference where none can be, in code, is shown as it was written."""

    def written(found: re.Match[str]) -> str:
        number = int(found[1])
        env[PLACED].add(number)
        return str(env[WRITTEN][number])

    return escapeHtml(MARKS.sub("", PLACE.sub(written, content)))


def prepare(tokens: Sequence[Token]) -> None:
    """Adapt tokens to the page: labels, levels of headings, links, columns."""
    if [token.type for token in tokens[:2]] == ["paragraph_open", "inline"]:
        tokens[0].attrs |= {"class": LABEL} if is_label(tokens[1].content) else {}
    for token in tokens:
        token.tag = _HEADINGS.get(token.tag, token.tag)
        if style := token.attrs.pop("style", None):
            aligned = _ALIGNED.fullmatch(str(style))
            token.attrs |= {"class": aligned[1]} if aligned else {}
        if token.children:
            _name_hosts(token.children)


def _name_hosts(tokens: Sequence[Token]) -> None:
    """Store the address at the end of each link, and remove the title from its start."""
    href = ""
    for token in tokens:
        if token.type == "link_open":
            href = str(token.attrs.get("href", ""))
            token.attrs = {"href": href}
            token.hidden = not href  # `[]()` leads nowhere
        elif token.type == "link_close":
            token.meta = {"href": href}
