# SPDX-License-Identifier: Apache-2.0
"""Waiting in steps, so that KeyboardInterrupt comes soon."""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from typing import Any, Callable, List, Optional, Tuple, TypeVar

from . import _lib
from ._calls import in_callback

T = TypeVar("T")

STEP = 100  # ms
_TIMEOUT, _NOROOM = -3, -4
_NORECEIVER = -7
_RETRY = (_TIMEOUT, _NOROOM, _NORECEIVER)  # nothing has changed


_LONGEST = 1e9  # s: C takes milliseconds in 64 bits


def seconds(timeout: Optional[float]) -> Optional[float]:
    """Return a timeout as it counts: None and infinity wait without limit."""
    if timeout is None or timeout > _LONGEST:
        return None
    if timeout != timeout:
        raise ValueError("timeout is not a number")
    return max(0.0, timeout)


def milliseconds(timeout: Optional[float]) -> int:
    """Return a timeout for C: None waits without limit."""
    timeout = seconds(timeout)
    return -1 if timeout is None else int(timeout * 1000 + 0.999)


class Steps:
    """Time that is left, in steps of at most 100 ms."""

    def __init__(self, timeout: Optional[float]):
        timeout = seconds(timeout)
        self._end = None if timeout is None else time.monotonic() + timeout

    def next(self) -> int:
        """Return the length of the next step in ms."""
        if self._end is None:
            return STEP
        left = self._end - time.monotonic()
        return 0 if left <= 0 else min(STEP, int(left * 1000 + 0.999))

    def left(self) -> Optional[float]:
        """Return how many seconds are left; None: without limit."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def over(self) -> bool:
        """Return whether no time is left."""
        return self._end is not None and time.monotonic() >= self._end


def in_steps(call: Callable[[int], int], timeout: Optional[float], look: Optional[Callable[[], None]] = None) -> None:
    """Make a call that may be repeated until it does not time out.

    Args:
      call: gets ms, returns a code.
      look: is called between steps, and may raise.
    """
    timeout = seconds(timeout)
    if timeout == 0:
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


def interruptible(call: Callable[[], T], undo: Optional[Callable[[T], Any]] = None) -> T:
    """Make a call that waits and must not be repeated.

    In the main thread, which KeyboardInterrupt comes to, another thread makes
    it. That one finishes it after an interrupt, too.

    Args:
      undo: gets the result if an interrupt has left it without a taker.
    """
    if threading.current_thread() is not threading.main_thread() or in_callback() or sys.is_finalizing():
        return call()
    try:
        worker = _idle.pop() if _idle else _Worker()
    except RuntimeError:  # the interpreter ends, and starts no thread
        return call()
    result: List[Tuple[Optional[T], Optional[BaseException]]] = []
    done = threading.Lock()
    done.acquire()
    taken = threading.Lock()  # by the caller, or by undo

    def job() -> None:
        try:
            result.append((call(), None))
        except BaseException as e:  # it is raised by the caller
            result.append((None, e))
        _idle.append(worker)
        done.release()
        if given_up and undo is not None and result[0][1] is None and taken.acquire(blocking=False):
            undo(result[0][0])  # type: ignore[arg-type]

    given_up: List[bool] = []
    try:
        worker.jobs.put(job)
        # A lock that is waited for with a limit is interrupted by signals at once.
        while not done.acquire(timeout=STEP / 1000):
            pass
        taken.acquire()
    except BaseException:
        given_up.append(True)
        if result and undo is not None and result[0][1] is None and taken.acquire(blocking=False):
            undo(result[0][0])  # type: ignore[arg-type]
        raise
    value, error = result[0]
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


os.register_at_fork(after_in_child=_idle.clear)  # their threads are the parent's
