"""Word documents, made of their XML."""

from __future__ import annotations

import io
import zipfile
from xml.sax.saxutils import escape

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument'
    '.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONSHIPS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="a" Target="word/document.xml" Type="http://schemas.openxmlformats.org'
    '/officeDocument/2006/relationships/officeDocument"/></Relationships>'
)
_STYLES = (
    f"<w:styles {_W}>"
    '<w:style w:styleId="Titel"><w:name w:val="Title"/></w:style>'
    '<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
    '<w:style w:styleId="Own"><w:name w:val="Chapter"/><w:basedOn w:val="berschrift1"/></w:style>'
    '<w:style w:styleId="HTMLPreformatted"><w:name w:val="HTML Preformatted"/></w:style>'
    '<w:style w:styleId="Unseen" w:type="character"><w:name w:val="Unseen"/><w:rPr><w:vanish/></w:rPr></w:style>'
    "</w:styles>"
)
_LEVELS = "".join(
    f'<w:lvl w:ilvl="{n}"><w:start w:val="1"/><w:numFmt w:val="decimal"/></w:lvl>' for n in range(3)
)
_NUMBERING = (
    f"<w:numbering {_W}>"
    f'<w:abstractNum w:abstractNumId="0">{_LEVELS}</w:abstractNum>'
    '<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
    '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="0"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>'
    "</w:numbering>"
)


def run(text: str, properties: str = "") -> str:
    """Return a run of text; ``properties`` is XML, such as ``<w:vanish/>``."""
    said = f"<w:rPr>{properties}</w:rPr>" if properties else ""
    return f'<w:r>{said}<w:t xml:space="preserve">{escape(text)}</w:t></w:r>'


def code(text: str) -> str:
    """Return a run in a font of fixed width."""
    return run(text, '<w:rFonts w:ascii="Consolas"/>')


def paragraph(*runs: str, style: str = "", number: int = 0, level: int = 0) -> str:
    """Return a paragraph; an item of list 1 or 3, which are numbered, or 2 with bullets."""
    said = f'<w:pStyle w:val="{style}"/>' if style else ""
    if number:
        said += f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
    return f"<w:p><w:pPr>{said}</w:pPr>{''.join(runs)}</w:p>"


def docx(*blocks: str, title: str = "", **parts: str) -> bytes:
    """Return a document; ``parts`` replace or add entries of the zip, dots in names as two underscores."""
    entries = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELATIONSHIPS,
        "word/document.xml": f"<w:document {_W}><w:body>{''.join(blocks)}</w:body></w:document>",
        "word/styles.xml": _STYLES,
        "word/numbering.xml": _NUMBERING,
    }
    if title:
        entries["docProps/core.xml"] = (
            '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata'
            '/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            f"<dc:title>{escape(title)}</dc:title></cp:coreProperties>"
        )
    entries |= {f"word/{name}.xml": text for name, text in parts.items()}
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return packed.getvalue()
