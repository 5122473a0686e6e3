"""Folders for results that the user has not asked for by name: removed with the last object that shows
them, at the interpreter's end, and, where that was killed, by the next one."""
from __future__ import annotations

import fcntl
import functools
import os
import pathlib
import shutil
import tempfile
import weakref

PREFIX, LOCK = "ptyche-run-", ".in-use"


def _remove(path: pathlib.Path, owner: int, lock: int) -> None:
    if os.getpid() != owner:  # a fork: the folder is its parent's
        return
    shutil.rmtree(path, ignore_errors=True)
    os.close(lock)


@functools.lru_cache(maxsize=1)
def remove_left_over() -> None:
    """Those whose interpreter was killed: nobody holds their lock any more. Once a process."""
    for folder in pathlib.Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # another user's, or one that is being made
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # in use
            pass
        finally:
            os.close(lock)


class Folder:
    """A path; a temporary one is gone with the object."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.keeps: Folder | None = None  # the one that it lies in
        if path is not None:
            self.path = pathlib.Path(path)
            return
        remove_left_over()
        root = pathlib.Path(tempfile.mkdtemp(prefix=PREFIX))
        # Locked before it has its name, so that nobody finds it unlocked.
        lock = os.open(root / f"{LOCK}-new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.rename(root / f"{LOCK}-new", root / LOCK)
        self.path = root / "run"
        self._removing = weakref.finalize(self, _remove, root, os.getpid(), lock)
