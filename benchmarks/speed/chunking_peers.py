"""Other libraries' Markdown splitters, each behind one small function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

Split = Callable[[str], Sequence[str]]
"""Returns the texts of one document's chunks."""

CHUNK_CHARACTERS: Final = 800
"""Size limit for peers that count characters: about 256 tokens of a runbook."""


def _langchain_headers() -> Split:
    from langchain_text_splitters import MarkdownHeaderTextSplitter  # noqa: PLC0415

    splitter = MarkdownHeaderTextSplitter([("#" * n, f"h{n}") for n in range(1, 7)])
    return lambda text: [document.page_content for document in splitter.split_text(text)]


def _langchain_recursive() -> Split:
    from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415

    splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK_CHARACTERS, chunk_overlap=0)
    split: Split = splitter.split_text
    return split


def _llama_index() -> Split:
    from llama_index.core import Document  # noqa: PLC0415
    from llama_index.core.node_parser import MarkdownNodeParser  # noqa: PLC0415

    parser = MarkdownNodeParser()
    return lambda text: [
        node.get_content() for node in parser.get_nodes_from_documents([Document(text=text)])
    ]


def _chonkie() -> Split:
    from chonkie import RecursiveChunker  # noqa: PLC0415

    chunker = RecursiveChunker(tokenizer="character", chunk_size=CHUNK_CHARACTERS)
    return lambda text: [chunk.text for chunk in chunker.chunk(text)]


def _semchunk() -> Split:
    import semchunk  # noqa: PLC0415

    chunker: Split = semchunk.chunkerify(len, chunk_size=CHUNK_CHARACTERS)
    return chunker


HEADERS: Final = "langchain headers"
RECURSIVE: Final = "langchain recursive"
NODES: Final = "llama-index nodes"
PEERS: Final[dict[str, Callable[[], Split]]] = {
    HEADERS: _langchain_headers,
    RECURSIVE: _langchain_recursive,
    NODES: _llama_index,
    "chonkie recursive": _chonkie,
    "semchunk": _semchunk,
}
"""Name -> a function that creates the splitter; it raises ImportError if the library isn't installed."""
