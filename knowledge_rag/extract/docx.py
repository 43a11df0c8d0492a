"""Reads Word documents as Markdown lines, via HTML.

mammoth reads the document; features that it doesn't support are first rewritten in the document. Headings are
found by their outline levels, lists are numbered as in Word, paragraphs in a fixed-width font are code, and
hidden text is left out and reported, like deleted text. Pictures, headers and footers are left out. Nothing that
a document links to is opened.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

import mammoth

from knowledge_rag.core.errors import UnreadableDocument
from knowledge_rag.core.markdown import MAX_HEADING
from knowledge_rag.extract.html import read_html

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from xml.etree.ElementTree import Element

    from knowledge_rag.extract.html import WebPage

MAX_UNPACKED: Final = 40_000_000
"""Maximum decompressed bytes of the parts that are read; a small file may decompress to any size."""
_DOCUMENT: Final = "word/document.xml"
_STYLES: Final = "word/styles.xml"
_NUMBERING: Final = "word/numbering.xml"
_PROPERTIES: Final = "docProps/core.xml"
_PARTS: Final = (
    _DOCUMENT,
    _STYLES,
    _NUMBERING,
    "word/footnotes.xml",
    "word/endnotes.xml",
    "word/_rels/document.xml.rels",
    "_rels/.rels",
    "[Content_Types].xml",
)
_OLE: Final = b"\xd0\xcf\x11\xe0"
"""First bytes of files of Word before 2007, and of those with a password."""
_DAMAGED: Final = (
    zipfile.BadZipFile, zlib.error, ET.ParseError, ArithmeticError, AttributeError, EOFError, LookupError, OSError,
    RuntimeError, TypeError, ValueError,
)  # fmt: skip
"""Errors that a file can cause in a Word document's parser."""
_W: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TITLE: Final = "{http://purl.org/dc/elements/1.1/}title"
_NAMED_HEADING: Final = re.compile(r"heading ([1-9])$", re.IGNORECASE)
_CODE_STYLE: Final = re.compile(
    r"code|preformatted|verbatim|listing|monospace|terminal|console", re.IGNORECASE
)
_FIXED_WIDTH: Final = re.compile(
    r"courier|consol|mono\b|menlo|monaco|lucida console|source code|fira code|cascadia|inconsolata",
    re.IGNORECASE,
)
_CODE: Final = "Extracted code"
_HEADINGS: Final = "Extracted heading "
_STYLE_MAP: Final = "\n".join(
    [
        *(f"p[style-name='{_HEADINGS}{n}'] => h{n}:fresh" for n in range(1, 7)),
        f"p[style-name='{_CODE}'] => pre:separator('\\n')",
        f"r[style-name='{_CODE}'] => code",
        "strike => s",
    ]
)
_NUMBER: Final = "\ue002"
"""Delimits an item's number in its text until it becomes an HTML item's."""
_NUMBERED: Final = re.compile(rf"<li>((?:<[^>]*>)*){_NUMBER}(\d+){_NUMBER}")
_SIGN: Final = re.compile(rf"{_NUMBER}\d*{_NUMBER}?")


def read_docx(name: str, data: bytes) -> WebPage:
    """Read a Word document as if it were a web page.

    Raises:
        UnreadableDocument: it is empty, not a Word document, damaged, password-protected, too large when
        decompressed, or has no text.
    """
    if not data:
        raise UnreadableDocument(name, "empty file")
    if data.startswith(_OLE):
        raise UnreadableDocument(name, "encrypted, or from Word before 2007: save it as .docx")
    try:
        roots = {part: _parsed(text) for part, text in _parts(name, data).items()}
        hidden = _Writing(roots).prepare()
        packed = io.BytesIO(_packed(roots))
        html = mammoth.convert_to_html(
            packed, style_map=_STYLE_MAP, convert_image=lambda _image: []
        ).value
    except _DAMAGED as error:
        raise UnreadableDocument(name, "not a Word document, or a damaged one") from error
    page = f"<title>{_escaped(_title(roots))}</title><body><main>{_numbered(html)}</main>"
    try:
        read = read_html(name, page.encode())
    except UnreadableDocument as error:
        reason = "it has no text" if "without text" in error.reason else error.reason
        raise UnreadableDocument(name, reason) from error
    if not hidden:
        return read
    note = f"left out text that Word hides from readers: {hidden} characters"
    return replace(read, notes=(*read.notes, note))


def _parts(name: str, data: bytes) -> dict[str, bytes]:
    """Decompress the parts that are read, together at most MAX_UNPACKED."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        known = {entry.filename: entry for entry in archive.infolist()}
        if _DOCUMENT not in known:
            raise UnreadableDocument(name, f"not a Word document: it has no {_DOCUMENT}")
        parts: dict[str, bytes] = {}
        left = MAX_UNPACKED
        for part in (*_PARTS, _PROPERTIES):
            if part in known:
                with archive.open(known[part]) as packed:
                    parts[part] = packed.read(left + 1)
                left -= len(parts[part])
                if left < 0:
                    raise UnreadableDocument(
                        name, f"it decompresses to over {MAX_UNPACKED // 10**6} MB"
                    )
        return parts


def _parsed(data: bytes) -> Element:
    """Parse a part; refuse one that defines entities, since no honest one does."""
    if b"<!DOCTYPE" in data or b"\0" in data[:100]:
        raise ET.ParseError("entities, or an encoding that no Word document has")
    return ET.fromstring(data)  # noqa: S314 - without a DTD there is nothing to expand


def _packed(roots: Mapping[str, Element]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for part, root in roots.items():
            archive.writestr(part, ET.tostring(root, "utf-8", xml_declaration=True))
    return packed.getvalue()


def _title(roots: Mapping[str, Element]) -> str:
    properties = roots.get(_PROPERTIES)
    title = properties.findtext(_TITLE) if properties is not None else ""
    return " ".join((title or "").split())[:MAX_HEADING]


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _numbered(html: str) -> str:
    """Number each item as Word shows it."""
    return _SIGN.sub("", _NUMBERED.sub(r'<li value="\2">\1', html))


def _value(element: Element | None, name: str, otherwise: str = "") -> str:
    """Return the value of a property inside of an element."""
    found = element.find(f"{_W}{name}") if element is not None else None
    return found.get(f"{_W}val", otherwise) if found is not None else ""


def _is_on(element: Element | None, name: str) -> bool | None:
    """Whether a property is on or off; ``None`` if it isn't set."""
    if element is None or element.find(f"{_W}{name}") is None:
        return None
    return _value(element, name, "true") not in ("0", "false", "off")


def _text(run: Element) -> str:
    return "".join(it.text or "" for it in run.iter(f"{_W}t"))


class _Style:
    """A style's own properties, and those of its base styles."""

    def __init__(self, element: Element) -> None:
        self.name = _value(element, "name")
        self.based_on = _value(element, "basedOn")
        self.paragraph = element.find(f"{_W}pPr")
        self.run = element.find(f"{_W}rPr")


class _Writing:
    """A document's parts, rewritten so that mammoth sees everything that a reader does."""

    def __init__(self, roots: dict[str, Element]) -> None:
        self._document = roots[_DOCUMENT]
        self._roots = roots
        styles = roots.get(_STYLES)
        found = styles.iter(f"{_W}style") if styles is not None else ()
        self._styles = {it.get(f"{_W}styleId", ""): _Style(it) for it in found}
        self._numbering = _Numbering(roots.get(_NUMBERING))
        self._titled = any(self._is_title(it) for it in self._document.iter(f"{_W}p"))

    def prepare(self) -> int:
        """Write headings, code and numbers; return the number of hidden characters removed."""
        hidden = 0
        for part in (_DOCUMENT, "word/footnotes.xml", "word/endnotes.xml"):
            if part in self._roots:
                for paragraph in self._roots[part].iter(f"{_W}p"):
                    hidden += self._hide(paragraph)
        for paragraph in self._document.iter(f"{_W}p"):
            self._prepare(paragraph)
        self._add_styles()
        return hidden

    def _above(self, style: str) -> Iterator[_Style]:
        """Yield a style and its base styles."""
        seen: set[str] = set()
        while style in self._styles and style not in seen:
            seen.add(style)
            yield self._styles[style]
            style = self._styles[style].based_on

    def _hide(self, paragraph: Element) -> int:
        """Remove hidden runs; return their number of characters."""
        characters = 0
        own = _value(paragraph.find(f"{_W}pPr"), "pStyle")
        for parent in list(paragraph.iter()):
            for run in parent.findall(f"{_W}r"):
                said = run.find(f"{_W}rPr")
                properties = [said, *(it.run for it in self._above(_value(said, "rStyle")))]
                properties += [it.run for it in self._above(own)]
                said_so = (_is_on(one, "vanish") for one in properties)
                if next((it for it in said_so if it is not None), False):
                    characters += len(_text(run))
                    parent.remove(run)
        return characters

    def _prepare(self, paragraph: Element) -> None:
        properties = paragraph.find(f"{_W}pPr")
        style = _value(properties, "pStyle")
        level = self._level(properties, style)
        if level:
            _set_style(paragraph, "p", f"{_HEADINGS}{level}")
            return
        place = self._place(properties, style)
        number = self._numbering.next(*place) if place else None
        if number is not None:
            _insert(paragraph, f"{_NUMBER}{number}{_NUMBER}")
        runs = [run for run in paragraph.iter(f"{_W}r") if _text(run).strip()]
        is_code = any(_CODE_STYLE.search(it.name) for it in self._above(style))
        fixed = [run for run in runs if is_code or self._is_fixed(run, style)]
        if runs and len(fixed) == len(runs) and place is None:
            _set_style(paragraph, "p", _CODE)
        else:
            for run in fixed:
                _set_style(run, "r", f"{_CODE} run")

    def _is_title(self, paragraph: Element) -> bool:
        style = _value(paragraph.find(f"{_W}pPr"), "pStyle")
        return any(it.name.lower() == "title" for it in self._above(style))

    def _level(self, properties: Element | None, style: str) -> int:
        """Return the level of a heading, 1..6; 0 for any other paragraph."""
        outline = _value(properties, "outlineLvl")
        for it in self._above(style):
            if found := _NAMED_HEADING.match(it.name):
                return min(int(found[1]) + self._titled, 6)
            if it.name.lower() == "title":
                return 1
            outline = outline or _value(it.paragraph, "outlineLvl")
        is_heading = outline.isdigit() and int(outline) < 9
        return min(int(outline) + 1 + self._titled, 6) if is_heading else 0

    def _place(self, properties: Element | None, style: str) -> tuple[str, int] | None:
        """Return the list and level of a paragraph."""
        for one in (properties, *(it.paragraph for it in self._above(style))):
            given = one.find(f"{_W}numPr") if one is not None else None
            if given is not None and (number := _value(given, "numId")):
                level = _value(given, "ilvl") or "0"
                return (number, int(level)) if number != "0" and level.isdigit() else None
        return None

    def _is_fixed(self, run: Element, style: str) -> bool:
        said = run.find(f"{_W}rPr")
        above = (*self._above(_value(said, "rStyle")), *self._above(style))
        if any(_CODE_STYLE.search(it.name) for it in self._above(_value(said, "rStyle"))):
            return True
        for properties in (said, *(it.run for it in above)):
            fonts = properties.find(f"{_W}rFonts") if properties is not None else None
            font = fonts.get(f"{_W}ascii", "") if fonts is not None else ""
            if font:
                return _FIXED_WIDTH.search(font) is not None
        return False

    def _add_styles(self) -> None:
        styles = self._roots.setdefault(_STYLES, ET.Element(f"{_W}styles"))
        for known in styles.iter(f"{_W}style"):
            known.attrib.setdefault(f"{_W}type", "paragraph")
        names = [(_CODE, "paragraph"), (f"{_CODE} run", "character")]
        names += [(f"{_HEADINGS}{level}", "paragraph") for level in range(1, 7)]
        for name, kind in names:
            style = ET.SubElement(styles, f"{_W}style", {f"{_W}type": kind, f"{_W}styleId": name})
            ET.SubElement(style, f"{_W}name", {f"{_W}val": name.removesuffix(" run")})


class _Numbering:
    """Counts the items of lists as Word does."""

    def __init__(self, root: Element | None) -> None:
        self._abstract: dict[str, str] = {}
        self._starts: dict[tuple[str, int], int] = {}
        self._bullets: set[tuple[str, int]] = set()
        self._counts: defaultdict[str, dict[int, int]] = defaultdict(dict)
        if root is not None:
            self._read(root)

    def _read(self, root: Element) -> None:
        for abstract in root.findall(f"{_W}abstractNum"):
            name = abstract.get(f"{_W}abstractNumId", "")
            for level in abstract.findall(f"{_W}lvl"):
                self._read_level(f"abstract {name}", level)
        for number in root.findall(f"{_W}num"):
            own = number.get(f"{_W}numId", "")
            self._abstract[own] = f"abstract {_value(number, 'abstractNumId')}"
            for override in number.findall(f"{_W}lvlOverride"):
                start = _value(override, "startOverride")
                if start.isdigit():
                    self._count_alone(own, int(override.get(f"{_W}ilvl", "0")), int(start))

    def _count_alone(self, number: str, depth: int, start: int) -> None:
        """Let a list that restarts count for itself."""
        abstract = self._abstract[number]
        self._abstract[number] = number
        self._bullets |= {(number, level) for it, level in self._bullets if it == abstract}
        self._starts[number, depth] = start

    def _read_level(self, name: str, level: Element) -> None:
        depth = int(level.get(f"{_W}ilvl", "0"))
        start = _value(level, "start")
        self._starts[name, depth] = int(start) if start.isdigit() else 1
        if _value(level, "numFmt") in ("bullet", "none"):
            self._bullets.add((name, depth))

    def next(self, number: str, depth: int) -> int | None:
        """Return the next item's number; ``None`` for a bullet."""
        name = self._abstract.get(number)
        if name is None or (name, depth) in self._bullets:
            return None
        counts = self._counts[name]
        for deeper in [it for it in counts if it > depth]:
            del counts[deeper]
        counts[depth] = counts.get(depth, self._starts.get((name, depth), 1) - 1) + 1
        return counts[depth]


def _set_style(element: Element, kind: str, style: str) -> None:
    """Set the style of a paragraph (``p``), which is then no item, or of a run (``r``)."""
    properties = element.find(f"{_W}{kind}Pr")
    if properties is None:
        properties = ET.Element(f"{_W}{kind}Pr")
        element.insert(0, properties)
    for name in (f"{kind}Style", "numPr"):
        for known in properties.findall(f"{_W}{name}"):
            properties.remove(known)
    ET.SubElement(properties, f"{_W}{kind}Style", {f"{_W}val": style})


def _insert(paragraph: Element, text: str) -> None:
    """Put text in front of a paragraph's own."""
    run = ET.Element(f"{_W}r")
    ET.SubElement(run, f"{_W}t").text = text
    has_properties = len(paragraph) > 0 and paragraph[0].tag == f"{_W}pPr"
    paragraph.insert(1 if has_properties else 0, run)
