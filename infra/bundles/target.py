"""What a bundle is built for: the Lambda runtime, or the interpreter that runs this."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.bundles.byte_code import cache_tag, find_compiler

ROOT: Final = Path(__file__).resolve().parents[2]
"""The project's folder: where ``knowledge_rag``, ``lambdas`` and ``requirements`` stand."""

PYTHON_RUNTIME: Final = "3.13"
"""Python of the Lambda runtime. A constant and no setting: wheels, byte code and SnapStart go with it."""

WHEEL_PLATFORM: Final = "aarch64-manylinux2014"
"""The wheels that run on it: Lambda's arm64 is Amazon Linux 2023, glibc 2.34, newer than the tag asks."""

ELF_AARCH64: Final = 183
"""``e_machine`` of arm64 in an ELF header (ELF for the Arm 64-bit architecture, section 5.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a bundle runs.

    Args:
        python: version, ``major.minor``.
        wheel_platform: uv's name of the platform, ``None`` for this machine's.
        elf_machine: that native libraries must be for, ``None`` where the machine itself will tell.
        compiler: interpreter whose byte code the target reads, ``None`` where there is none.
    """

    python: str
    wheel_platform: str | None
    elf_machine: int | None
    compiler: Path | None

    @property
    def key(self) -> str:
        """What of the target a bundle's files depend on."""
        where = self.wheel_platform or f"{sys.platform}-{platform.machine()}"
        return f"{self.python} {where} {cache_tag(self.python) if self.compiler else 'sources'}"


def lambda_target() -> Target:
    """Give the Lambda runtime: arm64, :data:`PYTHON_RUNTIME`."""
    return Target(
        python=PYTHON_RUNTIME,
        wheel_platform=WHEEL_PLATFORM,
        elf_machine=ELF_AARCH64,
        compiler=find_compiler(PYTHON_RUNTIME),
    )


def native_target() -> Target:
    """Give the interpreter that runs this: a bundle for it can be tried out here."""
    return Target(
        python=f"{sys.version_info.major}.{sys.version_info.minor}",
        wheel_platform=None,
        elf_machine=None,
        compiler=Path(sys.executable),
    )
