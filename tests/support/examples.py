"""How many generated examples a test looks at."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

USUAL: Final = 100


def up_to(examples: int, usual: int = USUAL) -> settings:
    """Return settings for so many examples where they are newly drawn (`make nightly`), else for a usual number.

    In `make test` the examples are the same in each run: more of them would notice little that these don't.
    """
    is_drawn = settings.get_current_profile_name() == "drawn"
    return settings(max_examples=examples if is_drawn else usual)
