# SPDX-License-Identifier: Apache-2.0
"""Publisher and Sender: what sends."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from typing import Any, Callable, Iterable, Iterator, List, Optional, Tuple, Union

from . import _calls, _errors
from ._arrays import gathered
from ._batch import Message
from ._handle import Known
from ._lib import check, fail, failure, ffi, load
from ._options import Tags, encode, tags_text
from ._waiting import STEP, Steps, in_steps, interruptible, milliseconds
from ._writer import Data, Writer, buffer, count

_CHUNK = 512  # messages of publish_batch in one call
_FIRST = STEP / 1000  # s: of the first call of publish
Item = Union[Tuple[int, Data], Tuple[int, Data, int], Message]


@contextlib.contextmanager
def _counted() -> Iterator[List[int]]:
    """Collect results of tagbus_publish_batch; what is raised gets their sum as accepted."""
    accepted: List[int] = []
    try:
        yield accepted
    except BaseException as e:
        try:
            e.accepted = count(accepted)  # type: ignore[attr-defined]
        except Exception:  # it has no room for it
            pass
        raise


class Sending(Known):
    """What publishers and senders have in common."""

    _prefix = ""
    linger: Optional[float] = 10.0

    def flush(self) -> None:
        """Send what waits for full pages."""
        self._gather()
        check(getattr(load(), f"tagbus_{self._prefix}_flush")(self._h))

    def drain(self, failure: Optional[str] = None, timeout: Optional[float] = None) -> None:
        """End in order: send what is published and say goodbye. Close it afterwards.

        Args:
          failure: why this ends early; peers are told.
        Raises:
          Undelivered: not all peers have confirmed all in time.
          NoRoom, Timeout: there was no room for what writers have gathered.
        """
        call = getattr(load(), f"tagbus_{self._prefix}_drain")
        reason = ffi.NULL if failure is None else encode("failure", failure)
        steps = Steps(timeout)
        self._gather(steps)
        ms = milliseconds(steps.left())
        interruptible(lambda: check(call(self._h, reason, ms)))

    def _finish(self) -> None:
        if not self._closed:
            try:
                self.drain(timeout=self.linger)
            except _errors.Closed:  # it was drained, or its bus is closed
                pass

    def _gather(self, within: Optional[Steps] = None) -> None:
        """Publish what writers have gathered; each has its own time, and all together have within."""

    def _look(self) -> None:
        if self._listener is not None:
            self._listener.look()


class Publisher(Sending):
    """Serves tags to subscribers; Bus.publisher opens one.

    At the end of a with block without an exception it is drained, for at
    most linger seconds (10), and then closed.
    """

    _closer = "tagbus_publisher_close"
    _prefix = "publisher"

    def __init__(self, *args: Any):
        super().__init__(*args)
        self._writers: "weakref.WeakSet[Writer]" = weakref.WeakSet()

    def _gather(self, within: Optional[Steps] = None) -> None:
        for w in list(self._writers):
            w._flush(None if within is None else within.left())

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
        memory = ffi.from_buffer(data) if not isinstance(data, str) else buffer(data)
        call, h, n = load().tagbus_publish, self._h, len(memory)
        longer = timeout is None or timeout > _FIRST
        code = call(h, tag, memory, n, status, STEP if longer else milliseconds(timeout))
        if code == 0:
            return
        if not longer:
            fail(code)
        self._look()
        left = None if timeout is None else timeout - _FIRST
        in_steps(lambda ms: int(call(h, tag, memory, n, status, ms)), left, self._look)

    def publish_zero_copy(
        self,
        tag: int,
        data: Data,
        done: Optional[Callable[[], Any]] = None,
        status: int = 0,
        timeout: Optional[float] = None,
    ) -> None:
        """Publish without a copy where possible: for messages from some 10 KiB on.

        Args:
          data: must not change until done is called. It is kept until then.
          done: called once, on a thread of the library or before this
            returns, when no peer needs the data any more. An exception in it
            is reported by threading.excepthook. After an error it is not called.
        Raises:
          as publish
        """
        if done is not None and not callable(done):
            raise TypeError(f"done: got {done!r}, want a callable")
        self._look()
        memory, lib = buffer(data), load()
        n, number = len(memory), _calls.lend(memory, done)
        user = _calls.user(number)
        try:
            in_steps(
                lambda ms: int(
                    lib.tagbus_publish_zero_copy(self._h, tag, memory, n, status, ms, _calls.on_done, user)
                ),
                timeout,
                self._look,
            )
        except Exception:  # else it may be published
            _calls.take_back(number)
            raise

    def writer(self, timeout: Optional[float] = None) -> Writer:
        """Return a writer, which gathers small messages and publishes them as batches.

            with pub.writer() as w:
                for sample in samples:
                    w.add(0x100, sample)

        Args:
          timeout: how many seconds a flush waits for room.
        """
        w = Writer(self, timeout)
        self._writers.add(w)
        return w

    def publish_batch(self, messages: Iterable[Item], timeout: Optional[float] = None) -> int:
        """Publish messages in their order, and return how many.

        Args:
          messages: (tag, data) or (tag, data, status), or messages received.
        Raises:
          Error: of the first one that is refused; its attribute accepted
            says how many, those before, are published.
          Exception: of messages itself, or of one that is no message, with
            the attribute accepted, too; so has KeyboardInterrupt.
        """
        steps, source = Steps(timeout), iter(messages)
        with _counted() as accepted:
            while True:
                keep: List[Any] = []
                c = ffi.new("tagbus_message[]", _CHUNK)
                wrong: Optional[Exception] = None
                try:
                    for m, x in zip(c, itertools.islice(source, _CHUNK)):
                        row: Tuple[Any, ...] = (x.tag, x.data, x.status) if isinstance(x, Message) else x
                        memory = buffer(row[1])
                        m.tag, m.data, m.size, m.status = row[0], memory, len(memory), row[2] if len(row) > 2 else 0
                        keep.append(memory)
                except Exception as e:
                    wrong = e
                if keep:
                    self._publish_messages(c, len(keep), steps, accepted)
                if wrong is not None:
                    raise wrong
                if len(keep) < _CHUNK:
                    return count(accepted)

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
        messages, memory = gathered(tags, array, status)
        if len(messages) == 0:
            return 0
        c = ffi.cast("tagbus_message *", messages.ctypes.data)
        with _counted() as accepted:
            self._publish_messages(c, len(messages), Steps(timeout), accepted)
        del memory  # not earlier
        return count(accepted)

    def _publish_messages(self, c: Any, n: int, steps: Steps, accepted: List[int]) -> None:
        """Publish messages of C; accepted gets the result of each call."""
        publish, done = load().tagbus_publish_batch, 0
        while True:
            self._look()
            # The result is in the list before an interrupt can come, which a name would not have.
            accepted.extend(map(publish, (self._h,), (c + done,), (n - done,), (steps.next(),)))
            got = accepted[-1]
            done += max(0, got)
            if done == n:
                return
            error = failure(got if got < 0 else None)
            if not isinstance(error, (_errors.Timeout, _errors.NoRoom)) or steps.over():
                raise error

    def reply(self, request_id: bytes, tag: int, data: Data, status: int = 0, timeout: Optional[float] = None) -> None:
        """Publish the reply to a request: Message.request_id says to which."""
        if len(request_id) != 16:
            raise ValueError(f"request_id has {len(request_id)} bytes, want 16")
        memory, lib = buffer(data), load()
        in_steps(
            lambda ms: int(lib.tagbus_reply(self._h, request_id, tag, memory, len(memory), status, ms)),
            timeout,
            self._look,
        )

    def add(self, tags: Tags) -> None:
        """Serve more tags."""
        check(load().tagbus_publisher_add(self._h, tags_text(tags)))

    def remove(self, tags: Tags) -> None:
        """Serve tags no more."""
        check(load().tagbus_publisher_remove(self._h, tags_text(tags)))

    def wait(self, subscribers: int = 1, tags: Optional[Tags] = None, timeout: Optional[float] = None) -> None:
        """Wait until there are so many subscribers, and each of the tags has one; None: all tags."""
        lib, set_ = load(), tags_text(tags)
        in_steps(lambda ms: int(lib.tagbus_publisher_wait(self._h, subscribers, set_, ms)), timeout, self._look)


class Sender(Sending):
    """Sends to the owners of tags; Bus.sender opens one."""

    _closer = "tagbus_sender_close"
    _prefix = "sender"

    def send(self, tag: int, data: Data, status: int = 0, timeout: Optional[float] = None) -> None:
        """Send a copy of data to the receiver of the tag; wait for a receiver and for room."""
        memory, lib = buffer(data), load()
        in_steps(lambda ms: int(lib.tagbus_send(self._h, tag, memory, len(memory), status, ms)), timeout, self._look)

    def send_acked(self, tag: int, data: Data, status: int = 0, timeout: Optional[float] = None) -> None:
        """Send a copy of data, and wait until the receiver has handled the message.

        Raises:
          Unacked: it is sent, and perhaps not handled.
        """
        memory, lib, ms = buffer(data), load(), milliseconds(timeout)
        interruptible(lambda: check(lib.tagbus_send_acked(self._h, tag, memory, len(memory), status, ms)))

    def wait(self, tags: Optional[Tags] = None, timeout: Optional[float] = None) -> None:
        """Wait until each of the tags has a connected receiver; None: those of the sender."""
        lib, set_ = load(), tags_text(tags)
        in_steps(lambda ms: int(lib.tagbus_sender_wait(self._h, set_, ms)), timeout, self._look)
