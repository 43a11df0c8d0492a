"""Words that are opposites of each other: the field's own, and WordNet's antonyms."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from knowledge_rag.core.stemming import stem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

_PAIRS: Final = (
    "enable/disable activate/deactivate active/inactive start/stop begin/end increase/decrease"
    " increase/reduce raise/lower raise/reduce grow/shrink add/remove add/delete create/delete"
    " create/destroy attach/detach mount/unmount connect/disconnect open/close opened/closed"
    " lock/unlock allow/deny allow/block allow/forbid permit/deny grant/revoke accept/reject"
    " include/exclude import/export upload/download push/pull send/receive read/write"
    " upgrade/downgrade promote/demote commit/rollback install/uninstall load/unload"
    " register/deregister register/unregister subscribe/unsubscribe cordon/uncordon pause/resume"
    " suspend/resume freeze/unfreeze show/hide encrypt/decrypt compress/decompress backup/restore"
    " succeed/fail success/failure successful/failed pass/fail up/down scale-up/scale-down"
    " scale-out/scale-in in/out on/off before/after above/below over/under more/less more/fewer"
    " most/least high/low higher/lower highest/lowest maximum/minimum max/min increase/drop"
    " larger/smaller longer/shorter faster/slower fast/slow big/small large/small long/short"
    " first/last early/late earlier/later old/new oldest/newest older/newer next/previous"
    " primary/secondary primary/replica master/replica master/slave leader/follower writer/reader"
    " active/standby active/passive source/destination source/target client/server local/remote"
    " internal/external inbound/outbound ingress/egress upstream/downstream input/output"
    " online/offline available/unavailable healthy/unhealthy ready/unready reachable/unreachable"
    " valid/invalid known/unknown empty/full true/false yes/no always/never all/none"
    " manual/automatic manually/automatically synchronous/asynchronous public/private"
    " with/without same/different left/right top/bottom win/lose won/lost rise/fall rose/fell"
    " positive/negative best/worst born/died buy/sell hot/cold warm/cold safe/unsafe safe/dangerous"
    " required/optional required/unnecessary possible/impossible likely/unlikely legal/illegal"
    " enabled/disabled horizontal/vertical north/south east/west male/female day/night"
    " ascending/descending forward/backward forwards/backwards inside/outside unhealthy/good"
    " acquire/release bind/unbind block/unblock mute/unmute silence/unsilence taint/untaint"
    " stable/unstable working/broken keep/delete keep/remove keep/discard enter/exit entry/exit"
)
"""Words that are opposites of each other, in operations and in plain English.

A pair belongs here if exchanging the words in an instruction reverses it, and no ordinary rewording
exchanges them. Forms of one word needn't be listed: words are compared by their stems.
"""


@cache
def opposites() -> Mapping[str, AbstractSet[str]]:
    """Return for each stem the stems of its opposites.

    WordNet's come from the table that ``tools/wordnet.py`` makes.
    """
    text = files(__package__).joinpath("tables/opposites.json").read_text(encoding="ascii")
    table: dict[str, set[str]] = defaultdict(set)
    for pair in (*_PAIRS.split(), *json.loads(text)["pairs"]):
        a, b = map(stem, pair.split("/"))
        table[a].add(b)
        table[b].add(a)
    return dict(table)
