"""The purpose of a runbook's sections, by the words of their headings: one table.

A heading may state its section's purpose ("Mitigation"), its subject ("Replica lag"), or both.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from typing import Final

from knowledge_rag.core.chunks import split_words
from knowledge_rag.core.languages import UNSPACED


class Kind(StrEnum):
    """A section's purpose."""

    DIAGNOSIS = "diagnosis"
    RESOLUTION = "resolution"
    VERIFICATION = "verification"
    ROLLBACK = "rollback"
    ESCALATION = "escalation"
    OTHER = "other"
    """The heading states no purpose: a procedure's own name, for example."""
    BACKGROUND = "background"
    """Describes something and gives nothing to do."""
    PROHIBITED = "prohibited"
    """Lists things that must not be done, or not by the person on call."""
    OBSOLETE = "obsolete"
    """Describes something that was done once and isn't any more."""


ACTIONS: Final = frozenset(
    {Kind.DIAGNOSIS, Kind.RESOLUTION, Kind.VERIFICATION, Kind.ROLLBACK, Kind.ESCALATION}
)
"""Kinds of sections that say what to do."""
_RULES: Final = re.compile(
    r"(?:general |safety |house |important )?(?:rules?|caveats?|prerequisites?|preconditions?|conditions|responsibilities|approvals?|safety|dangers?|warnings?|limitations?|scope"
    r"|restrictions?|exceptions?|exclusions?|applicability|when not to use(?: (?:this|it))?|important(?: notes?)?|gotchas?|compliance|permissions|requirements?"
    r"|policy|disclaimers?|maintenance windows?"
    r"|read(?: this| me)?(?: first| before [a-z ]{1,30})?|(?:do )?(?:this )?first(?: of all)?|always|before (?:you )?(?:\w+ anything(?: \w+)?|(?:start|begin|do|touch|change|run)(?:ing)?(?: anything)?|anything(?: else)?)|stop and read|first things first)(?: (?:for|of|on) (?:this|these|all|the)(?: whole| entire)? \w+)?"
    r"|(?:wichtige )?(?:hinweise|regeln|voraussetzungen|warnungen)|vor beginn|wichtig|achtung|pré-?requis|règles|avertissements?|à lire (?:d['’]abord|avant)"
    r"|reglas|requisitos(?: previos)?|advertencias?|prerequisiti|regole|avvertenze|pré-requisitos|regras|avisos|предварительные условия|правила|важно|предупреждени[ея]"
    r"|前提(?:条件)?|前置条件|注意(?:事项|事項|点)?|重要(?:事项|事項)?|规则|须知|警告|事前準備|전제 ?조건|주의(?: ?사항)?|경고",
    re.IGNORECASE,
)
"""Names of sections whose text applies to the sections beside them."""
_FOR_ALL: Final = re.compile(
    r"\b(?:for|to|before) (?:all|any|every|each|everything|anything)(?: of)?(?: (?:it|them|these|this|those|here|below|else))*"
    r"(?: (?:the |these |this )?(?:procedures?|steps?|pages?|sections?|tasks?|actions?|changes?|commands?|work)(?: (?:here|below|(?:on|in) this (?:page|file|document)))?)?\W*$",
    re.IGNORECASE,
)
"""The end of a heading of rules: "Preconditions for everything here"."""
_REMARKS: Final = re.compile(
    r"(?:good|things) to know|(?:additional |further |more )?(?:notes?|remarks?|information)|announcements?|updates?|news|risks?|tips|hints|nota bene|"
    r"bemerkungen|anmerkungen|hinweis|remarques?|notas?|observa\w+|note",
    re.IGNORECASE,
)
"""Names of sections that may contain a rule for the sections beside them, or anything else."""
NEVER: Final = frozenset({Kind.PROHIBITED, Kind.OBSOLETE})
"""Kinds of sections that never have steps, whatever else they contain."""

_WORDS: Final = {
    Kind.PROHIBITED: r"what (?:(?:you|we) )?(?:must |should |may )?not(?: to)?(?: be)? ?do(?:ne)?|leave alone|hands off|off limits|(?:things|what) to avoid|^\W*(?:(?:you|we) )?(?:do ?n[o’']ts?|never|(?:must|may) not)\b|not (?:for|by) on-?call"
    r"|anti[ -]?patterns?|forbidden|prohibited|bad (?:advice|practices?|ideas?)|wrong (?:way|approach|fix)"
    r"|^\W*[⛔❌🚫☠]|^\W*(?:wrong|bad examples?|pitfalls?)\W*$"
    r"|what (?:went|we did) wrong|mistakes|look right but|we don[’']t do this",
    Kind.OBSOLETE: r"obsolete|deprecated|superseded|out ?dated|historical|history|(?:old|former|previous|legacy)"
    r" (?:procedure|process|way|method|steps?|runbook|instructions?)|no longer (?:used|valid|needed|applies|relevant)"
    r"|changelog|archived\b|^\W*archive\W*$|retired|no longer in use|not (?:used|valid|in use) any ?more|out of date|how it was before"
    r"|^\W*~~.+~~\W*$|^\W*(?:rejected|cancell?ed|withdrawn|discarded|invalid|old|legacy|draft|proposal|replaced by\b[^\n]*)(?: (?:alternatives?|proposals?|ideas?))?\W*$"
    r"|draft\b.{0,5}\bdo not use|(?:until|up to) version \d|(?:until|before) (?:v\d|20\d\d\b)",
    Kind.VERIFICATION: r"verif|validat|how (?:do|can) (?:i|we|you) know|how to see (?:that|whether|if) it|(?:did|does) (?:it|this|that) work|(?:is|are) (?:it|we|everything) (?:\w+ )?(?:over|done|fixed|healthy|fine|ok(?:ay)?|good|back|working|up)\b|done when\b|(?:can|may|to) close\b"
    r"|^after\b|^at the end\b|afterwards|aftercare|clean(?:ing)?[ -]?up|when (?:it )?is (?:it )?over|closing|post[ -]?checks?|\bconfirm",
    Kind.ROLLBACK: r"roll(?:ing)?[ -]?back|revert|undo|back[ -]?out|(?<!the )(?<!a )fall(?:ing)?[ -]?back",
    Kind.ESCALATION: r"escalat|who to (?:call|page|wake|contact)|contacts?\b|on-?call (?:teams?|people)",
    Kind.DIAGNOSIS: r"diagnos|triage|investigat|troubleshoot|debugg|identif|inspect|assess|first checks?"
    r"|what to check|checks?\b",
    Kind.RESOLUTION: r"resol|mitigat|remed|repair|recover|workaround|fix(?:es|ing)?\b|procedure|immediate|steps?\b"
    r"|what to do|restor|actions?\b(?! items)|how to\b|instructions?\b|prerequisit|preparations?\b|before you (?:start|begin)|requirements?\b|case \d|solution|playbook|checklist",
    Kind.BACKGROUND: r"symptom|impact|overview|background|timeline|root cause|related|references?\b|see also"
    r"|what went|lucky|lessons|action items|detection|glossary|meaning|introduction|purpose(?: and scope)?\b|objectives?\b|context|owner|about\b|summary"
    r"|possible causes?|causes?\b|expression|severit(?:y|ies)|alert behaviou?rs?|covered alerts|dependenc(?:y|ies)|links|resources|further reading|how it works|architecture"
    r"|^what (?:this|it) (?:is|does)\b|^what is\b|descriptions?\b|metadata|definitions?\b|evidence|service details|table of contents|contents",
}
_ELSEWHERE: Final = {
    Kind.PROHIBITED: r"nicht (?:tun|machen|erlaubt)\b|verboten|niemals|auf keinen fall|à ne pas faire|ne pas faire|interdi[tc]|à éviter|(?:qué )?no (?:hacer|se debe)\b"
    r"|prohibid|cosa non fare|da non fare|vietat|não (?:fazer|deve)\b|proibid|чего не делать|нельзя|запрещ"
    r"|禁止|严禁|切勿|请勿|不得|不要做|不能做|してはいけない|やってはいけない|べからず|すべきでない|금지|하지 말",
    Kind.OBSOLETE: r"veraltet|überholt|nicht mehr (?:gültig|verwendet|nötig)|änderungshistorie|obsolète|périmé|ancienne (?:procédure|méthode)|obsolet[oa]s?\b"
    r"|anticuad|procedimiento antiguo|устарел|больше не использу|已废弃|已弃用|过时|旧版|旧流程|(?:变更|修订|更新)(?:历史|记录)|廃止|(?<!復)旧手順|古い手順|(?:変更|更新)履歴|非推奨"
    r"|폐기|더 이상 사용|변경 ?이력",
    Kind.VERIFICATION: r"überprüfung|erfolgskontrolle|nachkontrolle|verifi[zk]|bestätig|nachbereitung|vérif(?!ications? (?:préalable|initiale))|contrôle|\bconfirm|validaci|verificaç|comprobaci"
    r"|verific(?!hes? inizial)|conferma|провер(?:ка|ить) (?:результат|восстановлен)|^проверка$|убедиться|验证|校验|确认|复核|検証|復旧確認|事後確認|動作確認|^確認$"
    r"|(?:復旧|回復|結果|完了|事後|最終)の?確認|검증|복구 ?확인|^확인$",
    Kind.ROLLBACK: r"rückgängig|zurück(?:rollen|setzen|nehmen|bauen)|rückbau|retour (?:en )?arrière|annul(?:er|ation)|revertir|deshacer|vuelta atrás|reverter|desfazer|annullare"
    r"|откат|отмена|вернуть|回滚|回退|撤销|还原|切り戻し|ロールバック|元に戻|取り消し|롤백|되돌리",
    Kind.ESCALATION: r"eskal|ansprechpartner|kontakte?\b|wen (?:anrufen|informieren)|escalade|astreinte|qui (?:appeler|contacter)|escalad|contactos?\b|a quién|contatt[io]\b|contatos?\b"
    r"|эскалац|контакты|кому (?:звонить|сообщ)|^(?:问题|故障|事件|告警)?升级(?:路径|流程|机制)?$|上报|联系(?:人|方式)|エスカレーション|連絡先|에스컬레이션|연락처",
    Kind.DIAGNOSIS: r"diagnóst|ursachen?(?:analyse|suche)|fehler(?:suche|analyse)|analys|untersuch|prüf(?:en|ung|schritte)|eingrenz|vérifications? (?:préalable|initiale)|enquête|análisis|análise"
    r"|analisi|indagin|comprobaciones (?:iniciales|previas)|identific|onderzoek|диагност|анализ|расследован|поиск причин|诊断|排查|排障|故障定位|检查|调查|分析|判断"
    r"|診断|調査|切り分け|原因の?特定|トラブルシュート|点検|確認(?:方法|事項|手順|項目)|진단|점검|조사|원인 ?(?:파악|분석)|확인 ?(?:방법|사항|절차)",
    Kind.RESOLUTION: r"lösung|loesung|beheb|abhilfe|maßnahme|massnahme|wiederherstell|reparatur|entstör|vorgehen|vorgehensweise|anleitung|was (?:ist )?zu tun|\w*schritte?\b|korrektur"
    r"|résol|remèd|remédi|correcti|répar|procédure|étapes?\b|mesures\b|rétabli|que faire|soluci|corrección|procedimi?ento|pasos\b|medidas\b|recupera|qué hacer|acciones\b|mitigaci"
    r"|risol|soluzion|rimedi[oa]|correzion|passi\b|misure\b|ripristin|cosa fare|azioni\b|mitigazion|soluç|correç|passos\b|o que fazer|ações\b|mitigaç|oploss|herstel|stappen\b"
    r"|wat te doen|решени|устранени|исправлени|восстановлени|что делать|действия|шаги\b|порядок действий|меры\b|процедур|инструкци"
    r"|解决|处理|处置|修复|恢复|应对|应急|操作|步骤|措施|缓解|方案|怎么办|预案|対処|(?<!事後)対応(?!表)|解決|復旧|修復|手順|処置|回避策|解消|緩和|対策|해결|조치|복구|대응|처리|절차|완화",
    Kind.BACKGROUND: r"auswirkung|überblick|übersicht|hintergrund|zeitverlauf|zeitleiste|ursachen?\b|siehe auch|glossar|bedeutung|einführung|einleitung|zusammenfassung|beschreibung|anzeichen"
    r"|aperçu|contexte|chronologie|voir aussi|glossaire|signification|résumé|détection|gravité|liens\b|symptôm|síntoma|sintom[aio]|impacto|resumen|contexto|antecedentes|cronología|causas?\b|véase"
    r"|referencias|glosario|significado|introducción|descripci|detección|enlaces|panoramica|riepilogo|descrizione|visão geral|descriç|симптом|признаки|влияни|обзор|предыстори|хронологи|причин"
    r"|ссылки|глоссари|введени|описани|контекст|症状|现象|表现|影响|概述|概览|背景|简介|介绍|时间线|根因|原因|相关|参考|链接|另见|说明|描述|术语|含义|定义|总结|检测|后续|附录"
    r"|現象|影響|概要|経緯|タイムライン|関連|参考|リンク|説明|用語|意味|まとめ|検知|目次|事後対応|振り返り|증상|영향|개요|배경|원인|관련|참고|설명|정의|요약|탐지",
}
"""The same in German, French, Spanish, Italian, Portuguese, Dutch, Russian, Chinese, Japanese and Korean."""
_PATTERNS: Final = {
    kind: re.compile(f"{words}|{_ELSEWHERE[kind]}", re.IGNORECASE) for kind, words in _WORDS.items()
}
_KINDS: Final = re.compile(
    rf"\w*(?:{'|'.join([*_WORDS.values(), *_ELSEWHERE.values()])})\w*", re.IGNORECASE
)
_OF_ANY_UNSPACED: Final = (
    r"[的和与及或并のをはがにとやで後时時前]|怎么|如何|步骤|方法|方式|办法|指南|手册|流程|问题|故障|告警|报警|事件|信息|内容|首先|初步|进行|临时|紧急|快速|常见|可能|手动|自动"
    r"|手順|アラート|障害|問題|場合|初動|一次|暫定|緊急|について|する|した|して|こと|및|방법|절차|을|를|의|사항"
)
"""Words that any runbook's heading may have, in scripts without spaces."""
_OF_ANY: Final = re.compile(
    r"(?:an?|all|any|and|or|the|this|these|that|it|its|is|are|be|do|done|can|if|in|on|of|for|from|to|up|with|by|at"
    r"|how|what|when|where|who|why|we|you|your|i|s|t|see|first|next|then|more|further|also|some|general|common|know"
    r"|over|known|always|possible|quick|manual|short|long|term|actions?|checks?|commands?|causes?|root|cause|guide|guidance"
    r"|info|information|notes?|plan|process|problems?|issues?|incidents?|alerts?|alarms?|pages?|\d+|[a-z]"
    r"|machen|durchführen|der|die|das|des|und|im|am|bei|zur|zum|le|la|les|du|de|et|el|los|las|del|il|da|и|в|на|с|по)"
)
"""Words that any runbook's heading may have beside its section's purpose."""
_LABEL: Final = re.compile(
    r"^\s*(?:[*_]{2}(?P<bold>[^*_]{2,60}?)[:：]?[*_]{2}[:：]?|(?P<bare>(?:[A-Z]|(?![a-z\d_])\w)[\w '/-]{1,40})[:：])\s*$"
)
_BEGINNING: Final = re.compile(
    r"\W{0,4}(?P<words>(?:[A-Z]|(?![a-z\d_])\w)[\w '/-]{1,30}?)[*_]{0,2}(?::[*_]{0,2}\s+|：[*_]{0,2}\s*)(?=\S)"
)
_NAME: Final = re.compile(r"\S*[a-z\d][A-Z]\S*|[^\s_-]+(?:[_-][^\s_-]+){2,}")
"""The form of an alert's name: one word made of several, more than the two of "Roll-back"."""
_STEP: Final = re.compile(
    r"\s*(?:(?:step|case|phase|part|stage|schritt|étape|paso|passo|stap|шаг|步骤|手順|ステップ|단계)\s*)?(?:\d+(?:\.\d+)*|[ivx]+)[.):]?\s"
    r"|\s*(?:第[一二三四五六七八九十\d]+[步段]|(?:步骤|手順|ステップ)\s*\d|[\d一二三四五六七八九十]+[、．])",
    re.IGNORECASE,
)


def kind_of_heading(heading: str) -> Kind:
    """Return the purpose that a heading states for its section.

    >>> kind_of_heading("Mitigation"), kind_of_heading("What not to do"), kind_of_heading("Replica lag")
    (<Kind.RESOLUTION: 'resolution'>, <Kind.PROHIBITED: 'prohibited'>, <Kind.OTHER: 'other'>)
    """
    # an alert's name, such as MimirCompactorNotCleaningUpBlocks, says nothing about its section
    heading = _NAME.sub(" ", heading)
    found = (kind for kind, pattern in _PATTERNS.items() if pattern.search(heading))
    kind = next(found, Kind.OTHER)
    # "Low number of background workers" is a subject: only a heading that says nothing else describes
    return Kind.OTHER if kind is Kind.BACKGROUND and _matter_of(heading) else kind


def names_only_kind(heading: str) -> bool:
    """Whether a heading names no subject of its own: "How to resolve", but not "Recover the cache"."""
    return kind_of_heading(heading) is not Kind.OTHER and not _matter_of(heading)


_SERIAL: Final = re.compile(
    r"\s*(?P<label>(?P<series>[A-Z]{1,2})\d{1,2}|(?P<part>\d{1,2})[a-z])(?:[.):]\s|\s|$)[ \t–—-]*"
)
"""A heading's label in a series: "K5 Replay", "P2. OSD down", "1a. Token refresh"."""
_COUNTED: Final = re.compile(
    r"\s*(?:(?i:part|section|chapter|case|scenario)\s+)?(?P<number>\d{1,2}(?:\.\d{1,2})*)[.):]?\s+(?:[-–—]\s+)?"
)
_LETTERED: Final = re.compile(r"\s*(?:(?i:part|section|chapter|appendix)\s+)?[A-Z][.):]\s+")
_INSTRUCTION: Final = re.compile(
    r"(?:add|announce|apply|approve|attach|back up|block|build|bump|call|change|check|choose|clean|clear|close|collect"
    r"|configure|confirm|connect|copy|cordon|create|deactivate|decide|define|delete|deploy|detach|determine|disable|disconnect"
    r"|download|drain|drop|edit|enable|ensure|evaluate|evict|execute|export|fail|figure|fill|finali[sz]e|find|fix|flush|force|generate|get|give|go"
    r"|grant|have|identify|import|include|increase|inform|initiali[sz]e|inspect|install|investigate|issue|kill|label"
    r"|list|load|locate|log|look|make|mark|measure|merge|migrate|monitor|mount|move|note|notify|obtain|open|pause|place"
    r"|point|post|power|prepare|promote|provision|publish|pull|purge|push|put|rebuild|recreate|reduce|register|reindex"
    r"|remove|rename|repeat|replace|replay|report|request|reset|restart|restore|resume|retrieve|return|revert|review"
    r"|revoke|roll|rotate|run|scale|schedule|see|select|send|set|shut|sign|snapshot|start|stop|switch|sync|tail|take|talk"
    r"|tell|test|trigger|turn|unmount|unpublish|update|upgrade|upload|use|validate|verify|wait|watch|write|yank)\b(?! of\b)",
    re.IGNORECASE,
)
"""The beginning of a step, in English; "Restart of the server" is a subject instead."""


_WHEN: Final = re.compile(
    r"\((?:before|after|until|if|when|only|optional)\b[^()]*\)", re.IGNORECASE
)
"""A condition in brackets: "Rollback (before step 7)"."""


def _matter_of(heading: str) -> list[str]:
    """Return the words of a heading that are neither a purpose nor common to all headings."""
    heading = _WHEN.sub("", heading)
    if not heading.isascii():  # a run without spaces may have both
        heading = UNSPACED.sub(lambda run: _matter_unspaced(run[0]), heading)
    words = re.findall(r"[^\W_]+", _KINDS.sub(" ", split_words(heading)).casefold())
    return [word for word in words if not _OF_ANY.fullmatch(word)]


def _matter_unspaced(run: str) -> str:
    kinds, of_any = _unspaced()
    return of_any.sub(" ", kinds.sub(" ", run))


@cache
def _unspaced() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of purposes and of common words, compiled for the first heading without spaces."""
    return re.compile("|".join(_ELSEWHERE.values())), re.compile(_OF_ANY_UNSPACED)


def is_numbered(heading: str) -> bool:
    """Whether a heading begins with the number of a step or a chapter: "2. Update the token", "Step 3: wait"."""
    return _STEP.match(heading) is not None


def is_called_rules(heading: str) -> bool:
    """Whether a heading says that its section applies to the sections beside it: "2. Rules"."""
    words = without_number(heading)
    parts = (words, *re.split(r" (?:and|AND|&) ", words))
    is_each, *others = map(bool, map(_RULES.fullmatch, parts))
    return is_each or all(others) or _FOR_ALL.search(words) is not None


def is_called_remarks(heading: str) -> bool:
    """Whether a heading says that its section is about the sections beside it, a rule or not: "Notes"."""
    return _REMARKS.fullmatch(without_number(heading)) is not None


def without_number(heading: str) -> str:
    """Return a heading without its number, its letter, or its label in a series.

    >>> without_number("2.1 Roll back"), without_number("C. A reader lags"), without_number("P2. OSD down")
    ('Roll back', 'A reader lags', 'OSD down')
    """
    found = _COUNTED.match(heading) or _LETTERED.match(heading) or _SERIAL.match(heading)
    return heading[found.end() if found else 0 :].strip(" :.!")


def label_in_series(heading: str) -> tuple[str, str]:
    """Return a heading's label and the part that its series shares; empty if it has none.

    >>> label_in_series("K5 Replay"), label_in_series("1a. Token refresh"), label_in_series("2. Wait")
    (('K5', 'K'), ('1a', '1'), ('', ''))
    """
    found = _SERIAL.match(heading)
    return (found["label"], found["series"] or found["part"]) if found else ("", "")


def number_of(heading: str) -> str:
    """Return a heading's number: ``4.3`` for "4.3 Cluster EF-OT"; ``""`` if it has none, as in "502 errors"."""
    found = _COUNTED.match(heading)
    return found["number"] if found else ""


def instructs(heading: str) -> bool:
    """Whether a numbered heading is a step: it has that word, or an instruction after its number.

    Any text that isn't English counts as an instruction.
    """
    found = _COUNTED.match(heading)
    return (
        not heading.isascii()
        or found is None
        or _INSTRUCTION.match(heading, found.end()) is not None
    )


def is_instruction(text: str) -> bool:
    """Whether a text begins, in English, with what to do: "Restart the server"."""
    return _INSTRUCTION.match(text) is not None


def kind_of_label(line: str) -> Kind | None:
    """Return the kind that a line labels if it does nothing else, such as ``Undo:`` or ``**Verification**``."""
    found = _LABEL.match(line)
    if found is None:
        return None
    words = found["bold"] or found["bare"]
    return kind_of_heading(words) if names_only_kind(words) else None


def kind_of_beginning(text: str) -> Kind | None:
    """Return the kind of a paragraph that begins with its label: "Roll back: `cli revert`, then unfreeze."."""
    found = _BEGINNING.match(text)
    if found is None or not names_only_kind(found["words"]):
        return None
    kind = kind_of_heading(found["words"])
    return kind if kind in (Kind.ROLLBACK, Kind.VERIFICATION, Kind.RESOLUTION) else None
