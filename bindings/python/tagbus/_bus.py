# SPDX-License-Identifier: Apache-2.0
"""Bus: a node of the bus, on which all else is opened."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any, Optional

from ._events import Events, Listener
from ._handle import Handle
from ._lib import check, ffi, handle, load
from ._options import Tags, encode, tag_set, tags_text, words
from ._publisher import Publisher, Requester, Sender, _Sending
from ._subscriber import Receiver, Subscriber, Subscription, split
from ._waiting import milliseconds

_open: "weakref.WeakSet[Bus]" = weakref.WeakSet()


class Bus(Handle):
    """A bus: the folder or URL through which programs find each other.

        with tagbus.Bus("/tmp/bus") as bus:
            for batch in bus.subscribe("0x100-0x10f"):
                print(batch.tags, batch.sizes)

    Options are the flags of the commands as keywords: queue_bytes="64MiB" is
    --queue-bytes=64MiB. Times are texts such as "1m30s", or seconds.

    Options: backend, loops, expiry, max_entries, cert, key, ca, revoked, acl,
    log_level.

    At the end of a with block without an exception publishers and senders
    that are open are drained, and all is closed.
    """

    _closer = "tagbus_close"

    def __init__(self, bus: Any, **options: Any):
        h = handle(load().tagbus_open(encode("bus", os.fspath(bus)), words(options)))
        super().__init__(h)
        self._at = os.fspath(bus)
        self._children: "weakref.WeakSet[Handle]" = weakref.WeakSet()
        _open.add(self)

    def __repr__(self) -> str:
        return f"<tagbus.Bus {self._at}{' closed' if self._closed else ''}>"

    def publisher(self, tags: Tags, *, events: Events = None, linger: Optional[float] = 10.0, **options: Any) -> Publisher:
        """Open a publisher of a set of tags: "0x100-0x10f,0x200", a number or a range.

        Args:
          events: called with each Event on a thread of the library, or
            "raise" to have calls raise Refused.
          linger: how long the end of a with block waits for subscribers.
        Options: listen, advertise, name, queue_bytes, pool_bytes, page_bytes,
        max_message_bytes, cache, cache_bytes, flush_interval, max_stall,
        policies, subscriber_bytes, heartbeat, heartbeat_timeout.
        """
        listener = Listener(events)
        h = load().tagbus_publisher_open(self._h, encode("tags", tag_set(tags)), words(options), listener.c, ffi.NULL)
        return self._sending(Publisher(handle(h), self, listener), linger)

    def sender(
        self, tags: Optional[Tags] = None, *, events: Events = None, linger: Optional[float] = 10.0, **options: Any
    ) -> Sender:
        """Open a sender, to any tag or to those given.

        Options: those of a publisher without listen, advertise and subscriber_bytes.
        """
        listener = Listener(events)
        h = load().tagbus_sender_open(self._h, tags_text(tags), words(options), listener.c, ffi.NULL)
        return self._sending(Sender(handle(h), self, listener), linger)

    def _sending(self, s: Any, linger: Optional[float]) -> Any:
        s.linger = linger
        self._children.add(s)
        return s

    def subscriber(self, *, events: Events = None, **options: Any) -> Subscriber:
        """Open a subscriber, for several subscriptions over one connection.

        Options: name, max_message_bytes, queue_bytes, retain_bytes,
        heartbeat, heartbeat_timeout.
        """
        listener = Listener(events)
        h = load().tagbus_subscriber_open(self._h, words(options), listener.c, ffi.NULL)
        s = Subscriber(handle(h), self, listener)
        self._children.add(s)
        return s

    def subscribe(self, tags: Tags, *, events: Events = None, **options: Any) -> Subscription:
        """Subscribe to a set of tags with a subscriber of its own.

        Args:
          events: called with each Event on a thread of the library; "raise"
            to have next raise Gap, Refused and Vanished; or None.
        Options: those of subscriber, and policy, backlog, replay, duplicates, timeout.
        """
        mine, others = split(options)
        subscriber = self.subscriber(events=events, **mine)
        try:
            sub = subscriber.subscribe(tags, **others)
        except BaseException:
            subscriber.close()
            raise
        sub._owned = True
        self._children.add(sub)
        return sub

    def receiver(self, tags: Tags, *, events: Events = None, **options: Any) -> Receiver:
        """Open a receiver, which owns tags.

        Options: those of subscribe, and listen, advertise.
        """
        listener = Listener(events)
        h = load().tagbus_receiver_open(
            self._h, encode("tags", tag_set(tags)), words(options), ffi.NULL, ffi.NULL, listener.c, ffi.NULL
        )
        r = Receiver(handle(h), self, listener)
        self._children.add(r)
        return r

    def requester(
        self,
        command_tag: int,
        reply_tag: int,
        *,
        sender: Optional[Sender] = None,
        subscriber: Optional[Subscriber] = None,
        **options: Any,
    ) -> Requester:
        """Open a requester: commands go to the receiver of command_tag, replies come on reply_tag.

        Args:
          sender, subscriber: what it uses; without one it opens its own.
        Options: timeout, max_waiting.
        """
        owned: Any = []
        try:
            if sender is None:
                sender = self.sender(command_tag)
                owned.append(sender)
            if subscriber is None:
                subscriber = self.subscriber()
                owned.append(subscriber)
            h = handle(load().tagbus_requester_open(sender._h, subscriber._h, command_tag, reply_tag, words(options)))
        except BaseException:
            for x in owned:
                x.close()
            raise
        r = Requester(h, self, owned)
        r._uses = (sender, subscriber)  # type: ignore[attr-defined]
        self._children.add(r)
        return r

    def alive(self, timeout: float = 1.0) -> bool:
        """Return whether the event loop turns: for the health check of a program."""
        code = load().tagbus_alive(self._h, milliseconds(timeout))
        if code == -3:
            return False
        check(code)
        return True

    def close(self) -> None:
        """Close all that was opened on it, the last first. Batches stay valid."""
        if not self._closed:
            for child in list(self._children):
                if hasattr(child, "_leave_loop"):
                    child._leave_loop()
        super().close()
        for child in list(self._children):
            child._closed = True
        _open.discard(self)

    def _finish(self) -> None:
        for child in list(self._children):
            if isinstance(child, _Sending):
                child._finish()


@atexit.register
def _close_all() -> None:
    """Close what is open, since no callback may come into an interpreter that ends."""
    for bus in list(_open):
        if bus._pid == os.getpid():
            bus._close_quietly()


__all__ = ["Bus"]
