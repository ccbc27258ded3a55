"""A rename that refuses an existing destination, in one system call where there is one."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from typing import Any

_LINUX_NOREPLACE = 1
_MACOS_EXCL = 4
# What a kernel or a file system without the call answers.
_MISSING = frozenset((errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM))


def rename_new(old: str, old_folder: int, new: str, new_folder: int) -> None:
    """Rename a file between two opened folders.

    Raises:
        FileExistsError: something stands at the new name.
        OSError: what the system refuses.
    """
    call, flag = _system_call()
    if call is not None:
        if call(old_folder, os.fsencode(old), new_folder, os.fsencode(new), flag) == 0:
            return
        number = ctypes.get_errno()
        if number not in _MISSING:
            raise OSError(number, os.strerror(number), old, None, new)
    # Both names lead to the file for a moment. A process that ends here leaves two, which are told as hard links.
    os.link(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder, follow_symlinks=False)
    os.unlink(old, dir_fd=old_folder)


def _system_call() -> tuple[Any, int]:
    name, flag = (
        ("renameatx_np", _MACOS_EXCL)
        if sys.platform == "darwin"
        else ("renameat2", _LINUX_NOREPLACE)
    )
    call = getattr(ctypes.CDLL(None, use_errno=True), name, None)  # absent from old C libraries
    if call is not None:
        call.argtypes = (
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_uint,
        )
    return call, flag
