"""Formats of documents, by the ends of their names, in lower case; files may have them in any case."""

from __future__ import annotations

from typing import Final

WEB_SUFFIXES: Final = (".html", ".htm")
PDF_SUFFIXES: Final = (".pdf",)
OFFICE_SUFFIXES: Final = (".docx", ".ipynb")
EXTRACTED_SUFFIXES: Final = (*WEB_SUFFIXES, *PDF_SUFFIXES, *OFFICE_SUFFIXES)
"""Files whose lines are extracted text."""
MARKUP_SUFFIXES: Final = (".rst", ".adoc", ".asciidoc", ".org", ".mdx", ".md.erb")
"""Files that are read as Markdown and cited by their own lines; ``extract/markup.py`` has their readers."""
SUFFIXES: Final = (".md", ".markdown", ".txt", *MARKUP_SUFFIXES, *EXTRACTED_SUFFIXES)
"""All documents."""
PLAIN_SUFFIXES: Final = (".txt", ".text", ".log", ".pdf")
"""Files without headings, whose only blocks are runs of lines."""
_MARKDOWN: Final = (".md", ".markdown", *WEB_SUFFIXES, *OFFICE_SUFFIXES, *MARKUP_SUFFIXES)


def is_document(name: str) -> bool:
    """Whether a file is a document, by its name or path."""
    return name.lower().endswith(SUFFIXES)


def is_extracted(source_file: str) -> bool:
    """Whether a file's lines are extracted text, by its name."""
    return source_file.lower().endswith(EXTRACTED_SUFFIXES)


def is_markup(source_file: str) -> bool:
    """Whether a file is read as Markdown and cited by its own lines, by its name."""
    return source_file.lower().endswith(MARKUP_SUFFIXES)


def is_markdown(source_file: str) -> bool:
    """Whether a document's text is Markdown; in any other, each character stands for itself."""
    return source_file.casefold().endswith(_MARKDOWN)
