"""What answers are made of besides references: sentences, and the blocks of Markdown they stand in."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

SENTENCES = (
    "Check the replica lag before you promote",
    "Fail the writer over",
    "Drain the queue, then restart the consumers",
    "The alarm fires after 3 minutes",
    "Roll back to revision 41",
    "**Do not** reboot the writer",
    "Raise `max_connections` to 500",
    "Page the owner (data-platform)",
    "It took 12 minutes on 2024-01-17",
    "Only if lag is < 5 s & falling",
    "First: stop the deployment",
    "Überprüfen Sie die Verzögerung",
    "接続数を確認してください",
    "Перезапустите потребителей",
    "Done \u2705 \U0001f680",
)
ENDS = (".", ".", ".", "", ";", "!", " and go on.", ", then wait.")


def sentence(rng: Random) -> str:
    """Give a sentence without its end."""
    return rng.choice(SENTENCES)


def paragraph(rng: Random, reference: str) -> str:
    """Give a paragraph with a reference at the end of its sentence."""
    return f"{sentence(rng)} {reference}{rng.choice(ENDS)}\n\n"


def item(rng: Random, reference: str) -> str:
    """Give a list item."""
    return f"{rng.choice(('-', '*', '1.', '2.', '12)'))} {sentence(rng)} {reference}{rng.choice(ENDS)}\n"


def heading(rng: Random, reference: str) -> str:
    """Give a heading."""
    return f"{'#' * rng.randint(1, 4)} {sentence(rng)} {reference}\n\n"


def quote(rng: Random, reference: str) -> str:
    """Give a quotation."""
    return f"> {sentence(rng)} {reference}{rng.choice(ENDS)}\n\n"


def table(rng: Random, reference: str) -> str:
    """Give a table whose second column holds the reference."""
    return f"| step | source |\n|---|---|\n| {sentence(rng)} | {reference} |\n\n"


def bold(rng: Random, reference: str) -> str:
    """Give an emphasised sentence."""
    marks = rng.choice(("**", "_", "*"))
    return f"{marks}Note{marks} {sentence(rng)} {marks}see {reference}{marks}.\n\n"


def behind_code(rng: Random, reference: str) -> str:
    """Give a code block whose brackets are no references, and a sentence behind it."""
    fence = rng.choice(("```", "~~~", "````"))
    code = rng.choice(("rows[1] = [1, 2]", "echo ${a[0]} [99]", "[Source: x.md, lines 1-2]"))
    return f"{fence}{rng.choice(('', 'bash', ' python'))}\n{code}\n{fence}\n{sentence(rng)} {reference}{rng.choice(ENDS)}\n\n"


INLINE = (paragraph, paragraph, item, heading, quote, table, bold, behind_code)
"""Blocks that hold a reference behind other text, where nothing has to stand in its place."""
