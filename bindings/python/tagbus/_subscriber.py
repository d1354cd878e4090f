# SPDX-License-Identifier: Apache-2.0
"""Subscriber, Subscription and Receiver: what receives."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Iterator, List, Optional

from . import _errors
from ._batch import Batch, Message
from ._events import Events
from ._handle import Handle, Known
from ._lib import check, ffi, handle, load
from ._options import Tags, encode, tag_set, tags_text, words
from ._waiting import in_steps, interruptible, milliseconds


class _Source:
    """Where batches are taken from."""

    _closed: bool
    _listener: Any
    _sub: Any
    _waiters: List["asyncio.Future[None]"]

    def next(self, timeout: Optional[float] = None) -> Batch:
        """Wait for the next batch and return it.

        Several threads may wait; each batch goes to one of them.

        Args:
          timeout: seconds; None waits without limit, 0 does not wait.
        Raises:
          Timeout: no batch has come.
          End: it has ended, and all was delivered.
          Closed, LimitExceeded (retain_bytes), Gap and others (events="raise").
        """
        lib, out, listener = load(), ffi.new("const tagbus_batch **"), self._listener
        listener.look()
        in_steps(lambda ms: lib.tagbus_next(self._sub, out, ms), timeout, listener.look)
        return Batch(out[0])

    def __iter__(self) -> Iterator[Batch]:
        while True:
            try:
                batch = self.next()
            except _errors.End:
                return
            except _errors.Closed:
                if self._closed:
                    return
                raise
            yield batch
            del batch  # the page need not stay until the next one comes

    def messages(self) -> Iterator[Message]:
        """Iterate over messages one by one: slower, some 1 us each."""
        for batch in self:
            yield from batch

    def fileno(self) -> int:
        """Return a file descriptor that can be read while next(0) has something to return.

        It is for select, poll and event loops; do not read or close it.
        """
        fd = load().tagbus_subscription_fd(self._sub)
        if fd < 0:
            check(fd)
        return fd

    async def __aiter__(self) -> AsyncIterator[Batch]:
        while True:
            try:
                batch = await self.anext()
            except _errors.End:
                return
            except _errors.Closed:
                if self._closed:
                    return
                raise
            yield batch
            del batch
            await asyncio.sleep(0)  # others of this loop have their turn in a flood

    async def anext(self) -> Batch:
        """Wait for the next batch in asyncio, as next does."""
        while True:
            try:
                return self.next(0)
            except _errors.Timeout:
                await self._readable()

    async def _readable(self) -> None:
        """Wait until there is something to take, or an event to raise."""
        loop = asyncio.get_running_loop()
        waiter: "asyncio.Future[None]" = loop.create_future()
        fd, listener = self.fileno(), self._listener

        def ready() -> None:
            loop.remove_reader(fd)
            for w in self._waiters:
                if not w.done():
                    w.set_result(None)

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(ready)
            except RuntimeError:  # the loop is closed
                pass

        self._waiters.append(waiter)
        listener.wake.append(wake)
        loop.add_reader(fd, ready)
        try:
            if not listener.waiting:
                await waiter
        finally:
            self._waiters.remove(waiter)
            listener.wake.remove(wake)
            if not self._waiters:
                loop.remove_reader(fd)

    def _leave_loop(self) -> None:
        """Wake those that wait in asyncio, before the descriptor is closed."""
        for wake in list(self._listener.wake):
            wake()


class Subscriber(Known):
    """Finds publishers by tag; Bus.subscriber opens one."""

    _closer = "tagbus_subscriber_close"

    def subscribe(self, tags: Tags, **options: Any) -> "Subscription":
        """Subscribe to tags at all publishers, also later ones.

        Options: policy, backlog, replay, duplicates, timeout.
        """
        h = handle(
            load().tagbus_subscribe(self._h, encode("tags", tag_set(tags)), words(options), ffi.NULL, ffi.NULL, ffi.NULL)
        )
        return Subscription(h, self, owned=False)


class Subscription(_Source, Handle):
    """Messages of a set of tags; Bus.subscribe makes one.

        for batch in bus.subscribe("0x100-0x10f"):
            use(batch.tags, batch.array("<u2"))

    Iteration ends when the subscription has ended or is closed here. It can
    be iterated with "async for", too.
    """

    _closer = "tagbus_subscription_close"

    def __init__(self, h: Any, subscriber: Subscriber, owned: bool):
        super().__init__(h, subscriber, subscriber._listener)
        self._sub = h
        self._owned = owned
        self._waiters = []

    def wait(self, timeout: Optional[float] = None) -> None:
        """Wait until it is acknowledged, as of the last add or remove.

        From then on every message that is missed is reported.
        """
        lib = load()
        in_steps(lambda ms: lib.tagbus_subscription_wait(self._h, ms), timeout, self._listener.look)

    def add(self, tags: Tags) -> None:
        """Subscribe to more tags."""
        check(load().tagbus_subscription_add(self._h, tags_text(tags)))

    def remove(self, tags: Tags) -> None:
        """Unsubscribe from tags."""
        check(load().tagbus_subscription_remove(self._h, tags_text(tags)))

    def stats(self) -> Any:
        """Return the counters of its subscriber."""
        return self._parent.stats()  # type: ignore[union-attr]

    def state(self, **options: Any) -> Any:
        """Return the state of its subscriber."""
        return self._parent.state(**options)  # type: ignore[union-attr]

    def close(self) -> None:
        """End it, and its subscriber if Bus.subscribe has opened that for it."""
        if not self._closed:
            self._leave_loop()
        super().close()
        if self._owned:
            self._parent.close()  # type: ignore[union-attr]


class Receiver(_Source, Known):
    """Owns tags, and gets what is sent to them; Bus.receiver opens one.

    It is read as a Subscription. To its senders a message is handled, and
    acknowledged to Sender.send_acked, when it is in the queue of the receiver.
    """

    _closer = "tagbus_receiver_close"

    def __init__(self, h: Any, bus: Handle, listener: Any):
        super().__init__(h, bus, listener)
        self._sub = handle(load().tagbus_receiver_messages(h))
        self._waiters = []

    def drain(self, timeout: Optional[float] = None) -> None:
        """End in order: take what was sent, and say goodbye. Close it afterwards."""
        lib = load()
        interruptible(lambda: check(lib.tagbus_receiver_drain(self._h, milliseconds(timeout))))

    def close(self) -> None:
        """Close it."""
        if not self._closed:
            self._leave_loop()
        super().close()


_SUBSCRIBER_OPTIONS = {"name", "max_message_bytes", "queue_bytes", "retain_bytes", "heartbeat", "heartbeat_timeout", "on_loop"}


def split(options: Any) -> Any:
    """Return the options of a subscriber, and those of a subscription."""
    mine = {k: v for k, v in options.items() if k in _SUBSCRIBER_OPTIONS}
    return mine, {k: v for k, v in options.items() if k not in _SUBSCRIBER_OPTIONS}


__all__ = ["Events", "Receiver", "Subscriber", "Subscription"]
