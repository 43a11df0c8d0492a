"""A network of this process's own, so that its real resolver can be led to a server on loopback.

``getaddrinfo`` asks the servers of ``/etc/resolv.conf`` at port 53 and takes no other address. On
Linux a process may step into namespaces of its own, without privileges where the system allows it:
its loopback then has every port free, and its ``resolv.conf`` is a file that we wrote. Nothing
outside the process changes, and nothing in it is patched.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Final

from knowledge_rag.evaluation.faults.errors import NotPlayable

# <sched.h>, <sys/mount.h>, <linux/sockios.h>, <net/if.h>
_NEW_USER, _NEW_NETWORK, _NEW_MOUNTS = 0x10000000, 0x40000000, 0x00020000
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18
_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914
_INTERFACE_UP = 1
_INTERFACE: Final = "16sh22x"

_RESOLVER: Final = "nameserver 127.0.0.1\noptions timeout:20 attempts:1\n"


def enter(folder: Path) -> None:
    """Move this process, which must have one thread only, into a network of its own.

    Args:
        folder: for the resolver's configuration; has to outlive the process.

    Raises:
        NotPlayable: the system does not allow it.
    """
    if not sys.platform.startswith("linux"):
        raise NotPlayable("a real resolver needs Linux's namespaces")
    user, group = os.getuid(), os.getgid()
    try:
        _check(_libc().unshare(_NEW_USER | _NEW_MOUNTS | _NEW_NETWORK))
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
        _raise_loopback()
        _ask_loopback(folder)
    except OSError as error:
        raise NotPlayable(
            f"a real resolver needs a user namespace, which this system refuses: {error.strerror}"
        ) from error


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack(_INTERFACE, b"lo", 0)
        _, flags = struct.unpack(_INTERFACE, fcntl.ioctl(handle, _GET_FLAGS, request))
        fcntl.ioctl(handle, _SET_FLAGS, struct.pack(_INTERFACE, b"lo", flags | _INTERFACE_UP))


def _ask_loopback(folder: Path) -> None:
    own = folder / "resolv.conf"
    own.write_text(_RESOLVER)
    mount = _libc().mount
    _check(mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None))
    _check(mount(os.fsencode(own), b"/etc/resolv.conf", None, _BIND, None))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
