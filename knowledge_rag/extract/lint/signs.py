"""Finds orders that only a model can follow, in any wording.

A sentence is a finding if it gives an order or a permission, and has three points of signs: a pointer (to
an answer, a conversation, an agent, the one who asks, the other documents) and a manner that nobody uses with a
colleague (in secret, already approved, whatever is asked, with somebody's credentials). Words of a strong manner
("do not tell ...") count for nothing else.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from knowledge_rag.extract.lint.patterns import WORD, Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knowledge_rag.extract.lint.patterns import Folded

MESSAGE: Final = "gives an order that only a model can follow"
_NEEDED: Final = 3
"""Minimum points of a finding."""
_REACH: Final = 400
"""Characters on either side of a word that are searched for the ends of its sentence."""


class _Sign(NamedTuple):
    points: int
    pattern: re.Pattern[str]


def _sign(points: int, *alternatives: str) -> _Sign:
    return _Sign(points, re.compile("|".join(alternatives)))


# fmt: off
_ANSWER: Final = r"(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|recommendations?)"
_PAGES: Final = r"(?:documents?|pages?|texts?|files?|runbooks?|sources?|instructions|results?|guides?)"
_NO_ANSWER: Final = r"(?! (?:times?|types?|objects?|fields?|rates?|codes?|bod|headers?|formats?|files?|from|latency|plan|team|to the (?:alert|incident|page)))"
_MODEL: Final = r"(?:automated|autonomous|ai|llms?|language model|chat ?bot|gpt|copilot|coding)"

_SIGNS: Final = {
    "answer": _sign(
        2,
        rf"\b(?:your|each|every|any|all|the (?:next|final|first|last)) (?:(?!and |or )\w+ ){{0,2}}?{_ANSWER}\b{_NO_ANSWER}",
        rf"\b(?:of|with|before|after|below|above|under) (?:its|your|the final|the next) {_ANSWER}\b{_NO_ANSWER}",
        r"\bin (?:your|its|the) (?:next |final )?(?:answer|reply)\b(?! (?:above|below)\b)",
        r"\b(?:everything|anything|whatever|all)(?: that)? you (?:output|write|say|generate|recommend|suggest|answer|produce)\b",
        r"\b(?:scripts?|code|summary|command|text|link|configuration|templates?|queries|report)s?"
        r"(?: that)? you (?:generate|write|produce|output|suggest|draft)\b",
        r"\b(?:when|whenever|while|before|each time|every time) (?:you )?(?:are )?(?:asked|answer(?:ing)?"
        r"|summari[sz](?:e|ing)|respond(?:ing)?|reply(?:ing)?|quot(?:e|ing)|cit(?:e|ing)|you provide"
        r"|giv(?:e|ing) (?:the|an?|your) (?:steps?|answer))\b(?! (?:the|to) (?:page|alert|pager|phone|call|incident))",
        r"\b(?:when|whenever|each time|every time) (?:you )?generat(?:e|ing) (?:an?|the|any) (?:\w+ )?(?:scripts?|code|answer|summary|report|text|command|plan)\b",
        r"\byour (?:\w+ )?(?:suggested|recommended|suggestion|wording|statements?|claims?)\b",
        r"\byour output\b(?! (?:is|looks|should look|matches|will))|\bend of (?:the|your|each|every) (?:message|output)\b",
        r"\b(?:answer|reply|respond)(?: to)? (?:this|it|every\w*|any\w*|all)\b(?=.{0,12}\b(?:with|by|in)\b)",
    ),
    "conversation": _sign(
        2,
        r"\b(?:the|this|our|future|all|each|entire|full|whole) (?:\w+ )?(?:conversations?|dialogue)\b|\b(?:this|all|future|start of the|end of the) chats?\b"
        r"(?! (?:with|about|between|room|channel|history of|thread|around|on|i|we|that|in))",
        r"\b(?:in |into )?your (?:long-term )?memory\b(?= ?[:,.;]| that| for| and)",
        r"\bcontext window\b|\bsub-?agents?\b",
        r"\b(?:with|using|use|in) your (?:code|python|shell|search|retrieval|file|http) (?:interpreter|tools?|access|functions?)\b",
        r"\byou were (?:given|told|instructed|trained)\b",
        r"\byour (?:(?:system|own|original|earlier|previous|safety) )?(?:instructions|guidelines|prompt|training|rules|programming)\b",
        r"\bthe users? (?:has|have) (?:typed|asked|said|written|entered|told)\b",
        r"\b(?:questions?|prompts?) (?:\w+ ){0,4}so far\b|\b(?:appears?|occurs?|comes? up|stands?|is) in (?:a|the|any) (?:question|prompt)\b",
        r"\b(?:questions?|prompts?)(?: of (?:the|a) users?)? into\b",
        rf"\b(?:when|whenever|if|each time) (?:this|these) {_PAGES} (?:is|are) (?:used|read|cited|retrieved|quoted|indexed|returned|summari[sz]ed)\b",
        r"\b(?:whatever|regardless of|no matter)(?: what)?(?: the| a)? (?:questions?|users?|prompts?|is asked|you are asked)\b",
        r"\bwho(?:ever)? asks?\b|\b(?:cited lines|(?:the|your|a|each|every) citations?)\b",
        r"\b(?:every|each|all|any) (?:further |later )?(?:questions?|quer(?:y|ies)) (?:(?:that )?you (?:get|receive|are asked|answer)|about)\b",
    ),
    "agent": _sign(
        2,
        rf"\b(?:{_MODEL}|any|all) (?:agents?|assistants?|operators?|models?|systems?|tools?)\b"
        r"(?= (?:must|should|shall|have to|has to|that|who|with|reading|handling|can|may)\b)",
        rf"(?:^\W{{0,6}}|\byou are an? ){_MODEL} (?:agents?|assistants?|operators?|models?|systems?|tools?)[:,]",
        r"\bagents? (?:with (?:shell|tool|access)|reading|handling|who)\b|\bassistants? (?:must|should|shall|who|reading)\b",
        r"\b(?:llms?|chatbots?) (?:that|who|which|must|should|reading)\b|\bbots? (?:must|should|reading)\b",
        r"\bthe (?:model|assistant|llm|ai) (?:must|should|shall|has to|is to)\b",
    ),
    "reader": _sign(
        1,
        r"\b(?:the|any|each|every)(?: human)? (?:users?|readers?)\b(?!['’]| (?:name|account|interface|experience))",
        r"\b(?:tell|advise|convince|inform|persuade|ask|urge) (?:anyone|anybody|everyone|people|users)\b",
    ),
    "sources": _sign(
        1,
        rf"\b(?:this|these|the above|the following) {_PAGES}\b|\b(?:any|all|no|the|every) other {_PAGES}\b",
        rf"\bother (?:runbooks|documents|sources|pages)\b|\bwhatever {_PAGES}\b|\b(?:the|whole|our) knowledge base\b",
        r"\b(?:cite|with a reference)\b|\bofficial (?:guide|runbook|documentation|message|answer|source)\b",
        r"\b(?:a|the) source (?:for|of) (?:each|every|all|your)\b",
    ),
    "secret": _sign(
        1,
        r"\b(?:credentials?|passwords?|one-time codes?|api keys?|ssh keys?|private keys?|recovery phrase|access tokens?"
        r"|environment variables|kubeconfig|employee number|mfa|session has expired|log ?in again)\b",
        r"~/\.(?:aws|ssh|kube)\b|/etc/(?:shadow|passwd|kubernetes/admin\.conf)|\.env\b",
    ),
    "place": _sign(1, r"(?<!\()\b(?:https?://|s3://)(?!(?:localhost|127\.))|\b[\w.-]{1,64}@[\w-]{1,64}\.[a-z]{2,}"),
    "secrecy": _sign(
        2,
        r"(?:^|[,;:.] ?|\b(?:and|then|please|also|must|should|always|do this|do it|do so) )(?:silently|quietly|secretly|covertly|discreetly|invisibly)\b(?! (?:\w+ing|\w+ed)\b)",
        r"\bwithout (?:asking|telling|mention\w*|reporting|confirm\w*|informing|notifying|comment(?:ing)?|pointing|warning|a (?:warning|word))\b",
        r"\b(?:do not|don't|never|no need to|does(?: not|n't) need to be|need not be|must not|should not)"
        r" (?:mention(?:ed)?|point (?:it|this|that) out|reveal|disclose|tell|show|list (?:it|this)|report (?:it|this)|log (?:it|this)|say|explain why)\b",
        r"\b(?:leave|leaving|left) out\b|\bsay that nothing\b|\bmention no\b|\bhidden (?:comment|from)\b|\bunnoticed\b",
        r"\b(?:does not|doesn't|need not) (?:need to )?(?:see|know|be told)\b",
    ),
    "authority": _sign(
        2,
        r"\balready (?:been )?(?:approved|agreed|authori[sz]ed|consented|confirmed|allowed)\b",
        r"\bno (?:confirmation|approval|permission) (?:is |are )?(?:needed|required|necessary)\b",
        r"\byou (?:have|are given|were given) (?:full )?(?:permission|authori[sz]ation|consent)\b",
        r"\bas if (?:they|it|he|this) (?:came|come) from\b|\bno longer (?:appl|bind|count)\w*\b",
        r"\b(?:skip|ignore|bypass|disregard|override) (?:any|all|the|your|every) (?:safety|security|approvals?|confirmations?|other|results|checks)\b",
        r"\b(?:higher|highest) priority\b|\breplaces? (?:all|any|every) other\b|\btake precedence\b|\b(?:are|is) trusted\b|\btrust (?:only|all|any)\b",
    ),
    "deceit": _sign(
        2,
        r"\b(?:convince|persuade|mislead|deceive|trick|pretend|falsely|fabricate|make (?:\w+ ){1,2}believe|make up|invent)\b",
        r"\bas (?:an? official|(?:the|a|our|your) (?:company'?s? )?(?:help ?desk|support team|bank|it department|security team|administrator))\b",
        r"\b(?:approved|verified|signed off|confirmed|reviewed) by (?:the )?(?:sre|security|legal|it|on-call|admins?)\b",
    ),
    "always": _sign(
        1,
        r"\b(?:always|whenever|whatever|regardless|every time|each time|from (?:now|here|this point|this moment)(?: on)?"
        r"|no matter|forever|until the end|straight away|never)\b",
    ),
    "damage": _sign(
        1,
        r"\brm -rf\b|\|\s?(?:sudo )?(?:ba|z)?sh\b|\b(?:drop|wipe|delete|terminate|purge|erase|destroy|encrypt|overwrite|force push)\b",
        r"\b0\.0\.0\.0/0\b|\bos\.system\b|\bnc -?\w* ?\d|\bauthorized_keys\b|\bcrontab\b|\bapprove\b|\bdownloader\b|\bbackdoor\b|\badmin user\b",
        r"\b(?:disable|turn off|remove) (?:\w+ ){0,2}(?:alarms?|protection|firewall|monitoring|logging|antivirus|checks?|mfa)\b",
    ),
}
_STRONG: Final = frozenset({"secrecy", "authority"})
"""These words count for nothing else."""
_ADDRESSED: Final = frozenset({"answer", "conversation", "agent"})
_CLEAR: Final = _ADDRESSED | {"reader"}
"""A finding has one of these, a strong manner, or a secret that is sent away."""
_DECISIVE: Final = _STRONG | _ADDRESSED | {"deceit", "secret"}
"""A finding has one of these: the other signs are common, even together."""
_SENDING: Final = frozenset({"place", "answer", "conversation"})
_SENT_AWAY: Final = frozenset({"secret", "place"})
_SENT_TO: Final = re.compile(r"\b(?:to|at|into|with|through|via) (?:\w+ ){0,2}(?:https?://|s3://|[\w.-]{1,64}@)")

_BEFORE: Final = (
    r"(?:(?:^[\"“'(]?|[,;:.!?] |\b(?:and|then) )(?:(?:always|never|now|only|first|just|simply|silently|quietly|secretly) )?"
    r"|\b(?:also|please|do not|don't|must|should|shall|instead|answer is to|recommendation is to)"
    r" (?:(?:always|never|now|only|first|just|simply|silently|quietly|secretly) )?)"
)
"""Text that precedes an order's verb."""
_SPEAK: Final = re.compile(
    _BEFORE + r"(?P<verb>ask|request|say|tell|claim|recommend|present|describe|state|pretend|convince|rank|refuse|reply|respond"
    r"|answer|mention|cite|attribute|make up|invent|rewrite|repeat|prepend|number|count|advise|steer|insist|promote"
    r"|treat|assert|persuade|assure|convey|make (?:\w+ )?believe|make your|make the (?:user|reader)|emphasi[sz]e|portray|call it"
    r"|rate|translate)\b(?![-(:=])"
)
_SEND: Final = re.compile(
    _BEFORE + r"(?P<verb>send|post|upload|forward|append|attach|submit|paste|transmit|e-?mail|collect|gather|copy|exfiltrate|reveal"
    r"|leak|put|include)\b(?![-(:=])"
)
_DO: Final = re.compile(
    _BEFORE + r"(?P<verb>add|use|give|keep|end|start|begin|run|skip|show|replace|change|remember|save|store|accept|approve|list|leave"
    r"|omit|drop|wipe|delete|terminate|purge|erase|destroy|encrypt|overwrite|disable|remove|turn off|execute|read|do|create"
    r"|open|trust|disregard|import|embed|install|fetch|call|loop|write|conclude|finish|close|set|allow|let|point|link|direct"
    r"|redirect|mark|insert|inject|convert|clean|tar|push)\b(?![-(:=])"
    r"|\byou (?:must|should|shall|are to|have to|(?:now )?accept|will|can't|cannot|have permission)\b"
    r"|\byour (?:answer|reply|response|recommendation|summary|\w+ suggested command) (?:must|should|shall|is)\b"
)
# fmt: on

_TELLTALE: Final = """
    agent agents ai already answer answering answers anybody anyone approval approved asked asking
    asks assistant assistants authorisation authorization believe bot bots chat chatbot chatbots
    chats citation citations cite cited citing claim claims comment commenting confirmation
    confirming consented context conversation conversations convince covertly credentials deceive
    dialogue disclose discreetly disregard fabricate falsely generate generating guidelines helpdesk
    hidden indexed informing instructions interpreter invent invisibly knowledge kubeconfig leave
    leaving left llm llms memory mention mentioning mfa mislead model notifying official output
    password passwords permission persuade precedence pretend priority programming prompt prompts
    provide question questions quietly quoted quoting read reader readers recommendation
    recommendations recommended regardless replaces replies reply replying reporting respond
    responding response responses retrieved returned reveal rules secretly silently sources
    statement statements subagent suggested suggestion summaries summarise summarize summary tell
    telling training trick trusted unnoticed used user users verified whatever wording you
"""
WORDS: Final = frozenset(_TELLTALE.split())
"""A finding's sentence has at least one of these."""
_END: Final = re.compile(
    r"(?<=[.!?])[\"'”)]?\s+|\n[ \t]{0,20}\n|\n[ \t]{0,20}(?:[-*+#|>]|\d{1,3}[.)])\s{0,20}|\||`{3,9}"
)
_MARKS: Final = re.compile(
    r"\]\([^)\s]{0,400}(?:\s[^)]{0,400})?\)|<https?://[^>]{0,400}>|\bhref=\S{1,400}|\bmailto:\S{1,400}"
)
_CODE: Final = re.compile(r"`[^`\s]{1,80}`")
_GAP: Final = re.compile(r"[\s>*_`]+")
_WOULD_HAPPEN: Final = re.compile(
    r"(?:[:;,]|\bbecause|\bsince|\botherwise) (?:it|this|that|they|which) (?:would|could|might)\b(?! (?:be|help|like|please)\b)[^;]*"
)
"""The consequence of not following an order, itself no order: "it would start at the end and leave out everything"."""


def find_orders(_text: str, folded: Folded) -> Iterator[Hit]:
    """Yield the sentences with an order that only a model can follow, in order."""
    text, behind = folded.text, 0
    for word in WORD.finditer(text):
        if word[0] not in WORDS or word.start() < behind:
            continue
        start, behind = _sentence(text, word.start(), behind)
        if _is_order(_plain(text[start:behind])):
            yield Hit(start, behind, MESSAGE)


def _sentence(text: str, at: int, free: int) -> tuple[int, int]:
    """Return the start and end of the sentence at a position, after ``free``, at most _REACH away."""
    first = max(free, at - _REACH)
    start = first
    for end in _END.finditer(text, first, at):
        start = end.end()
    following = _END.search(text, at, at + _REACH)
    return start, following.start() if following else min(len(text), at + _REACH)


def _plain(sentence: str) -> str:
    """Return a sentence with single blanks and without addresses of links; a word in code is no verb."""
    return _GAP.sub(" ", _CODE.sub("it", _MARKS.sub("]", sentence))).strip()


def _is_order(sentence: str) -> bool:
    """Whether a sentence, in lower case and with single blanks, is a finding."""
    sentence = _WOULD_HAPPEN.sub("", sentence)
    found = _found(sentence)
    strong = [found[name].span() for name in _STRONG & found.keys()]
    sent_away = found.keys() >= _SENT_AWAY and _SENT_TO.search(sentence)
    clear = strong or _CLEAR & found.keys()
    if not (clear or sent_away):
        return False

    def counts(span: tuple[int, int]) -> bool:
        return span in strong or all(span[1] <= first or last <= span[0] for first, last in strong)

    points = sum(_SIGNS[name].points for name, it in found.items() if counts(it.span()))
    speaks, sends, does = (verbs.search(sentence) for verbs in (_SPEAK, _SEND, _DO))
    if speaks:
        points += counts(speaks.span("verb"))
    elif sends:
        points += bool(_SENDING & found.keys())
    if points < _NEEDED or not _DECISIVE & found.keys():
        return False
    if not clear:
        return sends is not None
    return bool(speaks or sends or does or (strong and _ADDRESSED & found.keys()))


def _found(sentence: str) -> dict[str, re.Match[str]]:
    return {name: it for name, sign in _SIGNS.items() if (it := sign.pattern.search(sentence))}
