# SPDX-License-Identifier: Apache-2.0
"""Events: what happens in the life of a publisher, subscriber, sender or receiver."""

from __future__ import annotations

import collections
import sys
import threading
from typing import Any, Callable, Deque, List, NamedTuple, Optional, Type, Union

from . import _errors
from ._lib import ffi, text


class Event(NamedTuple):
    """What has happened; docs/guarantees.md says what follows from it.

    Attributes:
      kind: "connected", "subscribed", "unsubscribed", "lost", "left",
        "refused", "gap", "vanished", "goodbye", "problem", "stalled",
        "resumed", "resubscribed", "duplicate" or "announced".
      text: a line for people.
      code: of the cause, as that of an Error; 0: none.
      cause: a line for people, without the rest.
      peer, peer_name, peer_address: of the peer that the event is about.
      tags: a set, as text.
      tag, count: of a gap: how many messages of which tag were lost.
    """

    kind: str
    text: str
    code: int
    cause: str
    peer: str
    peer_name: str
    peer_address: str
    tags: str
    tag: int
    count: int


Events = Union[Callable[[Event], None], str, None]

_RAISED = {
    "gap": _errors.Gap,
    "refused": _errors.Refused,
    "vanished": _errors.Vanished,
}

# Whether this thread is in a callback.
inside = threading.local()


def report() -> None:
    """Report the exception of a callback, as threading does that of a thread."""
    kind, value, trace = sys.exc_info()
    try:
        threading.excepthook(threading.ExceptHookArgs((kind, value, trace, threading.current_thread())))
    except BaseException:  # of the hook: the library must not see it
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]


class Listener:
    """Gets the events of one handle; it has no reference to what it belongs to."""

    def __init__(self, events: Events):
        if events is not None and events != "raise" and not callable(events):
            raise ValueError(f'events: got {events!r}, want a callable, "raise" or None')
        self._raise = events == "raise"
        self._call = events if callable(events) else None
        self.waiting: Deque[_errors.Error] = collections.deque()
        self.wake: List[Callable[[], None]] = []
        self.c: Any = ffi.NULL
        if events is not None:
            self.c = ffi.callback("void(void *, tagbus_event *)", self._event)

    def _event(self, _user: Any, c: Any) -> None:
        inside.callback = True
        try:
            event = Event(
                text(c.name), text(c.text), c.code, text(c.cause), text(c.peer),
                text(c.peer_name), text(c.peer_address), text(c.tags), c.tag, c.count,
            )
            if self._call is not None:
                self._call(event)
                return
            kind: Optional[Type[_errors.Error]] = _RAISED.get(event.kind)
            if kind is not None:
                error = kind(event.text)
                error.code, error.event = event.code, event
                self.waiting.append(error)
                for wake in list(self.wake):
                    wake()
        except BaseException:  # it must not unwind into the library
            report()
        finally:
            inside.callback = False

    def look(self) -> None:
        """Raise the first event that waits."""
        if self.waiting:
            try:
                error = self.waiting.popleft()
            except IndexError:  # another thread has it
                return
            raise error
