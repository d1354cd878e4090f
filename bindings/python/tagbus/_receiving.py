# SPDX-License-Identifier: Apache-2.0
"""Batches by callback."""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any, Callable, List, Optional, Set

from . import _calls, _errors
from ._batch import Batch, copied, incoming
from ._events import Listener
from ._lib import failure, ffi, load, text

OnBatch = Callable[[Batch], Any]
OnEnd = Callable[[Optional[_errors.Error]], Any]

_LIMIT = -12
_REFUSED = 0.05  # s: after which a close in a callback is refused, if it is


class Handler:
    """Gets the batches of one subscription or receiver; it has no reference to what it belongs to."""

    def __init__(self, on_batch: OnBatch, on_end: Optional[OnEnd], listener: Optional[Listener] = None):
        for name, call in (("on_batch", on_batch), ("on_end", on_end)):
            if call is not None and not callable(call):
                raise TypeError(f"{name}: got {call!r}, want a callable")
        self._on_batch, self._on_end = on_batch, on_end
        self.listener = listener
        self.closing = threading.Event()
        self._ended = False
        self._held: "weakref.WeakSet[Any]" = weakref.WeakSet()
        self._owner: Any = None
        self._kept: Set[Any] = set()
        self.user = _calls.user(_calls.handling(self))

    def keep(self, owner: Any, kept: Set[Any]) -> None:
        """Have owner be in the set kept until it has ended: its callbacks come, whether the program keeps it or not."""
        kept.add(owner)
        self._kept = kept
        self._owner = id(owner)
        if self._ended:
            self._forget()

    def _forget(self) -> None:
        for owner in list(self._kept):
            if id(owner) == self._owner:
                self._kept.discard(owner)

    def batch(self, c: Any) -> None:
        """Take a batch of C."""
        lib, told = load(), False
        ids: Optional[List[Optional[bytes]]] = None
        while True:
            out = incoming()
            code = lib.tagbus_batch_retain(c)
            if code == 0:
                out[0] = c
                break
            error = failure(code)
            if code != _LIMIT:
                raise error
            if not self._held:  # one alone is beyond the limit
                out, ids = copied(c)
                break
            # It waits, as the batches behind it do: none is lost.
            if not told:
                told = True
                try:
                    raise _errors.make(code, error.name, f"{error}: on_batch waits until batches that the program holds are dropped")
                except _errors.Error:
                    _calls.report()
            if self.closing.wait(0.01):
                time.sleep(_REFUSED)
                if self.closing.is_set():
                    return
        self._held.add(out)
        # The exception that was reported may keep this frame: it must not keep the batch.
        batch = [Batch(out, ids)]
        del out
        self._on_batch(batch.pop())

    def end(self, code: int, why: Any) -> None:
        """Take the end: there is no call behind it."""
        self._ended = True
        try:
            if self._on_end is not None:
                name = load().tagbus_error_name(code)
                self._on_end(None if code == 0 else _errors.make(code, text(name), text(why)))
        finally:
            self._forget()


def handler(
    on_batch: Optional[OnBatch], on_end: Optional[OnEnd], events: Optional[Listener], own: bool = False
) -> Optional[Handler]:
    """Return what gets the batches; None: they are queued for next.

    Args:
      own: it gets the events, too.
    """
    if on_batch is None:
        if on_end is not None:
            raise ValueError("on_end is given without on_batch: next raises End")
        return None
    if events is not None and events.raises:
        raise ValueError('events is "raise", which has next raise them, and on_batch is there instead: give events a callable')
    return Handler(on_batch, on_end, events if own else None)


def functions(h: Optional[Handler]) -> Any:
    """Return on_batch, on_end and user for C."""
    if h is None:
        return ffi.NULL, ffi.NULL, ffi.NULL
    return _calls.on_batch, _calls.on_end, h.user
