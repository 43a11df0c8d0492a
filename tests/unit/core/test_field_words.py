"""Plain words of a question get the field's words for the same."""

import pytest

from knowledge_rag.core.field_words import _LONGEST, _TABLE, _stems, field_words

ROWS = [line.partition(" = ")[::2] for line in _TABLE.strip().splitlines()]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("the cert runs out this week", ("certificate", "expire", "expiration")),
        ("Certs!", ("certificate",)),
        ("our one-per-machine agents", ("daemonset", "node", "instance")),
        ("it won’t start", ("pending", "not", "ready")),
        ("blocks are squashed", ("compaction", "compactor", "compress")),
        ("restore orders-db from last night", ()),
        ("", ()),
    ],
)
def test_a_phrase_is_found_in_any_inflection(question, words):
    assert field_words(question) == words


def test_a_word_that_was_typed_is_not_said_again():
    assert field_words("the node, a machine") == ("instance",)


def test_each_is_said_once():
    assert field_words("a box, a machine and a server") == ("node", "instance")


@pytest.mark.parametrize(("phrases", "words"), ROWS)
def test_every_phrase_of_the_table_is_found(phrases, words):
    for phrase in phrases.split(" | "):
        assert len(_stems(phrase)) <= _LONGEST
        typed = set(_stems(phrase))
        wanted = {it for it in words.split() if not set(_stems(it)) <= typed}
        assert wanted <= set(field_words(f"since noon {phrase} again"))


def test_no_phrase_stands_twice_in_the_table():
    phrases = [_stems(it) for row, _ in ROWS for it in row.split(" | ")]
    assert len(phrases) == len(set(phrases))
