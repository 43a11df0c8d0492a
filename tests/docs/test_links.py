"""Every link works, and every page can be reached."""

from __future__ import annotations

import ast
import re

from tests.docs.site import INDEX, PAGES, Page, on_pages
from tests.support.local import PROJECT

BY_PATH = {page.path: page for page in PAGES}


def test_every_link_within_the_project_leads_somewhere():
    assert on_pages(lambda page: [str(it.path) for it in page.links if not it.path.exists()]) == {}


def test_every_picture_is_there_and_says_what_it_shows():
    def wrong(page):
        pictures = re.findall(r'(?:src|srcset)="([^"]+)"', page.prose)
        shown = re.findall(r"<img [^>]*>", page.prose) + re.findall(r"!\[[^\]]*\]", page.prose)
        return [name for name in pictures if not (page.path.parent / name).exists()] + [
            each for each in shown if not re.search(r'alt="[^"]{20,}"|!\[.{20,}\]', each)
        ]

    assert on_pages(wrong) == {}


def test_every_link_to_a_heading_finds_it():
    def missing(page):
        return [
            f"{link.path.relative_to(PROJECT)}#{link.anchor}"
            for link in page.links
            if link.anchor
            and link.path.suffix == ".md"
            and link.anchor not in (BY_PATH.get(link.path) or Page(link.path)).anchors
        ]

    assert on_pages(missing) == {}


def names_in(path):
    """Tests of a file, or of all files of a folder."""
    files = path.rglob("test_*.py") if path.is_dir() else [path]
    return {
        node.name
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }


def test_a_link_that_names_a_test_leads_to_the_file_that_has_it():
    def missing(page):
        named = [it for it in page.links if re.fullmatch(r"`test_\w+`|`Test\w+`", it.words)]
        return [it.words for it in named if it.words.strip("`") not in names_in(it.path)]

    assert on_pages(missing) == {}


OF_THE_PROJECT = re.compile(
    r"(?:knowledge_rag|lambdas|infra|tests|schemas|prompts|examples|requirements|knowledge-corpus)"
    r"(?:/[\w.-]+)+/?"
)


def test_a_file_of_the_project_that_a_sentence_names_is_there():
    def missing(page):
        named = [span for span in page.spans if OF_THE_PROJECT.fullmatch(span)]
        return [name for name in named if not (PROJECT / name).exists()]

    assert on_pages(missing) == {}


def test_a_module_that_a_sentence_names_can_be_found():
    def missing(page):
        named = [span for span in page.spans if re.fullmatch(r"knowledge_rag(\.\w+)+", span)]
        return [name for name in named if not _is_module_or_member(name)]

    assert on_pages(missing) == {}


def _is_module_or_member(name):
    parts = name.split(".")
    as_module, as_member = PROJECT.joinpath(*parts), PROJECT.joinpath(*parts[:-1])
    if as_module.is_dir() or as_module.with_suffix(".py").exists():
        return True
    source = as_member.with_suffix(".py")
    return source.exists() and bool(
        re.search(
            rf"^(def|class) {parts[-1]}\b|^{parts[-1]}\b",
            source.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    )


def test_every_page_can_be_reached_from_the_index():
    reached, waiting = set(), [INDEX]
    while waiting:
        path = waiting.pop()
        if path not in reached and path in BY_PATH:
            reached.add(path)
            waiting += [link.path for link in BY_PATH[path].links]
    pages = {page.path for page in PAGES if INDEX.parent in page.path.parents}
    assert {str(path.relative_to(PROJECT)) for path in pages - reached} == set()


def test_the_index_names_every_page_but_decisions_and_what_is_generated():
    folders = {INDEX.parent, INDEX.parent / "operations", INDEX.parent / "reference"}
    pages = {page.path for page in PAGES if page.path.parent in folders} - {INDEX}
    linked = {link.path for link in BY_PATH[INDEX].links}
    assert {str(path.relative_to(PROJECT)) for path in pages - linked} == set()


class TestReading:
    def page(self, folder, text):
        path = folder / "page.md"
        path.write_text(text, encoding="utf-8")
        return Page(path)

    def test_anchors_are_those_of_github(self, tmp_path):
        page = self.page(
            tmp_path,
            "# A `b_c` & D!\n## Twice\n## Twice\n```sh\n# no heading\n```\n### [x](y.md) z\n",
        )
        assert page.anchors == {"a-b_c--d", "twice", "twice-1", "x-z"}

    def test_links_in_code_are_none_and_code_in_links_is_kept(self, tmp_path):
        page = self.page(tmp_path, "`[a](b)` [`test_x`](c.py) [d](#e) [f](https://g.h)\n")
        assert [(link.words, link.path.name, link.anchor) for link in page.links] == [
            ("`test_x`", "c.py", ""),
            ("d", "page.md", "e"),
        ]
