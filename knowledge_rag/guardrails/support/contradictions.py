"""Finds changes that a claim makes to a sentence that it repeats, by comparing them word by word.

A rule compares one sentence of the claim with the stretch of the lines that it repeats. Without a
repetition the rules report nothing: there, coverage and the score decide. Only a destructive instruction
must be in one sentence of the lines, verb and object together, however the rest is worded.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.stemming import stem
from knowledge_rag.guardrails.danger import dangers_in
from knowledge_rag.guardrails.support.alignment import (
    MAX_SENTENCE,
    align,
    quoted,
    sentences,
    tokens_of,
)
from knowledge_rag.guardrails.support.lexemes import SEPARATORS
from knowledge_rag.guardrails.support.opposites import opposites
from knowledge_rag.guardrails.support.report import Change, Contradiction
from knowledge_rag.guardrails.support.wording import NEGATIONS, OWN_WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knowledge_rag.guardrails.support.alignment import Alignment, Stream, Token


_STRICT: Final = frozenset(
    [
        "not",
        "never",
        "cannot",
        "can't",
        "don't",
        "doesn't",
        "didn't",
        "isn't",
        "aren't",
        "wasn't",
        "weren't",
        "won't",
        "shouldn't",
        "mustn't",
        "couldn't",
        "wouldn't",
        "hasn't",
        "haven't",
        "hadn't",
        "without",
    ]
)
"""Words that turn a sentence into its opposite."""
_NEGATORS: Final = _STRICT.union(
    [
        "no",
        "neither",
        "nor",
        "none",
        "nothing",
        "nobody",
        "avoid",
        "hardly",
        "unable",
        "unlikely",
        "prevent",
        "prevents",
        "stop",
        "instead",
        "rather",
        "fail",
        "fails",
        "failed",
        "refrain",
        "lack",
        "lacks",
        "skip",
    ]
)
"""Words with which a sentence may deny something."""
_CONDITIONS: Final = {
    "if": "if", "unless": "unless", "only": "only", "until": "until", "when": "if", "whenever": "if",
    "till": "until", "except": "unless", "once": "until",
}  # fmt: skip
_SAYS_SO_TOO: Final = {
    kind: frozenset(words.split())
    for kind, words in {
        "if": "if when whenever whether case should where once after provided assuming unless until upon",
        "unless": "unless except if without but when only",
        "only": "only just merely solely exclusively alone sole single unless until",
        "until": "until till before once after unless when while as if",
    }.items()
}
"""For each kind of condition, the words with which a claim may also express it."""
_NEITHER: Final = frozenset({("not", "only"), ("or", "not")})
"""Pairs of words that neither make a condition nor deny anything: "not only", "whether or not"."""
_OPENS: Final = frozenset({"should"})
"""Words that make a condition only at the beginning of a clause: "should it fail", not "it should fail"."""
_LEADS: Final = frozenset({"first", "next", "then", "finally", "also", "and", "please"})
"""Words that an answer puts before a sentence of the lines."""
_NEAR: Final = 0.6
"""Share of a sentence's content words in one stretch of the lines from which it counts as repeated."""
_CLOSE: Final = 0.75
"""Share from which a change in it is certain."""
_FEWEST: Final = 3
"""Minimum words that both sides must share."""


def contradictions(claim: str, stream: Stream) -> tuple[Contradiction, ...]:
    """Find the changes that a claim makes to the lines, in the order of the claim.

    Args:
        claim: with markup blanked.
        stream: of the cited lines.
    """
    lines = claim.split("\n")
    tokens = tokens_of(lines)
    if not tokens or not stream.tokens:
        return ()
    begins = [0, *accumulate(len(line) + 1 for line in lines)]
    found = [*_destructions(claim, stream)]
    for said in sentences(tokens):
        for one, (first, last) in _changes(said, stream):
            start, end = begins[first.line] + first.start, begins[last.line] + last.end
            found.append(replace(one, start=start, end=end))
    return tuple(sorted(found, key=lambda it: (it.start, it.end, it.change)))


Found = tuple[Contradiction, tuple["Token", "Token"]]


def _changes(said: Sequence[Token], stream: Stream) -> list[Found]:
    lead = next((k for k, token in enumerate(said[:-1]) if token.word not in _LEADS), 0)
    if quotes := quoted(said, stream) or (quoted(said[lead:], stream) if lead else ()):
        # if the lines say it twice, one place without further words is enough
        return min((list(_Sentence(laid, stream).around()) for laid in quotes), key=len)
    found = _turned(said, stream) or _reordered(said, stream) or _added(said, stream)
    if found and found[0].certain:
        return [found]
    others = [found] if found else []
    laid = align(said, stream)
    if laid is None or len(laid.pairs) < _FEWEST:
        return others
    return others + list(_Sentence(laid, stream).changes())


class _Sentence:
    """One sentence of a claim, aligned with the lines."""

    def __init__(self, laid: Alignment, stream: Stream) -> None:
        self._laid = laid
        self._stream = stream
        self._words = {token.word for token in laid.said}
        self._keys = {token.key for token in laid.said}
        repeated = {i for i, _ in laid.pairs}
        self._own = {
            token.word
            for i, token in enumerate(laid.said)
            if i not in repeated and (token.broken or token.word not in _OPENS)
        }
        first, last = laid.pairs[0][1], laid.pairs[-1][1]
        tokens = stream.tokens
        self._first = stream.bounds[tokens[first].sentence][0]
        self._last = stream.bounds[tokens[last].sentence][1]
        self._line_words = {tokens[p].word for p in range(self._first, self._last)}
        self._line_keys = {tokens[p].key for p in range(self._first, self._last)}

    def changes(self) -> Iterator[Found]:
        """Find all changes."""
        yield from self._gaps()
        if self._laid.share >= _NEAR:
            yield from self.around()

    def around(self) -> Iterator[Found]:
        """Find negations and conditions in the lines' sentence before and after the repeated part."""
        said, tokens = self._laid.said, self._stream.tokens
        first, last = self._laid.pairs[0][1], self._laid.pairs[-1][1]
        lead = range(self._first, first)
        for p in lead[-4:]:
            apart = any(tokens[q].broken for q in range(p + 1, first + 1))
            if tokens[p].word in _STRICT and not apart and not _NEGATORS & self._words:
                yield self._found(Change.NEGATION, said, tokens[p : first + 1])
        verbatim = self._laid.share == 1.0 and len(self._laid.pairs) == len(said)
        before = {token.word for token in said[: self._laid.pairs[0][0]]}
        for p in lead:
            kind = _CONDITIONS.get(tokens[p].word)
            # only the word is missing
            alone = p == first - 1 and kind is not None and not _SAYS_SO_TOO[kind] & before
            if alone or (
                self._lacks(tokens[p])
                and sum(tokens[q].broken for q in range(p + 1, first + 1)) <= 1
            ):
                if verbatim and not alone and tokens[p].line != tokens[first].line:
                    return  # a whole line of a paragraph is quoted
                certain = verbatim or (alone and self._laid.share >= _CLOSE)
                lines_say = tokens[p : min(first, p + 8)]
                yield self._found(Change.CONDITION, said, lines_say, certain=certain)
                return
        lines_say = tokens[last + 1 : min(last + 9, self._last)]
        here = bool(lines_say) and (not verbatim or lines_say[0].line == tokens[last].line)
        if here and self._lacks(lines_say[0]):
            yield self._found(Change.CONDITION, said, lines_say, certain=verbatim)

    def _lacks(self, token: Token) -> bool:
        """Whether a token of the lines makes a condition, and the claim has none of its kind."""
        kind = _CONDITIONS.get(token.word)
        return kind is not None and not _SAYS_SO_TOO[kind] & self._own

    def _found(
        self,
        change: Change,
        said: Sequence[Token],
        lines: Sequence[Token],
        *,
        certain: bool | None = None,
        gap: int = 0,
    ) -> Found:
        text = " ".join(token.word for token in lines)
        line = lines[0].line if lines else self._stream.tokens[self._laid.pairs[0][1]].line
        close = self._laid.share >= _CLOSE if certain is None else certain
        certain = close and in_place(self._laid, gap)
        return Contradiction(change, 0, 0, line, text, certain), (said[0], said[-1])

    def _gaps(self) -> Iterator[Found]:
        """Compare the words between each two words that both sides have."""
        said, tokens = self._laid.said, self._stream.tokens
        before_i, before_p = -1, self._first - 1
        for i, p in [*self._laid.pairs, (len(said), self._last)]:
            mine = said[before_i + 1 : i]
            theirs = tokens[before_p + 1 : p]
            # at the ends only one neighbour connects the two sides
            inner = before_i >= 0 and i < len(said)
            if mine and (theirs or inner):
                yield from self._exchanged(mine, theirs, inner=inner)
            if theirs and inner and self._laid.share >= _NEAR:
                yield from self._left_out(mine, theirs, said[max(before_i, 0) : i + 1])
            before_i, before_p = i, p

    def _left_out(
        self, mine: Sequence[Token], theirs: Sequence[Token], around: Sequence[Token]
    ) -> Iterator[Found]:
        """Find missing words that negate a sentence or make it depend on something."""
        for k, token in enumerate(theirs):
            # only the word is missing: the next one is there
            alone = k == len(theirs) - 1
            if k and (theirs[k - 1].word, token.word) in _NEITHER:
                continue
            own = {it.word for it in mine} if alone else self._own
            not_only = not alone and theirs[k + 1].word == "only"
            if (
                token.word in _STRICT
                and not not_only
                and not _NEGATORS & (own if alone else self._words)
            ):
                yield self._found(Change.NEGATION, around, theirs[k : k + 4])
            kind = _CONDITIONS.get(token.word)
            if kind and not _SAYS_SO_TOO[kind] & own:
                # a missing clause separates the words around it
                gap = len(theirs) - len(mine) if k == 0 or token.broken else 0
                yield self._found(Change.CONDITION, around, theirs[k : k + 8], gap=gap)

    def _exchanged(
        self, mine: Sequence[Token], theirs: Sequence[Token], *, inner: bool
    ) -> Iterator[Found]:
        only = len(mine) == len(theirs) == 1  # one word in the place of another
        share = self._laid.share
        if only:  # these two words don't count
            content = sum(it.is_content for it in self._laid.said) - mine[0].is_content
            shared = sum(self._laid.said[i].is_content for i, _ in self._laid.pairs)
            share = shared / max(content, 1)
        if share < _NEAR:
            return
        certain = only or share >= _CLOSE
        for token in mine:
            for other in theirs if len(theirs) <= 6 else ():
                if (other.key in self._keys or token.key in self._line_keys) and not only:
                    continue
                if other.key in opposites().get(token.key, ()) or _negates(token.word, other.word):
                    yield self._found(Change.OPPOSITE, [token], [other], certain=certain)
                elif max(len(mine), len(theirs)) <= 4 and _another(token, other):
                    yield self._found(Change.VALUE, [token], [other], certain=certain)
            if token.word in _STRICT and inner and not _NEGATORS & self._line_words:
                yield self._found(Change.NEGATION, [token], theirs[:4])


_OPEN: Final = frozenset("$<{")
"""Marks of placeholders, which a claim may fill in."""


def _another(token: Token, other: Token) -> bool:
    """Whether two tokens are different values of one sort: numbers, names."""
    numbers = (token.sort == "#") + (other.sort == "#")
    if not token.sort or not other.sort or numbers == 1:
        return False
    if not _OPEN.isdisjoint(token.word + other.word):
        return False
    if token.sort == "#":
        shapes = {_DIGITS.sub("", it.key if it.key[0] == "#" else it.word) for it in (token, other)}
        digits = [set(_DIGITS.findall(it.word)) for it in (token, other)]
        return len(shapes) == 1 and digits[0].isdisjoint(digits[1])
    short, long = sorted((token.word, other.word), key=len)
    behind = long[len(short) :] if long.startswith(short) else "_"
    return behind[:1] in "_-" and behind != "" and short not in SEPARATORS.split(long)


_DIGITS: Final = re.compile(r"\d+")


def _turned(said: Sequence[Token], stream: Stream) -> Found | None:
    """Find "B, then A" where a sentence of the lines has "A, then B", "A before B" or "B after A"."""
    for _, mine in _sides(said):
        for place in sorted(p for key in _ORDER_KEYS for p in stream.places.get(key, ())[:_TRIED]):
            first, behind = stream.bounds[stream.tokens[place].sentence]
            tokens = stream.tokens
            theirs = _parts(
                tokens[first:place], tokens[place], tokens[place + 1 : behind], MAX_SENTENCE
            )
            if _is_turned(mine, theirs):
                text = " ".join(it.word for it in tokens[first:place][:6])
                line = tokens[place].line
                return Contradiction(Change.ORDER, 0, 0, line, text), (said[0], said[-1])
    return None


_Keys = frozenset[str]


def _sides(said: Sequence[Token]) -> Iterator[tuple[int, tuple[_Keys, _Keys]]]:
    """Return, for each "then", "before" and "after", the words of its first and second part, up to the next one."""
    joints = [-1, *(k for k, token in enumerate(said) if token.word in _ORDER), len(said)]
    for before, k, behind in zip(joints, joints[1:], joints[2:], strict=False):
        yield k, _parts(said[before + 1 : k], said[k], said[k + 1 : behind], _BESIDE)


def _parts(
    left: Sequence[Token], joint: Token, right: Sequence[Token], most: int
) -> tuple[_Keys, _Keys]:
    """Return at most ``most`` content words next to a joint, of the first thing to do and of the second."""
    before = frozenset([it.key for it in left if it.is_content][-most:])
    behind = frozenset([it.key for it in right if it.is_content][:most])
    return (behind, before) if joint.word == "after" else (before, behind)


def _is_turned(mine: tuple[_Keys, _Keys], theirs: tuple[_Keys, _Keys]) -> bool:
    """Whether the words of each side of a claim are only on the other side of the lines."""
    for own, same, other in ((mine[0], *theirs), (mine[1], theirs[1], theirs[0])):
        across, here = len(own & (other - same)), len(own & (same - other))
        if not own or across < _NEAR * len(own) or here > across / 3:
            return False
    return True


def _reordered(said: Sequence[Token], stream: Stream) -> Found | None:
    """Find "B, then A" if the lines have A before B, and "B before A" if they have "A before B"."""
    for k, token in enumerate(said):
        if token.word not in _ORDER or not 1 < k < len(said) - 2:
            continue
        left, right = align(said[:k], stream), align(said[k + 1 :], stream)
        if not left or not right or min(len(left.pairs), len(right.pairs)) < 2:
            continue
        end, start = right.pairs[-1][1], left.pairs[0][1]
        if end >= start or min(left.share, right.share) < _WHOLE:
            continue
        tokens = stream.tokens
        between = {it.word for it in tokens[end + 1 : start]}
        steps = token.word == "then" and tokens[end].line < tokens[start].line
        if token.word in between or (steps and not _ORDER & between):
            text = " ".join(it.word for it in tokens[right.pairs[0][1] : end + 1][:6])
            return Contradiction(Change.ORDER, 0, 0, tokens[start].line, text), (said[0], said[-1])
    return None


_WHOLE: Final = 0.8


def _added(said: Sequence[Token], stream: Stream) -> Found | None:
    """Find an added clause: the lines don't have its verb, or don't have it near its object."""
    first = 0
    clauses = []
    for k, token in enumerate(said):
        if token.word in _ADDS and k > first:
            clauses.append(said[first:k])
            first = k
    clauses.append(said[first:])
    for k, clause in enumerate(clauses):
        if clause[0].word not in _ADDS:
            continue
        content = [token for token in clause if token.word not in OWN_WORDS]
        rest = [it for other in clauses[:k] for it in other if it.is_content]
        held = sum(it.key in stream.places for it in rest)
        if len(content) < _FEWEST_ADDED or not rest or held < _NEAR * len(rest):
            continue
        if not _together(content[0], content[1:], stream):
            before = [it for other in clauses[:k] for it in other]
            laid = align(before, stream)
            certain = (
                laid is not None
                and laid.share >= _WHOLE
                and in_place(laid)
                and len(clause) > 1
                and clause[1] == content[0]
                and _INSTRUCTS.fullmatch(content[0].word) is not None
            )
            line = laid.pairs[0][1] if laid else 0
            found = Contradiction(Change.CLAUSE, 0, 0, stream.tokens[line].line, "", certain)
            return found, (clause[0], clause[-1])
    return None


def in_place(laid: Alignment, gap: int = 0) -> bool:
    """Whether the lines have the words close together, not scattered, except for a gap of ``gap`` words."""
    return laid.pairs[-1][1] - laid.pairs[0][1] - gap < 1.5 * len(laid.said) + 2


def _together(verb: Token, objects: Sequence[Token], stream: Stream) -> bool:
    """Whether the lines have a verb near one of its objects."""
    places = stream.places
    near = {p // _REACH + by for p in places.get(verb.key, ())[:_TRIED] for by in (-1, 0, 1)}
    return any(p // _REACH in near for token in objects for p in places.get(token.key, ())[:_TRIED])


_FEWEST_ADDED: Final = 2
_TRIED: Final = 64
_INSTRUCTS: Final = re.compile(r"(?:force-|hard-|soft-)?[a-z]+(?<!ed)(?<!ing)(?<!ly)(?<![^s]s)")
"""A possible verb of an instruction: not a participle, not a third person."""
_ADDS: Final = frozenset({"then", "and", "or", "but", "also"})
_REACH: Final = 8
_ORDER: Final = frozenset({"then", "before", "after"})
_BESIDE: Final = 4
"""Maximum content words on either side to compare."""
_ORDER_KEYS: Final = tuple(sorted(map(stem, _ORDER)))


_PREFIXES: Final = ("un", "in", "im", "ir", "dis", "non-", "non", "de", "a")


def _negates(a: str, b: str) -> bool:
    """Whether one word is the other with a prefix that denies it."""
    short, long = sorted((a, b), key=len)
    return len(short) >= 5 and any(long == prefix + short for prefix in _PREFIXES)


_BEFORE: Final = 24
"""Characters before an instruction to search for a negation."""


def _destructions(claim: str, stream: Stream) -> Iterator[Contradiction]:
    """Find destructive instructions of a claim that no sentence of the lines has."""
    lines = stream.text
    for danger in dangers_in(claim):
        said = claim[danger.start : danger.end]
        keys = _content(said)
        is_said = said.lower() in lines.lower() or any(keys <= it for it in stream.sets)
        if is_said or _is_forbidden(claim, danger.start):
            continue
        if not any(keys & other for other in _destroyed(lines)):
            yield Contradiction(Change.DANGER, danger.start, danger.end, 0, "")


def _content(text: str) -> frozenset[str]:
    return frozenset(it.key for it in tokens_of(text.split("\n")) if it.is_content)


def _is_forbidden(claim: str, start: int) -> bool:
    return not NEGATIONS.isdisjoint(claim[max(start - _BEFORE, 0) : start].lower().split())


@lru_cache(maxsize=256)
def _destroyed(lines: str) -> tuple[frozenset[str], ...]:
    """Return the objects that the lines destroy, without the verb, which may be a synonym."""
    return tuple(
        frozenset(it.key for it in tokens_of([lines[one.start : one.end]])[1:] if it.is_content)
        for one in dangers_in(lines)
    )
