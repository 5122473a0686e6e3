"""One run of the program: a child process, its events, its end."""
from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import pathlib
import selectors
import signal
import subprocess
import threading
import warnings
import weakref
from collections.abc import Callable, Generator, Iterator
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from . import errors
from ._folder import Folder
from ._memory import without_paths
from ._program import Words, program

Result = TypeVar("Result")
LAST_WORDS = 16 << 10  # bytes of stderr that are kept
GRACE = 10.0  # seconds to save the state after a cancel that nobody waits for


class Event(dict[str, Any]):
    """One line of the program (docs/events.md); its keys are attributes as well."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the event '{self.get('event')}' has no '{name}'") from None

    def __str__(self) -> str:
        if self.get("event") != "progress":
            return f"{self.get('event')}: {self.get('message', '')}".rstrip(": ")
        left = self.get("seconds_left")
        text = f"{self['what']} {self['done']}/{self['total']}  {self['detail']}"
        return text if left is None else f"{text}  {left:.0f} s left"


class Job(Generic[Result]):
    """Made by `ptyche.start`. Iterate over it for its events, from the first to the last; `result()` and
    `await job` give what the call without `start` gives. It goes on to its end if nobody asks."""

    def __init__(self, words: Words, folder: Folder | None,
                 make: Callable[[Job[Result]], Result]) -> None:
        self.folder = folder
        self._words, self._make = words, make
        self._events: list[Event] = []
        self._changed = threading.Condition()
        self._stdout = self._stderr = b""
        self._done = self._cancelled = False
        self._when_done: list[Callable[[], None]] = []
        self._owner = os.getpid()
        self._outcome: Result | None = None
        self._warned = False
        reading, writing = os.pipe()
        try:
            words.add_own("events", "json")
            words.add_own("events_fd", str(writing))
            words.add_own("parent", str(self._owner))
            self._child = subprocess.Popen(
                [program(), *words.list()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, pass_fds=[writing, *words.descriptors],
                start_new_session=True)  # Ctrl-C in the terminal is ours to hand on, once
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        _running.add(self)
        threading.Thread(target=self._watch, args=(reading,), daemon=True,
                         name=f"ptyche {self.process}").start()

    # What a user asks.

    @property
    def process(self) -> int:
        """The child's number."""
        return self._child.pid

    @property
    def command(self) -> list[str]:
        """The command line, which can be repeated in a terminal where it names no array."""
        return [program(), *self._words.list()]

    def done(self) -> bool:
        return self._done

    @property
    def output(self) -> str:
        """What the program printed on stdout."""
        return self._stdout.decode("utf-8", "replace")

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative where a signal ended it."""
        return self._child.returncode if self._done else None

    @property
    def progress(self) -> Event | None:
        """The newest event of that name."""
        return next((e for e in reversed(self._events) if e["event"] == "progress"), None)

    @property
    def preview(self) -> npt.NDArray[np.complex64] | None:
        """The newest image, complex; None before there is one."""
        file = self._file("object.npy")
        if file is None:
            return None
        array: npt.NDArray[np.complex64] = np.load(file, mmap_mode="r")
        return array

    def __iter__(self) -> Iterator[Event]:
        return self._iterate(None)

    def cancel(self) -> None:
        """As Ctrl-C in a terminal: the program saves its state and the image so far, and ends. Returns
        at once; of a job that has ended it does nothing."""
        self._require_owner()
        with self._changed:
            if self._done or self._cancelled:
                return
            self._cancelled = True
            if self._events:  # else _take_event does it: what comes before the program may be lost
                self._child.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Ends it at once; what was not written is lost."""
        self._require_owner()
        with self._changed:
            if not self._done:
                self._cancelled = True
                self._child.kill()

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it has ended, after `timeout` seconds at most."""
        self._require_owner()
        with self._changed:
            return self._changed.wait_for(lambda: self._done, timeout)

    def result(self, timeout: float | None = None,
               on_progress: Callable[[Event], object] | None = None) -> Result:
        """What came of it. `on_progress` is called in this thread with each event `progress`; what it
        raises ends the run and is raised here. Ctrl-C ends the run as cancel() does. Raises TimeoutError
        after `timeout` seconds (the job goes on), Interrupted, InvalidInput, Diverged, Crashed."""
        try:
            for event in self._iterate(timeout):
                if on_progress is not None and event["event"] == "progress":
                    on_progress(event)
        except TimeoutError:
            raise
        except KeyboardInterrupt as stop:
            self._end_soon()
            raise self._error() from stop
        except BaseException:
            self._end_soon()
            raise
        return self._result()

    def __await__(self) -> Generator[Any, None, Result]:
        return self._awaited().__await__()

    def __repr__(self) -> str:
        state = f"ended with {self.exit_code}" if self._done else str(self.progress or "running")
        return f"<ptyche.Job {self._words.of['name']} {self.process}: {state}>"

    # How it works.

    def _require_owner(self) -> None:
        if os.getpid() != self._owner:
            raise errors.Error("this job is of the process that this one was forked from")

    def _file(self, name: str) -> pathlib.Path | None:
        path = self.folder.path / name if self.folder else None
        return path if path is not None and path.is_file() else None

    def _iterate(self, timeout: float | None) -> Iterator[Event]:
        self._require_owner()
        seen = 0
        while True:
            with self._changed:
                if not self._changed.wait_for(lambda: self._done or len(self._events) > seen, timeout):
                    raise TimeoutError(f"{self!r} is not done after {timeout} s")
                new, done = self._events[seen:], self._done
            yield from new
            seen += len(new)
            if done and not new:
                return

    def _end_soon(self) -> None:
        """Cancelled and waited for, so that no child is left behind an exception."""
        try:
            self.cancel()
            if not self.wait(GRACE):
                self.kill()
            self.wait()
        except KeyboardInterrupt:  # a second Ctrl-C
            self.kill()
            self.wait()
            raise

    async def _awaited(self) -> Result:
        loop = asyncio.get_running_loop()
        ended = loop.create_future()

        def end() -> None:
            if not ended.done():
                ended.set_result(None)

        def tell() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(end)

        with self._changed:
            if not self._done:
                self._when_done.append(tell)
            else:
                end()
        try:
            await ended
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self._result()

    def _watch(self, reading: int) -> None:
        """Reads what the child writes until it has ended. Its end is the process's, not that of the
        pipes: a fork of this interpreter may hold these open."""
        child = self._child
        assert child.stdout is not None and child.stderr is not None
        takers: dict[int, Callable[[bytes], None]] = {
            reading: _Lines(self._take_event).take,
            child.stdout.fileno(): self._take_stdout,
            child.stderr.fileno(): self._take_stderr}
        with selectors.DefaultSelector() as selector:
            for descriptor in takers:
                os.set_blocking(descriptor, False)
                selector.register(descriptor, selectors.EVENT_READ)
            ended = _pidfd(child.pid)
            if ended is not None:
                selector.register(ended, selectors.EVENT_READ)
            while child.poll() is None:
                for key, _ in selector.select(None if ended is not None else 0.05):
                    if key.fd != ended and not _drain(key.fd, takers[key.fd]):
                        selector.unregister(key.fd)
            for descriptor, take in takers.items():
                _drain(descriptor, take)
            if ended is not None:
                os.close(ended)
        os.close(reading)
        child.stdout.close()
        child.stderr.close()
        with self._changed:
            self._done = True
            callbacks = self._when_done
            self._changed.notify_all()
        _running.discard(self)
        for callback in callbacks:
            callback()

    def _take_event(self, line: str) -> None:
        try:
            event = Event(json.loads(line))
        except ValueError:  # half a line of a child that was killed
            return
        with self._changed:
            self._events.append(event)
            if self._cancelled and len(self._events) == 1:
                self._child.send_signal(signal.SIGINT)
            self._changed.notify_all()

    def _take_stdout(self, data: bytes) -> None:
        self._stdout += data

    def _take_stderr(self, data: bytes) -> None:
        self._stderr = (self._stderr + data)[-LAST_WORDS:]

    def _last_words(self) -> str:
        return self._stderr.decode("utf-8", "replace").strip()

    def _image_so_far(self) -> Any:
        from ._values import Reconstruction
        if self._file("reconstruction.h5") is None or self.folder is None:
            return None
        return Reconstruction(self.folder, "reconstruction.h5")

    def _error(self) -> errors.Error:
        code = self._child.returncode
        end = next((e for e in reversed(self._events) if e["event"] in ("error", "finished")), None)
        told = str(end["message"]) if end is not None else ""
        words = self._last_words()
        said = told or words.removeprefix("ptyche: ").removeprefix("error: ")
        said = without_paths(said.split("\nptyche ")[0])  # where help is found in a terminal
        stopped = self._cancelled and code in (-signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL)
        error: errors.Error
        if code == 130 or stopped or (self._cancelled and code == 0):
            error = errors.Interrupted(told or "stopped before there was anything to keep")
        elif code == 1 and end is not None and end.get("kind") == "diverged":
            error = errors.Diverged(said)
        elif code in (1, 2):
            error = errors.InvalidInput(said)
        elif code < 0:
            name = signal.Signals(-code).name
            error = errors.Crashed(f"the program was ended by {name}; its last words: {words or 'none'}")
        else:
            error = errors.Crashed(f"the program ended with exit code {code}: {said}")
        error.image = self._image_so_far()
        error.folder = str(self.folder.path) if self.folder else None
        return error

    def _result(self) -> Result:
        self._warn()
        if self._child.returncode not in (0, 4):
            raise self._error()
        if self._outcome is None:
            self._outcome = self._make(self)
        return self._outcome

    def _warn(self) -> None:
        if self._warned:
            return
        self._warned = True
        for event in self._events:
            if event["event"] == "warning":
                warnings.warn(without_paths(event["message"]), errors.PtycheWarning, stacklevel=4)
            elif event["event"] == "finished" and event["exit_code"] == 4:
                warnings.warn(f"the image failed: {event['message']}", errors.PtycheWarning,
                              stacklevel=4)


class _Lines:
    """Bytes as they come to whole lines."""

    def __init__(self, give: Callable[[str], None]) -> None:
        self._give, self._rest = give, b""

    def take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._give(line.decode("utf-8", "replace"))


def _drain(descriptor: int, take: Callable[[bytes], None]) -> bool:
    """False at the end of the pipe."""
    try:
        while data := os.read(descriptor, 1 << 16):
            take(data)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def _pidfd(process: int) -> int | None:
    """Readable when the process has ended; None where the system has no such thing."""
    try:
        return os.pidfd_open(process)
    except OSError:
        return None


_running: weakref.WeakSet[Job[Any]] = weakref.WeakSet()


def _end_all() -> None:
    """At the interpreter's end. Children of the process that this one was forked from stay."""
    jobs = [job for job in list(_running) if job._owner == os.getpid() and not job._done]
    for job in jobs:
        with contextlib.suppress(OSError):
            job._child.terminate()
    for job in jobs:
        if not job.wait(2):
            job.kill()
            job.wait(5)


atexit.register(_end_all)
