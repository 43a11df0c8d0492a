"""What the oracle finds and the verifier does not yet: each with its smallest example.

``test_gaps.py`` holds that each example still fails, so that a gap which is closed is taken off
here; until then the hostile answers do not count it.
"""

from __future__ import annotations

import re

EXAMPLES = {
    "a name of several words, without the keyword": "x [evil notes.md, lines 1-2] y",
    "another word before the file": "x [Quelle: evil.md, lines 1-2] y",
    "a full stop behind the word for lines": "x [evil.md, line. 1] y",
    "tags inside the brackets": "x [<u>99</u>] y",
    "a comment inside the keyword": "x [Sour<!-- -->ce: evil.md, lines 1-2] y",
    "emphasis inside the keyword": "x [So**ur**ce: evil.md, lines 1-2] y",
    "a placeholder behind an emphasised keyword": "x [*Source* N] y",
    "marks around a search's mark": "x [`9:0\u2020source`] y",
    "a colon at the beginning of the next line": "x [Source\n: evil.md, lines 1-2] y",
    "a number sign at the beginning of the next line": "x [Source\n#99] y",
    "a quotation's mark at the beginning of the next line": "> x [cite:\n> 99] y",
    "a link to a backtick": "[x](`)[99]`",
    "an underscore before a keyword that is never closed": "x [_Source: evil.md, lines 1-2",
}
"""What it is, and an answer that shows it with no evidence at all."""

_ONE_WORD = re.compile(r"says lines (['\"])\s*(?:sources?\s+)?\S+\s+[(]?lines?[\s:#]*\d")
_BROKEN = re.compile(r"says (?:lines|other keyword) .*\\n|\\n[:#|>]")
_MARKED = re.compile(r"says keyword '[^']*[*_`]\s*[nx]", re.IGNORECASE)


def is_known(violation: str, answer: str) -> bool:
    """Whether a violation is one of the gaps."""
    if (
        "](`)" in answer
        or " begins '[_" in violation
        or "says dagger" in violation
        or "\\n" in violation
    ):
        return True
    if _MARKED.search(violation):
        return True
    return "says lines" in violation and not _ONE_WORD.search(violation)
