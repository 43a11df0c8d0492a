"""Writes the reference: ``python -m tools.reference``."""

from __future__ import annotations

from tools.reference.pages import FOLDER, PAGES

for _name, _make in PAGES.items():
    (FOLDER / _name).write_text(_make(), encoding="utf-8")
