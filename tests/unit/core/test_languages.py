"""Languages of texts, folding, and words in scripts without spaces."""

import pytest

from knowledge_rag.core.languages import (
    ENGLISH,
    folded,
    is_particle,
    language_of,
    pairs_of_characters,
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Der Alertmanager kann seine Konfiguration nicht laden.", "de"),
        ("Die Festplatte läuft voll, was ist zu tun?", "de"),
        ("Le pod redémarre en boucle, que faire ?", "fr"),
        ("El nodo lleva más de 15 minutos sin estar listo.", "es"),
        ("Il disco è pieno, che cosa devo fare?", "it"),
        ("Não consigo entrar no servidor, o que posso fazer?", "pt"),
        ("De schijf is bijna vol, wat moet ik doen?", "nl"),
        ("Узел не готов уже 15 минут", "ru"),
        ("Redis 内存快满了", "zh"),
        ("Slave_SQL_Running 为 No 怎么办", "zh"),
        ("Pod の再起動が止まらない", "ja"),
        ("CDN エラー", "ja"),
        ("디스크가 가득 찼습니다", "ko"),
        ("The disk is full, what do I do?", ENGLISH),
        ("disk full", ENGLISH),
        ("OOMKilled", ENGLISH),
        ("Alert from the naïve café checker", ENGLISH),
        ("Dashboards of the fleet are in the folder 监控 of the wiki, see there for all of them", ENGLISH),
        ("", ENGLISH),
    ],
)  # fmt: skip
def test_language_is_told_by_script_and_function_words(text, language):
    assert language_of(text) == language


def test_tables_and_commands_are_no_language_because_of_a_few_words():
    assert (
        language_of("| do | as | e | o |\n" + "kubectl get pods -n monitoring -o json\n" * 20)
        == ENGLISH
    )


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Überprüfung", "Uberprufung"),
        ("Straße", "Strasse"),
        ("Île-de-France, œuvre", "Ile-de-France, oeuvre"),
        ("ёлка", "елка"),
        ("Ｒｅｄｉｓ", "Redis"),
        ("ガード", "ガード"),
        ("ｶﾞｰﾄﾞ", "ガード"),
        ("디스크", "디스크"),
        ("plain", "plain"),
    ],
)
def test_folding_drops_accents_and_keeps_what_makes_another_letter(text, plain):
    assert folded(text) == plain


@pytest.mark.parametrize(
    ("run", "pairs"), [("磁盘写满", ["磁盘", "盘写", "写满"]), ("满", ["满"]), ("磁盘", ["磁盘"])]
)
def test_pairs_of_characters_overlap(run, pairs):
    assert pairs_of_characters(run) == pairs


def test_grammar_is_told_from_what_a_question_is_about():
    grammar = ["怎么", "么办", "の", "した", "请问", "了吗", "니다"]
    matter = ["磁盘", "延迟", "遅延", "ログ", "디스"]
    assert [pair for pair in grammar + matter if is_particle(pair)] == grammar
