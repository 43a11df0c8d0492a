"""Takes something from this process, then becomes the command behind ``--``.

``python launch.py [interruptible] [unprivileged] [file-size=BYTES] -- COMMAND ...``
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

_DROP_FROM_BOUNDING_SET = 24
_READ_AND_WRITE_ANYTHING = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
CANNOT = 77
"""Exit code of a process that may not give up what it should."""


def interruptible() -> None:
    """Hear Ctrl-C and a hang-up even where the test run was started deaf, in the background."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def unprivileged() -> None:
    """Obey the permissions of files, which the superuser need not; the user stays the same."""
    if os.geteuid() != 0:
        return
    for capability in _READ_AND_WRITE_ANYTHING:
        if ctypes.CDLL(None).prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0):
            sys.exit(CANNOT)


def file_size(limit: str) -> None:
    """Let no file grow beyond a size, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


if __name__ == "__main__":
    end = sys.argv.index("--")
    for step in sys.argv[1:end]:
        name, _, value = step.partition("=")
        globals()[name.replace("-", "_")](*([value] if value else []))
    os.execv(sys.argv[end + 1], sys.argv[end + 1 :])
