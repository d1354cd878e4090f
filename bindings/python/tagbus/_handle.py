# SPDX-License-Identifier: Apache-2.0
"""What is common to all that is opened on a bus."""

from __future__ import annotations

import json
import os
import sys
import warnings
from types import TracebackType
from typing import Any, Callable, Dict, Optional, Type, TypeVar

from . import _calls, _errors, _events
from ._lib import fail, failure, ffi, handle, load, text
from ._options import words
from ._waiting import interruptible

T = TypeVar("T", bound="Handle")

_CLOSED, _WOULD_DEADLOCK = -2, -10


def opened(call: Callable[[], Any], closer: str) -> Any:
    """Open a handle, or raise why there is none; closer closes it if an interrupt comes."""

    def made() -> Any:
        return handle(call())

    def close(h: Any) -> Any:
        return getattr(load(), closer)(h)

    return interruptible(made, close)


class Handle:
    """A thing of the library that is open until it is closed; a context manager."""

    _closer = ""
    _h: Any = ffi.NULL

    def __init__(self, h: Any, parent: Optional["Handle"] = None, listener: Optional[_events.Listener] = None):
        self._h = h
        self._pid = os.getpid()
        self._parent = parent  # which must not be collected before
        self._listener = listener
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether it was closed here."""
        return self._closed

    def close(self) -> None:
        """Close it, and wait until no callback of it runs. To close it again does nothing."""
        if self._closed:
            return
        # In a callback it may be refused; elsewhere a thread that iterates sees at once why it ends.
        self._closed = not _calls.in_callback()
        closer, h = getattr(load(), self._closer), self._h
        self._leave()

        def call() -> None:
            code = closer(h)
            self._closed = code != _WOULD_DEADLOCK
            if not self._closed:
                self._stay()
            if code not in (0, _CLOSED):  # its bus was closed
                fail(code)

        interruptible(call)

    def _leave(self) -> None:
        """Have callbacks return that wait: it is about to be closed."""

    def _stay(self) -> None:
        """Undo _leave: the close was refused."""

    def __enter__(self: T) -> T:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if kind is None:
            try:
                self._finish()
            finally:
                self.close()
            return
        self._close_quietly()

    def _finish(self) -> None:
        """Do what belongs to an end in order."""

    def _close_quietly(self) -> None:
        try:
            self.close()
        except _errors.Error:
            pass

    def _calls_back(self) -> bool:
        """Return whether a close may have to wait for a callback in Python."""
        return self._listener is not None and self._listener.active

    def __del__(self) -> None:
        if self._h == ffi.NULL or self._closed or self._pid != os.getpid() or sys.is_finalizing():
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        self._closed = True
        if self._calls_back() or _calls.in_callback():
            # A collection may come while this thread has a lock that the callback waits for.
            _calls.apart(self._closing())
        else:
            self._closing()()

    def _closing(self) -> Callable[[], None]:
        """Return a call that closes it, without a reference to it."""
        closer, h = getattr(load(), self._closer), self._h
        return lambda: closer(h)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<tagbus.{type(self).__name__}{' closed' if self._closed else ''}>"


def _object(c: Any) -> Dict[str, Any]:
    """Return a text of JSON, which is freed, as a dict."""
    if c == ffi.NULL:
        raise failure()
    try:
        found: Dict[str, Any] = json.loads(text(c))
        return found
    finally:
        load().tagbus_free(c)


def counters(h: Any) -> Dict[str, Any]:
    """Return the counters of a handle of C."""
    return _object(load().tagbus_stats(h))


class Known(Handle):
    """A handle that has counters and a state."""

    def stats(self) -> Dict[str, Any]:
        """Return its counters, in the names of the Go package bus."""
        return counters(self._h)

    def state(self, **options: Any) -> Dict[str, Any]:
        """Return its state with peers and losses, as tagbus info --json prints it.

        Options: tags, max_peers, max_tags.
        """
        return _object(load().tagbus_state(self._h, words(options)))
