"""The language of a text, and its words in scripts without spaces between words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

ENGLISH: Final = "en"

_UNSPACED: Final = r"\u0e00-\u0eff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Thai, Lao, kana, Han and Hangul; Korean has spaces, but attaches particles to words."""
UNSPACED: Final = re.compile(f"[{_UNSPACED}]+")
"""A run of letters in a script without spaces between words."""

_ACCENTS: Final = re.compile(r"[\u0300-\u036f]+")
_LETTERS: Final = str.maketrans({
    "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L",
    "đ": "d", "Đ": "D", "ı": "i", "’": "'",
})  # fmt: skip


def folded(text: str) -> str:
    """Return a text without accents and compatibility forms; kana and Hangul keep their marks.

    >>> folded("Überprüfung très ёлка ガ")
    'Uberprufung tres елка ガ'
    """
    if text.isascii():
        return text
    parted = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", parted)).translate(_LETTERS)


def pairs_of_characters(run: str) -> list[str]:
    """Return the overlapping pairs of letters in a run, in place of its words.

    >>> pairs_of_characters("磁盘写满"), pairs_of_characters("满")
    (['磁盘', '盘写', '写满'], ['满'])
    """
    return [run[i : i + 2] for i in range(max(1, len(run) - 1))]


_SAYS_NOTHING: Final = re.compile(
    r"[的了吗呢啊吧么怎样什哪这那您你我请问如何该]"  # Chinese questions and particles
    r"|[\u3040-\u309f]{1,2}"  # endings and particles of Japanese are in hiragana
    r"|.?[은는을를]|(?:합니|니다|나요|어떻|떻게|하나|해야|있습|습니|무엇)"
)


def is_particle(pair: str) -> bool:
    """Whether a pair of characters is grammar and not content."""
    if _SAYS_NOTHING.fullmatch(pair):
        return True
    return any("\u4e00" <= it <= "\u9fff" and _SAYS_NOTHING.fullmatch(it) for it in pair)


_WORDS: Final = {
    "de": "aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin bis bitte da "
    "dann das dass dem den denn der des die dies diese diesem diesen dieser dieses doch du durch ein eine einem "
    "einen einer eines er es etwas euch fur gibt haben habe hat hatte hier ich ihm ihn ihr ihre im immer in ist "
    "jetzt kann kein keine keinen keiner konnen konnte lasst machen macht man mehr mein mich mir mit muss mussen nach nicht "
    "nichts noch nun nur ob oder ohne schon sehr sein seine seinen seiner seit sich sie sind so soll sollte tun "
    "uber um und uns unser unter viel vom von vor war warum was weil wenn wer werden wie wieder wird wo wurde zu "
    "zum zur zwischen",
    "fr": "a ai alors apres au aucun aussi autre aux avant avec avoir c ca car ce cela ces cet cette comme comment "
    "d dans de depuis des dont du elle elles en encore entre est et etait etre eu faire fait faut il ils j je l la "
    "le les leur lui m ma mais me mes moi mon n ne nos notre nous on ont ou par pas peu peut plus pour pourquoi "
    "quand que quel quelle quelles quels qu qui quoi s sa sans se ses si son sont sur t ta te tes toi ton tous tout "
    "toute tres trop tu un une vers vos votre vous y",
    "es": "a al algo ante antes aqui asi aun cada como con cual cuando cuanto de del desde donde dos durante e el "
    "ella ellos en entre era es esa ese eso esta estan estar este esto estos fue ha hace hacer hacia han hasta hay "
    "la las le les lo los mas me mi muy nada ni no nos nuestra nuestro o otra otro para pero poco por porque puede "
    "puedo que quien se ser si sin sobre solo son su sus tambien tan tengo tiene todo todos tras tu un una uno unos "
    "y ya yo",
    "it": "a ad ai al alla alle anche ancora c che chi ci come con cosa cui da dal dalla degli dei del della delle "
    "di dopo dove e ed era essere fa fare gia gli ha hanno ho i il in io l la le lo loro ma mi mio molto ne nel "
    "nella nelle no noi non nostro o ogni per perche piu poi puo quale quando quanto quello questa questo se "
    "senza si sia siamo solo sono sta su sua sui sul sulla suo tra tutti tutto un una uno",
    "pt": "a ainda ao aos as ate com como da das de dela dele depois do dos e ela ele eles em entre era essa esse "
    "esta estao estar este eu faz fazer foi ha isso isto ja la mais mas me mesmo meu minha muito na nao nas nem no "
    "nos nosso num numa o onde os ou para pela pelo por porque posso pode quais qual quando que quem se sem ser "
    "seu seus so sua tambem tem tenho todos tudo um uma voce",
    "nl": "aan al als altijd bij dan dat de den deze die dit doen door dus een en er geen had heb hebben heeft het "
    "hier hij hoe hun iets ik in is ja je kan kunnen maar me meer men met mijn moet moeten na naar niet niets nog "
    "nu of om omdat onder ons onze ook op over te tegen toch toen tot uit van veel voor waar waarom wanneer want "
    "was wat we wel werd wie wij worden wordt zal ze zei zelf zich zij zijn zo zonder zou",
    "ru": "а без был была были было быть в вам вас весь во вот все всего вы где да для до его ее если есть еще же за "
    "здесь и из или им их к как какая какие какой ко когда кто ли либо мне можно мой мы на над надо нам нас не него "
    "нет ни них но ну о об он она они оно от очень по под почему при про с сам свой себя со так также такой там те "
    "то того тоже только том тот ты у уже чего чем что чтобы эта эти это этого этот я делать сделать",
}
STOP_WORDS: Final = {language: frozenset(words.split()) for language, words in _WORDS.items()}
"""Words common to any text of a language, without accents."""
_ENGLISH_TEXT: Final = (
    "a about after an and any are as at be been by can cannot could did do does for from had has have how i if in into is "
    "it its me more my no not of off on one or our out over should so than that the their them then there these they this "
    "to too up us was we were what when where which who why will with would you your"
)
_ENGLISH_WORDS: Final = frozenset(_ENGLISH_TEXT.split())
_SCRIPTS: Final = {
    "ja": r"[\u3040-\u30ff\u31f0-\u31ff]",
    "ko": r"[\uac00-\ud7af]",
    "zh": r"[\u3400-\u4dbf\u4e00-\u9fff]",
    "th": r"[\u0e00-\u0e7f]",
    "ru": r"[\u0400-\u04ff]",
    "el": r"[\u0370-\u03ff]",
    "ar": r"[\u0600-\u06ff]",
    "he": r"[\u0590-\u05ff]",
    "hi": r"[\u0900-\u097f]",
}
LANGUAGES_OF_OTHER_SCRIPTS: Final = frozenset(_SCRIPTS)
_LETTER: Final = re.compile(r"[^\W\d_]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_OTHER_SCRIPT: Final = 0.1
"""Minimum share of letters in another script for a text to be in that script's language: a question has
products and commands in Latin letters. Latin words take about twice as many letters as Han."""
_FEWEST: Final = 2
"""Distinct words that identify the language of a text in Latin letters: the region "eu" is also a French word."""
_LEAST_SHARE: Final = 0.05
"""Minimum share of these in a long text: tables and commands have a few by chance."""
_MOST_READ: Final = 20_000


@cache
def _scripts() -> dict[str, re.Pattern[str]]:
    """Return the letters of each script, compiled for the first text that isn't ASCII."""
    return {language: re.compile(letters) for language, letters in _SCRIPTS.items()}


@lru_cache(maxsize=1024)
def language_of(text: str) -> str:
    """Return the most likely ISO 639-1 language code of a text; English if there is no evidence.

    >>> language_of("Der Pod startet nicht, was ist zu tun?"), language_of("Redis 内存快满了")
    ('de', 'zh')
    """
    text = text[:_MOST_READ]
    if text.isascii():
        return _by_words(text)
    letters = len(_LETTER.findall(text)) or 1
    for language, script in _scripts().items():
        found = len(script.findall(text))
        if found >= _OTHER_SCRIPT * letters:
            return language
    return _by_words(text)


_MARKS: Final = {
    "de": re.compile("[äöüß]", re.IGNORECASE), "es": re.compile("[¿¡ñ]", re.IGNORECASE), "fr": re.compile("[œêûù]", re.IGNORECASE),
    "pt": re.compile("[ãõ]", re.IGNORECASE),
}  # fmt: skip
"""Letters and marks that are as much evidence as a word."""


_FOREIGN_WORDS: Final = {language: known - _ENGLISH_WORDS for language, known in STOP_WORDS.items()}
"""Stop words of each language that English doesn't have."""
_ANY_FOREIGN_WORDS: Final = frozenset[str]().union(*_FOREIGN_WORDS.values())


def is_plainly_english(text: str, words: AbstractSet[str]) -> bool:
    """Whether a text of these words, in lower case, can't be in another language: a quick look before :func:`language_of`."""
    return text.isascii() and len(words & _ANY_FOREIGN_WORDS) < _FEWEST


def _by_words(text: str) -> str:
    words = Counter(word for word in _WORD.findall(folded(text).lower()) if len(word) > 1)
    known = {language: words.keys() & its for language, its in _FOREIGN_WORDS.items()}
    counted = {language: sum(words[word] for word in its) for language, its in known.items()}
    different = {language: len(its) for language, its in known.items()}
    if not text.isascii():
        for language, mark in _MARKS.items():
            has_mark = mark.search(text) is not None
            counted[language] += has_mark
            different[language] += has_mark
    english = sum(words[word] for word in words.keys() & _ENGLISH_WORDS)
    # letters that English doesn't have count as a word
    least = _FEWEST if text.isascii() or english else _FEWEST - 1
    fewest = max(least, _LEAST_SHARE * words.total())
    recognised = [it for it, number in different.items() if number >= least] or [ENGLISH]
    best = max(recognised, key=lambda it: counted.get(it, 0))
    return best if counted.get(best, 0) >= fewest and counted[best] > english else ENGLISH
