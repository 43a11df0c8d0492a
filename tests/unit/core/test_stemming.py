from __future__ import annotations

import re
import sqlite3

import pytest

from knowledge_rag.core.stemming import stem
from tests.support.local import CORPUS

# from the examples of Porter's paper, one or two a rule
EXAMPLES = {
    "caresses": "caress", "ponies": "poni", "ties": "ti", "cats": "cat", "feed": "feed",
    "agreed": "agre", "plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing",
    "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop",
    "falling": "fall", "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat",
    "rational": "ration", "vietnamization": "vietnam", "callousness": "callous",
    "triplicate": "triplic", "hopefulness": "hope", "revival": "reviv", "adoption": "adopt",
    "replacement": "replac", "probate": "probat", "rate": "rate", "cease": "ceas",
    "controll": "control", "roll": "roll", "yes": "ye", "yaying": "yai",
}  # fmt: skip


@pytest.mark.parametrize(("word", "expected"), EXAMPLES.items())
def test_the_rules(word, expected):
    assert stem(word) == expected


def test_agrees_with_sqlites_own_porter_stemmer_on_every_word_of_the_corpus():
    texts = [path.read_text(encoding="utf-8").lower() for path in CORPUS.rglob("*.md")]
    words = sorted({word for text in texts for word in re.findall(r"[a-z]{3,20}", text)})
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE words USING fts5(word, tokenize='porter ascii')")
    connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(words, instance)")
    connection.executemany("INSERT INTO words (rowid, word) VALUES (?, ?)", enumerate(words))
    stems = dict(connection.execute("SELECT doc, term FROM stems"))
    connection.close()
    assert len(words) > 1000
    assert [w for row, w in enumerate(words) if stem(w) != stems[row]] == []


@pytest.mark.parametrize("word", ["", "a", "is", "größe", "数据", "2024", "5xx"])
def test_what_is_no_plain_word_stays_as_it_is(word):
    assert stem(word) == word
