"""Sentences that give a model another role: a verb of playing, and a part that no colleague plays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.wording import wording

if TYPE_CHECKING:
    from knowledge_rag.extract.lint.anchors import Rule

_MESSAGE: Final = "gives a model another role"
_TRAITS: Final = {
    "unrestricted": "unrestricted",
    "unfiltered": "unfiltered",
    "uncensored": "uncensored",
    "jailbr": "jailbreak jailbroken",
    "evil ": "evil",
    "hacker": "hacker",
    "attacker": "attacker",
    "root shell": "root",
    "persona ": "persona",
    "no longer bound": "bound",
    "free of": "free",
    "free from": "free",
    "restrictions": "restrictions",
    "ethic": "ethic ethics ethical",
    "content policy": "policy",
    "chatbot": "chatbot",
    "assistant": "assistant",
    "language model": "model",
    " dan": "dan",
    "rules don": "rules",
    "no rules": "rules",
}

ROLE_PLAY: Final[tuple[Rule, ...]] = (
    *wording(
        _MESSAGE,
        _TRAITS,
        r"\b(?:you(?: are|'re) (?:now )?|act (?:as|like) |acting (?:as|like) |pretend |imagine "
        r"|simulate |role-?play |behave (?:as|like) |speak (?:as|like) |assume |adopt |become "
        r"|(?:play|take on|take) (?:the )?(?:role|part) of |playing |you have |answer as |respond as )"
        r"(?:[^.?!\n]{0,60}?\b)?"
        r"(?:unrestricted|unfiltered|uncensored|jailbr(?:eak|oken)"
        r"|evil (?:\w{1,12} )?(?:MODEL|assistant|twin|version)"
        r"|(?:hacker|attacker|assistant|chatbot)\b[^.?!\n]{0,30}?\b(?:with no|without|who ignores|free of|called|jailbroken)\b"
        r"|i am the (?:attacker|hacker|user)"
        r"|no longer (?:bound|restricted) by|free (?:of|from) (?:all|any|your|the) (?:restrictions|rules|limits|filters)"
        r"|(?:with no|without(?: any)?|no) (?:\w{1,12} )?(?:restrictions|ethics|ethical (?:limits|rules|guidelines|constraints))"
        r"|(?:have|without) (?:no |any )?(?:content policy|ethics)"
        r"|(?:rules|restrictions|limits) (?:do not|don't|no longer) apply|(?:the )?persona of|dan\b(?! \w+son))",
        before=90,
    ),
    *wording(
        _MESSAGE,
        {
            "pretend": "pretend",
            "from now on": "now",
            "from this moment": "moment",
            "you are": "now ai llm model assistant chatbot chatgpt copilot claude gemini gpt",
            "imagine you": "ai llm model assistant chatbot chatgpt copilot claude gemini gpt",
        },
        r"\b(?:you are (?:now (?:an? MODEL|dan\b"
        r"|(?:in|entering) (?:dan|developer|debug|admin|god|jailbreak|unrestricted) mode"
        r"|(?:acting|playing|going to (?:act|play|pretend|be)))"
        r"|an? (?:[\w-]{1,14} ){0,3}?(?:MODEL|assistant)\b(?! (?:team|users?|\w{1,12}(?:er|or|ist)s?)\b))"
        r"|imagine you(?: are|'re) an? (?:\w{1,12} ){0,2}?(?:MODEL|assistant)\b"
        r"|pretend (?:(?:that )?you (?:are|have)|to be (?:an?|my|the))\b"
        r"|from (?:now on|this (?:moment|point)(?: on)?) (?:you (?:will|must|are|shall|play|act|answer|respond|become)"
        r"|(?:always|only|never) (?:answer|reply|respond|say)))",
    ),
    *wording(
        _MESSAGE,
        {
            "act as": "act",
            "pretend": "pretend",
            "roleplay as": "roleplay",
            "you are now": "now",
            "play the role": "role",
        },
        r"(?:roleplay as\b|\b(?:act as|pretend|you are now|play the role)\b[^?!\n]{1,100}?"
        r"\b(?:show|give|grant|tell|send|reset|hand|list|reveal|share)(?: \w{1,12})? (?:me|my|all)\b)",
    ),
    *wording(
        _MESSAGE,
        {" mode": "developer dan god jailbreak unrestricted"},
        r"START(?:enter|activate|enable|switch to|engage|you are in)"
        r" (?:the )?(?:(?:dan|god|jailbreak|unrestricted) mode\b|developer mode[.!] (?:in (?:developer|this) mode|you)\b)",
        before=45,
    ),
    *wording(_MESSAGE, {"do anything now": "anything"}, r"do anything now\b"),
    *wording(
        "speaks as a model",
        {"as an ai": "ai"},
        r"\bas an ai (?:(?:language )?(?:model|assistant|agent)|i|you)\b",
    ),
)
