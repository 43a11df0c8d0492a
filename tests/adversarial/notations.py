"""Every notation of a reference, written with evidence that the caller chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.adversarial.shelf import Entry

if TYPE_CHECKING:
    from random import Random

    from tests.adversarial.shelf import Shelf

Written = tuple[str, list[Entry]]
"""A reference, and the lines that it speaks of, in its order."""

DASHES = ("-", "-", "\u2013", "\u2014", " - ", " to ", "\u2011")
KEYWORDS = ("Source", "Source", "source", "SOURCE", "Sources")


def part(rng: Random, entry: Entry) -> Entry:
    """Give all lines of an entry, or some of them."""
    first = rng.randint(entry.start, entry.end)
    return rng.choice((entry, entry._replace(start=first, end=rng.randint(first, entry.end))))


def span(rng: Random, start: int, end: int) -> str:
    """Write ``lines a-b``, or ``line a``."""
    if start == end and rng.random() < 0.7:
        return f"{rng.choice(('line', 'lines', 'Line'))} {start}"
    return f"{rng.choice(('lines', 'lines', 'line', 'Lines'))} {start}{rng.choice(DASHES)}{end}"


def number(rng: Random, shelf: Shelf) -> int:
    """Give the number of an entry."""
    return rng.randint(1, len(shelf.entries))


def human(rng: Random, shelf: Shelf) -> Written:
    """Write ``[Source: f, lines a-b]``."""
    cited = part(rng, rng.choice(shelf.citable))
    return f"[{rng.choice(KEYWORDS)}: {cited.source_file}, {span(rng, *cited[1:])}]", [cited]


def several_files(rng: Random, shelf: Shelf) -> Written:
    """Write several files in one bracket."""
    cited = [part(rng, rng.choice(shelf.citable)) for _ in range(rng.randint(2, 3))]
    joint = rng.choice(("; ", ", Source: ", "; Source: ", " and "))
    parts = [f"{one.source_file}, {span(rng, *one[1:])}" for one in cited]
    return f"[Source: {joint.join(parts)}]", cited


def several_ranges(rng: Random, shelf: Shelf) -> Written:
    """Write several ranges of one entry's file."""
    entry = rng.choice(shelf.citable)
    cited = [part(rng, entry) for _ in range(2)]
    first, second = (f"{one.start}{rng.choice(('-', '–'))}{one.end}" for one in cited)
    return (
        f"[Source: {entry.source_file}, lines {first}{rng.choice((', ', ' and ', ' & '))}{second}]",
        cited,
    )


def marked(rng: Random, shelf: Shelf) -> Written:
    """Write emphasis or code around the file's name."""
    cited = part(rng, rng.choice(shelf.citable))
    mark = rng.choice(("`", "**", "*", '"'))
    return f"[Source: {mark}{cited.source_file}{mark}, {span(rng, *cited[1:])}]", [cited]


def broken_line(rng: Random, shelf: Shelf) -> Written:
    """Write a reference whose line ends between two of its words."""
    cited = part(rng, rng.choice(shelf.citable))
    keyword, lines = rng.choice(((" ", "\n"), ("\n", " "), ("\n", "\n")))
    return f"[Source:{keyword}{cited.source_file},{lines}{span(rng, *cited[1:])}]", [cited]


def bare(rng: Random, shelf: Shelf) -> Written:
    """Write ``[f, lines a-b]`` of a file in one word."""
    words = [one for one in shelf.citable if " " not in one.source_file]
    cited = part(rng, rng.choice(words))
    return f"[{cited.source_file}, {span(rng, *cited[1:])}]", [cited]


def source_number(rng: Random, shelf: Shelf) -> Written:
    """Write ``[Source n]``."""
    n = number(rng, shelf)
    return f"[{rng.choice(KEYWORDS)} {rng.choice(('', '', '#'))}{n}]", [shelf.entries[n - 1]]


def plain_number(rng: Random, shelf: Shelf) -> Written:
    """Write ``[n]``."""
    n = number(rng, shelf)
    wide = str(n).translate({ord("0") + i: 0xFF10 + i for i in range(10)})
    return rng.choice((f"[{n}]", f"[{n}]", f"[ {n} ]", f"［{wide}］", f"【{n}】")), [
        shelf.entries[n - 1]
    ]


def number_list(rng: Random, shelf: Shelf) -> Written:
    """Write ``[n, m]``, ``[Source n, m]`` or ``[Source n, Source m]``."""
    numbers = [number(rng, shelf) for _ in range(rng.randint(2, 4))]
    keyword, joint = rng.choice(
        (("", ", "), ("", ","), ("", "; "), ("", " and "), ("Source ", ", "), ("Sources ", " & "), ("Source ", ", Source "))
    )  # fmt: skip
    return f"[{keyword}{joint.join(map(str, numbers))}]", [shelf.entries[n - 1] for n in numbers]


def number_range(rng: Random, shelf: Shelf) -> Written:
    """Write ``[n-m]``, alone or in a list."""
    first = number(rng, shelf)
    last = rng.randint(first, len(shelf.entries))
    cited = list(shelf.entries[first - 1 : last])
    text = f"{first}{rng.choice(DASHES)}{last}"
    if rng.random() < 0.4:
        n = number(rng, shelf)
        text, cited = f"{text}, {n}", [*cited, shelf.entries[n - 1]]
    return f"[{rng.choice(('', '', 'Source '))}{text}]", cited


def mentioned(rng: Random, shelf: Shelf) -> Written:
    """Name a file and its lines without brackets."""
    words = [one for one in shelf.citable if " " not in one.source_file]
    cited = part(rng, rng.choice(words))
    name, first, last = cited
    forms = (
        f"{name}:{first}-{last}", f"{name}#L{first}-L{last}", f"{name}, {span(rng, first, last)}", f"{name} ({span(rng, first, last)})",
        f"{span(rng, first, last)} of {name}", f"`{name}:{first}-{last}`", f"`{name}`, {span(rng, first, last)}", f"**{name}:{first}-{last}**",
        f"[{name}:{first}-{last}]", f"[{name}#L{first}-L{last}]",
    )  # fmt: skip
    return rng.choice(forms), [cited]


NOTATIONS = (
    human,
    several_files,
    several_ranges,
    marked,
    broken_line,
    bare,
    source_number,
    plain_number,
    number_list,
    number_range,
    mentioned,
)
"""All of them; each may be called with evidence of at least one entry."""


def anything(rng: Random, shelf: Shelf) -> str:
    """Give a good reference in any notation, or words where there is no evidence."""
    return rng.choice(NOTATIONS)(rng, shelf)[0] if shelf.citable else "as documented"
