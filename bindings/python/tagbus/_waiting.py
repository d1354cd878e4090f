# SPDX-License-Identifier: Apache-2.0
"""Waiting in steps, so that KeyboardInterrupt comes soon."""

from __future__ import annotations

import os
import queue
import threading
import time
from typing import Any, Callable, List, Optional

from . import _lib

STEP = 100  # ms
_TIMEOUT, _NOROOM = -3, -4
_NORECEIVER = -7
_RETRY = (_TIMEOUT, _NOROOM, _NORECEIVER)  # nothing has changed


def milliseconds(timeout: Optional[float]) -> int:
    """Return a timeout for C: None waits without limit."""
    return -1 if timeout is None else max(0, int(timeout * 1000 + 0.999))


class Steps:
    """Time that is left, in steps of at most 100 ms."""

    def __init__(self, timeout: Optional[float]):
        self._end = None if timeout is None else time.monotonic() + max(0.0, timeout)

    def next(self) -> int:
        """Return the length of the next step in ms."""
        if self._end is None:
            return STEP
        left = self._end - time.monotonic()
        return 0 if left <= 0 else min(STEP, int(left * 1000 + 0.999))

    def over(self) -> bool:
        """Return whether no time is left."""
        return self._end is not None and time.monotonic() >= self._end


def in_steps(call: Callable[[int], int], timeout: Optional[float], look: Optional[Callable[[], None]] = None) -> None:
    """Make a call that may be repeated until it does not time out.

    Args:
      call: gets ms, returns a code.
      look: is called between steps, and may raise.
    """
    if timeout is not None and timeout <= 0:
        _lib.check(call(0))
        return
    steps = Steps(timeout)
    while True:
        code = call(steps.next())
        if code == 0:
            return
        if code not in _RETRY or steps.over():
            _lib.fail(code)
        if look is not None:
            look()


class _Worker:
    """A thread for calls of the main thread that cannot be made in steps."""

    def __init__(self) -> None:
        self.jobs: "queue.SimpleQueue[Callable[[], None]]" = queue.SimpleQueue()
        threading.Thread(target=self._run, name="tagbus call", daemon=True).start()

    def _run(self) -> None:
        while True:
            self.jobs.get()()


_idle: List[_Worker] = []


def interruptible(call: Callable[[], Any]) -> Any:
    """Make a call that waits and must not be repeated.

    In the main thread, which KeyboardInterrupt comes to, another thread makes
    it. That one finishes it after an interrupt, too.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    result: List[Any] = []
    done = threading.Lock()
    done.acquire()
    worker = _idle.pop() if _idle else _Worker()

    def job() -> None:
        try:
            result.append((call(), None))
        except BaseException as e:  # it is raised by the caller
            result.append((None, e))
        _idle.append(worker)
        done.release()

    worker.jobs.put(job)
    # A lock that is waited for with a limit is interrupted by signals at once.
    while not done.acquire(timeout=STEP / 1000):
        pass
    value, error = result[0]
    if error is not None:
        raise error
    return value


os.register_at_fork(after_in_child=_idle.clear)  # their threads are the parent's
