"""Words that govern a step: those before, around or after it that say when, whether and how to take it.

A paragraph right before a list, a table or code governs all of it; a heading, everything below it; a list item,
its contents. One table of patterns decides what such words make of the governed lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Governs(StrEnum):
    """The effect of governing words on the lines that they govern."""

    CAUTION = "caution"
    """Take care: shown with the step."""
    CONDITION = "condition"
    """Only then, or only there: a branch."""
    PRECONDITION = "precondition"
    """To be done or known before anything on the page."""
    PROHIBITED = "prohibited"
    """Must not be done: shown as "Do not", never as a step."""
    OBSOLETE = "obsolete"
    """Was done once, or was wrong: also never a step."""
    NOTE = "note"
    """Anything else that belongs to the step."""


@dataclass(frozen=True, slots=True)
class Governing:
    """Lines that govern a step.

    Args:
        withheld: whether they are the forbidden lines themselves, rather than the sentence that forbids them: such
            lines are quoted as a warning, and no step cites them.
        sent_from: their document, if they are in another section and say to go to this one; else ``""``.
    """

    text: str
    kind: Governs
    start: int
    end: int
    after: bool = False
    withheld: bool = False
    sent_from: str = ""


LIST_MARK: Final = re.compile(
    r"^[ \t]*(?:[-*+]|(?:\d{1,9}|[a-i])\\?[.)]|(?:\d{1,2}|[A-Z])(?:\.\d{1,2}){1,2}[.)]?)(?:[ \t]+|$)"
)
NEVER: Final = frozenset({Governs.PROHIBITED, Governs.OBSOLETE})
"""Lines with these effects are never steps."""

_OPENING: Final = (
    r"^[\s>*_`#:!\[\]\-–—\d.)]*(?:(?:update|edit(?:ed)?|correction|erratum)\b[^:\n]{0,30}:[\s*_]*|(?:note|warning|caution|important|danger|attention|tip|please|and|but|also)\b[\s:*_\]!,]*"
    r"|(?:achtung|vorsicht|warnung|wichtig|hinweis|avertissement|remarque|atención|advertencia|importante|cuidado|nota|attenzione|atenção|aviso|внимание|осторожно"
    r"|важно|警告|注意|重要|提示|危险|危険|주의|경고)[\s:：*_\]!！,，、]*)*"
)
_PROHIBITS: Final = re.compile(
    _OPENING + r"(?:(?!in order\b)(?:in|on|during|under|for|at)\b[^.:,]{0,60}[,:]?\s+)?"
    r"(?!(?:(?:you|we)\s+)?(?:do\s+not|don[’']?t)\s+(?:need|have to|expect)\b)"
    r"(?!(?:we|nobody|no one|one)\s+(?:do\s+not|don[’']?t)\s+(?:\w+ly\s+|yet\s+)?(?:have|know|see|own|support|use|monitor|alert|care)\b)"
    r"(?:(?:you|we|nobody|no one|on-?call|one)\s+)?"
    r"(?!(?:never|do\s+not|don[’']?t|must\s*n[o’']t|please)\s+(?:ever\s+)?(?:forget|hesitate|panic|worry|mind|be afraid)\b)"
    r"(?:never\b|do\s+not\b|don[’']?t\b|must\s*n[o’']t\b|must never\b|should\s*(?:n[o’']t|never)\b|may not\b|avoid\b"
    r"|under no circumstances\b|forbidden\b|prohibited\b|not allowed\b|(?:wrong|incorrect|bad)\s*[*_]*(?::|$)|anti-?patterns?\b"
    r"|what (?:(?:you|we) )?(?:must|should|may)? ?not(?: to)?\b|not here\b|hands off\b|leave alone\b|off limits\b"
    r"|not (?:this|that|these)\b|niemals\b|auf keinen fall\b|keinesfalls\b|verboten\b|ne (?:jamais|pas)\b|jamais\b|interdit\b|nunca\b|prohibido\b|mai\b|proibido\b"
    r"|no (?:ejecut|borr|elimin|reinici|deten|toqu|desactiv)\w+|não (?:execut|apag|elimin|reinici|toqu)\w+|никогда не\b|нельзя\b|запрещено\b"
    r"|не (?:удаляй|перезапускай|выполняй|запускай|останавливай|трогай|меняй|отключай)\w*"
    r"|[^。；;，,：:\n]{0,24}?(?:严禁|禁止|不要|请勿|切勿|不得(?!不))"
    r"|[^。\n]{0,80}(?:(?:を|には)[^。\n]{1,40}ないこと|しないこと|ないでください|てはいけない|てはならない|べきではない|하지 마(?:세요|십시오)|하지 말 ?것|금지)\W*$"
    r"|refrain from\b|none of (?:this|these|the following)\b|it(?:['’]s| is) forbidden\b)",
    re.IGNORECASE,
)
"""Opens with a prohibition, unlike "we do not expect any failures" and "in order to avoid that, ..."."""
_PROHIBITS_AFTER: Final = re.compile(
    r"\b(?:(?:is|are) (?:forbidden|prohibited|not allowed|not to be (?:done|used|run))|must not be (?:done|run|used)"
    r"|(?:this|these|the following)\b[^.]{0,40}\b(?:is|are|was|were) wrong|(?:is|are) a bad idea"
    r"|should not be (?:done|run|used)|(?:what|things) (?:not to do|to avoid)|not an option|never (?:do|run|use) (?:any of )?(?:this|these|the following))\b",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(
    r"(?<=[^\s\d][.!?;])\s+|(?<=[。！？；])|\n\s*\n|\n(?=\s*(?:[-*+]|\d+[.)])\s)"
)
_IN_BRACKETS: Final = re.compile(r"\([^()]*\)")
_FORBIDS_BEHIND: Final = re.compile(
    r"^\W*[⛔❌🚫]|`\W*[⛔❌🚫]\W*$|(?:(?:<-+|←|—|–|-|//|#|\()\s*(?:never|no|don[’']t|do not|not in prod\w*)|(?:<-+|←|//|#|\(|`\s*[—–-])\s*wrong\b[^`\n]{0,40})\s*[!.)]*\s*$",
    re.IGNORECASE,
)
"""Forbids the text before it on its line."""
_INSTEAD: Final = re.compile(r"\binstead\b|;|\bbut\b|\brather\b", re.IGNORECASE)
"""Names an alternative to the forbidden action."""
_UNLESS: Final = re.compile(
    r"\b(?:until|unless|before|without|except|more than|while|if|when|only|as long as|first|again"
    r"|falls|wenn|bevor|solange|außer|ohne|bis|si|quand|avant|sans|sauf|tant que|cuando|antes|sin|salvo|hasta|если|когда|пока|без|кроме)\b"
    r"|如果|若|除非|之前|直到|超过|未经|場合|前に|まで|なければ|超える|以外|경우|전에",
    re.IGNORECASE,
)
"""Turns a prohibition into a condition: it applies only at times ("don't restart it before you have: ...")."""
_GONE: Final = (
    r"(?:obsolete|deprecated|superseded|out of date|outdated|retired|withdrawn|no longer (?:used|valid|needed|necessary|required|applies|applicable|works|supported|in use)"
    r"|not (?:needed|necessary|used|valid) (?:any ?more|since))\b"
)
_OF_THIS: Final = (
    r"(?:this|these|that|those|it|they|(?:the|our) (?:\w+ ){0,2}?(?:page|section|procedure|process|steps?|way|method|approach|runbook|playbook"
    r"|instructions?|advice|workaround|fix|list|commands?|script|following|below|above))"
)
_OBSOLETE: Final = re.compile(
    _OPENING
    + rf"(?:(?:since|as of|from|in|after|with)\b[^,.]{{0,40}},?\s+)?(?:{_OF_THIS}\b(?s:.{{0,160}}?)\b{_GONE}"
    rf"|{_GONE}\s*(?:$|[:.,;!)\]–—-]|(?:since|by|as of|from|after|in|now|and|do not|don[’']t)\b"
    r"|(?:procedures?|process|steps?|sections?|pages?|ways?|methods?|instructions?|advice|runbooks?)\b))",
    re.IGNORECASE,
)
_GONE_BEHIND: Final = re.compile(
    rf"(?:[(\[]|\s[–—-]+\s)\s*(?:now |this is )?(?:{_GONE}"
    r"|(?:deleted|removed|dropped|scrapped|abolished|n/a|none left|not used|gone)(?: (?:in|since|from|as of|by|with))? v?\d)",
    re.IGNORECASE,
)
"""Says of itself that it is no longer done: as its label, its subject or in brackets after it, where a date or version
counts too.

"Delete what is no longer needed" and "verify that it no longer exists" are steps."""
_WENT_WRONG: Final = re.compile(
    r"\b(?:used to (?:be|do|run)|old advice|was wrong|were wrong|(?:that|which) made (?:it|things) worse|did not (?:help|work)|kept for (?:the )?(?:audit|history|reference)|tried,? without success|for the record|we don[’']t do this|we no longer (?:do|use|run)\b|\bbanned (?:since|by|after)\b"
    r"|used to be the fix|veraltet|überholt|obsolète|périmée?|obsoleto)\b|已废弃|已弃用|过时"
    r"|:\s*wrong\b\W*$",
    re.IGNORECASE,
)
_ONCE: Final = re.compile(
    _OPENING
    + r"(?:(?:previously|formerly|originally|historical(?:ly)?|back then|in the past|legacy|old|not any ?more|withdrawn|cancell?ed|discontinued"
    r"|(?:for )?(?:history|reference) only|(?:until|up to|before) (?:19|20)\d\d)\b"
    r"|(?:replaced by|instead of)\b|(?:we|they|people|somebody|on-?call) used to\b|(?:the|our) (?:old|former) \w+ (?:was|were)\b)",
    re.IGNORECASE,
)
"""Introduces something that was done once; without a colon, words such as "old" or "until 2023" may mean anything."""
_NO_WAY: Final = (
    r"(?:(?:the )?(?:wrong|bad) (?:way|idea|advice|example)|(?:also )?tried\b|what others do\b"
    r"|(?:an? |the |our )?(?:most )?(?:common|typical|frequent|usual) mistakes?|what went wrong)"
)
_BAD: Final = re.compile(
    _OPENING
    + rf"(?:{_NO_WAY}|banned|tempting|rejected|refused|(?:this|that|it|the following) (?:does(?:n[’']t| not) work|breaks?|broke|hangs?|destroys?)\b)"
    r"|\b(?:stack ?overflow|chatgpt|(?:a|the|some) forum|the internet|the vendor)\b[^:\n]{0,60}\b(?:recommends?|suggests?|advises?|we reject|refused)\b"
    r"|\b(?:which|that) we reject\b|\b(?:rejected|refused) by us\b|\b(?:we|it|that) (?:have )?lost (?:us )?(?:all )?(?:data|customers|mails?|orders?)\b",
    re.IGNORECASE,
)
"""Introduces something that somebody did or advises, and that was wrong."""
_NO_WAY_HEADING: Final = re.compile(_OPENING + _NO_WAY, re.IGNORECASE)
_OLD_STEPS: Final = re.compile(
    _OPENING
    + r"(?:(?:the|our|these|those)\s+)?(?:old|former|legacy|previous) (?:procedure|way|process|method|steps?)\s*(?:$|[:,(–—-])",
    re.IGNORECASE,
)
"""Opens with a former procedure; "repeat the previous steps" and "kill the old process" are steps."""
_IF: Final = re.compile(
    _OPENING + r"(?:if|when(?:ever)?|unless|in case|should|once|after|otherwise|else)\b",
    re.IGNORECASE,
)
"""Opens a branch: "if that did not help" isn't obsolete advice."""
_CONDITION: Final = re.compile(
    _OPENING
    + r"(?:if|when|where|only|unless|except|in case|as long as|once|until|while|for (?!example)|on\b|in (?!order|this|the following)"
    r"|otherwise|else\b|after|before|should\b|during|with(?:out)?\b|case\b|option\b|scenario\b|staging|production|prod\b|dev\b"
    r"|falls\b|wenn\b|sofern\b|nur\b|si\b|quand\b|cuando\b|solo (?:si|en)\b|если\b|когда\b|только\b|如果|若|只有|仅|否则|当|[^。\n]{1,40}場合(?:は|、|，|:|：)|[^。\n]{1,40}경우)",
    re.IGNORECASE,
)
_CAUTION: Final = re.compile(
    r"\b(?:never|do not|don[’']?t|must(?:\s*n[o’']t)?|only copy|source of truth|warning|caution|danger(?:ous)?|careful(?:ly)?|beware|irreversibl[ey]|avoid"
    r"|can(?:no|[’'])t be undone|cannot be (?:undone|restored)|data loss|(?:is|are|be|been) lost|lose (?:data|all)|destructive|important|attention|ask first"
    r"|please check|\bcall the\b|can[’']t take|untested|not (?:been )?tested|at your own risk|before (?:you|anything|doing|running|restarting|any)|without (?:asking|approval)|approval|sev ?1|"
    r"forbid|forbidden|prohibited|(?:is|are) not allowed|call .{0,40}first|do nothing|no hurry|afterwards|note the order"
    r"|achtung|vorsicht|warnung|wichtig|unbedingt|gefahr|datenverlust|niemals|auf keinen fall|avertissement|jamais|irréversible|perte de données|atención|advertencia|cuidado|peligro"
    r"|importante|nunca|irreversible|pérdida de datos|attenzione|pericolo|atenção|aviso|внимание|осторожно|предупреждение|важно|никогда|нельзя|необратимо|потер[яи] данных)\b"
    r"|警告|注意|危险|危険|小心|谨慎|务必|不可逆|数据丢失|不要|切勿|请勿|禁止|严禁|必ず|慎重|取り消せ|データ損失|ないこと|ないでください|てはいけない|주의|경고|위험|반드시|금지|⚠|:warning:",
    re.IGNORECASE,
)
_SCOPE: Final = re.compile(
    r"\b(?:staging|production|prod|sandbox|dev(?:elopment)?|test (?:environment|system|cluster))\b|\(not\b|\binstead\b|\bapproval",
    re.IGNORECASE,
)
"""Says which environment or system a page is for."""
_BEFORE_ALL: Final = re.compile(
    r"\bbefore (?:anything|you (?:do|start|run|touch|follow)|any of|doing anything|running any|using|following)"
    r"|\b(?:prerequisites?|preconditions?|requirements?|requires?|you(?:['’]ll)? need|only for|only applies|applies to|not (?:for|applicable))\b",
    re.IGNORECASE,
)
_WRONG: Final = re.compile(_OPENING + r"(?:wrong|incorrect|bad|old)\s*[*_]*(?::|$)", re.IGNORECASE)
_STRUCK: Final = re.compile(
    r"^[\s>*+\-\d.)\[\]xX]*(?:~~.+~~|<(?:del|s|strike)>.+</(?:del|s|strike)>|\{-.+-\}|\[-.+-\])(?:\s*\([^()]{0,120}\))?[\s.;:]*$"
    r"|^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)?\[[-~]\]\s+\S",
    re.DOTALL,
)
"""Struck out, or a task that its box marks as cancelled or not applicable: ``[-]``, ``[~]``."""
_UNWRITTEN: Final = re.compile(
    r"^[\s>*_+\-\d.)\[\]xX|]*(?:"
    r"(?:n/?a|none)\b(?! of\b)[\w ()]{0,30}[.!]?"  # "None: go to step 3" is a branch
    r"|(?:wip|coming soon|work in progress|(?:still )?to be (?:written|done|defined|completed)|(?:someone|somebody) (?:has to|should|must|needs to) (?:write|document))\b.{0,80}"
    r")[\s*_|]*$",
    re.IGNORECASE | re.DOTALL,
)
_EMPTY: Final = re.compile(
    r"^[\s>*_(\[]*(?:empty|stub|placeholder|nothing (?:here )?yet|not (?:yet )?(?:documented|written)(?: here| yet)?)\b(?:[,;:.)\]].{0,160})?[\s*_)\]]*$",
    re.IGNORECASE,
)
_TO_DO: Final = re.compile(r"^[\s>*_+\-\d.)\[\]x|]*(?:to ?do|tbd|tba|fixme)\b", re.IGNORECASE)
_LINK_ALONE: Final = re.compile(
    r"^[\s>*_]*(?:!?\[[^\]\n]*\]\([^)\n]*\)\W*|<?https?://\S+|\[(?!\^)[^\]\n]*\]:\s*\S+.*|\{\{[<%].*[>%]\}\}|\[+ ?_?toc_? ?\]+|(?:table of )?contents\b\W*(?:generated (?:with|by)\b.{0,80})?|-+)[\s*_|]*$",
    re.IGNORECASE | re.DOTALL,
)


def governs(text: str) -> Governs:
    """Return the effect of words on the lines that they govern.

    >>> governs("Never do any of the following in production:"), governs("On staging only:")
    (<Governs.PROHIBITED: 'prohibited'>, <Governs.CONDITION: 'condition'>)
    >>> governs("Don't restart it before you have:"), governs("To roll back:")
    (<Governs.CONDITION: 'condition'>, <Governs.NOTE: 'note'>)
    """
    text = text.replace("*", "")
    is_lead = text.rstrip().endswith(":")
    is_bad = is_lead and not _IF.match(text) and _BAD.search(text) is not None
    if is_struck(text) or is_obsolete(text) or is_bad or (is_lead and _ONCE.match(text)):
        return Governs.OBSOLETE
    first, *others = sentences(text)
    if _FORBIDS_BEHIND.search(text.partition("\n")[0]):
        return Governs.PROHIBITED
    forbidding = list(filter(_forbids, [first, *others[-1:]] if is_lead else [first]))
    if forbidding:
        if is_lead and _INSTEAD.search(text):
            return Governs.CAUTION
        return Governs.CONDITION if any(map(_UNLESS.search, forbidding)) else Governs.PROHIBITED
    if _CONDITION.match(text):
        return Governs.CONDITION
    return Governs.CAUTION if warns(text) or any(map(_forbids, others)) else Governs.NOTE


def steps_revoked(text: str) -> dict[int, Governs]:
    """Return the numbers of the steps that a text revokes or forbids unconditionally.

    >>> steps_revoked("Update: steps 1 and 3 no longer apply."), steps_revoked("Don't do step 2 before you called.")
    ({1: <Governs.OBSOLETE: 'obsolete'>, 3: <Governs.OBSOLETE: 'obsolete'>}, {})
    """
    found: dict[int, Governs] = {}
    for sentence in sentences(text.replace("*", "")):
        if (said := _REVOKES.search(sentence)) and not _UNLESS.search(sentence):
            kind = Governs.PROHIBITED if said["forbidden"] else Governs.OBSOLETE
            numbers = said["gone"] or said["forbidden"] or said["skipped"]
            for first, last in _NUMBERS.findall(numbers):
                found |= dict.fromkeys(range(int(first), int(last or first) + 1), kind)
    return found


def titles_withdrawn(text: str) -> list[str]:
    """Return the titles, in quotation marks or code, of procedures that a text says are no longer done.

    >>> titles_withdrawn('2025-02-03: The procedure "Open the firewall" is withdrawn.')
    ['Open the firewall']
    """
    return [it["title"] for it in _WITHDRAWS.finditer(text.replace("*", ""))]


_WITHDRAWS: Final = re.compile(
    rf"[\"“„«`](?P<title>[^\"“”„«»`\n]{{3,120}})[\"”“»`]\W{{0,3}}(?:(?:is|are|was|were|(?:has|have) been)\s+)(?:now\s+)?{_GONE}",
    re.IGNORECASE,
)
_STEPS: Final = r"(?:steps?|points?) "
_COUNTED: Final = r"\d{1,2}(?:(?:, ?(?:and )?| ?(?:and|or|to|&|[-–]) ?)\d{1,2})*"
_REVOKES: Final = re.compile(
    rf"\b{_STEPS}(?P<gone>{_COUNTED})(?: (?:is|are|was|were|(?:has|have) been))?(?: now)? (?:{_GONE}|no longer apply\b)"
    rf"|\b(?:do not|don[’']?t|never) (?:do|run|execute|perform|follow|carry out) {_STEPS}(?P<forbidden>{_COUNTED})\b"
    rf"|^\W*(?:[^:]{{1,30}}: *)?(?:skip|leave out|omit) {_STEPS}(?P<skipped>{_COUNTED})(?=\s*(?:$|[.,;:(]|since\b|because\b))",
    re.IGNORECASE,
)
_NUMBERS: Final = re.compile(r"(\d+)(?: ?(?:to|[-–]) ?(\d+))?")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; ``[""]`` of a blank one."""
    return [it for it in _SENTENCE_END.split(text) if it.strip()] or [""]


def _forbids(sentence: str) -> bool:
    """Whether a sentence opens with a prohibition, or forbids its subject outside brackets."""
    outside = _IN_BRACKETS.sub("", sentence)
    return prohibits(sentence) or _PROHIBITS_AFTER.search(outside) is not None


def forbids(text: str) -> bool:
    """Whether any sentence opens with a prohibition."""
    return any(prohibits(part) for it in sentences(text) for part in it.split(": "))


def names_the_wrong(text: str) -> bool:
    """Whether a text quotes something wrong ("Wrong: ...") rather than forbids it."""
    return is_obsolete(text) or _WRONG.match(text) is not None


def warns(text: str) -> bool:
    """Whether a paragraph says to take care, or names a precondition."""
    return bool(_CAUTION.search(text) or _BEFORE_ALL.search(text))


def is_precondition(text: str) -> bool:
    """Whether a paragraph of a page's introduction applies to everything that the page says to do."""
    return bool(_BEFORE_ALL.search(text) or _SCOPE.search(text)) or holds_for_all(text)


_NOT_FOR: Final = re.compile(
    r"\b(?:never|not)\s+(?:(?:valid|meant|used|to be used|suitable|intended)\s+)?(?:for|on|in)\s+(?!th(?:is|ese|em|at)\b|it\b)(?P<what>`[^`\n]{2,40}`|[\w-]+(?:(?:,| or| and|, or|/)? ?[\w-]+){0,3})",
    re.IGNORECASE,
)


_OUT_OF_SCOPE: Final = re.compile(
    r"(?P<what>[^.:;\n]{3,80}?) (?:is|are) (?:out of scope|not covered|not part of this|excluded)\b"
    r"|(?P<said>[^.:;\n]{3,80})\. Not (?:covered|described|documented|handled|meant) here\b",
    re.IGNORECASE,
)


def out_of_scope(text: str) -> list[str]:
    """Return the subjects that a text puts outside its page's scope: "Substation switches are out of scope."."""
    return [it["what"] or it["said"] for it in _OUT_OF_SCOPE.finditer(text)]


_SETS_APART: Final = re.compile(
    r"^\W*not\b|\bnot (?:on|in|part of) this (?:page|document|runbook)\b|\b(?:its|their) own (?:page|runbook|document)\b"
    r"|\b(?:another|different|separate|other|wrong) (?:page|runbook|document|system|cluster|database)\b|\bnot to be (?:confused|mixed up)\b",
    re.IGNORECASE,
)


def sets_apart(sentence: str) -> bool:
    """Whether a sentence says of what it names that the page isn't about it: "Not to be confused with scylla-inv."."""
    return _SETS_APART.search(sentence) is not None


_FORBIDDEN: Final = re.compile(
    r"(?:never|do not|don[’']?t)\s+(?P<what>[a-z][^.,:;!?()\n]{3,80})", re.IGNORECASE
)
_STOPPED: Final = re.compile(
    r"^\W*(?P<case>[^.:;\n]{3,60}):\s*(?:stop\b|hands off\b|do nothing\b)"
    r"|^(?P<coded>[^.:;`\n]{0,40}`[^`\n]{3,40}`[^.:;`\n]{0,10}):\s*(?:do not|don[’']?t|never)\b",
    re.IGNORECASE,
)
"""The case in which a text says to stop or, if the case is named as code, not to do something."""


def forbidden_by(text: str) -> list[str]:
    """Return the actions that a text forbids in every case, verb first: "restart the gateway"."""
    found = (it["what"] for it in _FORBIDDEN.finditer(text.replace("*", "")))
    return [it for it in found if not _UNLESS.search(it)]


def stopped_by(text: str) -> str:
    """Return the case in which a text says to stop: "Ransomware suspected: stop here."; ``""`` if there is none."""
    found = _STOPPED.match(text)
    return found["case"] or found["coded"] if found else ""


def excluded_by(text: str) -> list[str]:
    """Return what a text says it doesn't apply to: "Only for the sandbox. Never on production or training."."""
    return [it["what"] for it in _NOT_FOR.finditer(text)]


_FOR_ALL: Final = re.compile(
    r"\b(?:every|each|all|any|everything|anything|nothing|always)\b[^.\n]{0,50}\b(?:procedures?|steps?|sections?|commands?|of|on|in|from) (?:on |of |in |from )?this (?:page|runbook|document)\b"
    r"|\b(?:go(?:es)?|holds?|appl(?:y|ies)|counts?|valid|true) (?:for|to) (?:all|every|everything|each|any|anything|the (?:entire|whole))\b"
    r"|\bthis (?:whole |entire )?(?:page|runbook|document) (?:only )?(?:applies|holds|counts|is (?:only )?(?:valid|meant))\b",
    re.IGNORECASE,
)


def holds_for_all(text: str) -> bool:
    """Whether a text applies to its whole page: "this goes for every procedure on this page"."""
    return _FOR_ALL.search(text) is not None


def prohibits(text: str) -> bool:
    """Whether a text opens with a prohibition, conditional or not."""
    return _PROHIBITS.match(text) is not None


def is_obsolete(text: str) -> bool:
    """Whether a text says that its subject is no longer done, or was wrong."""
    return is_gone(text) or (not _IF.match(text) and _WENT_WRONG.search(text) is not None)


def is_gone(text: str) -> bool:
    """Whether a text says of itself that it is no longer done."""
    if _IF.match(text):
        return False
    first, *others = sentences(text)
    return any(
        _OBSOLETE.match(it) or _GONE_BEHIND.search(it) or _OLD_STEPS.match(it)
        for it in (first, *(it for it in others if not _THING_OUT_OF_USE.match(it)))
    )


_THING_OUT_OF_USE: Final = re.compile(
    r"\W*(?:it|they|those|these)\b[^.]{0,30}\b(?:no longer (?:used|valid|works|supported|in use)|obsolete|deprecated|retired)\b",
    re.IGNORECASE,
)
"""Is about a thing that the sentence before names, not about that sentence: "Delete the volume. It is no longer used."."""


def is_no_way(heading: str) -> bool:
    """Whether a heading introduces something that somebody did or does, and nobody should: "Also tried"."""
    return is_gone(heading) or _NO_WAY_HEADING.match(heading) is not None


def is_branch(text: str) -> bool:
    """Whether a text opens a branch: what to do in one case, after the lines before it."""
    return _IF.match(text) is not None


def is_struck(text: str) -> bool:
    """Whether the whole text is struck out."""
    return _STRUCK.match(text) is not None


def is_to_do(line: str) -> bool:
    """Whether a line is a note about something still to be written."""
    return _TO_DO.match(line) is not None


def is_unwritten(text: str) -> bool:
    """Whether a text is a placeholder for one still to be written: a to-do note of any length, or a few words."""
    return is_to_do(text) or _UNWRITTEN.match(text.strip()) is not None


_OPEN: Final = r"(?:open|still open|to[- ]?do|tbd|to be (?:done|written)|missing|not (?:yet )?(?:written|documented)|wish ?list|(?:open|missing) (?:points?|questions?|issues?|items?|tasks?|ends|procedures?|pages?)|ideas)"
_OPEN_POINTS: Final = re.compile(
    rf"\W*(?:[A-Z\d]{{1,2}}[.)] )?{_OPEN}(?:(?:\W| and | or )+{_OPEN})*\W*|\W*things\b.*\b(?:haven[’']?t|not|never)\b.*|\W*(?:stuff|things|pages?) (?:still )?to write\b.*",
    re.IGNORECASE,
)


def lists_open_points(heading: str) -> bool:
    """Whether a heading says that what is below it is still to be done or written: "Open points", "OPEN / TO DO"."""
    return _OPEN_POINTS.fullmatch(heading) is not None


def is_empty(text: str) -> bool:
    """Whether a section's first words say that it is empty: "(empty, Ann will move her notes here)"."""
    return _EMPTY.match(text) is not None


def says_nothing(text: str) -> bool:
    """Whether a paragraph is only a link, or a placeholder for text still to be written."""
    return is_unwritten(text) or _LINK_ALONE.match(text.strip()) is not None


def leads(text: str) -> bool:
    """Whether a text introduces the lines after it."""
    return text.rstrip(" \t*_`").endswith(":")


def is_instead(text: str) -> bool:
    """Whether a comment or column head gives the alternative to a wrong one."""
    return _INSTEAD_OF.match(text) is not None


_INSTEAD_OF: Final = re.compile(
    r"\W*(?:good|right|correct|ok|better|instead|do\b|use\b|this is fine)", re.IGNORECASE
)
"""The beginning of a comment or column head that gives the alternative to a wrong one."""
