# SPDX-License-Identifier: Apache-2.0
"""Events: what happens in the life of a publisher, subscriber, sender or receiver."""

from __future__ import annotations

import collections
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Type, Union

from . import _calls, _errors
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
      tags: a set, as text. Of "subscribed" and "resubscribed": what the
        publisher has now of the tags that were asked for, or all of these,
        where many patterns make it too complex to find out.
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
    count: int  # type: ignore[assignment]


Events = Union[Callable[[Event], Any], str, None]

_RAISED: Dict[str, Type[_errors.Error]] = {
    "gap": _errors.Gap,
    "refused": _errors.Refused,
    "vanished": _errors.Vanished,
}


class Listener:
    """Gets the events of one handle; it has no reference to what it belongs to."""

    def __init__(self, events: Events):
        if events is not None and events != "raise" and not callable(events):
            raise ValueError(f'events: got {events!r}, want a callable, "raise" or None')
        self._call = events if callable(events) else None
        self.active = events is not None
        self.raises = self.active and self._call is None
        self.waiting: Deque[_errors.Error] = collections.deque()
        self.wake: List[Callable[[], None]] = []
        self.c: Any = ffi.NULL
        self.user: Any = ffi.NULL
        if self.active:
            self.c, self.user = _calls.on_event, _calls.user(_calls.listening(self))

    def event(self, c: Any) -> None:
        """Take an event of C."""
        event = Event(
            text(c.name), text(c.text), c.code, text(c.cause), text(c.peer),
            text(c.peer_name), text(c.peer_address), text(c.tags), c.tag, c.count,
        )
        if self._call is not None:
            self._call(event)
            return
        kind = _RAISED.get(event.kind)
        if kind is not None:
            error = kind(event.text)
            error.code, error.event = event.code, event
            self.waiting.append(error)
            for wake in list(self.wake):
                wake()

    def look(self) -> None:
        """Raise the first event that waits."""
        if self.waiting:
            try:
                error = self.waiting.popleft()
            except IndexError:  # another thread has it
                return
            raise error
