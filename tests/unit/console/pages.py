"""Reads rendered HTML as a browser does, as far as the tests need it."""

from __future__ import annotations

from html.parser import HTMLParser

from knowledge_rag.console.rendering import AnswerRenderer

PLAIN = (
    *("h3", "h4", "h5", "h6", "ul", "blockquote", "pre", "em", "strong", "s"),
    *("table", "thead", "tbody", "tr", "hr", "br", "sup"),
)
ALLOWED = {
    "a": {"href", "target", "rel", "class", "data-number", "data-lines", "aria-label"},
    "code": {"class"},
    "li": {"class"},
    "ol": {"start"},
    "p": {"class"},
    "span": {"class"},
    "td": {"class"},
    "th": {"class"},
    **{name: set() for name in PLAIN},
}


class Elements(HTMLParser):
    """Collects the elements and the text of HTML."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.text, self.other = [], "", []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        self.other.append(data)

    def handle_decl(self, decl):
        self.other.append(decl)

    def handle_pi(self, data):
        self.other.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def cites(self):
        return [attributes for attributes in self.named("a") if "data-number" in attributes]


def cited(number=1, source_file="runbooks/a.md", start=5, end=10):
    """Give a citation as the orchestrator tells it."""
    citation = {
        "source_file": source_file,
        "start_line": start,
        "end_line": end,
        "section_header": "",
    }
    return {"number": number, "citation": citation}


def said(text):
    return {"text": text}


def referred(text="[Source 1]", *citations):
    return {"text": text, "citations": list(citations or [cited()])}


def rendered(*parts):
    """Render parts at once; give the HTML of all blocks."""
    renderer = AnswerRenderer()
    renderer.feed(parts)
    return "\n".join(block.html for block in renderer.render())


def assert_inert(html, cites=0):
    """Nothing in it can run, load, send, or be what only the page may make."""
    page = Elements(html)
    assert page.other == []
    for tag, attributes in page.elements:
        assert tag in ALLOWED, tag
        assert set(attributes) <= ALLOWED[tag], (tag, attributes)
    assert cites is None or len(page.cites) == cites, page.cites
    for attributes in page.named("a"):
        if "data-number" in attributes:
            assert attributes["class"] == "cite"
            assert attributes["href"].startswith("/doc/")
        else:
            assert set(attributes) == {"href", "target", "rel"}
            assert attributes["href"].startswith(("http://", "https://"))
            assert attributes["rel"] == "noopener noreferrer"
    for attributes in page.named("span"):
        assert attributes == {"class": "host"}
    for attributes in page.named("code"):
        assert attributes.get("class", "language-x").startswith("language-")
    return page
