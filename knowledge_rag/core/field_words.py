"""Words of a question: those that say nothing, and technical terms for everyday ones.

A search for "machine" also finds text about nodes: a local search looks for the technical terms too, and
text that has them also matches the everyday words. ``docs/evaluation.md`` has the gain.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.stemming import stem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COMMON: Final = frozenset({
    "a", "about", "above", "after", "all", "alarm", "alert", "also", "am", "an", "and", "any",
    "are", "as", "at", "be", "because", "been", "before", "below", "but", "by", "can", "did",
    "do", "does", "each", "error", "errors", "fail", "failed", "failing", "fails", "for", "from", "had",
    "has", "have", "how", "i", "if", "in", "incident", "into", "is", "issue", "it", "its", "many",
    "minute", "minutes", "more", "no", "not", "of", "off", "on", "one", "or", "our", "out",
    "over", "per", "problem", "s", "says", "second", "seconds", "seems", "service", "since", "so",
    "some", "than", "that", "the", "their", "them", "there", "they", "this", "though", "time",
    "to", "under", "up", "was", "we", "were", "what", "when", "where", "which", "while", "who",
    "why", "will", "with", "you", "threshold", "crossed", "critical", "warning",
    "again", "ago", "already", "always", "another", "anybody", "anyone", "anything", "away", "back", "bad", "best",
    "break", "breaks", "broke", "broken", "came", "come", "comes", "could", "day", "days", "during", "even", "ever",
    "every", "everybody", "everyone", "everything", "everywhere", "few", "find", "fix", "found", "get", "gets",
    "getting", "give", "gives", "go", "goes", "going", "gone", "got", "happen", "happened", "happening", "happens",
    "he", "help", "her", "here", "him", "his", "hour", "hours", "just", "keep", "keeps", "kept", "like", "ll", "long",
    "look", "looks", "lot", "made", "make", "makes", "may", "maybe", "me", "might", "month", "most", "much", "must",
    "my", "need", "needs", "never", "new", "next", "night", "nobody", "nothing", "now", "often", "onto", "other",
    "others", "ought", "please", "put", "puts", "quickly", "re", "really", "right", "said", "same", "say", "see",
    "seem", "seen", "several", "she", "should", "show", "shows", "somebody", "someone", "something", "sometimes",
    "still", "such", "suddenly", "take", "takes", "tell", "then", "these", "thing", "things", "those", "today",
    "tomorrow", "tonight", "too", "try", "trying", "until", "us", "use", "used", "using", "ve", "very", "wait", "waiting", "want",
    "wants", "way", "week", "weeks", "went", "whole", "whom", "without", "work", "working", "works", "would", "wrong",
    "yesterday", "yet",
    "pm", "min", "mins", "sec", "secs", "morning", "evening", "afternoon", "noon", "midnight", "clock", "half", "quarter",
    "past", "last", "once", "twice", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "fine", "ok", "okay", "think", "sure", "isn", "isnt", "aren", "don", "dont", "doesn", "doesnt", "didn", "didnt", "won", "cannot",
    "haven", "hasn", "people", "almost", "bit", "bits", "else", "idea", "know", "knows", "loads", "nearly", "quite", "rather",
    "somehow", "stuff", "whatever", "wouldn", "couldn", "shouldn", "wasn", "weren",
})  # fmt: skip
"""English words that say nothing about what a question or an incident is about."""

_TABLE: Final = """
machine | box | host | server = node instance
worker machine = node kubelet
one per machine | every machine | each machine = daemonset
keep restarting | keep dying | keep crashing | start and die | start dies | restart loop = crash looping restarts
never start | won't start | doesn't start | stuck starting | sit there = pending not ready
out of rotation | no new work = cordon drain unschedulable
front door | way in | web entry = ingress gateway load balancer
control plane | cluster api = apiserver
rollout | roll out | new version = deployment
scheduled job | scheduled task | nightly job | regular job = cronjob job
allowance | allowed to use = quota limit
settings | setup = configuration config
thrown out | kicked out = evicted
copy = replica replication
main one | leader | in charge = primary leader
two primaries | two leaders | both think | both say = split brain multiple primary
self check | self test | health check = probe canary healthcheck
disk | drive | storage attached = disk volume filesystem
full | fill up | no room | no space | out of space | out of room | run out of space | ran out of room = full space usage capacity
out of memory | eat memory | killed for memory = oom oomkilled memory
ram = memory
processor = cpu
hog | eat = usage high
held back | slowed down = throttling
wrong time | time is wrong | clock = clock skew synchronisation ntp
network card = network interface
bad packets | lost packets = packets errors dropped
look up | lookup | name resolution | hostname = dns resolution
cert = certificate
run out | ran out = expire expiration
password | secret = credentials secret
journal | write log | write ahead log = wal
save point | snapshot of the log = checkpoint
squash | squeeze | merge old | merge stored | merge block = compaction compactor compress
get rid | clean up | throw away = delete cleanup retention
trim = truncate truncation
behind | lagging | catch up | overdue = lag delay
used up | all taken = saturation exhausted
pile up | back up | wait in line | backlog | queueing = queue backlog pending
nobody picks = stuck consumers workers
alarm | page | pager = alert notifications alertmanager
alert calculations | alert rule | alert expression | rule run = rule evaluation ruler
collect metrics | collect numbers = scrape target
no machines = targets discovery
out of order = out-of-order
member list | membership | don't agree | peers = members memberlist ring gossip
write node = ingester
read node = querier
search = query
customer = tenant user
bucket = object storage
bounce | turn away | refuse = rejected
hang up | cut off = terminated dropped
call = requests
web call = http requests
go wrong | broken | blow up | come back with error = errors failures failed
slow | take forever | take ages | crawl | laggy = latency slow duration
can't reach | can't be reached | not reachable | unreachable | nobody can open = down unreachable
dead | disappear | vanish | gone | missing = down absent missing
keep growing = growth increasing
fail over = failover
fail back = failback
roll back = rollback
switch over = switchover
log in | sign in = login
set up = setup
shut down = shutdown
half way | half upgraded | same release | different releases | old release = version mismatch rollout
without a reboot = livepatch
picture of the disk | disk backup = snapshot
healthy unhealthy | up and down | on and off = flapping readiness
broken data | damaged = corruption corrupted
not found = 404
logged out = session token
stop by itself | switch off = disabled
"""
"""A line for each concept: everyday phrases, in any inflection, and the runbooks' words for it."""

_WORD: Final = re.compile(r"[a-z0-9]+(?:['’][a-z]+)?")
_LONGEST: Final = 4
"""Maximum words in a phrase."""


def field_words(question: str) -> tuple[str, ...]:
    """Return the technical terms for a question's everyday words, without those that it has already; each once."""
    typed = _stems(question)
    words = dict.fromkeys(chain.from_iterable(words for _, words in meanings(question)))
    return tuple(it for it in words if stem(it) not in typed)


def meanings(question: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the everyday phrases of a question, as typed, with their technical terms."""
    typed = _WORD.findall(question.casefold())
    stems, table = _stems(question), _table()
    for start in range(len(stems)):
        for end in range(start + 1, start + 1 + _LONGEST):
            if (words := table.get(stems[start:end])) and end <= len(stems):
                yield " ".join(typed[start:end]), words


@cache
def _table() -> Mapping[tuple[str, ...], tuple[str, ...]]:
    return dict(_rows())


def _rows() -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    for line in _TABLE.strip().splitlines():
        phrases, _, words = line.partition(" = ")
        for phrase in phrases.split(" | "):
            yield _stems(phrase), tuple(words.split())


def _stems(text: str) -> tuple[str, ...]:
    return tuple(stem(word.replace("’", "'")) for word in _WORD.findall(text.casefold()))
