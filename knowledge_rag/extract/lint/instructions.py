"""Text that tells a model what to do, rather than a person.

A runbook is full of imperatives, so an imperative is no sign. Signs are what only a model can be
meant by: its instructions, its prompt, its answer and its role, and a user that it is to deceive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.anchors import rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowledge_rag.extract.lint.anchors import Rule

_GAP: Final = r"[\s>*_\"'`#,:;-]{1,6}"
"""Between two words: blanks, a line's end and the mark of a quotation, emphasis."""
_WITHIN_A_SENTENCE: Final = r"(?:[^.?!]|[.?!](?=\S)){1,160}?"
_MODEL: Final = (
    r"(?:ai|llms?|(?:large )?language models?|chat ?bots?|chatgpt|gpt-?\d\w{0,3}|copilot|claude|gemini"
    r"|(?:ai|virtual|automated) (?:assistants?|agents?|models?|systems?|reviewers?|tools?))"
)
_ANSWER: Final = r"(?:responses?|answers?|repl(?:y|ies)|completions?)"


def _wording(
    message: str, anchors: Mapping[str, str], pattern: str, *, before: int = 0
) -> tuple[Rule, ...]:
    """Make rules; in a pattern a blank is a gap, ``~`` a part of a sentence, MODEL and ANSWER words.

    Args:
        message: what a match means.
        anchors: literals, each with the words of which a text needs one.
        pattern: in lower case.
        before: how far ahead of an anchor a match may start, characters.
    """
    spread = pattern.replace("MODEL", _MODEL).replace("ANSWER", _ANSWER)
    spread = spread.replace(" ", _GAP).replace("~", _WITHIN_A_SENTENCE)
    return rules(message, anchors, spread, before=before)


_OVERRIDE: Final = _wording(
    "tells a model to set its instructions aside",
    {
        "ignor": "ignore ignoring",
        "disregard": "disregard disregarding",
        "forget": "forget",
        "override": "override",
    },
    r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|override)"
    r" (?:(?:all|any|every|each|of|the|these|those|your|my|our|and|or|everything|anything|what|other"
    r"|previous|prior|preceding|above|earlier|following|foregoing|former|past|initial|original"
    r"|existing|current|system|safety|you|were|told|have been|given|in|from|just) ){1,8}"
    r"(?:instructions?|directions|directives?|prompts?|guidelines|orders|programming|safeguards"
    r"|(?:info(?:rmation)?|text|content|context|conversation) (?:above|before|and|except|other)\b"
    r"|(?:before|above|said) (?:and|then)\b)",
)
_ROLE: Final = (
    *_wording(
        "gives a model another role",
        {
            "pretend": "pretend",
            "from now on": "now",
            "you are": "now ai llm model assistant chatbot chatgpt copilot claude gemini gpt",
        },
        r"\b(?:you are (?:now (?:an? (?:MODEL|unrestricted|uncensored|evil|different)\b|dan\b"
        r"|(?:in|entering) (?:dan|developer|debug|admin|god|jailbreak|unrestricted) mode"
        r"|(?:acting|playing|going to (?:act|play|pretend|be))|no longer (?:bound|restricted)"
        r"|free (?:of|from)|unrestricted|jailbroken)"
        r"|an? (?:(?:helpful|harmless|expert|friendly|powerful|unrestricted|trusted) ){0,3}"
        r"(?:MODEL|assistant)\b)"
        r"|pretend (?:(?:that )?you (?:are|have)|to be (?:an?|my|the))\b"
        r"|from now on (?:you (?:will|must|are|shall)"
        r"|(?:always|only|never) (?:answer|reply|respond|say)))",
    ),
    *_wording(
        "speaks as a model",
        {"as an ai": "ai"},
        r"\bas an ai (?:(?:language )?(?:model|assistant|agent)|i|you)\b",
    ),
)
_PROMPT: Final = (
    *_wording(
        "asks for a model's own instructions",
        {"prompt": "prompt prompts"},
        r"\b(?:(?:your|my|hidden|secret|full|entire) ){1,3}(?:system|initial|hidden|original|developer)"
        r" prompts?\b|\b(?:reveal|print|show|repeat|output|leak|display|dump|ignore|share|reproduce)"
        r" (?:(?:me|us|your|the|full|entire|whole|exact|original) ){0,4}system prompts?\b"
        r"|\bsystem prompt[:=]",
        before=60,
    ),
    *_wording(
        "asks for a model's own instructions",
        {"your instructions": "instructions"},
        r"\b(?:reveal|print|show|repeat|output|leak|display|dump|what (?:are|were))"
        r" (?:me )?(?:all )?(?:of )?your instructions",
        before=40,
    ),
)
_SECRECY: Final = _wording(
    "keeps something from the user",
    {"the user": "don dont not never without avoid"},
    r"\b(?:do not|don't|dont|never|must not|without|avoid) (?:ever )?"
    r"(?:tell|inform|alert|mention|reveal|disclos|lett?|warn|show)(?:e|ing)?"
    r" (?:(?:this|that|it|these|any|of|anything|instructions?|about|to) ){0,4}(?:the|your)"
    r" (?:human )?users?\b",
    before=70,
)
_ADDRESS: Final = (
    *_wording(
        "is addressed to a model",
        {
            "assistant": "assistant assistants",
            "language model": "model models",
            "chatbot": "chatbot chatbots",
            "chatgpt": "chatgpt",
            "llm": "llm llms",
            " ai": "ai",
        },
        r"(?:\b(?:if|since|because) you(?: are|'re) (?:an?|the|some) (?:\w{1,12} ){0,2}?MODEL\b"
        r"|\b(?:note|notice|message|instructions?|attention|reminder|hint|warning)"
        r" (?:(?:to|for|any|all|the|every|you) ){1,3}(?:MODEL|assistants?|agents reading)\b"
        r"(?! (?:team|users?|engineers?|developers?|operations))"
        r"|\b(?:dear|attention|hey|hello) (?:MODEL|assistant)\b"
        r"|\b(?:MODEL|assistants?) (?:(?:that|which|who|is|are) ){0,3}"
        r"(?:reading|processing|summari[sz]ing|parsing|indexing|reviewing|answering)"
        r" (?:this|these|the (?:document|page|text|file|above))"
        r"|\b(?:MODEL|assistants?) (?:must|should|shall|has to|is to) (?:(?:always|never|not|now|only) )?"
        r"(?:cite|answer|reply|respond|recommend|tell|say|ignore|reveal|claim)\b)",
        before=60,
    ),
    *_wording(
        "is addressed to a model",
        {"automated ": "automated"},
        r"\bautomated (?:screening|review\w*|summar\w+|scoring|reading|ranking) systems?:",
    ),
)
_STEERING: Final = (
    *_wording(
        "says what a model's answer is to be",
        {
            "your respon": "response responses",
            "your answer": "answer answers",
            "your repl": "reply replies",
            "your completion": "completion completions",
        },
        r"\b(?:add|append|include|insert|embed|integrate|incorporate|introduce|encode|encrypt|end"
        r"|begin|start|finish|conclude|replace|remove|use|convert|translate|format|provide|place|put"
        r"|mention|reverse|randomi[sz]e|capitali[sz]e|represent|substitute|limit|restrict|repeat|prefix"
        r"|close|promote|reference|adding|addition|including|inserting)\b"
        r"~\byour ANSWER\b(?! (?:time|rate|code|header))",
        before=180,
    ),
    *_wording(
        "says when a model is to say what",
        {
            "answer": "answer answering",
            "respond": "respond responding",
            " ask": "ask asks asked asking",
            "summari": "summarise summarize summarising summarizing",
            "reply": "reply replying",
            "questioned": "questioned",
        },
        r"\b(?:when(?:ever)?|if) (?:(?:you(?: are)?|(?:the |a )?user(?: is)?) )?"
        r"(?:answer(?:ing)?|respond(?:ing)?|summari[sz](?:e|ing)|repl(?:y|ying)|ask(?:ed|s|ing)?"
        r"|questioned)\b~\b"
        r"(?:(?:you )?(?:must |should )?(?:always|never|only|first|instead)"
        r" (?:cite|say|run|recommend|answer|reply|respond|tell|claim|include|mention|state|refer|quote)"
        r"|(?:cite|say|recommend|answer|reply|respond|tell|claim|state|report|assert)"
        r" (?:with )?(?:only|that|exactly|nothing))\b",
        before=30,
    ),
    *_wording(
        "says what a model's answer is to be",
        {"nothing ": "nothing"},
        r"\b(?:reply|respond|answer|say)\b[^.?!]{1,80}?\band (?:absolutely )?nothing (?:else|more)\b",
        before=100,
    ),
    *_wording(
        "says what a model's answer is to be",
        {" sentence": "sentence"},
        r"\b(?:repeat|translate|say|print|spell check|rewrite|output) (?:exactly )?(?:the following|this) sentence\b",
        before=30,
    ),
    *_wording(
        "gives a model code to pass on",
        {"code snippet": "snippet", "code block": "block"},
        r"\b(?:add|adding|addition of|include|including|insert|incorporate|embed|feature|blend|integrate|merge|put)"
        r" (?:\w{1,14} ){0,4}?code (?:snippet|block) (?:(?:some|any)where )?"
        r"(?:in|into|within|to|inside) (?:your|the) (?:ANSWER|codebase|code implementation)\b",
        before=70,
    ),
)

WORDINGS: Final[tuple[Rule, ...]] = (
    *_OVERRIDE, *_ROLE, *_PROMPT, *_SECRECY, *_ADDRESS, *_STEERING,
)  # fmt: skip
