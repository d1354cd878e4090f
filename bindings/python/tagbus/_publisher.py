# SPDX-License-Identifier: Apache-2.0
"""Publisher, Sender and Requester: what sends."""

from __future__ import annotations

import itertools
from typing import Any, Iterable, Optional, Tuple, Union

from . import _errors
from ._batch import MESSAGE, Batch, Message, np
from ._handle import Handle, Known
from ._lib import check, failure, ffi, load
from ._options import Tags, encode, tags_text
from ._waiting import STEP, Steps, in_steps, interruptible, milliseconds

Data = Union[bytes, bytearray, memoryview, Any]  # anything with a contiguous buffer
_CHUNK = 512  # messages of publish_batch in one call


def _buffer(data: Any) -> Any:
    """Return the memory of data for C."""
    if isinstance(data, str):
        raise TypeError('data is a str, want bytes: "...".encode()')
    return ffi.from_buffer(data)


class _Sending(Known):
    """What publishers and senders have in common."""

    _prefix = ""
    linger: Optional[float] = 10.0

    def flush(self) -> None:
        """Send what waits for full pages."""
        check(getattr(load(), f"tagbus_{self._prefix}_flush")(self._h))

    def drain(self, failure: Optional[str] = None, timeout: Optional[float] = None) -> None:
        """End in order: send what is published and say goodbye. Close it afterwards.

        Args:
          failure: why this ends early; peers are told.
        Raises:
          Undelivered: not all peers have confirmed all in time.
        """
        call = getattr(load(), f"tagbus_{self._prefix}_drain")
        reason = ffi.NULL if failure is None else encode("failure", failure)
        interruptible(lambda: check(call(self._h, reason, milliseconds(timeout))))

    def _finish(self) -> None:
        if not self._closed:
            try:
                self.drain(timeout=self.linger)
            except _errors.Closed:  # it was drained, or its bus is closed
                pass

    def _look(self) -> None:
        if self._listener is not None:
            self._listener.look()


class Publisher(_Sending):
    """Serves tags to subscribers; Bus.publisher opens one.

    At the end of a with block without an exception it is drained, for at
    most linger seconds (10), and then closed.
    """

    _closer = "tagbus_publisher_close"
    _prefix = "publisher"

    def publish(self, tag: int, data: Data, status: int = 0, timeout: Optional[float] = None) -> None:
        """Publish a copy of data.

        Args:
          data: bytes or anything with a contiguous buffer.
          timeout: how many seconds to wait for room; None waits without
            limit, 0 does not wait.
        Raises:
          NoRoom, Timeout: nothing was published, and may be again.
          UnknownTag, TooLarge, Closed
        """
        if self._listener is not None:
            self._listener.look()
        memory = ffi.from_buffer(data) if not isinstance(data, str) else _buffer(data)
        call, h, n = load().tagbus_publish, self._h, len(memory)
        if call(h, tag, memory, n, status, STEP if timeout is None or timeout > 0.1 else milliseconds(timeout)) == 0:
            return
        in_steps(lambda ms: call(h, tag, memory, n, status, ms), timeout, self._look)

    def publish_batch(
        self, messages: Iterable[Union[Tuple[int, Data], Tuple[int, Data, int], Message]], timeout: Optional[float] = None
    ) -> int:
        """Publish messages in their order, and return how many.

        Args:
          messages: (tag, data) or (tag, data, status), or messages received.
        Raises:
          Error: of the first one that is refused; its attribute accepted
            says how many, those before, are published.
        """
        steps, done, source = Steps(timeout), 0, iter(messages)
        while True:
            part = list(itertools.islice(source, _CHUNK))
            if not part:
                return done
            c = ffi.new("tagbus_message[]", len(part))
            keep = []
            for m, x in zip(c, part):
                if isinstance(x, Message):
                    x = (x.tag, x.data, x.status)
                memory = _buffer(x[1])
                keep.append(memory)
                m.tag, m.data, m.size, m.status = x[0], memory, len(memory), x[2] if len(x) > 2 else 0
            done = self._publish_messages(c, len(part), steps, done)

    def publish_array(self, tags: Any, array: Any, status: Any = 0, timeout: Optional[float] = None) -> int:
        """Publish each array[i] as a message, and return how many.

        Args:
          tags: one tag for all, or an array with one for each.
          array: of numpy, or what numpy makes one of. It is copied first if
            it is not contiguous.
          status: one for all, or an array with one for each.
        Raises:
          Error: as publish_batch.
        """
        if np is None:
            raise _errors.Error("publish_array needs numpy (Debian: python3-numpy); publish_batch does not")
        array = np.asarray(array)
        if array.ndim == 0:
            raise ValueError("array has no dimension: publish publishes one message")
        array = np.ascontiguousarray(array)
        if array.dtype.hasobject:
            raise TypeError("array holds Python objects, want numbers")
        n = len(array)
        if n == 0:
            return 0
        messages = np.zeros(n, MESSAGE)
        size = array.nbytes // n
        messages["tag"], messages["status"], messages["size"] = tags, status, size
        messages["data"] = np.uint64(array.ctypes.data) + np.arange(n, dtype=np.uint64) * np.uint64(size)
        c = ffi.cast("tagbus_message *", messages.ctypes.data)
        return self._publish_messages(c, n, Steps(timeout), 0)

    def _publish_messages(self, c: Any, n: int, steps: Steps, before: int) -> int:
        """Publish messages of C; before is how many were published earlier."""
        lib, done = load(), 0
        while True:
            self._look()
            got = lib.tagbus_publish_batch(self._h, c + done, n - done, steps.next())
            if got > 0:
                done += got
            if done == n:
                return before + done
            error = failure(got if got < 0 else None)
            if not isinstance(error, (_errors.Timeout, _errors.NoRoom)) or steps.over():
                error.accepted = before + done
                raise error

    def reply(self, request_id: bytes, tag: int, data: Data, status: int = 0, timeout: Optional[float] = None) -> None:
        """Publish the reply to a request: Message.request_id says to which."""
        if len(request_id) != 16:
            raise ValueError(f"request_id has {len(request_id)} bytes, want 16")
        memory, lib = _buffer(data), load()
        in_steps(lambda ms: lib.tagbus_reply(self._h, request_id, tag, memory, len(memory), status, ms), timeout)

    def add(self, tags: Tags) -> None:
        """Serve more tags."""
        check(load().tagbus_publisher_add(self._h, tags_text(tags)))

    def remove(self, tags: Tags) -> None:
        """Serve tags no more."""
        check(load().tagbus_publisher_remove(self._h, tags_text(tags)))

    def wait(self, subscribers: int = 1, tags: Optional[Tags] = None, timeout: Optional[float] = None) -> None:
        """Wait until there are so many subscribers, and each of the tags has one; None: all tags."""
        lib, set_ = load(), tags_text(tags)
        in_steps(lambda ms: lib.tagbus_publisher_wait(self._h, subscribers, set_, ms), timeout, self._look)


class Sender(_Sending):
    """Sends to the owners of tags; Bus.sender opens one."""

    _closer = "tagbus_sender_close"
    _prefix = "sender"

    def send(self, tag: int, data: Data, status: int = 0, timeout: Optional[float] = None) -> None:
        """Send a copy of data to the receiver of the tag; wait for a receiver and for room."""
        memory, lib = _buffer(data), load()
        in_steps(lambda ms: lib.tagbus_send(self._h, tag, memory, len(memory), status, ms), timeout, self._look)

    def send_acked(self, tag: int, data: Data, status: int = 0, timeout: Optional[float] = None) -> None:
        """Send a copy of data, and wait until the receiver has handled the message.

        Raises:
          Unacked: it is sent, and perhaps not handled.
        """
        memory, lib, ms = _buffer(data), load(), milliseconds(timeout)
        interruptible(lambda: check(lib.tagbus_send_acked(self._h, tag, memory, len(memory), status, ms)))

    def wait(self, tags: Optional[Tags] = None, timeout: Optional[float] = None) -> None:
        """Wait until each of the tags has a connected receiver; None: those of the sender."""
        lib, set_ = load(), tags_text(tags)
        in_steps(lambda ms: lib.tagbus_sender_wait(self._h, set_, ms), timeout, self._look)


class Requester(Handle):
    """Sends commands and waits for their replies; Bus.requester opens one."""

    _closer = "tagbus_requester_close"

    def __init__(self, h: Any, parent: Handle, owned: Iterable[Handle]):
        super().__init__(h, parent)
        self._owned = list(owned)

    def request(self, command: Data, timeout: Optional[float] = None) -> Message:
        """Send a command and return its reply.

        Raises:
          NoReply: it is sent, and not answered.
        """
        memory, lib, ms = _buffer(command), load(), milliseconds(timeout)

        def call() -> Batch:
            out = ffi.new("const tagbus_batch **")
            check(lib.tagbus_request(self._h, memory, len(memory), out, ms))
            return Batch(out[0])

        return interruptible(call)[0]

    def stats(self) -> Any:
        """Return its counters."""
        return Known.stats(self)  # type: ignore[arg-type]

    def close(self) -> None:
        """Close it, and the sender and subscriber that were opened for it."""
        try:
            super().close()
        finally:
            while self._owned:
                self._owned.pop().close()
