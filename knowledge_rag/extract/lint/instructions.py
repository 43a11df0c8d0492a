"""Sentences that give an order to a model, or about a model's answer.

A runbook is full of imperatives, so an imperative is no sign. Signs are what only a model can be
meant by: its instructions, its prompt, its answer, a user that it is to deceive, the things that only
chatbots are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.wording import wording

if TYPE_CHECKING:
    from knowledge_rag.extract.lint.anchors import Rule

_EARLIER: Final = (
    r" (?:(?:all|any|every|each|of|the|these|those|your|my|our|and|or|everything|anything|what|other"
    r"|previous|prior|preceding|above|earlier|following|foregoing|former|past|initial|original|existing"
    r"|current|system|safety|you|were|told|have been|given|in|from|just) ){1,8}"
)
_ORDERS: Final = r"instructions?|directions|directives?|guidelines|orders|programming|safeguards"
_OVERRIDE: Final = (
    *wording(
        "tells a model to set its instructions aside",
        {
            "ignor": "ignore ignoring",
            "disregard": "disregard disregarding",
            "discard": "discard",
            "forget": "forget",
            "override": "override",
            "bypass": "bypass",
            "disable": "disable",
        },
        rf"\b(?:override|bypass){_EARLIER}(?:{_ORDERS})"
        rf"|\b(?:ignor(?:e|ing)|disregard(?:ing)?|discard|forget){_EARLIER}(?:{_ORDERS}|prompts?"
        r"|(?:info(?:rmation)?|text|content|context|conversation) (?:above|before|and|except|other)\b"
        r"|(?:before|above|said|earlier|previously) (?:and|then)\b)"
        r"|\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|override|bypass|disable)"
        r" (?:everything (?:above|before|(?:we|you|i) (?:\w{1,12} )?(?:said|discussed|told|talked|know|learned|have))\b"
        r"|(?<=forget\s)everything\b(?! (?:about|in|on|that|from)\b)|(?<=ignore\s)instructions?\b"
        r"|(?:all |any )?(?:of )?your (?:\w{1,12} )?(?:rules|programming|restrictions|guidelines|constraints|training"
        r"|limitations|filters|safeguards|safety|instructions?)\b"
        r"|(?:(?:all|any|the|your|previous) ){0,2}(?:safety|ethical|content|moderation) (?:protocols?|guidelines|rules"
        r"|filters|policies|policy|measures|restrictions|constraints)\b)",
    ),
    *wording(
        "tells a model to set its instructions aside",
        {
            "stop follow": "stop",
            "stop obey": "stop",
            "not follow": "follow",
            "not obey": "obey",
            "n't follow": "follow",
            "longer follow": "longer",
        },
        r"\b(?:stop|(?:do|must|should) not|don't|no longer) (?:follow|obey)(?:ing)?"
        r" (?:your|(?:the )?(?:system|developer|user|operator|human)(?:'s)?)"
        r" (?:\w{1,12} ){0,2}?(?:instructions?|guidelines|rules|prompts?|orders|question|policies)\b",
        before=10,
    ),
    *wording(
        "gives a model new instructions",
        {"task is": "task", "objective is": "objective", "instruction is": "instruction"},
        r"\b(?:new|real|actual) (?:task|objective|instruction) is\b",
        before=12,
    ),
    *wording(
        "gives a model new instructions",
        {
            "new instruction": "instruction instructions",
            "new system": "instruction instructions",
            "new task": "task",
            "new objective": "objective",
            "new orders": "orders",
            "new rules": "rules",
        },
        r"STARTnew (?:system )?(?:instructions?|task|objective|orders|rules)[:.] "
        r"(?:you|your|from (?:now|this)|ignore|always|never|only|answer|respond|reply|tell|say|print|output)\b",
    ),
)
_PROMPT: Final = (
    *wording(
        "asks for a model's own instructions",
        {"prompt": "prompt prompts"},
        r"\b(?:(?:your|my|hidden|secret|full|entire) ){1,3}(?:system|initial|hidden|original|developer)"
        r" prompts?\b|\b(?:reveal|print|show|repeat|output|leak|display|dump|ignore|share|reproduce)"
        r" (?:(?:me|us|your|the|full|entire|whole|exact|original) ){0,4}system prompts?\b(?! (?:of|on|for) )"
        r"|\bsystem prompt[:=]",
        before=60,
    ),
    *wording(
        "asks for a model's own instructions",
        {
            "instruction": "instruction instructions",
            "your prompt": "prompt",
            "your guidelines": "guidelines",
            "your rules": "rules",
            "system message": "message",
            "rules were you": "rules",
        },
        r"(?:\b(?:reveal|print|show|repeat|output|leak|display|dump|what (?:are|were|is))"
        r" (?:me )?(?:all )?(?:of )?your (?:(?:system|initial|original|first|programming|training|hidden|exact) )?"
        r"(?:instructions?|prompt|guidelines|rules|messages?)\b"
        r"|\bwhat (?:instructions|rules) (?:were you given|did you receive|do you (?:have|follow)))",
        before=40,
    ),
    *wording(
        "asks for a model's own instructions",
        {"you received": "received", "were you told": "told", "before the user": "user"},
        r"(?:\bfirst message you received|STARTwhat were you told\b|\beverything before the user messages?\b)",
        before=25,
    ),
)
_SECRECY: Final = wording(
    "keeps something from the reader",
    {
        "the user": "user users",
        "who asked": "asked",
    },
    r"\b(?:do not|don't|dont|never|must not|without|avoid) (?:ever )?"
    r"(?:tell|inform|alert|mention|reveal|disclos|lett?|warn|show)(?:e|ing)?"
    r" (?:(?:this|that|it|these|any|of|anything|instructions?|about|to|DOCUMENT) ){0,4}"
    r"(?:(?:the|your) (?:human )?users?|(?:the )?(?:person|one|human|anyone) who asked)\b",
    before=90,
)
_ADDRESS: Final = (
    *wording(
        "is addressed to a model",
        {
            "assistant": "assistant assistants",
            "language model": "model models",
            "chatbot": "chatbot chatbots",
            "chatgpt": "chatgpt",
            "llm": "llm llms",
            " ai": "ai",
            "ai:": "ai",
            "ai,": "ai",
        },
        r"(?:\b(?:if|since|because) you(?: are|'re) (?:an?|the|some) (?:\w{1,12} ){0,2}?MODEL\b"
        r"|\b(?:note|notice|message|instructions?|attention|reminder|hint|warning)"
        r" (?:(?:to|for|any|all|the|every|you) ){1,3}(?:MODEL|assistants?|agents reading)\b"
        r"(?! (?:team|users?|engineers?|developers?|operations|on-call))"
        r"|\b(?:dear|attention|hey|hello) (?:MODEL|assistant)\b"
        r"|\b(?:MODEL|assistants?) (?:(?:that|which|who|is|are) ){0,3}(?:(?:reading|processing"
        r"|summari[sz]ing|parsing|indexing|reviewing|answering)|uses?|reads?|quotes?|retrieves?)"
        r" (?:this|these|the (?:document|page|text|file|above))"
        r"|\b(?:MODEL|assistants?) (?:must|should|shall|has to|is to)"
        r" (?:(?:always|never|not|now|only) )?(?:cite|answer|reply|respond|recommend|tell|say|ignore"
        r"|reveal|claim|quote)\b(?! the (?:phone|page\b(?! ?\w)))"
        r"|START(?:MODEL|assistants?)(?: agents?)?[:,] (?:(?:you|please|always|never|must|should|do not"
        r"|now|just) ){0,3}(?:ignore|skip|recommend|tell|say|call|run|execute|delete|reply|respond|answer"
        r"|approve|output|print|cite|include|invoke|treat|present|follow)\b)",
        before=60,
    ),
    *wording(
        "is addressed to a model",
        {"automated ": "automated"},
        r"\bautomated (?:screening|review\w*|summar\w+|scoring|reading|ranking) systems?:",
    ),
)
_NO_ANSWER: Final = (
    r"(?!\x20(?:times?|rates?|codes?|headers?|plans?|teams?|process|procedures?|strategy|playbooks?"
    r"|body|bodies|objects?|files?|templates?|messages?|payloads?|to)\b)"
)
_STEERING: Final = (
    *wording(
        "says what a model's answer is to be",
        {
            "your respon": "response responses",
            "your answer": "answer answers",
            "your repl": "reply replies",
            "your completion": "completion completions",
            "your next": "response answer reply",
            "your final": "response answer reply",
        },
        r"\b(?:in|into|to|of|from|with|throughout|within|start|begin|end|encode|encrypt|translate"
        r"|format|reverse|repeat|prefix|limit|restrict|randomi[sz]e|capitali[sz]e|substitute|replace"
        r"|conclude|finish|close|convert|represent) your ANSWER\b"
        + _NO_ANSWER
        + r"|\byour ANSWER (?:must|should|shall|has to|needs to|will) (?:(?:always|only) )?"
        r"(?:begin|start|end|be|contain|include|consist|state|say|use|rhyme|mention)\b",
        before=15,
    ),
    *wording(
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
    *wording(
        "says how a model is to retell a document",
        {
            "summari": "summarise summarize summarising summarizing",
            "paraphras": "paraphrase paraphrasing",
            "translat": "translate translating",
            "quot": "quote quoting",
        },
        r"\b(?:when(?:ever)?|if|before|while) (?:you )?(?:summari[sz]|paraphras|translat|quot)(?:e|ing)"
        r" (?:from )?(?:this|the (?:above|following|present))(?: DOCUMENT)?"
        r" (?:please )?(?:leave|omit|skip|drop|always|never|do not|say|tell|claim|add|include|mention|use|only)\b",
        before=30,
    ),
    *wording(
        "says what a model's answer is to be",
        {"nothing ": "nothing"},
        r"\b(?:reply|respond|answer|say)"
        r"(?: with)? (?:only|just|exactly|the|this|[\"'“])[^.?!]{1,80}?\band (?:absolutely )?nothing (?:else|more)\b",
        before=100,
    ),
    *wording(
        "says what a model's answer is to be",
        {
            "respond": "respond",
            "reply": "reply",
            "answer": "answer",
            "say": "say",
            "print": "print",
        },
        r"(?:\b(?:respond|reply|answer) (?:only|solely|exclusively|simply|always|just) with\b"
        r"|(?:respond|reply|answer|print|say) (?:only |just )?(?:with )?the (?:exact )?(?:words?|phrase|sentence) "
        r"|(?:answer|respond to|reply to) (?:every|all|any|each) (?:further |other )?"
        r"(?:question|quer(?:y|ies)|prompt|request)s? (?:with|by)\b)",
    ),
    *wording(
        "says what a model's answer is to be",
        {
            "only ": "say print repeat reply respond answer",
            "solely ": "solely",
            "simply ": "simply",
            "just ": "just",
            "instead": "say print repeat reply respond answer",
            "please ": "please",
        },
        r"(?:(?:START|(?<=and\s)|(?<=please\s))(?:only|solely|simply|just) (?:say|respond|answer|reply) (?:that|with)\b"
        r"|(?:only|solely|simply|just|instead|please)(?: (?:just|only|simply|now))?"
        r" (?:print|output|repeat|reply|respond|answer)(?: (?:with|exactly|back|only|the (?:words?|phrase|following)))?"
        r":?\x20?[\"'“])",
    ),
    *wording(
        "tells a model to leave its task",
        {
            "translat": "translate translating",
            "summari": "summarise summarize summarising summarizing",
        },
        r"\b(?:do not|don't|stop|instead of) (?:translat|summari[sz])(?:e|ing) (?:this|the (?:above|following|text|sentence))\b",
        before=14,
    ),
    *wording(
        "says what a model's answer is to be",
        {" sentence": "sentence"},
        r"\b(?:repeat|translate|say|print|spell check|rewrite|output) (?:exactly )?(?:the following|this) sentence\b",
        before=30,
    ),
    *wording(
        "gives a model code to pass on",
        {"code snippet": "snippet", "code block": "block", "code fragment": "fragment"},
        r"\b(?:add|adopt|append|apply|attach|blend|embed|employ|featur|fus|implement|includ|incorporat|inject|insert"
        r"|integrat|introduc|leverag|merg|mix|put|supplement|us|utili[sz]|weav)\w{0,5}(?: of)? (?:\w{1,14} ){0,5}?code (?:snippet|block|fragment)s?"
        r" (?:\w{1,14} ){0,2}?(?:in|into|within|to|inside|with|of) (?:your|the) (?:(?:\w{1,14} )?ANSWER"
        r"|(?:existing |current |own |source )?(?:code(?:base)?|implementation|program|project|script|solution)\b)",
        before=80,
    ),
)

_TASKS: Final = (
    *wording(
        "asks for what only a chatbot is asked for",
        {
            word: f"{word} {word}s"
            for word in (
                "poem",
                "limerick",
                "haiku",
                "sonnet",
                "lyrics",
                "joke",
                "riddle",
                "essay",
                "novel",
            )
        }
        | {
            "sentence": "sentence",
            "paragraph": "paragraph",
            "headline": "headline",
            "story": "story",
        },
        r"START(?:(?:please|now|then|also|instead|next|(?:can|could|will|would) you) ){0,3}"
        r"(?:write|compose|draft|create|generate|tell|give|make up|invent)"
        r" (?:(?:me|us|out) )?(?:(?:an?|one|two|three|the|some) )?"
        r"(?:(?:\w{1,14} ){0,3}(?:poem|limerick|haiku|sonnet|lyrics|joke|riddle|novel"
        r"|(?:short|bedtime|horror|funny|love) story)s?\b"
        r"|(?:\w{1,14} ){0,3}(?:introduction|conclusion|outline|thesis|opening|title) (?:for|to|of) an? (?:\w{1,14} )?essay\b"
        r"|(?:\w{1,14} ){0,3}essay\b|(?:\w{1,14} ){0,2}(?:sentence|paragraph|headline|story) about\b)",
        before=80,
    ),
    *wording(
        "asks for what only a chatbot is asked for",
        {"recommend": "recommend", "suggest": "suggest"},
        r"START(?:recommend|suggest) (?:(?:me|us) )?(?:an?|some|one|two|three) (?:\w{1,14} ){0,3}"
        r"(?:book|novel|movie|film|song|restaurant|recipe|podcast|tv show|holiday|vacation|gift|dish)s?\b",
    ),
    *wording(
        "asks for what only a chatbot is asked for",
        {word: word for word in ("explain", "describe", "discuss", "define")},
        r"(?:START|(?<=please\s)|(?<=\byou\s))(?:explain|describe|discuss|define) (?:(?:to )?me )?"
        r"the (?:\w{1,14} )?(?:concepts?|differences?|theory|meaning|importance|history|principles?|significance)"
        r" (?:of|between|behind)\b",
    ),
    *wording(
        "asks for what only a chatbot is asked for",
        {
            "studies": "studies",
            "research": "research",
            "papers": "papers",
            "articles": "articles",
            "literature": "literature",
            "market": "market marketing",
            "sales": "sales",
            "competitor": "competitor competitors",
        },
        r"START(?:please )?(?:(?:find|summari[sz]e|list|provide|search for|compile|suggest|recommend) (?:[^.?!\n]{0,50} )?"
        r"(?:studies|research|papers|articles|literature) (?:on|about|regarding|into)\b"
        r"|(?:analy[sz]e|forecast|predict|evaluate|summari[sz]e|suggest|develop|identify) (?:[^.?!\n]{0,50} )?"
        r"(?:market trends?|marketing (?:strategy|plan|campaign)|sales (?:forecast|figures|trends?|reports?|data|performance)"
        r"|competitors?\b))",
        before=70,
    ),
    *wording(
        "asks for what only a chatbot is asked for",
        {word: word for word in ("python", "javascript", "ruby")}
        | {" java": "java", " sql": "sql"},
        r"START(?:please )?(?:(?:write|create|implement|develop) (?:me )?an? (?:\w{1,14} )?"
        r"(?:python|javascript|java|ruby|sql) (?:function|program|script|class|query|page) (?:that|to|which|for)\b"
        r"|how (?:do|can|would) (?:i|you)\b[^.?!\n]{0,60} in (?:python|javascript|java|ruby|sql)\b)",
        before=90,
    ),
    *wording(
        "asks for an answer in a cipher or a play on words",
        {
            "anagram": "anagram anagrams",
            "pig latin": "pig",
            "leetspeak": "leetspeak",
            "cipher": "cipher",
            "morse code": "morse",
            "homophone": "homophone homophones",
            "acrostic": "acrostic",
            "palindrome": "palindrome palindromes",
        },
        r"START(?:please )?(?:use|add|insert|write|encode|encrypt|express|replace|respond|answer|reply|create|provide"
        r"|make|convert|translate|turn|include|generate|incorporate|rearrange) (?:[^.?!\n]{0,50} )?"
        r"(?:anagrams?|pig latin|leetspeak|(?:caesar|substitution|vigenere) cipher|morse code|homophones?|acrostic|palindromes?)\b",
        before=80,
    ),
    *wording(
        "asks for what only a chatbot is asked for",
        {"sentiment": "sentiment"},
        r"START(?:determine|analy[sz]e|classify|identify|what is|give|rate|detect) (?:the )?(?:overall )?sentiment\b",
        before=40,
    ),
    *wording(
        "asks for what only a chatbot is asked for",
        {"translat": "translate"},
        r"START(?:please )?translate (?:(?:the (?:following|above|next)|this|these) (?:\w{1,14} )?"
        r"(?:sentences?|phrases?|texts?|paragraphs?|words?)\b"
        r"|(?:[^.?!\n]{1,60} )?(?:in)?to (?:french|spanish|german|italian|chinese|japanese|korean|russian"
        r"|portuguese|arabic|hindi|latin|dutch)\b)",
    ),
)

INSTRUCTIONS: Final[tuple[Rule, ...]] = (
    *_OVERRIDE, *_PROMPT, *_SECRECY, *_ADDRESS, *_STEERING, *_TASKS,
)  # fmt: skip
