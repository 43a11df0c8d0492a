r"""Keeps the references of an answer that resolve and removes the others, whole or as a stream.

Most text is decided as it comes: words, simple code, references that resolve, and in ordinary sentences
also those that don't. Anything else makes the text from the first bracket on wait until its top-level
block is over. Then Markdown parsers show what readers see of it, with and without the references that
don't resolve; if they see anything else that reads like a reference, its brackets become curly ones.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knowledge_rag.guardrails.brackets import A_BRACKET, INTO_ADDRESS, Reading
from knowledge_rag.guardrails.characters import CLOSING, MAX_NAME, MAX_ZEROS, OPENING
from knowledge_rag.guardrails.look import MAX_ENTITY, MAX_TAG
from knowledge_rag.guardrails.readings import is_open, views_of
from knowledge_rag.guardrails.references import A_DOCUMENT, Numbers, common_reference, parse
from knowledge_rag.guardrails.resolve import Findings, Kept, Taken, Why, add_span, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knowledge_rag.guardrails.brackets import Bad
    from knowledge_rag.guardrails.characters import Span
    from knowledge_rag.guardrails.ledger import Evidence, Ledger
    from knowledge_rag.guardrails.references import Reference

MARK: Final = "[unverified]"
"""Replaces a removed reference that can't go without a mark."""
MAX_BLOCK: Final = 32_768
"""Maximum characters of a top-level block that is parsed as a whole."""

_MAX_BRACKETS: Final = 1_000
_SLICE: Final = 4_096
_GROWTH: Final = 1.25
_B: Final = re.escape(OPENING + CLOSING)
_START: Final = (
    r"(?![ \t>\-+*\d.)`~]*\Z)(?:[ ]{0,3}(?:>|(?:[-+*]|\d{1,9}[.)])[ ]))*+"
    r"[ ]{0,3}(?=[^ \t\r\n`~]|`(?!``)|~(?!~~))"
)
"""The beginning of a line that isn't code, once it is known to have more than marks."""
_LINE_START: Final = re.compile(_START)
_WORDS: Final = re.compile(
    rf"(?:[^`&<\\\u202e\r\n{_B}]++|&(?=[^#A-Za-z])|<(?=[^A-Za-z/!?{_B}])|\\(?=[^`&\\{_B}\r\n])"
    rf"|`[^`&\r\n{_B}]{{1,900}}+`(?=[^`])|\r?\n(?={_START})|\n(?=\r?\n))++"
)
"""Words, plain code spans, and the beginnings of plain lines."""
_PLAIN_SPAN: Final = re.compile(r"`[^`\r\n]++`")
_CODE_SPAN: Final = re.compile(rf"`(?:[^`|&\r\n{_B}]|\[[^`|&\r\n{_B}]*\])++`(?=[^`])")
"""A code span with pairs of brackets."""
_FENCE: Final = re.compile(r"( {0,3})(`{3,40}|~{3,40})(?![`~])[^`|\r\n]{0,150}\r?\n")
_FENCE_BEGUN: Final = re.compile(r" {0,3}(?:```|~~~)[^\r\n]*\r?\Z")
_BLANK: Final = re.compile(r"[ \t]*\r?\n")
_BRACKET: Final = re.compile(rf"\[([^`&<\\\u202e\r\n{_B}]{{0,300}}+)\]")
_ADDRESS: Final = re.compile(rf"\(https?://[^\s()<>`&\\{_B}]++\)(?=[^(\[:{{`])")
_BEGUN: Final = re.compile(r"[ \t>\-+*\d.)`~]*\r?\Z")
"""A line that so far has nothing but marks that lines may begin with."""
_INDENTED: Final = re.compile(r"[ \t]++(?=[^ \t\r\n`~>])")
_TEXT_LINE: Final = re.compile(r"[ ]*+(?:(?:[-+*]|\d{1,9}[.)])[ ]{1,4}+)?+[^\W\d_]")
_SENTENCE: Final = re.compile(r"[^\W\d_][^\n]*[ .,;)*\"']\Z")
"""Ordinary words; removing a reference after them doesn't change the text around it."""
_INDEXED: Final = re.compile(r"[\w$@=/^&\\!\]]\Z", re.ASCII)
_LEFT_EDGE: Final = re.compile(r"[^\s\-+*\d]")
_NEXT_BLOCK: Final = re.compile(rf"\n[ \t]{{0,200}}\r?\n(?={_LEFT_EDGE.pattern})")
"""The place where a top-level block begins at the left edge, unless another one is still open."""
_STAYS_OPEN: Final = re.compile(r"```|~~~|<(?:[!?]|script|pre|style|textarea)", re.IGNORECASE)
"""The fence or HTML that a block needs in order to continue after that place (CommonMark 4.5 and 4.6)."""
_BLANK_ABOVE: Final = re.compile(r"\n[ \t]*\r?\n\Z")
_POSSIBLE: Final = re.compile(
    rf"\\?(?:{A_BRACKET.pattern}|&(?:\#[xX]?0{{0,{MAX_ZEROS}}}+)?+[0-9A-Za-z]{{0,{MAX_NAME}}}\Z)|\\\Z"
)
"""A bracket, or text that may turn out to be one."""
_JOINS: Final = re.compile(
    r"(?:<\0[A-Za-z/!?]|(?:&#?|0{9})[0-9A-Za-z]{0,18}\0[#0-9A-Za-z;]|`\0`|~\0~|[\]\uff3d]\0[(:])\Z|\]:[ \t]*\0"
)
"""Texts that must not end up side by side; the NUL stands for the removed reference."""
_NOT_BEHIND: Final = frozenset(["", "(", "[", ":", "{", "`"])
_LONE_RETURN: Final = re.compile(r"\r(?!\n)")
_PARTIAL: Final = re.compile(
    rf"(?:&(?:\#[xX]?0{{0,{MAX_ZEROS}}}+)?+[0-9A-Za-z]{{0,{MAX_ENTITY}}}"
    rf"|`{{1,2}}|~{{1,2}}|<[^<>\n]{{0,{MAX_TAG + 1}}}|\n[ \t]{{0,200}}\r?\n?)\Z"
)
"""Text that may still become a bracket, a tag, a fence or the place where a block begins."""
_WORD_BEHIND: Final = re.compile(r"\s*\Z| ?(?!source)[^\s\d\-+*>#=`~|<:!?_&\\\[]", re.IGNORECASE)
_NESTED: Final = re.compile(r"[\[<]")
_FAR: Final = 1_000
"""Maximum characters that decide what a bracket or a backtick is; otherwise its block decides."""
_LONG: Final = 200
"""Maximum characters to read before a bracket, and of a line's beginning."""

Cut = tuple[int, int, Why, str]
"""Start and end offset of removed text, the reason, and its replacement."""


class Scanner:
    """Reads an answer piece by piece.

    Args:
        ledger: the evidence of the request.
        mark: whether a mark replaces everything that is removed.
    """

    def __init__(self, ledger: Ledger, *, mark: bool = False) -> None:
        self.found = Findings()
        self._ledger, self._mark = ledger, mark
        self._text = ""  # in its outgoing form, as far as that is decided
        self._block = 0  # index where the top-level block begins
        self._at = 0  # index up to which everything is decided
        self._sent = 0  # index up to which it has gone out; past ``_at`` if no bracket is there
        self._written = 0  # added to an index past ``_at``, it is the offset as written
        self._out = 0  # added to an index, it is the offset in the outgoing answer
        self._fence: re.Pattern[str] | None = None  # the end of the open fence
        self._waits = False  # for the end of the block
        self._searched = 0  # index up to which that end was searched for
        self._try = 0  # index before which it isn't searched for again
        self._is_blunt = False  # the block is too long to parse
        self._is_endless = False  # and its end can't be known
        self._defined: set[str] = set()
        self._cited: set[Evidence] = set()  # by the references counted so far
        self._counted = 0
        self._parts: list[str] = []

    @property
    def settled(self) -> int:
        """Offset in the outgoing answer up to which all code is known."""
        return self._at + self._out

    def feed(self, piece: str) -> str:
        """Read more of the answer; return the text that can go out now."""
        for start in range(0, len(piece), _SLICE):
            self._text += piece[start : start + _SLICE]
            self._read(final=False)
        return self._flush()

    def close(self, piece: str = "") -> str:
        """Read the last of the answer; return the rest of its text."""
        out = self.feed(piece)
        self._read(final=True)
        return out + self._flush()

    def _flush(self) -> str:
        out = "".join(self._parts)
        self._parts.clear()
        return out

    def _read(self, *, final: bool) -> None:
        is_over = True
        while is_over:
            if not self._waits:
                self._pass(final=final)
            is_over = self._waits and not self._is_blunt and self._end_block(final=final)
            if self._is_blunt:
                is_over = self._go_blunt(final=final)
        if final:
            self._send(len(self._text))
        elif not self._is_blunt:
            found = _POSSIBLE.search(self._text, max(self._at, self._sent))
            self._send(found.start() if found else len(self._text))
            self._forget()

    def _send(self, end: int) -> None:
        if end > self._sent:
            self._parts.append(self._text[self._sent : end])
            self._sent = end

    def _forget(self) -> None:
        """Drop text that has gone out, except the block, or the last part of a long one."""
        first = self._block if self._at - self._block <= MAX_BLOCK else self._at - _FAR
        self._drop(min(first, self._sent))

    def _drop(self, count: int) -> None:
        self._text = self._text[count:]
        self._block -= count
        self._at -= count
        self._sent -= count
        self._searched -= count
        self._try -= count
        self._written += count
        self._out += count

    # text that is decided as it comes

    def _pass(self, *, final: bool) -> None:
        """Decide the text that needs no parser; wait for the end of the block if other text follows."""
        text = f"{self._text}\n" if final else self._text
        while not self._waits and self._at < len(self._text):
            at = self._at
            if self._fence:
                self._pass_code(text)
            elif at and text[at - 1] != "\n":
                self._pass_words(text)
            else:
                self._begin_line(text)
            if len(text) - len(self._text) != final:  # something was removed
                text = f"{self._text}\n" if final else self._text
            elif self._at == at:
                break
        self._at = min(self._at, len(self._text))
        if self._waits:
            self._searched, self._try = self._at, 0
            self._is_blunt = self._at - self._block > MAX_BLOCK

    def _begin_line(self, text: str) -> None:
        at = self._at
        is_below_blank = at == 0 or _BLANK_ABOVE.search(text, max(0, at - _LONG), at)
        if is_below_blank and _LEFT_EDGE.match(text, at):
            self._block = at
        if _LINE_START.match(text, at):
            self._pass_words(text)
        elif blank := _BLANK.match(text, at):
            self._at = blank.end()
        elif fence := _FENCE.match(text, at):
            self._fence = _end_of_fence(len(fence[1]), fence[2])
            self._add_code(at, fence.end())
            self._at = fence.end()
        elif (indented := _INDENTED.match(text, at)) and self._is_below_text(text, at):
            self._at = indented.end()
        elif not (_BEGUN.match(text, at) and len(text) - at < _LONG) and not self._is_begun_fence(
            text, at
        ):
            self._waits = True

    def _is_below_text(self, text: str, at: int) -> bool:
        line = text.rfind("\n", 0, at - 1) + 1
        return at > 0 and _TEXT_LINE.match(text, line, at) is not None

    def _is_begun_fence(self, text: str, at: int) -> bool:
        return _FENCE_BEGUN.match(text, at) is not None and len(text) - at < _LONG

    def _pass_code(self, text: str) -> None:
        """Take whole lines of a fence."""
        last = text.rfind("\n") + 1
        ended = self._fence.search(text, self._at, last) if self._fence else None
        end = last
        if ended:
            end, self._fence = ended.end("end"), None
            if end < 0:
                end, self._waits, self._is_endless = ended.start(), True, True
        if (lone := _LONE_RETURN.search(text, self._at, end)) and lone.end() < len(text):
            end, self._fence = lone.start(), None  # not the end of a line to all readers
            self._waits = self._is_endless = True
        self._add_code(self._at, min(end, len(self._text)))
        self._at = max(self._at, end)

    def _add_code(self, start: int, end: int) -> None:
        add_span(self.found.code, start + self._out, end + self._out)

    def _note_cuts(self, text: str, cuts: Sequence[Cut]) -> None:
        self.found.taken += [
            Taken(start + self._written, end + self._written, text[start:end], why, mark)
            for start, end, why, mark in cuts
        ]

    def _pass_words(self, text: str) -> None:
        at = self._at
        if at and text[at - 1] == "]" and text[at] in "(:":
            self._pass_behind_bracket(text)
            return
        if not (words := _WORDS.match(text, at)):
            self._pass_token(text)
            return
        self._at = end = words.end()
        if text.find("`", at, end) >= 0:
            for span in _PLAIN_SPAN.finditer(text, at, end):
                if "|" in span[0] and A_DOCUMENT.search(span[0]):  # in a table, these are words
                    end, self._waits = span.start(), True
                    self._at = end
                    break
                self._add_code(*span.span())
        for block in _NEXT_BLOCK.finditer(text, max(0, at - 2), end):
            self._block = block.end()

    def _pass_token(self, text: str) -> None:
        at = self._at
        character, following = text[at], text[at + 1 : at + 2]
        if character == "\n" or (character == "\r" and following == "\n"):
            self._at += 1
        elif character == "[" and self._pass_bracket(text):
            pass
        elif (
            character == "`"
            and (span := _CODE_SPAN.match(text, at, at + _FAR))
            and self._is_outside_table(text)
            and not INTO_ADDRESS.search(text, max(0, at - _FAR), at + 1)
        ):
            self._add_code(at, span.end())
            self._at = span.end()
        elif character in "`[":
            self._waits = self._sees_enough(text)
        else:
            self._waits = bool(following) or character not in "\r&<\\"

    def _pass_behind_bracket(self, text: str) -> None:
        """Take a plain address of a link; wait for other possible addresses, and for definitions."""
        if text[self._at] == ":" and _SENTENCE.search(
            self._line_before(text)[:-1].rpartition("[")[0]
        ):
            self._at += 1
        elif address := _ADDRESS.match(text, self._at, self._at + _FAR):
            self._at = address.end()
        else:
            self._waits = text[self._at] == ":" or self._sees_enough(text)

    def _sees_enough(self, text: str) -> bool:
        return len(text) - self._at >= _FAR or text.find("\n", self._at) >= 0

    def _is_outside_table(self, text: str) -> bool:
        """Whether no cell of a table can have ended earlier on this line."""
        first = max(0, self._at - _FAR)
        line = text.rfind("\n", first, self._at)
        return (line >= 0 or self._at < _FAR) and text.find("|", max(line, first), self._at) < 0

    def _line_before(self, text: str) -> str:
        return text[max(text.rfind("\n", 0, self._at) + 1, self._at - _LONG) : self._at]

    def _pass_bracket(self, text: str) -> bool:
        """Keep or remove the text between two brackets if that can be decided at once."""
        at = self._at
        if (common := common_reference(text, at)) and common[1] < at + _FAR:
            reference, end = common
            evidence = resolve(reference, self._ledger)
            if not isinstance(evidence, Why) and self._is_citation(text, reference, end):
                self.found.kept.append(Kept(at + self._out, end + self._out, evidence))
                self._at = end
                return True
        if found := _BRACKET.match(text, at):
            read, end = parse(found[1]), found.end()
            if read is None:
                self._at = end
                return True
            is_plain = text[end : end + 1] not in _NOT_BEHIND and not self._defined
            if is_plain and _SENTENCE.search(self._line_before(text)):
                why = resolve(read, self._ledger)
                if isinstance(why, Why):
                    self._take_out(at, end, why)
                    return True
        return False

    def _is_citation(self, text: str, reference: Reference, end: int) -> bool:
        """Whether text that reads like a reference isn't a link, an index or a definition."""
        following, before = text[end : end + 1], text[self._at - 1 : self._at]
        if not following or following == "(":
            return False
        if following == ":" and not _SENTENCE.search(self._line_before(text)):
            return False
        if not isinstance(reference[0], Numbers):
            return before not in ("\\", "!")
        if before == "]" and self.found.kept and self.found.kept[-1].end == self._at + self._out:
            return not self._defined
        return not self._defined and not _INDEXED.search(before)

    def _take_out(self, start: int, end: int, why: Why) -> None:
        mark = MARK if self._mark else ""
        self._note_cuts(self._text, [(start, end, why, mark)])
        self._text = self._text[:start] + mark + self._text[end:]
        self._at = start + len(mark)
        self._written += end - start - len(mark)

    # text that waits for the end of its block

    def _end_block(self, *, final: bool) -> bool:
        """Decide the block if it is over; return whether to continue after it."""
        self._send(self._at)
        self._drop(self._block)
        while found := _NEXT_BLOCK.search(self._text, max(self._searched, 0)):
            end = found.end()
            if end > MAX_BLOCK:
                break
            self._searched = end - 1
            if end > self._at and end >= self._try:
                if self._decide(end):
                    return True
                self._try = int(end * _GROWTH)
        if len(self._text) > MAX_BLOCK:
            self._is_blunt = True
        elif final:
            self._decide(len(self._text), final=True)
        return False

    def _decide(self, end: int, *, final: bool = False) -> bool:
        """Decide the removals in the block up to ``end``; return false if the block continues after that."""
        region = self._text[:end]
        first = _POSSIBLE.search(region, self._at)
        start = first.start() if first else end
        cuts: Sequence[Cut]
        reading: Reading | None
        if sum(1 for _ in A_BRACKET.finditer(region, start)) > _MAX_BRACKETS:
            if not final and is_open(region):
                return False
            cuts, reading = _curled(region, start), None
        else:
            reading = Reading(region, start, self._ledger, self._defined)
            if not final and any(view.is_open for view in reading.views):
                return False
            cuts, reading = self._cuts(reading)
        text = _without(region, cuts)
        if reading:
            self._note(reading)
        self._note_cuts(region, cuts)
        if self._sent < end:
            self._parts.append(text[self._sent :])
        self._text = text + self._text[end:]
        self._written += len(region) - len(text)
        self._sent = max(self._sent, end) + len(text) - len(region)
        self._at = self._block = len(text)
        self._waits = self._is_endless = False
        return True

    def _cuts(self, reading: Reading) -> tuple[Sequence[Cut], Reading | None]:
        """Return the removals in a block, and the reading of the rest."""
        text = reading.text
        self._cited.update(*(it.evidence for it in self.found.kept[self._counted :]))
        self._counted = len(self.found.kept)
        if not reading.bad and reading.is_sound(self._cited):
            return (), reading
        for all_marked in (False, True) if reading.bad else ():
            cuts = [self._cut(text, bad, is_marked=all_marked) for bad in reading.bad]
            left = Reading(_without(text, cuts), reading.start, self._ledger, self._defined)
            if left.is_sound(self._cited) and _is_like(reading, left, cuts):
                return cuts, left
        curled = _curled(text, reading.start)
        marked = [self._cut(text, bad, is_marked=True) for bad in reading.bad]
        cuts = sorted([*marked, *_outside(curled, marked)])
        views = [*reading.views, *views_of(_without(text, cuts))]
        if any(view.is_open for view in views):
            return curled, None  # the text after it would be read differently
        return cuts, None

    def _cut(self, text: str, bad: Bad, *, is_marked: bool) -> Cut:
        start, end = bad.start, bad.end
        beside = f"{text[max(0, start - _LONG) : start]}\0{text[end : end + 1]}"
        if not (
            is_marked
            or self._mark
            or bad.is_inside
            or self._begins_block(text, bad)
            or _JOINS.search(beside)
        ):
            return start, end, bad.why, ""
        return start, end, bad.why, f"{MARK} " if text[end : end + 1] in ("(", "[", ":") else MARK

    @staticmethod
    def _begins_block(text: str, bad: Bad) -> bool:
        """Whether removal would change the beginning of a block, which might then belong to the one before."""
        is_whole = bad.why is not Why.UNCLOSED and not _NESTED.search(text, 1, bad.end)
        return bad.start == 0 and not (is_whole and _WORD_BEHIND.match(text, bad.end))

    def _note(self, reading: Reading) -> None:
        for start, end, evidence in reading.good:
            self.found.kept.append(Kept(start + self._out, end + self._out, evidence))
        self.found.unchecked += [
            (start + self._out, end + self._out) for start, end in reading.unchecked
        ]
        for start, end in reading.code:
            if end > self._at:
                self._add_code(max(start, self._at), end)
        self._defined |= reading.defined
        if "](" in reading.text or "]:" in reading.text:
            pages = [[page for _, page in view.shown] for view in reading.views]
            self.found.pages.append((self._out, self._out + len(reading.text), pages))

    # blocks that are too long to parse

    def _go_blunt(self, *, final: bool) -> bool:
        """Make all brackets curly in a block that is too long to parse; return whether it is over.

        The end is known only for a block without anything that may stay open beyond a blank line.
        """
        text, end = self._text, len(self._text)
        following = None if self._is_endless else _NEXT_BLOCK.search(text, self._at)
        if _STAYS_OPEN.search(text, self._at, following.end() if following else end):
            self._is_endless, following = True, None
        if following:
            end = following.end()
        elif not final and (partial := _PARTIAL.search(text, self._at)):
            end = partial.start()
        start = max(self._at, self._sent)
        cuts = _curled(text[:end], start)
        self._note_cuts(text, cuts)
        left = _without(text[:end], cuts)
        self._parts.append(left[self._sent :])
        self._written += end - len(left)
        self._sent = max(self._sent - end, 0) + len(left)
        self._text = left + text[end:]
        add_span(self.found.too_long, self._at + self._out, len(left) + self._out)
        self._at = self._block = len(left)
        if following:
            self._is_blunt = self._waits = self._is_endless = False
        self._drop(self._at)
        return following is not None


def _end_of_fence(indent: int, mark: str) -> re.Pattern[str]:
    """Return the pattern of text that ends a fence, or may end it.

    That depends on the list around it, and on the reader if one word follows its mark.
    """
    run = rf"{mark[0]}{{{len(mark)},}}"
    ticks, word = rf"{run}[ \t]*\r?\n", rf" {{0,3}}{run}\S+[ \t]*\r?\n"
    if not indent:
        return re.compile(rf"^(?:(?P<end> {{0,3}}{ticks})|{word})", re.MULTILINE)
    odd = rf" {{0,{indent - 1}}}(?=[^ \r\n])|[ \t]*{ticks}|{word}"
    return re.compile(rf"^(?:(?P<end> {{{indent},3}}{ticks})|{odd})", re.MULTILINE)


def _without(text: str, cuts: Sequence[Cut]) -> str:
    parts, at = [], 0
    for start, end, _, mark in cuts:
        parts += [text[at:start], mark]
        at = end
    return "".join([*parts, text[at:]])


def _curled(text: str, start: int) -> Sequence[Cut]:
    """Return the cuts that make all brackets curly."""
    return [
        (one.start(), one.end(), Why.UNPARSABLE, "{" if one["open"] else "}")
        for one in A_BRACKET.finditer(text, start)
    ]


def _outside(cuts: Iterable[Cut], others: Sequence[Cut]) -> Iterator[Cut]:
    """Yield the cuts that overlap none of the others; both are in order."""
    at = 0
    for cut in cuts:
        while at < len(others) and others[at][1] <= cut[0]:
            at += 1
        if at == len(others) or cut[1] <= others[at][0]:
            yield cut


def _is_like(before: Reading, after: Reading, cuts: Sequence[Cut]) -> bool:
    """Whether everything except the cuts is read as before."""
    if not after.text.strip():
        return True
    if [before.text[a:b] for a, b, _ in before.good] != [after.text[a:b] for a, b, _ in after.good]:
        return False
    return all(
        was.blocks == now.blocks
        and was.is_open == now.is_open
        and _texts(before.text, was.spans, cuts) == _texts(after.text, now.spans, ())
        for was, now in zip(before.views, after.views, strict=False)
    )


def _texts(text: str, spans: Sequence[Span], cuts: Sequence[Cut]) -> Sequence[str]:
    """Return the texts of code spans without the cuts in them."""
    found = []
    for start, end in spans:
        within = [cut for cut in cuts if cut[0] < end and start < cut[1]]
        if all(start <= cut[0] and cut[1] <= end for cut in within):
            moved = [(a - start, b - start, why, mark) for a, b, why, mark in within]
            found.append(_without(text[start:end], moved))
    return found
