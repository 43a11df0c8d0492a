"""Reads links to runbooks, and matches documents with them: by the end of the path, whatever is before that."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from unicodedata import normalize
from urllib.parse import unquote, urlsplit

from knowledge_rag.core.chunks import split_words
from knowledge_rag.core.headings import names_only_kind
from knowledge_rag.core.metadata import SOURCE_URL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knowledge_rag.core.outcome import RetrievalResult

RUNBOOK_KEYS: Final = frozenset({"runbook", "runbookurl", "runbooklink", "playbook", "playbookurl"})
"""Folded names of annotations, labels and tags that link a runbook."""

INDEXES: Final = frozenset({"readme", "index"})
"""Folded names of the file that a link to a folder means."""

_TEMPLATE: Final = re.compile(r"\{\{(?:(?!\{\{).)*?\}\}", re.DOTALL)
"""Never across the start of another one, so that each character is read once."""
_ROUTE: Final = re.compile(r"!?/")
"""The beginning of an anchor that is a path, on a site that draws its pages in the browser."""
_DOCUMENT: Final = re.compile(r"\.(?:md|markdown|txt)$", re.IGNORECASE)
_PAGE: Final = re.compile(r"\.(?:md|markdown|txt|html?|pdf)$", re.IGNORECASE)
_BUILT: Final = re.compile(r"\.html?(?=\.\w+(?:\.erb)?$)", re.IGNORECASE)
"""The suffix of the page that a site builds from a file: alarms.html.md."""
_LIKE_A_LINK: Final = re.compile(r"[/#]|\.(?:md|markdown|txt|html?|pdf)\b", re.IGNORECASE)

_MENTIONED: Final = re.compile(
    r"(?P<said>\b(?:run|play)book(?:\s*[:=]\s*|\s+))?"
    r"(?:(?P<url>https?://[^\s<>\"')\]]+)|(?P<path>[\w./~-]++(?:\#[\w.-]+)?))",
    re.IGNORECASE,
)
_PATH: Final = re.compile(r"\.(?:md|markdown|txt)(?:$|[#?])", re.IGNORECASE)
_CALLED_SO: Final = re.compile(r"(?:run|play)-?_?book", re.IGNORECASE)

Fit = tuple[int, bool, bool, int]
"""Parts of the path that agree, from the end; whether that is the document's whole path; whether it
is a page of its own and not a folder's index; parts that agree letter by letter. More is better."""


@dataclass(frozen=True, slots=True)
class Link:
    """The target of a link.

    Args:
        parts: of its path, without host, query, and text that a template fills in.
        anchor: after ``#``, ``""`` without one.
        addresses: possible addresses of a web page that it leads to, likeliest first.
    """

    parts: tuple[str, ...]
    anchor: str
    addresses: tuple[str, ...] = ()

    @classmethod
    def said_in(cls, text: str) -> Link:
        """Read a link as people write it, with or without a sentence around it."""
        plain = _TEMPLATE.sub("", text).strip()
        words = (word for word in plain.split() if _LIKE_A_LINK.search(word))
        return cls.of(next(words, plain).strip("<>()[],;:!.'\""))

    @classmethod
    def readings(cls, text: str) -> tuple[Link, ...]:
        """Return the possible readings of a link, likeliest first.

        A name may contain spaces: ``docs/Mail Queue.md`` is the page ``queue.md`` only if no
        document has the whole name.
        """
        plain = _TEMPLATE.sub("", text).strip()
        whole = (cls.of(plain),) if " " in plain and _LIKE_A_LINK.search(plain) else ()
        return tuple(dict.fromkeys((*whole, cls.said_in(text))))

    @classmethod
    def of(cls, text: str) -> Link:
        """Read a link: a URL, a path, or the name of a page."""
        try:
            split = urlsplit(text)
        except ValueError:  # half an IPv6 address
            return cls((), "")
        path, anchor = unquote(split.path), unquote(split.fragment)
        if _ROUTE.match(anchor):
            route, _, anchor = anchor.partition("#")
            path = f"{path}/{_ROUTE.sub('', route, count=1).partition('?')[0]}"
        parts = tuple(part for part in path.split("/") if part not in ("", ".", ".."))
        address = f"{split.netloc.casefold()}{split.path.rstrip('/')}"
        asked = f"{address}?{split.query}" if split.query else address
        addresses = tuple(dict.fromkeys((asked, address))) if split.netloc else ()
        return cls(parts, anchor, addresses)

    @property
    def is_file(self) -> bool:
        """Whether it names a file of the documents, so not a folder."""
        return _DOCUMENT.search(self.parts[-1]) is not None

    @property
    def stem(self) -> str:
        """The folded name of the page; a link to an index also leads to its folder's page."""
        return _fold(_PAGE.sub("", _built_from(self.parts[-1])))


def links_in(text: str) -> tuple[str, ...]:
    """Return the links to runbooks in a description: documents, and links that it calls a runbook.

    >>> links_in("Look at https://grafana.example/d/1 and docs/alarms.md#outage.")
    ('docs/alarms.md#outage',)
    """
    links = []
    for match in _MENTIONED.finditer(text):
        link = (match["url"] or match["path"]).rstrip(".,;:!?")
        is_called_so = match["url"] and (match["said"] or _CALLED_SO.search(link))
        if is_called_so or _PATH.search(link):
            links.append(link)
    return tuple(links)


def folded_parts(source_file: str, root: str = "") -> list[str]:
    """Return the folded parts of a document's path, with its name without the suffix."""
    *folders, name = _built_from(source_file).split("/")
    return [*map(_fold, (root, *folders)), _fold(name.rpartition(".")[0] or name)]


def _built_from(name: str) -> str:
    """Return a file's name without the suffix of the page that a site builds from it: alarms.md for alarms.html.md."""
    return _BUILT.sub("", name).removesuffix(".erb")


def fit(link: Link, source_file: str, root: str) -> Fit | None:
    """Return how well a document fits a link; ``None`` if it doesn't.

    The folder of an index has to agree, too, since every folder may have one; without a folder, the
    link means the index at the top.
    """
    wanted, have, is_index = _sides(link, source_file, root)
    if is_index and link.is_file:
        return None
    agree = _common_end(wanted, have)
    is_all = agree >= len(have) - 1
    is_at_top = is_all and len(wanted) == 1
    if not agree or (link.stem in INDEXES and agree < 2 and not is_at_top):
        return None
    if _contradict(wanted, have):
        return None
    theirs = [root, *source_file.split("/")]
    exact = _common_end(list(link.parts), theirs[:-1] if is_index else theirs)
    return agree, is_all, not is_index, exact


def contradicts(link: Link, source_file: str, root: str) -> bool:
    """Whether a document has the name that a link ends with, but in another folder.

    The document is then another page, even if it is the only one of that name.
    """
    wanted, have, _ = _sides(link, source_file, root)
    return _contradict(wanted, have)


def _sides(link: Link, source_file: str, root: str) -> tuple[list[str], list[str], bool]:
    # for a folder's index, the folder is the last part
    wanted = [*map(_fold, link.parts[:-1]), link.stem]
    have = folded_parts(source_file, root)
    is_index = have[-1] in INDEXES and link.stem not in INDEXES
    return wanted, have[:-1] if is_index else have, is_index


def _contradict(wanted: list[str], have: list[str]) -> bool:
    return len(wanted) > 1 and len(have) > 2 and _common_end(wanted, have) == 1


def _fold(name: str) -> str:
    """Fold a name whose letters may be encoded in several ways: macOS splits accents off."""
    return fold(normalize("NFC", name))


def _common_end(a: list[str], b: list[str]) -> int:
    agree = 0
    for one, other in zip(reversed(a), reversed(b), strict=False):
        if not one or one != other:
            break
        agree += 1
    return agree


def stem(source_file: str) -> str:
    """Return a document's file name without its folder, up to its first dot.

    >>> stem("runbooks/disk-full.prod.md")
    'disk-full'
    """
    return source_file.rpartition("/")[2].partition(".")[0]


def fold(text: str) -> str:
    """Return the letters and digits of a name, so that camel, kebab and title case are the same.

    >>> fold("KubePodCrashLooping") == fold("kube-pod crash_looping")
    True
    """
    return "".join(character for character in text.casefold() if character.isalnum())


MAX_WORDS: Final = 80
"""Maximum characters of a link that are searched for or shown."""

_PARTS: Final = 2
"""Last parts of a path that identify a page: the page and its folder."""

_BRANCHES: Final = frozenset({"blob", "tree", "raw", "main", "master", "-"})
"""Parts that repository sites put before a path."""

_SUFFIX: Final = re.compile(r"\.[a-z]{2,8}$", re.IGNORECASE)
_LINES: Final = re.compile(r"L\d+(?:C\d+)?(?:-L?\d+(?:C\d+)?)?|:~:.*", re.DOTALL)
"""Anchors of lines, or of a text to highlight, which don't name a section."""
_NO_WORDS: Final = re.compile(r"[^\w\s]+")


def words_of_link(links: Sequence[str]) -> str:
    """Return the words of the first link's folder, page and section, for a search and for a reader.

    They have only letters, digits and spaces. Links without letters there are skipped; ``""`` if none has any.

    >>> words_of_link(["https://wiki.example/db/rds-failover.md#promote-a-replica"])
    'db rds failover promote a replica'
    """
    for link in map(Link.said_in, links):
        named = [_SUFFIX.sub("", part) for part in link.parts]
        named_parts = [it for it in named if it not in _BRANCHES and fold(it) not in INDEXES]
        parts = (*named_parts[-_PARTS:], link.anchor)
        words = " ".join(_NO_WORDS.sub(" ", split_words(it)) for it in parts)
        if any(letter.isalpha() for letter in words):
            return " ".join(words.replace("_", " ").split())[:MAX_WORDS].rstrip()
    return ""


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """The target of a link among the retrieved documents.

    Args:
        files: that fit it; several only if they fit equally well.
    """

    files: tuple[str, ...]
    anchor: str


def linked_documents(
    results: Iterable[RetrievalResult], links: Iterable[str]
) -> tuple[LinkTarget, ...]:
    """Return the retrieved documents that links lead to, in the links' order, likeliest first.

    A document appears for its first link, and again for each further section of it that is linked.
    """
    addresses = {it.citation.source_file: _address(it) for it in results}
    targets: list[LinkTarget] = []
    for text in links:
        for link in Link.readings(text):
            if files := _meant(link, addresses):
                it = LinkTarget(tuple(files), _matter(link.anchor))
                known = [one for one in targets if one.files == it.files]
                if it.anchor not in ("", *(one.anchor for one in known)) or not known:
                    targets.append(it)
                break
    return tuple(targets)


def anchored(links: Iterable[LinkTarget]) -> dict[str, list[str]]:
    """Return the linked documents, in order, with the anchors of their sections."""
    anchors: dict[str, list[str]] = {}
    for it in links:
        for file in it.files:
            anchors.setdefault(file, []).extend(filter(None, [it.anchor]))
    return anchors


def called_alike(results: Iterable[RetrievalResult], links: Iterable[str]) -> list[str]:
    """Return the retrieved documents that have a link's name, but in another folder."""
    files = dict.fromkeys(it.citation.source_file for it in results)
    read = [link for text in links for link in Link.readings(text) if link.parts]
    return [file for file in files if any(contradicts(link, file, root="") for link in read)]


def _matter(anchor: str) -> str:
    """Remove an anchor that names a section's purpose, or a line: a link to ``#symptoms`` means more."""
    if _LINES.fullmatch(anchor) or names_only_kind(split_words(anchor)):
        return ""
    return anchor


def _meant(link: Link, addresses: dict[str, str]) -> list[str]:
    for address in link.addresses:
        if files := [file for file, its in addresses.items() if its == address]:
            return files
    return _fitting(link, addresses)


def documents_called(path: str, files: Iterable[str]) -> list[str]:
    """Return the documents that a path means by its end: those that fit best.

    >>> documents_called("radius.txt", ["network/radius.txt", "network/radius-old.txt"])
    ['network/radius.txt']
    """
    return _fitting(Link.of(path), files)


def _fitting(link: Link, files: Iterable[str]) -> list[str]:
    if not link.parts:
        return []
    fits = {file: found for file in files if (found := fit(link, file, root=""))}
    return [file for file, found in fits.items() if found == max(fits.values())]


def _address(result: RetrievalResult) -> str:
    url = result.metadata.get(SOURCE_URL)
    return next(iter(Link.of(url).addresses), "") if isinstance(url, str) else ""
