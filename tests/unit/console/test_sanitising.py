"""The second fence by itself: whatever HTML a renderer made, this is what is left of it."""

from __future__ import annotations

import pytest

from knowledge_rag.console.markup import Reference, mark_of
from knowledge_rag.console.rendering import sanitised
from tests.unit.console.pages import Elements, assert_inert, cited
from tests.unit.console.test_markup import HOSTILE

REFERENCE = Reference("[Source 1]", (cited(),))


class Always:
    """References of every number."""

    def __getitem__(self, _number):
        return REFERENCE


@pytest.mark.parametrize("html", HOSTILE.values(), ids=HOSTILE)
def test_html_that_came_through_the_first_fence_is_made_inert(html):
    page = Elements(sanitised(html, Always()))
    assert not {name for name, _ in page.elements} & {"script", "style", "iframe", "form", "img"}
    for _, attributes in page.elements:
        assert not {
            name for name in attributes if name.startswith(("on", "data-", "style", "id"))
        } - ({"data-number", "data-lines"} if attributes.get("class") == "cite" else set())


def test_only_a_mark_becomes_a_citation():
    forged = '<a class="cite" data-number="1" href="/doc/runbooks/a.md#L5-L10">[1]</a>'
    page = Elements(sanitised(f"<p>{forged} {mark_of(0)}</p>", [REFERENCE]))
    assert page.text == "[1] [1]"
    former, real = page.named("a")
    assert former == {"target": "_blank", "rel": "noopener noreferrer"}
    assert real["class"] == "cite"


def test_classes_are_those_of_the_list_alone():
    html = '<code class="language-bash">a</code><code class="language-a b">b</code><span class="host">c</span><span class="card">d</span><td class="right">e</td><ol start="2"></ol><ol start="-1"></ol><p class="label">f</p><p class="card">g</p>'
    page = Elements(sanitised(html, []))
    assert page.named("code") == [{"class": "language-bash"}, {}]
    assert page.named("span") == [{"class": "host"}, {}]
    assert page.named("p") == [{"class": "label"}, {}]
    assert page.named("ol") == [{"start": "2"}, {}]


def test_a_file_can_not_break_out_of_its_link():
    hostile = 'runbooks/" onclick="alert(1)"><script>.md'
    html = sanitised(mark_of(0), [Reference("[1]", (cited(1, hostile),))])
    (cite,) = assert_inert(html, cites=1).cites
    assert cite["aria-label"] == f"[1] {hostile}, lines 5-10"
