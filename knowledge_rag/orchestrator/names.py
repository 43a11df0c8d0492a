"""Names that are one thing, written one way here and another there."""

from __future__ import annotations


def stem(source_file: str) -> str:
    """Return a document's file name without its folder and all behind its first dot.

    >>> stem("runbooks/disk-full.prod.md")
    'disk-full'
    """
    return source_file.rpartition("/")[2].partition(".")[0]


def fold(text: str) -> str:
    """Give the letters and digits of a name, so that camel, kebab and title case are one.

    >>> fold("KubePodCrashLooping") == fold("kube-pod crash_looping")
    True
    """
    return "".join(character for character in text.casefold() if character.isalnum())
