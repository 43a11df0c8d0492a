"""Wordings and forms aimed at a model or a browser: orders, roles, tool calls, forged marks, scripts.

A runbook is full of imperatives, so an imperative is no sign. Signs are things that only concern a model:
its instructions, its prompt, its answer, a user to deceive, requests that only chatbots get.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knowledge_rag.extract.lint.patterns import rule, wording

if TYPE_CHECKING:
    from knowledge_rag.extract.lint.patterns import Rule


# fmt: off
_EARLIER: Final = (
    r" (?:(?:all|any|every|each|of|the|these|those|your|my|our|and|or|everything|anything|what|other"
    r"|previous|prior|preceding|above|earlier|following|foregoing|former|past|initial|original|existing"
    r"|current|system|safety|you|were|told|have been|given|in|from|just) ){1,8}"
)
_ORDERS: Final = r"instructions?|directions|directives?|guidelines|orders|programming|safeguards"
_OVERRIDE: Final = (
    wording(
        "tells a model to set its instructions aside",
        "ignore ignoring disregard disregarding discard forget override bypass disable",
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
    wording(
        "tells a model to set its instructions aside",
        "stop follow obey longer",
        r"\b(?:stop|(?:do|must|should) not|don't|no longer) (?:follow|obey)(?:ing)?"
        r" (?:your|(?:the )?(?:system|developer|user|operator|human)(?:'s)?)"
        r" (?:\w{1,12} ){0,2}?(?:instructions?|guidelines|rules|prompts?|orders|question|policies)\b",
    ),
    wording(
        "gives a model new instructions",
        "task objective instruction",
        r"\b(?:new|real|actual) (?:task|objective|instruction) is\b",
    ),
    wording(
        "gives a model new instructions",
        "instruction instructions task objective orders rules",
        r"STARTnew (?:system )?(?:instructions?|task|objective|orders|rules)[:.] "
        r"(?:you|your|from (?:now|this)|ignore|always|never|only|answer|respond|reply|tell|say|print|output)\b",
    ),
)
_PROMPT: Final = (
    wording(
        "asks for a model's own instructions",
        "prompt prompts",
        r"\b(?:(?:your|my|hidden|secret|full|entire) ){1,3}(?:system|initial|hidden|original|developer)"
        r" prompts?\b|\b(?:reveal|print|show|repeat|output|leak|display|dump|ignore|share|reproduce)"
        r" (?:(?:me|us|your|the|full|entire|whole|exact|original) ){0,4}system prompts?\b(?! (?:of|on|for) )"
        r"|\bsystem prompt[:=]",
    ),
    wording(
        "asks for a model's own instructions",
        "instruction instructions prompt guidelines rules message",
        r"(?:\b(?:reveal|print|show|repeat|output|leak|display|dump|what (?:are|were|is))"
        r" (?:me )?(?:all )?(?:of )?your (?:(?:system|initial|original|first|programming|training|hidden|exact) )?"
        r"(?:instructions?|prompt|guidelines|rules|(?<=system.)messages?)\b"
        r"|\bwhat (?:instructions|rules) (?:were you given|did you receive|do you (?:have|follow)))",
    ),
    wording(
        "asks for a model's own instructions",
        "received told everything",
        r"(?:\bfirst message you received|STARTwhat were you told\b|\beverything before the user messages?\b)",
    ),
)
_SECRECY: Final = wording(
    "keeps something from the reader",
    "user users asked",
    r"\b(?:do not|don't|dont|never|must not|without|avoid) (?:ever )?"
    r"(?:tell|inform|alert|mention|reveal|disclos|lett?|warn|show)(?:e|ing)?"
    r" (?:(?:this|that|it|these|any|of|anything|instructions?|about|to|DOCUMENT) ){0,4}"
    r"(?:(?:the|your) (?:human )?users?|(?:the )?(?:person|one|human|anyone) who asked)\b",
)
_ADDRESS: Final = (
    wording(
        "is addressed to a model",
        "assistant assistants model models chatbot chatbots chatgpt llm llms ai",
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
    ),
    wording(
        "is addressed to a model",
        "automated",
        r"\bautomated (?:screening|review\w*|summar\w+|scoring|reading|ranking) systems?:",
    ),
)
_NO_ANSWER: Final = (
    r"(?!\x20(?:times?|rates?|codes?|headers?|plans?|teams?|process|procedures?|strategy|playbooks?"
    r"|body|bodies|objects?|files?|templates?|messages?|payloads?|to)\b)"
)
_STEERING: Final = (
    wording(
        "says what a model should answer",
        "response responses answer answers reply replies completion completions",
        r"\b(?:in|into|to|of|from|with|throughout|within|start|begin|end|encode|encrypt|translate"
        r"|format|reverse|repeat|prefix|limit|restrict|randomi[sz]e|capitali[sz]e|substitute|replace"
        r"|conclude|finish|close|convert|represent) your ANSWER\b"
        + _NO_ANSWER
        + r"|\byour ANSWER (?:must|should|shall|has to|needs to|will) (?:(?:always|only) )?"
        r"(?:begin|start|end|be|contain|include|consist|state|say|use|rhyme|mention)\b",
    ),
    wording(
        "says what a model should say, and when",
        "answer answering respond responding ask asks asked asking summarise summarize summarising summarizing reply replying questioned",
        r"\b(?:when(?:ever)?|if) (?:(?:you(?: are)?|(?:the |a )?user(?: is)?) )?"
        r"(?:answer(?:ing)?|respond(?:ing)?|summari[sz](?:e|ing)|repl(?:y|ying)|ask(?:ed|s|ing)?"
        r"|questioned)\b~\b"
        r"(?:(?:you )?(?:must |should )?(?:always|never|only|first|instead)"
        r" (?:cite|say|run|recommend|answer|reply|respond|tell|claim|include|mention|state|refer|quote)"
        r"|(?:cite|say|recommend|answer|reply|respond|tell|claim|state|report|assert)"
        r" (?:with )?(?:only|that|exactly|nothing))\b",
    ),
    wording(
        "says how a model should summarise a document",
        "summarise summarize summarising summarizing paraphrase paraphrasing translate translating quote quoting",
        r"\b(?:when(?:ever)?|if|before|while) (?:you )?(?:summari[sz]|paraphras|translat|quot)(?:e|ing)"
        r" (?:from )?(?:this|the (?:above|following|present))(?: DOCUMENT)?"
        r" (?:please )?(?:leave|omit|skip|drop|always|never|do not|say|tell|claim|add|include|mention|use|only)\b",
    ),
    wording(
        "says what a model should answer",
        "nothing",
        r"\b(?:reply|respond|answer|say)"
        r"(?: with)? (?:only|just|exactly|the|this|[\"'“])[^.?!]{1,80}?\band (?:absolutely )?nothing (?:else|more)\b",
    ),
    wording(
        "says what a model should answer",
        "respond reply answer say print",
        r"(?:\b(?:respond|reply|answer) (?:only|solely|exclusively|simply|always|just) with\b"
        r"|(?:respond|reply|answer|print|say) (?:only |just )?(?:with )?the (?:exact )?(?:words?|phrase|sentence) "
        r"|(?:answer|respond to|reply to) (?:every|all|any|each) (?:further |other )?"
        r"(?:question|quer(?:y|ies)|prompt|request)s? (?:with|by)\b)",
    ),
    wording(
        "says what a model should answer",
        "say print output repeat reply respond answer",
        r"(?:(?:START|(?<=and\s)|(?<=please\s))(?:only|solely|simply|just) (?:say|respond|answer|reply) (?:that|with)\b"
        r"|(?:only|solely|simply|just|instead|please)(?: (?:just|only|simply|now))?"
        r" (?:print|output|repeat|reply|respond|answer)(?: (?:with|exactly|back|only|the (?:words?|phrase|following)))?"
        r":?\x20?[\"'“])",
    ),
    wording(
        "tells a model to leave its task",
        "translate translating summarise summarize summarising summarizing",
        r"\b(?:do not|don't|stop|instead of) (?:translat|summari[sz])(?:e|ing) (?:this|the (?:above|following|text|sentence))\b",
    ),
    wording(
        "says what a model should answer",
        "sentence",
        r"\b(?:repeat|translate|say|print|spell check|rewrite|output) (?:exactly )?(?:the following|this) sentence\b",
    ),
    wording(
        "gives a model code to pass on",
        "snippet block fragment",
        r"\b(?:add|adopt|append|apply|attach|blend|embed|employ|featur|fus|implement|includ|incorporat|inject|insert"
        r"|integrat|introduc|leverag|merg|mix|put|supplement|us|utili[sz]|weav)\w{0,5}(?: of)? (?:\w{1,14} ){0,5}?code (?:snippet|block|fragment)s?"
        r" (?:\w{1,14} ){0,2}?(?:in|into|within|to|inside|with|of) (?:your|the) (?:(?:\w{1,14} )?ANSWER"
        r"|(?:existing |current |own |source )?(?:code(?:base)?|implementation|program|project|script|solution)\b)",
    ),
)

_TASKS: Final = (
    wording(
        "makes a request that only a chatbot gets",
        "poem poems limerick limericks haiku haikus sonnet sonnets lyrics lyricss joke jokes riddle riddles essay essays novel novels sentence paragraph headline story",
        r"START(?:(?:please|now|then|also|instead|next|(?:can|could|will|would) you) ){0,3}"
        r"(?:write|compose|draft|create|generate|tell|give|make up|invent)"
        r" (?:(?:me|us|out) )?(?:(?:an?|one|two|three|the|some) )?"
        r"(?:(?:\w{1,14} ){0,3}(?:poem|limerick|haiku|sonnet|lyrics|joke|riddle|novel"
        r"|(?:short|bedtime|horror|funny|love) story)s?\b"
        r"|(?:\w{1,14} ){0,3}(?:introduction|conclusion|outline|thesis|opening|title) (?:for|to|of) an? (?:\w{1,14} )?essay\b"
        r"|(?:\w{1,14} ){0,3}essay\b|(?:\w{1,14} ){0,2}(?:sentence|paragraph|headline|story) about\b)",
    ),
    wording(
        "makes a request that only a chatbot gets",
        "recommend suggest",
        r"START(?:recommend|suggest) (?:(?:me|us) )?(?:an?|some|one|two|three) (?:\w{1,14} ){0,3}"
        r"(?:book|novel|movie|film|song|restaurant|recipe|podcast|tv show|holiday|vacation|gift|dish)s?\b",
    ),
    wording(
        "asks for an answer in a cipher or a play on words",
        "anagram anagrams pig leetspeak cipher morse homophone homophones acrostic palindrome palindromes",
        r"START(?:please )?(?:use|add|insert|write|encode|encrypt|express|replace|respond|answer|reply|create|provide"
        r"|make|convert|translate|turn|include|generate|incorporate|rearrange) (?:[^.?!\n]{0,50} )?"
        r"(?:anagrams?|pig latin|leetspeak|(?:caesar|substitution|vigenere) cipher|morse code|homophones?|acrostic|palindromes?)\b",
    ),
    wording(
        "makes a request that only a chatbot gets",
        "sentiment",
        r"START(?:determine|analy[sz]e|classify|identify|what is|give|rate|detect) (?:the )?(?:overall )?sentiment\b",
    ),
    wording(
        "makes a request that only a chatbot gets",
        "translate",
        r"START(?:please )?translate (?:(?:the (?:following|above|next)|this|these) (?:\w{1,14} )?"
        r"(?:sentences?|phrases?|texts?|paragraphs?|words?)\b"
        r"|(?:[^.?!\n]{1,60} )?(?:in)?to (?:french|spanish|german|italian|chinese|japanese|korean|russian"
        r"|portuguese|arabic|hindi|latin|dutch)\b)",
    ),
)

INSTRUCTIONS: Final[tuple[Rule, ...]] = (
    *_OVERRIDE, *_PROMPT, _SECRECY, *_ADDRESS, *_STEERING, *_TASKS,
)


_ROLE: Final = "gives a model another role"
ROLE_PLAY: Final[tuple[Rule, ...]] = (
    wording(
        _ROLE,
        "unrestricted unfiltered uncensored jailbreak jailbroken evil hacker attacker root persona bound free restrictions ethic ethics ethical policy chatbot assistant model dan rules",
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
    ),
    wording(
        _ROLE,
        "pretend now moment ai llm model assistant chatbot chatgpt copilot claude gemini gpt",
        r"\b(?:you are (?:now (?:an? MODEL|dan\b"
        r"|(?:in|entering) (?:dan|developer|debug|admin|god|jailbreak|unrestricted) mode"
        r"|(?:acting|playing|going to (?:act|play|pretend|be)))"
        r"|an? (?:[\w-]{1,14} ){0,3}?(?:MODEL|assistant)\b(?! (?:team|users?|\w{1,12}(?:er|or|ist)s?)\b))"
        r"|imagine you(?: are|'re) an? (?:\w{1,12} ){0,2}?(?:MODEL|assistant)\b"
        r"|pretend (?:(?:that )?you (?:are|have)|to be (?:an?|my|the))\b"
        r"|from (?:now on|this (?:moment|point)(?: on)?) (?:you (?:will|must|are|shall|play|act|answer|respond|become)"
        r"|(?:always|only|never) (?:answer|reply|respond|say)))",
    ),
    wording(
        _ROLE,
        "act pretend roleplay now role",
        r"(?:roleplay as\b|\b(?:act as|pretend|you are now|play the role)\b[^?!\n]{1,100}?"
        r"\b(?:show|give|grant|tell|send|reset|hand|list|reveal|share)(?: \w{1,12})? (?:me|my|all)\b)",
    ),
    wording(
        _ROLE,
        "developer dan god jailbreak unrestricted",
        r"START(?:enter|activate|enable|switch to|engage|you are in)"
        r" (?:the )?(?:(?:dan|god|jailbreak|unrestricted) mode\b|developer mode[.!] (?:in (?:developer|this) mode|you)\b)",
    ),
    wording(_ROLE, "anything", r"do anything now\b"),
    wording(
        "speaks as a model",
        "ai",
        r"\bas an ai (?:(?:language )?(?:model|assistant|agent)|i|you)\b",
    ),
)


_SHAPE: Final = "looks like a model's tool call"
_ASKED: Final = "asks a model to call a tool"

TOOL_CALLS: Final[tuple[Rule, ...]] = (
    rule(
        _SHAPE,
        "tool function invoke",
        r"</?(?:antml:)?(?:tool_(?:call|use|code)s?|function_calls?|invoke name=[\"'])",
    ),
    rule(_SHAPE, "tool", r"\[tool_calls?\]"),
    rule(_SHAPE, "tool python", r"<\|(?:tool_calls?(?:_begin|_start)?|python_tag)\|>"),
    rule(
        _SHAPE,
        "arguments",
        r"\\?[\"']name\\?[\"']\s{0,4}:\s{0,4}\\?[\"'][\w.-]{1,64}\\?[\"']\s{0,4},\s{0,8}"
        r"\\?[\"']arguments\\?[\"']\s{0,4}:\s{0,4}(?:\\?[\"'])?\{",
    ),
    rule(
        _SHAPE,
        "input",
        r"action:[ \t]{0,4}\w{1,64}[ \t]{0,4}\n{1,2}action input:",
    ),
    wording(
        _ASKED,
        "tool",
        r"(?:START(?:(?:please|now|then|next|first|(?:dear )?assistant|you must) ){0,3}"
        r"(?:use|call|invoke|run|execute) (?:"
        r"the `?[a-z0-9]{1,20}(?:_[a-z0-9]{1,20}){1,4}`? tool\b(?! (?:in|from|of|on) ))"
        r"|\b(?:use|using|call|invoke|run) your (?:shell|bash|terminal|browser|web|search|python|code"
        r"|file|email|http|function|database|sql|mcp) (?:\w{1,14} )?tools?\b)",
    ),
)


_FORM: Final = "looks like one of this product's own references"
_ORDER: Final = "tells a model what to cite"

FAKE_CITATIONS: Final[tuple[Rule, ...]] = (
    rule(
        _FORM,
        "source sources",
        r"(?<=[\[(])sources?(?:[ \t]{1,2}|[ \t]{0,2}[:=][ \t]{0,2})(?:[^\s,\]():]{1,200}(?:,[ \t]{0,2}lines?[ \t]{1,2}\d{1,7}|:\d{1,7}-\d{1,7})"
        r"|\d{1,4}[\])])",
    ),
    rule(_FORM, "", r"\](?:(?:\[\d{1,3}\]){5}|\[(\d{1,3})\]\[\1\])"),
    wording(
        _ORDER,
        "cite quote",
        r"\b(?:always |only |please |must |should )?(?:cite|quote) (?:(?:only|always) )?(?:this|the following|the above)"
        r" DOCUMENT (?:first|only|as|for|when|whenever|in (?:your|every|each|all)|in any)\b"
        r"|START(?:always |only |please )?cite [\w./-]{1,80}\.(?:md|txt|html?|pdf)\b",
    ),
    wording(
        _ORDER,
        "cite",
        r"\b(?:whatever|whichever|for (?:any|every)|in (?:any|every|your) (?:answer|response|reply)|regardless)\b[^.?!\n]{1,60}?\bcite\b",
    ),
    wording(
        _ORDER,
        "source",
        r"\b(?:give|name|present|state|use|claim) (?:\w{1,12} ){0,3}?(?:its source as|as the source of (?:every|each|all|your))\b",
    ),
    wording(
        _ORDER,
        "attribute",
        r"START(?:please |always )?attribute\x20(?:this|these|the (?:following|above)|all|every|your)\b[^.?!\n]{0,60}? to\b",
    ),
)


_MARK: Final = "looks like a mark between a model's turns"


MARKERS: Final = (
    rule(_MARK, "im header endoftext endofturn eot begin system user assistant end", r"<\|(?:im_(?:start|end)|(?:start|end)_header_id|endof(?:text|turn)|eot_id|begin_of_text"
        r"|system|user|assistant|end)\|>",
    ),
    rule(_MARK, "inst", r"(?<![\w$}])\[/?inst\](?!\()"),
    rule(_MARK, "sys", r"<</?sys>>"),
    rule(_MARK, "turn", r"<(?:start|end)_of_turn>"),
    rule(
        _MARK,
        "instruction instructions system assistant human",
        r"### (?:system|instructions?|assistant|human)(?: (?:prompt|message|override))?:(?!\w)",
    ),
    # a lone [system] opens a section of an INI file
    rule(_MARK, "system", r"(?<!\] )(?<![\w.$`\[\]])\[system\][ \t]{0,4}(?:\[system\]|\(#|[a-z])",
    ),
    rule(_MARK, "system", r"(?<![\w$`\]])\[system (?:override|prompt|message|instructions?|notice|note|update|admin)\b[^\]\n]{0,40}\]",
    ),
    rule(
        _MARK,
        "message prompt instruction instructions input context conversation",
        r"(?<![\w&;])(?:[-=#*\[<]{1,10}[ \t]?(?:begin|start|end|stop|new)(?: of)?(?: the)?"
        r" (?:system (?:message|prompt|instructions?)|(?:user )?(?:input|prompt|context|conversation))\b(?! ?\w)"
        r"|stop input\b)",
    ),
    rule(_MARK, "override", r"(?<![^\n>\"'.] )(?<![\w-])(?:system|admin) override:"
    ),
    rule(_MARK, "instruction instructions", r"<instructions?>"),
    rule(_MARK, "system", r"</?system>"),
    rule(_MARK, "system", r"(?<![^\n\"'>(])system:[ \t]{1,4}(?:(?:this|the) (?:user|assistant|model|operator|domain|document"
        r"|above|following|previous|conversation)\b|(?:you|ignore|all previous|override|disregard|new instructions?"
        r"|from now)\b)",
    ),
    rule(
        _MARK,
        "role",
        r"[\"']role[\"']\s{0,4}:\s{0,4}[\"'](?:system|assistant|developer)[\"']\s{0,4},\s{0,8}[\"']content[\"']",
    ),
    rule(_MARK, "user", r"\nuser:[ \t][^\n]{1,400}(?:\n{1,2}assistant:|(?<=!)|please|repeat|ignore|next)",
    ),
    rule(_MARK, "human", r"(?<![^\n])human:[ \t][^\n]{1,400}\n{1,3}(?:assistant|ai):"),
)


_PLACEHOLDER: Final = "is an address with a placeholder for data"
_DATA: Final = (
    r"(?:(?:the |your |all |user'?s? |chat |full |whole )?[\w -]{0,20}"
    r"(?:conversation|chat|history|prompt|answer|response|question|query|summary|data|context"
    r"|secret|password|token|credentials?|email|message|num|content|document)s?[\w -]{0,20})"
)
_TALK: Final = (
    r"[^\]}>)\n]{0,30}?\b(?:conversation|chat|history|prompt|answer|response|user'?s? \w{1,12}|summary"
    r"|secrets?|passwords?|credentials?)\b[^\]}>)\n]{0,20}"
)
_IMAGE_HOLE: Final = rf"(?:[\[{{<(]{{1,2}}{_DATA}[\]}}>)]{{1,2}}|%s|\[\{{?[a-z_ ]{{2,30}}\}}?\])"
_LINK_HOLE: Final = rf"(?:\[{{1,2}}{_TALK}\]{{1,2}}|\{{{{1,2}}{_TALK}\}}{{1,2}}|<{_TALK}>)"
_TARGET: Final = r"https?://[^\s)\]]{1,200}?[?&/=#][^\s)\]]{0,80}?"
_PRIVATE: Final = (
    r"(?:(?:chat|conversation|message) (?:history|log|transcript)|(?:the|this|full|whole|entire) (?:chat|conversation)"
    r"|previous messages?|user'?s? (?:data|question|query|message|input|prompt)"
    r"|(?:the )?contents? of (?:[\x7e/.]\S{1,60}|the (?:clipboard|environment|env file))|system prompt"
    r"|\x7e/\.(?:aws|ssh)\S{0,40}|/etc/(?:passwd|shadow)|environment variables)"
)
_DESTINATION: Final = (
    r"(?:https?://|[\w.+-]{1,64}@[\w-]{1,64}\.|\b(?:url|link|image|address|parameter|webhook)\b)"
)
_PRIVATE_FILE: Final = (
    r"(?:/etc/(?:passwd|shadow)|~/\.(?:aws|ssh)\b|\bid_rsa\b|\.aws/credentials|\$\(env\))"
)
_HOSTILE: Final = (
    r"(?:(?:\bimport|\bfrom|require\([\"']) ?(?:os|subprocess|shutil|socket|requests|urllib|https?|smtplib"
    r"|ftplib|scapy|pyshark|pynput|keyboard|pyperclip|pyautogui|mss|pil|selenium|cryptography|crypto"
    r"|winreg|ctypes|webbrowser)\b|\bfetch\(|xmlhttprequest|sendbeacon|document\.cookie|rm -rf /"
    r"|authorized_keys|/etc/(?:passwd|shadow)|\biptables\b)"
)

EXFILTRATION: Final[tuple[Rule, ...]] = (
    rule(
        _PLACEHOLDER,
        "",
        rf"!\[[^\]\n]{{0,120}}\](?:\([ <]{{0,2}}|[:=]?[ ]{{0,2}}){_TARGET}{_IMAGE_HOLE}",
    ),
    rule(_PLACEHOLDER, "img", rf"<img [^>\n]{{0,120}}?src=[\"']?{_TARGET}{_IMAGE_HOLE}"),
    rule(
        _PLACEHOLDER,
        "conversation chat history prompt answer response summary credentials secrets",
        rf"\]\(https?://[^\s()\[\]{{}}<>]{{1,200}}{_LINK_HOLE}",
    ),
    rule(
        "is a link whose address is assembled from pieces",
        "ht htt",
        r"\]\(ht{1,2}p?s?[\"'] {0,2}[,+&;] {0,2}[\"']",
    ),
    wording(
        "asks to send data away",
        "send append encode encoding post upload forward query embed exfiltrate transmit leak email",
        r"(?:send|append|encod(?:e|ing)|post|upload|forward|query param\w*|embed|exfiltrate|transmit|leak|email)\b"
        rf"[^.\n]{{0,60}}?{_PRIVATE}(?:[^.\n]|\.(?=\S)){{0,80}}?{_DESTINATION}",
    ),
    rule(
        "sends a file of secrets to a host",
        "curl wget nc",
        rf"(?:curl|wget|nc) [^\n]{{0,120}}?(?:@|\$\(cat |< ?|`cat ){_PRIVATE_FILE}[^\n]{{0,120}}",
    ),
    rule(
        "passes on code that sends data away or destroys it",
        "snippet block fragment code",
        r"\b(?:add|append|attach|blend|embed|featur|fus|implement|includ|incorporat|inject|insert|integrat|introduc"
        r"|merg|mix|put|supplement|weav)\w{0,5}\b"
        rf"[^.\n`]{{0,60}}?\b(?:code|snippet)\b[^`]{{0,120}}?```[^`]{{0,600}}?{_HOSTILE}",
    ),
)


_EVENTS: Final = (
    "onerror onload onclick ondblclick onmouseover onmouseenter onmouseleave onmouseout onmousedown "
    "onmouseup onmousemove onmousewheel onwheel onfocus onfocusin onblur onchange oninput onsubmit "
    "onkeydown onkeyup onkeypress onpageshow onpagehide onhashchange onmessage onscroll onresize "
    "ontoggle onbegin onend onstart onfinish onanimationstart onanimationend ontransitionend "
    "onpointerover onpointerenter onpointerdown onreadystatechange onpropertychange oncopy onpaste "
    "oncut ondrag ondrop onplay oncanplay onbeforeunload onunload"
)

ACTIVE_CONTENT: Final[tuple[Rule, ...]] = (
    rule("a script for the reader's browser", "script", r"<script\b(?=[^<>]{0,300}=|[^<>]{0,300}>[^\x00]{0,2000}?</script)"),
    rule(
        "an address that runs a script",
        "javascript vbscript",
        r"(?<![\w-])(?:javascript|vbscript):(?!void\(0\)|;|//)[\w/(%$\[\"']",
    ),
    rule("an address that runs a script", "html", r"data:text/html[;,]"),
    rule(
        "an element that runs a script",
        _EVENTS,
        rf"<[a-z][\w:-]{{0,20}}(?:/|\b[^<>]{{0,300}}?[\s\"'])(?:{_EVENTS.replace(' ', '|')})\s{{0,4}}=",
    ),
    rule("an element that runs a script", "srcdoc", r"<iframe\b[^<>]{0,300}?\ssrcdoc\s{0,4}="),
)


SHELL: Final[tuple[Rule, ...]] = (
    rule(
        "a shell script from the network",
        "curl wget tcp bash",
        r"(?:curl|wget)\b[^\n]{1,300}?\|\s{0,4}(?:sudo )?(?:ba|z|da)?sh\b|/dev/tcp/|bash -i",
    ),
    rule("a script", "rf", r"rm -rf [/~]"),
)
DECODING: Final[tuple[Rule, ...]] = (
    wording(
        "tells the reader to decode a text and follow it",
        "decode decoded decrypt unscramble",
        r"(?:decode|decrypt|unscramble)(?: (?:it|this|that|the \w{1,12}))? and (?:then )?"
        r"(?:follow\b|obey\b|(?:do|execute|run|act on) (?:what )?(?:it|this|that))",
    ),
    rule(
        "is code in pieces that are joined when it runs",
        "exec execute eval",
        r"(?:exec|execute|eval)\s{0,2}\(\s{0,2}['\"][^'\"\n]{1,20}['\"]\s{0,2}(?:\+|\|\||\.)\s{0,2}['\"]",
    ),
)
