"""What holds of a compared citation whatever was edited: tried on every small case, and on many at random."""

import re
import sys
from collections import Counter
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from knowledge_rag.guardrails.staleness import (
    WORDLESS,
    Likeness,
    State,
    compare,
    occurrences,
    places_of,
    resembling,
    says_something,
)
from tests.support.examples import up_to
from tests.unit.guardrails.versions import cited, held_against, now

LINES = st.sampled_from(
    ["", "}", "a", "b", "a\r", " a", "é\u2028b", "the same words", "same words"]
)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "replace", "move", "duplicate", "swap"]),
        st.integers(0, 20),
        st.integers(0, 20),
        LINES,
    ),
    max_size=8,
)


def edited(lines, edits):
    lines = list(lines)
    for kind, first, second, line in edits:
        at, to = first % (len(lines) + 1), second % (len(lines) + 1)
        if kind == "insert":
            lines.insert(at, line)
        elif kind == "delete":
            del lines[at : at + 1 + to % 3]
        elif kind == "replace":
            lines[at : at + 1] = [line]
        elif kind == "move":
            section = lines[at : at + 3]
            del lines[at : at + 3]
            lines[to:to] = section
        elif kind == "duplicate":
            lines[to:to] = lines[at : at + 4]
        else:
            lines[:] = lines[at:] + lines[:at]
    return lines


@given(
    lines=st.lists(LINES, min_size=1, max_size=12),
    where=st.tuples(st.integers(0, 11), st.integers(0, 11)),
    edits=EDITS,
    ending=st.sampled_from(["", "\n"]),
)
def test_after_any_edits_what_is_said_of_the_lines_is_true_byte_for_byte(
    lines, where, edits, ending
):
    first, last = sorted(at % len(lines) for at in where)
    content = "\n".join(lines[first : last + 1])
    text = "\n".join(edited(lines, edits)) + ending
    current = text.removesuffix("\n").split("\n")
    places = [
        at + 1
        for at in range(len(current))
        if "\n".join(current[at : at + last - first + 1]) == content and at + last - first < len(current)
    ]  # fmt: skip
    found = held_against(text or "\n", cited(content, start=first + 1))
    if first + 1 in places:
        assert found.state is State.SAME
    elif not any(character.isalnum() for character in content):
        assert (found.state, found.not_searched) == (State.CHANGED, WORDLESS)
    elif places:
        assert found.moved_to.start_line in places
        assert found.moved_to.end_line - found.moved_to.start_line == last - first
        assert abs(found.moved_to.start_line - first - 1) == min(abs(p - first - 1) for p in places)
        assert found.others == len(places) - 1
    else:
        assert found.state is State.CHANGED
        check_resembling(found.resembling, content, current)


def check_resembling(like, content, current):
    cited_lines = [line for line in content.split("\n") if any(map(str.isalnum, line))]
    standing = [line for line in cited_lines if line in current]
    if like is None:
        assert not standing
        return
    there = current[like.lines.start_line - 1 : like.lines.end_line]
    assert 1 <= like.lines.start_line <= like.lines.end_line <= len(current)
    kept = sum(min(cited_lines.count(line), there.count(line)) for line in set(cited_lines))
    assert (like.kept, like.of) == (kept, len(cited_lines))
    if like.likeness is Likeness.LINES:
        assert kept > 0
        assert {there[0], there[-1]} <= set(cited_lines)


def test_every_occurrence_of_a_sequence_is_found_however_it_overlaps_itself():
    for wanted in (w for length in range(1, 7) for w in product("ab", repeat=length)):
        for overlap in range(len(wanted) + 1):
            found = (*wanted, *wanted[overlap:], "c", *wanted[1:], *wanted)
            places = [at for at in range(len(found)) if found[at : at + len(wanted)] == wanted]
            assert occurrences(wanted, found) == places, (wanted, found)


def squeezed(lines):
    return [" ".join(line.split()) for line in lines]


def common(some, others):
    return (Counter(some) & Counter(others)).total()


def best_range(wanted, lines, start):
    """Give what most resembles the wanted lines by its definition, every range tried."""
    solid = [line for line in wanted if any(map(str.isalnum, line))]
    words = re.findall(r"\w+", "\n".join(wanted))
    size, count = len(wanted), len(lines)
    ranges = [
        (a, b) for a in range(1, count + 1) for b in range(a, min(count, a + 2 * size - 1) + 1)
    ]
    cut = {(a, b): lines[a - 1 : b] for a, b in ranges}

    def best(candidates, key):
        near = max(candidates, key=lambda r: (*key(r), -abs(r[0] - start), -r[0]), default=None)
        return near if near and key(near)[0] else None

    def words_in(where):
        return re.findall(r"\w+", "\n".join(cut[where]))

    same = [r for r in ranges if squeezed(cut[r]) == squeezed(wanted)]
    if spaced := best(same, lambda _: (1,)):
        return Likeness.SPACING, spaced
    by_lines = best(ranges, lambda r: (common(solid, cut[r]), r[0] - r[1]))
    if by_lines and 2 * common(solid, cut[by_lines]) >= len(solid):
        return Likeness.LINES, by_lines
    whole = [(a, b) for a, b in ranges if b - a + 1 == size] or [(1, count)]
    by_words = best(whole, lambda r: (common(words, words_in(r)),))
    if by_words and 2 * common(words, words_in(by_words)) >= len(words):
        return Likeness.WORDS, by_words
    return by_lines and (Likeness.LINES, by_lines)


TEXTS = st.sampled_from(["", "```", "p", "q", " p", "p q", "p q r", "q r s t", "r s", "s t u"])


@up_to(examples=300)
@given(
    st.lists(TEXTS, min_size=1, max_size=4).filter(lambda w: says_something("\n".join(w))),
    st.lists(TEXTS, min_size=1, max_size=10),
    st.integers(1, 10),
)
def test_the_lines_named_are_the_most_like_of_all(wanted, lines, start):
    content = "\n".join(wanted)
    assume(not places_of(content, lines))
    found = resembling(content, lines, start)
    best = best_range(wanted, lines, start)
    assert (found and (found.likeness, (found.lines.start_line, found.lines.end_line))) == best


def steps_of(text, one):
    """Count the lines of Python that a comparison executes."""
    steps = 0

    def count(_frame, event, _argument):
        nonlocal steps
        steps += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        compare(one, now(text))
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize(
    ("block", "wanted", "last"),
    [
        ("same\n", "same\n", "another"),
        ("same\nsame\nelse\n", "same\nsame\nelse\n", "else"),
        ("some same old words\n", "other same old words\n", "at last"),
        ("\n", "\n", "x"),
    ],
    ids=["lines", "borders", "words", "blank"],
)
def test_a_file_in_which_everything_nearly_matches_takes_time_in_proportion(block, wanted, last):
    def work(size):
        return steps_of(block * size, cited(wanted * (size // 4) + last, start=size))

    assert work(800) < 2.2 * work(400)
