"""Runbooks that aren't in English give whole procedures, and nothing that they forbid."""

import asyncio
import re
from pathlib import Path

import pytest

from knowledge_rag.core.headings import (
    Kind,
    is_called_rules,
    is_numbered,
    kind_of_beginning,
    kind_of_heading,
    kind_of_label,
    names_only_kind,
)
from knowledge_rag.orchestrator.consultation import consult
from knowledge_rag.orchestrator.governing import Governs, governs
from knowledge_rag.orchestrator.relevance import Floors
from knowledge_rag.orchestrator.words import asked_words, share_of, spaced_words, words_of
from tests.support.runbooks import (
    Search,
    advised,
    assert_cites_exactly,
    cited_lines,
    consulted,
    question,
)

FOLDER = Path(__file__).parents[2] / "data/languages"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("[!R]*.md"))}
ASKED = [
    line.split("|", 1)
    for line in (FOLDER / "questions.txt").read_text("utf-8").splitlines()
    if line
]
_NUMBERED = re.compile(r"\s*\d+\.\s")


@pytest.mark.parametrize(("document", "asked"), ASKED)
def test_every_numbered_step_of_the_right_runbook_is_given(document, asked):
    given = consulted(question(asked), TEXTS)
    assert_cites_exactly(given, TEXTS)
    cited = [it for step in given.recommendation.guidance for it in step.citations]
    assert {it.citation.source_file for it in cited} == {document}
    lines = enumerate(TEXTS[document].split("\n"), 1)
    assert {n for n, line in lines if _NUMBERED.match(line)} <= cited_lines(cited)


@pytest.mark.parametrize(
    ("document", "asked", "forbidden"),
    [
        ("バックアップ失敗.md", "夜間バックアップが失敗した", "古いバックアップを削除して"),
        ("磁盘写满.md", "日志服务器磁盘满了", "禁止直接删除"),
        ("mysql-复制延迟.md", "MySQL 从库延迟越来越大", "RESET MASTER"),
        ("speicher.md", "Festplatte auf dem Logserver voll", "Niemals Dateien löschen"),
    ],
)
def test_what_is_forbidden_is_no_step(document, asked, forbidden):
    given = advised(question(asked), {document: TEXTS[document]})
    said = [step.action for step in given.guidance]
    assert said
    assert not any(forbidden in it for it in said)


@pytest.mark.parametrize(
    ("kind", "headings"),
    [
        (Kind.DIAGNOSIS, "Diagnose|Fehlersuche|Diagnostic|Diagnóstico|Диагностика|诊断|排查步骤|如何判断|原因の調査|切り分け|確認方法|진단"),
        (Kind.RESOLUTION, "Lösung|Behebung|Maßnahmen|Sofortmaßnahmen|Résolution|Solución|Решение|解决办法|处理步骤|修复|対処|復旧手順|処置|対応手順|해결"),
        (Kind.VERIFICATION, "Überprüfung|Vérification|Verificación|Проверка|验证|确认恢复|確認|復旧確認|확인"),
        (Kind.ROLLBACK, "Rückgängig machen|Retour arrière|Vuelta atrás|Откат|回滚|切り戻し|롤백"),
        (Kind.ESCALATION, "Eskalation|Escalade|Escalado|Эскалация|升级|联系方式|エスカレーション|연락처"),
        (Kind.BACKGROUND, "Symptome|Überblick|Symptômes|Contexte|Síntomas|Симптомы|症状|影响|告警说明|事後対応|概要|증상"),
        (Kind.PROHIBITED, "Verboten|À ne pas faire|Qué no hacer|Чего не делать|禁止操作|やってはいけないこと|금지 사항"),
        (Kind.OBSOLETE, "Veraltet|Ancienne procédure|Obsoleto|Устарело|已废弃|旧手順|폐기"),
    ],
)  # fmt: skip
def test_headings_say_what_a_section_is_for(kind, headings):
    for heading in headings.split("|"):
        assert kind_of_heading(heading) is kind, heading
        assert names_only_kind(heading), heading


@pytest.mark.parametrize(
    "heading",
    [
        "Redis 内存不足处理手册",
        "メール送信の遅延",
        "Wiederherstellung der Datenbank",
        "订单处理服务延迟",
    ],
)
def test_a_heading_with_a_matter_says_more(heading):
    assert not names_only_kind(heading)


@pytest.mark.parametrize(
    "heading", ["Resume the queue", "Passive replica", "磁盘写满", "Order service"]
)
def test_other_headings_say_nothing_of_the_kind(heading):
    assert kind_of_heading(heading) is Kind.OTHER


def test_labels_and_beginnings_may_have_wide_colons():
    assert kind_of_label("**诊断**") is Kind.DIAGNOSIS
    assert kind_of_label("対処：") is Kind.RESOLUTION
    assert kind_of_label("这是一个普通的句子：") is None
    assert kind_of_beginning("回滚：`cli revert`") is Kind.ROLLBACK


@pytest.mark.parametrize(
    "heading", ["步骤 1", "第一步 停止服务", "手順 2: 確認", "2、检查", "Schritt 3: warten"]
)
def test_numbered_steps(heading):
    assert is_numbered(heading)


@pytest.mark.parametrize(
    "heading", ["前提条件", "注意事项", "Voraussetzungen", "Prérequis", "Requisitos previos"]
)
def test_rules(heading):
    assert is_called_rules(heading)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Governs.PROHIBITED, "**警告:** 不要在主库上执行 `RESET MASTER`。"),
        (Governs.PROHIBITED, "データを削除しないでください。"),
        (Governs.PROHIBITED, "古いログを削除しないこと。"),
        (Governs.PROHIBITED, "Ne pas redémarrer le maître."),
        (Governs.PROHIBITED, "No reinicie el servidor primario."),
        (Governs.PROHIBITED, "Не перезапускайте мастер."),
        (Governs.CONDITION, "如果延迟没有下降,把读流量切回主库"),
        (Governs.CONDITION, "遅延が 100 MB を超えるレプリカには切り替えないこと。"),
        (Governs.CONDITION, "Wenn das nicht hilft:"),
        (Governs.CAUTION, "Vorsicht: Datenverlust möglich."),
        (Governs.CAUTION, "注意: 通知が止まります。"),
        (Governs.NOTE, "重启日志收集进程"),
        (Governs.NOTE, "次の手順を実行する"),
    ],
)
def test_governing_words(kind, text):
    assert governs(text) is kind


class TestWords:
    def test_accents_part_no_word(self):
        assert words_of(["Überprüfung"]) == {"uberprufung"}

    def test_function_words_of_the_questions_language_tell_nothing(self):
        assert asked_words(["Die Festplatte ist voll, was ist zu tun?"]) == {"festplatt", "voll"}
        assert "die" in words_of(["the pods die"])

    def test_pairs_stand_in_for_words(self):
        assert words_of(["磁盘满了"]) == {"磁盘", "盘满"}

    def test_a_pair_that_is_missing_counts_half(self):
        assert share_of({"磁盘", "盘满"}, {"磁盘"}) == pytest.approx(2 / 3)
        assert share_of({"disk", "full"}, {"disk"}) == 0.5
        assert share_of(set(), {"disk"}) == 1.0

    def test_letters_without_spaces_are_parted(self):
        assert spaced_words("诊断 disk") == " 诊 断 disk "


def test_an_uncertain_question_in_another_language_is_asked_back():
    pages = {
        "mail.md": "# Mail\n\n1. Drain the queue of the server.\n",
        "disk.md": "# Disk\n\n1. Clean the disk of the server.\n",
    }
    search = Search(pages)
    search.floors = Floors(alert=0.45, question=0.2, sure=0.55, clear=0.45)
    asked = question("Die Nachrichten auf dem server kommen seit gestern nicht mehr an")
    given = asyncio.run(consult(asked, search)).recommendation
    assert not given.guidance
    assert {it.citation.source_file for it in given.reading} == {"mail.md", "disk.md"}
    assert given.meant == ("Mail", "Disk")


def test_what_names_another_product_is_not_asked_back():
    pages = {
        "mail.md": "# Mail\n\n1. Drain the queue of the server.\n",
        "disk.md": "# Disk\n\n1. Clean the disk of the server.\n",
    }
    given = advised(question("Oracle server 的 queue 满了"), pages)
    assert not given.guidance
    assert not given.reasoning.startswith("It could be about ")
