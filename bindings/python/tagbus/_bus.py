# SPDX-License-Identifier: Apache-2.0
"""Bus: a node of the bus, on which all else is opened."""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Any, Callable, List, Optional, Set, TypeVar, Union

from ._events import Events, Listener
from ._handle import Handle, opened
from ._lib import check, load
from ._options import Tags, encode, split, tag_set, tags_text, words
from ._publisher import Publisher, Sender, Sending
from ._receiving import OnBatch, OnEnd, functions, handler
from ._requester import Requester
from ._subscriber import Receiver, Subscriber, Subscription
from ._waiting import interruptible, milliseconds

_S = TypeVar("_S", bound=Sending)

_open: "weakref.WeakSet[Bus]" = weakref.WeakSet()


class Bus(Handle):
    """A bus: the folder or URL through which programs find each other.

        with tagbus.Bus("/tmp/bus") as bus:
            for batch in bus.subscribe("0x100-0x10f"):
                print(batch.tags, batch.sizes)

    Options are the flags of the commands as keywords: queue_bytes="64MiB" is
    --queue-bytes=64MiB. Times are texts such as "1m30s", or seconds.

    Options: backend, shm_folder, loops, expiry, max_entries, cert, key, ca, revoked, acl,
    log_level.

    At the end of a with block without an exception publishers and senders
    that are open are drained, and all is closed.
    """

    _closer = "tagbus_close"

    def __init__(self, bus: Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"], **options: Any):
        self._at = os.fsdecode(bus)
        self._children: "weakref.WeakSet[Handle]" = weakref.WeakSet()
        self._kept: Set[Handle] = set()  # that have on_batch
        self._calling = False
        at, more = encode("bus", self._at), words(options)
        super().__init__(opened(lambda: load().tagbus_open(at, more), self._closer))
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
        listener = self._listens(events)
        set_, more = encode("tags", tag_set(tags)), words(options)
        h = self._opens(
            Publisher, lambda: load().tagbus_publisher_open(self._h, set_, more, listener.c, listener.user)
        )
        return self._sending(Publisher(h, self, listener), linger)

    def _listens(self, events: Events) -> Listener:
        listener = Listener(events)
        self._calling = self._calling or listener.active
        return listener

    def _opens(self, kind: Any, call: Callable[[], Any]) -> Any:
        return opened(call, kind._closer)

    def sender(
        self, tags: Optional[Tags] = None, *, events: Events = None, linger: Optional[float] = 10.0, **options: Any
    ) -> Sender:
        """Open a sender, to any tag or to those given.

        Options: those of a publisher without listen, advertise and subscriber_bytes.
        """
        listener = self._listens(events)
        set_, more = tags_text(tags), words(options)
        h = self._opens(Sender, lambda: load().tagbus_sender_open(self._h, set_, more, listener.c, listener.user))
        return self._sending(Sender(h, self, listener), linger)

    def _sending(self, s: _S, linger: Optional[float]) -> _S:
        s.linger = linger
        self._children.add(s)
        return s

    def subscriber(self, *, events: Events = None, **options: Any) -> Subscriber:
        """Open a subscriber, for several subscriptions over one connection.

        Options: name, max_message_bytes, queue_bytes, retain_bytes,
        heartbeat, heartbeat_timeout.
        """
        listener = self._listens(events)
        more = words(options)
        h = self._opens(Subscriber, lambda: load().tagbus_subscriber_open(self._h, more, listener.c, listener.user))
        s = Subscriber(h, self, listener)
        self._children.add(s)
        return s

    def subscribe(
        self,
        tags: Tags,
        *,
        on_batch: Optional[OnBatch] = None,
        on_end: Optional[OnEnd] = None,
        events: Events = None,
        **options: Any,
    ) -> Subscription:
        """Subscribe to a set of tags with a subscriber of its own.

        Args:
          on_batch: called with each Batch on a thread of the library, one at
            a time; messages wait for it. An exception in it is reported by
            threading.excepthook, and the next batch comes. The subscription
            goes on until it or the bus is closed. None: batches are taken
            with next or by iteration.
          on_end: called once after the last on_batch, with None, or with the
            Error that has ended the subscription.
          events: called with each Event on the same thread; "raise" to have
            next raise Gap, Refused and Vanished, without on_batch; or None.
        Options: those of subscriber, and policy, backlog, replay, duplicates, timeout.
        """
        mine, others = split(options)
        subscriber = self.subscriber(events=events, **mine)
        try:
            return subscriber._subscribe(tags, on_batch, on_end, others, owned=True)
        except BaseException:
            subscriber.close()
            raise

    def receiver(
        self,
        tags: Tags,
        *,
        on_batch: Optional[OnBatch] = None,
        on_end: Optional[OnEnd] = None,
        events: Events = None,
        **options: Any,
    ) -> Receiver:
        """Open a receiver, which owns tags.

        Args:
          on_batch, on_end, events: as of subscribe.
        Options: those of subscribe, and listen, advertise.
        """
        listener = self._listens(events)
        calls = handler(on_batch, on_end, listener, own=True)
        set_, more = encode("tags", tag_set(tags)), words(options)
        batch, end, user = functions(calls)
        if calls is None:
            user = listener.user
        h = self._opens(
            Receiver, lambda: load().tagbus_receiver_open(self._h, set_, more, batch, end, listener.c, user)
        )
        r = Receiver(h, self, listener, calls)
        self._children.add(r)
        if calls is not None:
            calls.keep(r, self._kept)
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
        owned: List[Handle] = []
        try:
            if sender is None:
                sender = self.sender(command_tag)
                owned.append(sender)
            if subscriber is None:
                subscriber = self.subscriber()
                owned.append(subscriber)
            a, b, more = sender._h, subscriber._h, words(options)
            h = self._opens(Requester, lambda: load().tagbus_requester_open(a, b, command_tag, reply_tag, more))
        except BaseException:
            for x in owned:
                x.close()
            raise
        r = Requester(h, self, sender, subscriber, owned)
        self._children.add(r)
        return r

    def alive(self, timeout: float = 1.0) -> bool:
        """Return whether the event loop turns: for the health check of a program."""
        ms = milliseconds(timeout)

        def call() -> bool:
            code = load().tagbus_alive(self._h, ms)
            if code != -3:
                check(code)
            return bool(code == 0)

        return interruptible(call)

    def close(self) -> None:
        """Close all that was opened on it, the last first. Batches stay valid."""
        children = list(self._children)
        super().close()
        for child in children:
            child._closed = True
        self._kept.clear()
        _open.discard(self)

    def _leave(self) -> None:
        for child in list(self._children):
            child._leave()

    def _stay(self) -> None:
        for child in list(self._children):
            child._stay()

    def _calls_back(self) -> bool:
        return self._calling or bool(self._kept)

    def _finish(self) -> None:
        first: Optional[Exception] = None
        for child in list(self._children):
            if isinstance(child, Sending):
                try:
                    child._finish()
                except Exception as e:  # the others are drained all the same
                    first = first or e
        if first is not None:
            raise first


@atexit.register
def _close_all() -> None:
    """Close what is open, since no callback may come into an interpreter that ends."""
    for bus in list(_open):
        if bus._pid == os.getpid():
            bus._close_quietly()


__all__ = ["Bus"]
