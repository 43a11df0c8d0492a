"""Data that nobody on this project wrote, beside the checkout; tests that need it skip without."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def shared_data(relative: str) -> Path:
    """Give the path of a file or folder of the shared data, or skip the test."""
    path = SHARED_DATA / relative
    if not path.exists():
        pytest.skip(f"the shared test data is not here: {path} is missing")
    return path
