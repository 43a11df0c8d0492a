"""Import closure: the modules of this project that a handler can reach, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import grimp

from infra.bundles.errors import BundlingError

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES: Final = ("knowledge_rag", "lambdas")
"""What may ship."""


def import_closure(module: str, root: Path) -> tuple[Path, ...]:
    """List the sources that importing a module takes, imports within functions included.

    What is imported for annotations only (``if TYPE_CHECKING``) is not needed at run time. An import
    by a computed name can't be seen; the twin that the tests run would miss the module.

    Args:
        module: dotted name of a handler's module.
        root: folder that the packages stand in.

    Returns:
        Paths relative to ``root``, sorted.

    Raises:
        BundlingError: there is no such module.
    """
    graph = grimp.build_graph(*PACKAGES, cache_dir=None, exclude_type_checking_imports=True)
    if module not in graph.modules:
        raise BundlingError(f"no module {module} in {' or '.join(PACKAGES)}")
    needed = {module, *graph.find_upstream_modules(module)}
    needed |= {parent for name in needed for parent in _parents(name)}
    return tuple(sorted(_source(name, root) for name in needed))


def _parents(name: str) -> Iterator[str]:
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def _source(name: str, root: Path) -> Path:
    path = Path(*name.split("."))
    for source in (path.with_suffix(".py"), path / "__init__.py"):
        if (root / source).is_file():
            return source
    raise BundlingError(f"no source of {name} under {root}: run this from the project's checkout")
