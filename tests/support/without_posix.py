"""Runs keepthread in an interpreter from which what Windows lacks was taken: `python -I without_posix.py SOURCE HOOK`.

HOOK is one whose event comes on stdin; "cli" with arguments runs the program; "-" imports every module and prints their
names. What the standard library
and the dependencies do is not under test: they are loaded before. Paths stay POSIX ones, and the lock of `filelock`
is the one of this system.
"""

from __future__ import annotations

import concurrent.futures.process
import ctypes
import importlib
import os
import pathlib
import pkgutil
import signal
import subprocess
import sys
import tempfile
import types
from typing import Any

import click
import dotenv
import filelock
import httpx
import jsonschema

LOADED = (concurrent.futures.process, ctypes, tempfile, click, dotenv, filelock, httpx, jsonschema)
_OS = """
    fork forkpty getuid geteuid getgid getegid setsid getsid getpgid setpgid killpg fchmod fchown chown lchown
    O_NOFOLLOW O_DIRECTORY O_CLOEXEC O_NONBLOCK O_SYNC O_PATH pread pwrite uname mkfifo mknod sysconf statvfs
    sched_getaffinity wait3 wait4 nice openpty
"""
_SIGNALS = (
    "SIGKILL SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGPIPE SIGCHLD SIGSTOP SIGCONT SIGQUIT alarm setitimer"
)
_MODULES = "fcntl resource pwd grp termios pty tty readline curses syslog"


def take_away() -> None:
    """Make this interpreter one that says it runs on Windows, without what Windows lacks."""
    whole = types.SimpleNamespace(**vars(os))
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "filelock" and hasattr(module, "os"):
            vars(module)["os"] = whole  # it is the lock of this system
    for name in _OS.split():
        if hasattr(os, name):
            delattr(os, name)
    for name in _SIGNALS.split():
        if hasattr(signal, name):
            delattr(signal, name)
    for name in _MODULES.split():
        sys.modules[name] = None  # type: ignore[assignment]  # an import of it fails
    for supported in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
        supported.clear()
    # filelock makes paths; there are none of Windows here.
    vars(sys.modules[pathlib.Path.__module__])["WindowsPath"] = pathlib.PosixPath
    sys.platform = "win32"
    os.name = "nt"


def import_all() -> None:
    """Import every module of the package and print their names."""
    import keepthread

    for module in pkgutil.walk_packages(keepthread.__path__, "keepthread."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
            sys.stdout.write(module.name + "\n")


def main() -> None:
    """Do what the arguments say."""
    source, hook = sys.argv[1:3]
    sys.path.insert(0, source)
    started = subprocess.Popen

    def without_flags(*args: Any, creationflags: int = 0, **more: Any) -> subprocess.Popen[Any]:
        return started(*args, **more)

    take_away()
    if hook == "-":
        import_all()
        return
    # What is started is a process of this system.
    vars(subprocess)["Popen"] = without_flags
    if hook == "cli":
        from keepthread.cli import main as command

        sys.argv[1:] = sys.argv[3:]
        command()
    from keepthread.handlers import main as run

    run(hook)


main()
