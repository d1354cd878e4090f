# SPDX-License-Identifier: Apache-2.0
"""Writer: small messages, published as batches."""

from __future__ import annotations

import itertools
import os
import struct
import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any, List, Optional, Tuple, Union

from . import _errors
from ._batch import MESSAGE
from ._lib import ffi
from ._waiting import Steps

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Type

    from ._publisher import Publisher

Data = Union[bytes, bytearray, memoryview, Any]  # anything with a contiguous buffer

_MESSAGES, _BYTES = 512, 65536
_ROW = struct.Struct("=QQQIBBxx")


def buffer(data: Any) -> Any:
    """Return the memory of data for C."""
    if isinstance(data, str):
        raise TypeError('data is a str, want bytes: "...".encode()')
    return ffi.from_buffer(data)


def count(accepted: List[int]) -> int:
    """Return how many messages calls of tagbus_publish_batch have accepted; negative: codes."""
    return sum(n for n in accepted if n > 0)


class _Waiting:
    """What a writer has gathered."""

    def __init__(self, rows: List[Tuple[int, bytes, int]]):
        self.rows = rows
        self.bytes = sum(len(row[1]) for row in rows)
        self.accepted: List[int] = []  # the first of rows, by the calls of a flush

    def __len__(self) -> int:
        return len(self.rows) - count(self.accepted)


class Writer:
    """Gathers small messages, and publishes them as one batch; Publisher.writer makes one.

    A message waits until 512 are gathered, or 64 KiB of data, or until flush:
    of the writer, or of its publisher, as drain. It takes part of the cost of
    publish. At the end of a with block it is flushed.
    """

    def __init__(self, publisher: "Publisher", timeout: Optional[float] = None):
        self._publisher = publisher
        self._timeout = timeout
        self._lock = threading.RLock()
        _writers.add(self)
        self._waiting = _Waiting([])

    def __len__(self) -> int:
        """Return how many messages wait."""
        return len(self._waiting)

    def add(self, tag: int, data: Data, status: int = 0) -> None:
        """Add a copy of data.

        Raises:
          as publish, of a flush: the message is not added then.
          TypeError, OverflowError: of this message.
        """
        if type(data) is not bytes:
            if isinstance(data, str):
                raise TypeError('data is a str, want bytes: "...".encode()')
            data = memoryview(data).tobytes()
        if not (0 <= tag < 1 << 64 and 0 <= status < 256):
            raise OverflowError(f"tag is {tag}, and status {status}: want 64 and 8 bits")
        with self._lock:
            if len(self._waiting.rows) >= _MESSAGES or self._waiting.bytes + len(data) > _BYTES:
                self.flush()
            self._waiting.rows.append((tag, data, status))
            self._waiting.bytes += len(data)

    def flush(self) -> None:
        """Publish what is gathered.

        Raises:
          as publish: the messages that were not accepted stay, and a later
            flush goes on with them.
        """
        self._flush(None)

    def _flush(self, within: Optional[float]) -> None:
        """Do what flush does, within the timeout of the writer and this one."""
        with self._lock:
            self._drop()
            waiting = self._waiting
            if not waiting.rows:
                return
            c, keep = _table(waiting.rows)
            limits = [t for t in (self._timeout, within) if t is not None]
            try:
                self._publisher._publish_messages(c, len(waiting.rows), Steps(min(limits, default=None)), waiting.accepted)
            finally:
                self._drop()
            del keep

    def _drop(self) -> None:
        """Forget what was accepted; an interrupt comes before that or after it."""
        if self._waiting.accepted:
            self._waiting = _Waiting(self._waiting.rows[count(self._waiting.accepted) :])

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self,
        kind: "Optional[Type[BaseException]]",
        value: Optional[BaseException],
        trace: "Optional[TracebackType]",
    ) -> None:
        if kind is None:
            self.flush()
            return
        try:  # what was added before the exception is published; it does not hide the exception
            self._timeout = 0
            self.flush()
        except _errors.Error:
            pass

    def __del__(self) -> None:
        if getattr(self, "_waiting", None):
            warnings.warn(f"{self!r} was not flushed: its messages are lost", ResourceWarning, source=self, stacklevel=2)

    def __repr__(self) -> str:
        return f"<tagbus.Writer of {len(self)} messages>"


def _table(rows: List[Tuple[int, bytes, int]]) -> Tuple[Any, Any]:
    """Return messages of C, and what keeps their memory."""
    tags, data, status = zip(*rows)
    joined = b"".join(data)
    memory = ffi.from_buffer(joined)
    sizes = [len(d) for d in data]
    first = int(ffi.cast("uintptr_t", memory))
    at = list(itertools.accumulate(sizes[:-1], initial=first))
    if np is not None:
        table = np.zeros(len(rows), MESSAGE)
        table["tag"], table["data"] = np.array(tags, np.uint64), np.array(at, np.uint64)
        table["status"], table["size"] = status, sizes
        return ffi.cast("tagbus_message *", table.ctypes.data), (table, memory)
    packed = bytearray(_ROW.size * len(rows))
    for i, row in enumerate(zip(tags, at, sizes, status)):
        _ROW.pack_into(packed, i * _ROW.size, row[0], 0, row[1], row[2], row[3], 0)
    return ffi.cast("tagbus_message *", ffi.from_buffer(packed)), (packed, memory)


_writers: "weakref.WeakSet[Writer]" = weakref.WeakSet()


def _unlock() -> None:
    """Free writers in the child of a fork, where the threads that have used them are not."""
    for w in list(_writers):
        w._lock = threading.RLock()


os.register_at_fork(after_in_child=_unlock)
