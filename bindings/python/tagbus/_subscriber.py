# SPDX-License-Identifier: Apache-2.0
"""Subscriber, Subscription and Receiver: what receives."""

from __future__ import annotations

import asyncio
import collections
import os
from typing import Any, AsyncIterator, Callable, Deque, Dict, Iterator, List, Mapping, Optional

from . import _calls, _errors
from ._batch import Batch, Message, incoming
from ._events import Listener
from ._handle import Handle, Known, opened
from ._lib import check, ffi, handle, load
from ._options import Tags, encode, tag_set, tags_text, words
from ._receiving import Handler, OnBatch, OnEnd, functions, handler
from ._waiting import STEP, in_steps, interruptible, milliseconds


class _Source:
    """Where batches are taken from."""

    _closed: bool
    _listener: Optional[Listener]

    def _receives(self, sub: Any, h: Optional[Handler]) -> None:
        self._sub = sub
        self._handler = h
        self._left: Deque[Any] = collections.deque()  # taken when an exception came

    def _events(self) -> Listener:
        if self._handler is not None:
            raise _errors.make(-1, "TAGBUS_EINVAL", "next: its batches go to on_batch: subscribe without it")
        assert self._listener is not None
        return self._listener

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
        lib, listener, place = load(), self._events(), incoming()
        listener.look()
        if self._left:
            try:
                return Batch(self._left.popleft())
            except IndexError:  # another thread has it
                pass
        try:
            if timeout is None:  # as in_steps does it, with less around
                if lib.tagbus_next(self._sub, place, STEP) == 0:
                    return Batch(place)
                listener.look()
            in_steps(lambda ms: int(lib.tagbus_next(self._sub, place, ms)), timeout, listener.look)
            return Batch(place)
        except BaseException:  # KeyboardInterrupt: the batch is for the next call
            if place[0] != ffi.NULL:
                self._left.append(place)
            raise

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
        self._events()
        fd = int(load().tagbus_subscription_fd(self._sub))
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
        listener = self._events()

        def ready() -> None:
            if not waiter.done():
                waiter.set_result(None)

        def wake() -> None:
            try:
                loop.call_soon_threadsafe(ready)
            except RuntimeError:  # the loop is closed
                pass

        # Of its own: that of the subscription becomes readable at its end, and then another one's, perhaps
        # before this loop looks.
        fd = os.dup(self.fileno())
        try:
            self.fileno()  # if it was closed meanwhile, fd may be another one's already
            listener.wake.append(wake)
            loop.add_reader(fd, ready)
            try:
                if not listener.waiting:
                    await waiter
            finally:
                listener.wake.remove(wake)
                if not loop.is_closed():
                    loop.remove_reader(fd)
        finally:
            os.close(fd)

    def _leave(self) -> None:
        """Wake a callback that waits."""
        if self._handler is not None:
            self._handler.closing.set()

    def _stay(self) -> None:
        if self._handler is not None:
            self._handler.closing.clear()


class Subscriber(Known):
    """Finds publishers by tag; Bus.subscriber opens one."""

    _closer = "tagbus_subscriber_close"

    def subscribe(
        self, tags: Tags, *, on_batch: Optional[OnBatch] = None, on_end: Optional[OnEnd] = None, **options: Any
    ) -> "Subscription":
        """Subscribe to tags at all publishers, also later ones.

        Args:
          on_batch, on_end: as of Bus.subscribe.
        Options: policy, backlog, replay, duplicates, timeout.
        """
        return self._subscribe(tags, on_batch, on_end, options, owned=False)

    def _subscribe(
        self, tags: Tags, on_batch: Optional[OnBatch], on_end: Optional[OnEnd], options: Mapping[str, Any], owned: bool
    ) -> "Subscription":
        calls = handler(on_batch, on_end, self._listener)
        set_, more = encode("tags", tag_set(tags)), words(options)
        h = opened(lambda: load().tagbus_subscribe(self._h, set_, more, *functions(calls)), Subscription._closer)
        sub = Subscription(h, self, owned, calls)
        self._bus()._children.add(sub)
        if calls is not None:
            calls.keep(sub, self._bus()._kept)
        return sub

    def _bus(self) -> Any:
        return self._parent

    def _subscriptions(self) -> List["Subscription"]:
        return [x for x in self._bus()._children if isinstance(x, Subscription) and x._subscriber is self]

    def _leave(self) -> None:
        for sub in self._subscriptions():
            sub._leave()

    def _stay(self) -> None:
        for sub in self._subscriptions():
            sub._stay()


class Subscription(_Source, Handle):
    """Messages of a set of tags; Bus.subscribe makes one.

        for batch in bus.subscribe("0x100-0x10f"):
            use(batch.tags, batch.array("<u2"))

    Iteration ends when the subscription has ended or is closed here. It can
    be iterated with "async for", too.
    """

    _closer = "tagbus_subscription_close"

    def __init__(self, h: Any, subscriber: Subscriber, owned: bool, calls: Optional[Handler]):
        super().__init__(h, subscriber, subscriber._listener)
        self._receives(h, calls)
        self._subscriber = subscriber
        self._owned = owned

    def wait(self, timeout: Optional[float] = None) -> None:
        """Wait until it is acknowledged, as of the last add or remove.

        From then on every message that is missed is reported.
        """
        lib = load()
        look = self._listener.look if self._listener is not None else None
        in_steps(lambda ms: int(lib.tagbus_subscription_wait(self._h, ms)), timeout, look)

    def add(self, tags: Tags) -> None:
        """Subscribe to more tags."""
        check(load().tagbus_subscription_add(self._h, tags_text(tags)))

    def remove(self, tags: Tags) -> None:
        """Unsubscribe from tags."""
        check(load().tagbus_subscription_remove(self._h, tags_text(tags)))

    def stats(self) -> Dict[str, Any]:
        """Return the counters of its subscriber."""
        return self._subscriber.stats()

    def state(self, **options: Any) -> Dict[str, Any]:
        """Return the state of its subscriber."""
        return self._subscriber.state(**options)

    def close(self) -> None:
        """End it, and its subscriber if Bus.subscribe has opened that for it.

        In a callback of it, too: the subscriber is closed behind that.
        """
        super().close()
        self._subscriber._bus()._kept.discard(self)
        if self._owned:
            try:
                self._subscriber.close()
            except _errors.WouldDeadlock:  # a callback has called this
                _calls.apart(self._subscriber._close_quietly)

    def _calls_back(self) -> bool:
        return self._handler is not None or super()._calls_back()

    def _closing(self) -> Callable[[], None]:
        if not self._owned or self._subscriber._closed:
            return super()._closing()
        self._subscriber._closed = True
        return self._subscriber._closing()


class Receiver(_Source, Known):
    """Owns tags, and gets what is sent to them; Bus.receiver opens one.

    It is read as a Subscription, or has on_batch. To its senders a message is handled, and
    acknowledged to Sender.send_acked, when it is in the queue of the receiver.
    """

    _closer = "tagbus_receiver_close"

    def __init__(self, h: Any, bus: Handle, listener: Listener, calls: Optional[Handler]):
        super().__init__(h, bus, listener)
        self._bus = bus
        self._receives(ffi.NULL if calls is not None else handle(load().tagbus_receiver_messages(h)), calls)

    def drain(self, timeout: Optional[float] = None) -> None:
        """End in order: take what was sent, and say goodbye. Close it afterwards."""
        lib, ms = load(), milliseconds(timeout)
        interruptible(lambda: check(lib.tagbus_receiver_drain(self._h, ms)))

    def close(self) -> None:
        """Close it."""
        super().close()
        self._bus._kept.discard(self)  # type: ignore[attr-defined]

    def _calls_back(self) -> bool:
        return self._handler is not None or super()._calls_back()


__all__ = ["Receiver", "Subscriber", "Subscription"]
