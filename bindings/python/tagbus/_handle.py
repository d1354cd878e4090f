# SPDX-License-Identifier: Apache-2.0
"""What is common to all that is opened on a bus."""

from __future__ import annotations

import json
import os
import threading
import warnings
from typing import Any, Dict, Optional, TypeVar

from . import _errors, _events
from ._lib import fail, failure, ffi, load, text
from ._options import words

T = TypeVar("T", bound="Handle")


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
        """Close it. To close it again does nothing."""
        if self._closed:
            return
        self._closed = True
        code = getattr(load(), self._closer)(self._h)
        if code == -2:  # its bus was closed
            return
        if code == -10:
            self._closed = False
        if code != 0:
            fail(code)

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
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

    def __del__(self) -> None:
        if self._h == ffi.NULL or self._closed or self._pid != os.getpid():
            return
        warnings.warn(f"unclosed {self!r}", ResourceWarning, source=self, stacklevel=2)
        if getattr(_events.inside, "callback", False):
            # Of a callback, which the close might wait for.
            closer, h = getattr(load(), self._closer), self._h
            self._closed = True
            threading.Thread(target=closer, args=(h,), daemon=True).start()
            return
        self._close_quietly()

    def __repr__(self) -> str:
        return f"<tagbus.{type(self).__name__}{' closed' if self._closed else ''}>"


def _object(c: Any) -> Dict[str, Any]:
    """Return a text of JSON, which is freed, as a dict."""
    if c == ffi.NULL:
        raise failure()
    try:
        return json.loads(text(c))
    finally:
        load().tagbus_free(c)


class Known(Handle):
    """A handle that has counters and a state."""

    def stats(self) -> Dict[str, Any]:
        """Return its counters, in the names of the Go package bus."""
        return _object(load().tagbus_stats(self._h))

    def state(self, **options: Any) -> Dict[str, Any]:
        """Return its state with peers and losses, as tagbus info --json prints it.

        Options: tags, max_peers, max_tags.
        """
        return _object(load().tagbus_state(self._h, words(options)))


