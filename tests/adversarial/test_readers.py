"""What Markdown readers of other makers show of a hostile answer cites what was retrieved, and nothing else.

``make nightly`` runs this with the readers that are installed; none of them is needed otherwise.
``KNOWLEDGE_RAG_TEST_JAVASCRIPT_READERS`` names the folder whose ``node_modules`` hold those for Node.js, and
``ADVERSARIAL_FIRST`` the index of each family's first answer (0): another one draws other answers.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest
from selectolax.lexbor import LexborHTMLParser

from knowledge_rag.guardrails.verify import verify
from tests.adversarial.answers import FAMILIES, hostile
from tests.adversarial.oracle import _bare
from tests.adversarial.reading import brackets, fold, mentioned, opened, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from knowledge_rag.guardrails.verify import Verified
    from tests.adversarial.shelf import Shelf

    Render = Callable[[list[str]], Iterable[str]]

pytestmark = [pytest.mark.nightly, pytest.mark.no_cover]

ANSWERS = 20_000
FIRST = int(os.environ.get("ADVERSARIAL_FIRST", "0"))
_BLOCKS = {"p", "div", "li", "td", "th", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "table", "ul", "ol", "details", "summary", "hr"}  # fmt: skip
_HIDDEN = {"-comment", "_comment", "script", "style", "template", "noembed", "iframe"}
_JAVASCRIPT = """
import { createInterface } from 'readline';
const make = {
  'marked': async () => { const { marked } = await import('marked'); return t => marked.parse(t) },
  'markdown-it': async () => { const it = new (await import('markdown-it')).default({ html: true }); return t => it.render(t) },
  'micromark': async () => {
    const { micromark } = await import('micromark'); const { gfm, gfmHtml } = await import('micromark-extension-gfm');
    const how = { allowDangerousHtml: true, extensions: [gfm()], htmlExtensions: [gfmHtml()] };
    return t => micromark(t, how) },
};
const render = await make[process.env.READER]();
for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(render(JSON.parse(line))));
"""


class Read(NamedTuple):
    answer: str
    verified: Verified
    shelf: Shelf


def reader_of(module: str, of: Callable[[object], Callable[[str], str]]) -> Render:
    def read(texts: list[str]) -> Iterator[str]:
        return map(of(importlib.import_module(module)), texts)

    return read


def in_javascript(name: str) -> Render:
    def read(texts: list[str]) -> list[str]:
        folder = os.environ.get("KNOWLEDGE_RAG_TEST_JAVASCRIPT_READERS")
        if not folder:
            raise ModuleNotFoundError("KNOWLEDGE_RAG_TEST_JAVASCRIPT_READERS is not set")
        done = subprocess.run(
            ["node", "--input-type=module", "-e", _JAVASCRIPT],
            input="".join(f"{json.dumps(it)}\n" for it in texts),
            capture_output=True, text=True, check=True, cwd=folder, env={**os.environ, "READER": name},
        )  # fmt: skip
        return [json.loads(line) for line in done.stdout.splitlines()]

    return read


READERS = {
    "cmark": reader_of("cmarkgfm", lambda it: lambda text: it.github_flavored_markdown_to_html(text, options=it.cmark.Options.CMARK_OPT_UNSAFE)),
    "commonmark": reader_of("commonmark", lambda it: it.commonmark),
    "markdown-it-py": reader_of("markdown_it", lambda it: it.MarkdownIt("gfm-like", {"html": True, "linkify": False}).render),
    "marko": reader_of("marko.ext.gfm", lambda it: it.gfm.convert),
    "mistletoe": reader_of("mistletoe", lambda it: it.markdown),
    "mistune": reader_of("mistune", lambda it: it.create_markdown(escape=False, plugins=["table", "strikethrough"])),
    "marked": in_javascript("marked"),
    "markdown-it": in_javascript("markdown-it"),
    "micromark": in_javascript("micromark"),
}  # fmt: skip
"""Those that read CommonMark; docs/decisions/0038-readers.md says what others show."""


def on_a_page(page: str, *, code: bool) -> str:
    """Return the words that a browser shows of a page, brackets of code as another mark."""
    parts: list[str] = []

    def walk(node: object, *, in_code: bool) -> None:
        child = node.child
        while child is not None:
            if child.tag == "-text":
                text = child.text_content or ""
                parts.append((_masked(text) if code else "\x7f") if in_code else text)
            elif child.tag not in _HIDDEN and not (child.tag or "").startswith("!"):
                end = "\n" if child.tag == "br" else "\n\n" if child.tag in _BLOCKS else ""
                parts.append(end)
                walk(child, in_code=in_code or child.tag in ("code", "pre"))
                parts.append("" if child.tag == "br" else end)
            child = child.next

    walk(LexborHTMLParser(f"<!doctype html><body>{page}").body, in_code=False)
    return re.sub(r"\n{2,}", "\n\n", "".join(parts))


def _masked(code: str) -> str:
    shown, begun = [*code], []
    for at, one in enumerate(code):
        mark = fold(one)[0]
        if mark == "[":
            begun.append(at)
        elif mark == "]" and begun:
            shown[begun.pop()] = shown[at] = "\x7f"
    for at in begun:
        shown[at] = "\x7f"
    return "".join(shown)


def planted(verified: Verified) -> str:
    """Return an answer whose citations and warned places have a private character for each letter and digit.

    They are no punctuation, so readers see the same Markdown, and nothing of these places reads like a reference.
    """
    text = [*verified.text]
    warned = [(it.start, it.end) for it in verified.warnings if it.kind == "unchecked"]
    for start, end in [*((it.start, it.end) for it in verified.citations), *warned]:
        for at in range(start, end):
            if text[at].isalnum():
                text[at] = "\ue000"
    return "".join(text)


def references_on(page: str, read: Read) -> Counter[str]:
    """Return what reads like a reference on a page and speaks of other lines than those that are cited."""
    cited = {
        (it.citation.source_file, it.citation.start_line, it.citation.end_line)
        for it in read.verified.citations
    }
    found: Counter[str] = Counter()
    words = on_a_page(page, code=True)
    for bracket in brackets(words):
        said = told(bracket.inner, read.shelf)
        if (said is None or not cited.issuperset(said)) and "nverified" not in bracket.inner:
            found[f"shows {_bare(f'[{bracket.inner}]')!r}"] += 1
    lines = {(fold(name)[0], first, last) for name, first, last in cited}
    for mention, its_lines in mentioned(on_a_page(page, code=False)):
        if its_lines not in lines:
            found[f"mentions {mention!r}"] += 1
    found.update(f"begins {head!r}" for head in opened(words))
    return found


def wrong_on(
    pages: Sequence[str], reads: Sequence[Read], render: Render
) -> Iterator[tuple[str, Counter[str]]]:
    """Yield the answers with what their pages show that has neither evidence nor a warning.

    That is what is there on the page of the answer and also on that of the planted one.
    """
    suspects = [
        (read, found)
        for page, read in zip(pages, reads, strict=True)
        if (found := references_on(page, read))
    ]
    again = render([planted(read.verified) for read, _ in suspects])
    for (read, found), page in zip(suspects, again, strict=True):
        if wrong := found & references_on(page, read):
            yield read.answer, wrong


@pytest.fixture(scope="module")
def answers(shelves: tuple[Shelf, ...]) -> list[Read]:
    found = []
    for family in FAMILIES:
        for index in range(FIRST, FIRST - (-ANSWERS // len(FAMILIES))):
            (answer, _), shelf, _ = hostile(family, index, shelves)
            found.append(Read(answer, verify(answer, shelf.ledger), shelf))
    return found


@pytest.mark.parametrize("name", READERS)
def test_what_another_reader_shows_has_evidence_or_a_warning(name, answers):
    try:
        pages = list(READERS[name]([it.verified.text for it in answers]))
    except ModuleNotFoundError as error:
        pytest.skip(f"{name}: {error}")
    assert [*wrong_on(pages, answers, READERS[name])] == []
