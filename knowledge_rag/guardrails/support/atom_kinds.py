"""Tells what kind of atom a name is, if it is one."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from knowledge_rag.guardrails.support.report import AtomKind

_COMMAND_TEXT: Final = (
    "aws az ansible argocd awk chmod chown curl dig docker dmesg etcdctl gcloud git gitlab-ctl grep"
    " gsutil helm iptables istioctl journalctl jq kubectl kafka-topics knife kustomize lsof mysql"
    " netstat nslookup npm oc openssl pip promtool psql pg_dump redis-cli rsync scp sed ssh sudo"
    " systemctl tar tcpdump terraform traceroute wget yarn"
)
COMMANDS: Final = frozenset(_COMMAND_TEXT.split())
"""Programs whose name is no English word: an atom outside code too."""

_HOST: Final = re.compile(
    r"(?:(?:\d{1,3}\.){3}\d{1,3}(?:/\d+)?|(?:[\w-]{1,63}\.){2,30}[A-Za-z]{2,24}"
    r"|[\w-]{1,63}\.(?:com|org|net|io|dev|internal|local|uk|eu|cloud))(?::\d+)?$"
)
_NO_ATOMS: Final = frozenset({"e.g", "i.e", "etc", "vs", "a.k.a", "n/a", "w/o", "c.f", "and/or"})


def kind_of(name: str, *, in_code: bool, opens: bool) -> AtomKind | None:
    """Tell the kind of a name; ``None`` if it is words of prose.

    Args:
        name: without punctuation around it.
        in_code: whether it stands in code, where a plain word is an atom too.
        opens: whether it is the first in its code, where a command stands.
    """
    if not name.isalnum() and (kind := _kind_by_marks(name, in_code=in_code)):
        return kind
    if in_code:
        return AtomKind.COMMAND if opens or name in COMMANDS else AtomKind.IDENTIFIER
    if name in COMMANDS:
        return AtomKind.COMMAND
    return None if _is_prose(name) or name.casefold() in _NO_ATOMS else AtomKind.IDENTIFIER


def _kind_by_marks(name: str, *, in_code: bool) -> AtomKind | None:
    """Tell what a name's signs tell."""
    if name.startswith("-"):
        return AtomKind.FLAG
    if ":" in name and ("://" in name or name.startswith("arn:")):
        return AtomKind.URL if "://" in name else AtomKind.ARN
    if "." in name and _HOST.match(name):
        return AtomKind.HOST
    if "/" in name and (in_code or _is_path(name)):
        return AtomKind.PATH
    return None


@lru_cache(maxsize=32_768)
def is_plain_word(lexeme: str) -> bool:
    """Whether it is spelled like a word or acronym of prose: ``pod``, ``Redis``, ``CPU``, ``VMs``."""
    if not lexeme.isalpha():
        return False
    stem = lexeme.removesuffix("s")
    return lexeme[1:].islower() or stem.isupper() or len(lexeme) == 1


def _is_path(name: str) -> bool:
    if name.casefold() in _NO_ATOMS:
        return False
    return name[0] in "/~" or name.count("/") > 2 or not _is_prose(name)


def _is_prose(name: str) -> bool:
    """Whether it is words and hyphens: ``read-only``, ``on/off``."""
    return all(is_plain_word(word) for word in name.replace("/", "-").split("-") if word)
