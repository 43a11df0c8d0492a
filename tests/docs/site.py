"""Reads the project's pages: links, headings, blocks of code."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.support.local import PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_FENCE: Final = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE
)
_SPAN: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK: Final = re.compile(r"\[(?P<words>[^\[\]]*)\]\((?P<to>[^()\s]+)\)")
_HEADING: Final = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
SHELL: Final = frozenset({"console", "sh", "bash"})


class Link(NamedTuple):
    """One link: its words, the linked file, and the anchor, ``""`` for none."""

    words: str
    path: Path
    anchor: str


class Block(NamedTuple):
    """One block of code: its language, and its text without the page's indent."""

    language: str
    text: str


@dataclass(frozen=True)
class Page:
    """One page of the project."""

    path: Path

    def __str__(self) -> str:
        return self.path.relative_to(PROJECT).as_posix()

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def prose(self) -> str:
        """The page without its blocks of code."""
        return _FENCE.sub("", self.text)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(
            Block(
                found["language"],
                re.sub(f"^{found['indent']}", "", found["text"], flags=re.MULTILINE),
            )
            for found in _FENCE.finditer(self.text)
        )

    @cached_property
    def spans(self) -> tuple[str, ...]:
        """Code spans within the page's sentences."""
        return tuple(_SPAN.findall(self.prose))

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """Links within the project; code in their words keeps its marks."""
        found = []
        for each in _LINK.finditer(_shaded(self.prose)):
            to, _, anchor = each["to"].partition("#")
            if "://" not in to:
                path = (self.path.parent / to).resolve() if to else self.path
                found.append(Link(each["words"].replace("\0", "`"), path, anchor))
        return tuple(found)

    @cached_property
    def anchors(self) -> frozenset[str]:
        """GitHub's anchors: one for each heading, numbered if a heading repeats."""
        taken: Counter[str] = Counter()
        found = set()
        for heading in _HEADING.findall(self.prose):
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
            anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
            found.add(f"{anchor}-{taken[anchor]}" if taken[anchor] else anchor)
            taken[anchor] += 1
        return frozenset(found)

    def commands(self) -> Iterator[list[str]]:
        """Yield each command of the page's blocks as its words, without shell syntax."""
        for block in self.blocks:
            if block.language in SHELL:
                yield from commands(block.text, prompted="console" in block.language)
            elif block.language in {"yaml", "yml"}:
                for line in re.findall(r"run: (.*)$", block.text, re.MULTILINE):
                    yield from commands(line)


def _shaded(prose: str) -> str:
    """Hide code that looks like a link, but keep words of a link that are code."""
    linked = re.sub(r"\[`([^`\n]*)`\]\(", "[\0\\1\0](", prose)
    return _SPAN.sub("", linked)


def commands(script: str, *, prompted: bool = False) -> Iterator[list[str]]:
    """Yield each simple command of a script, without pipes, redirections and comments.

    Args:
        script: lines for a shell.
        prompted: whether only lines after ``$`` are commands, and the rest is output.
    """
    whole = re.sub(
        r"<([\w-]+)>", r"\1", script.replace("\\\n", " ")
    )  # a placeholder redirects nothing
    if prompted:
        whole = "\n".join(re.findall(r"^\$ (.*)$", whole, re.MULTILINE))
    for line in whole.splitlines():
        words: list[str] = []
        for word in (*_words(line), ";"):
            if set(word) <= set("();<>|&") and word:
                yield from [words] if words else []
                words = []
            elif words or not re.fullmatch(r"\w+=.*", word):
                words.append(word)


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


_FOLDERS: Final = ("docs", "examples")
PAGES: Final = tuple(
    Page(path)
    for path in (
        *(
            PROJECT / name
            for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tests/README.md")
        ),
        *(path for folder in _FOLDERS for path in sorted((PROJECT / folder).rglob("*.md"))),
    )
)
INDEX: Final = PROJECT / "docs" / "README.md"


def on_pages(find: Callable[[Page], Any]) -> dict[str, Any]:
    """Return what a function finds on the project's pages, by page; pages without any are left out."""
    return {str(page): found for page in PAGES if (found := find(page))}
