# SPDX-License-Identifier: Apache-2.0
"""Batches: the messages of one received page."""

from __future__ import annotations

import functools
from typing import Any, Iterator, List, Optional, Tuple, Union

from . import _errors
from ._lib import check, ffi, load, text

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]

Numbers = Any  # an array of numpy, without numpy a list

MESSAGE: Any = None

if np is not None:
    # tagbus_message, as the struct of C lies in memory.
    MESSAGE = np.dtype(
        {
            "names": ["tag", "counter", "data", "size", "status", "flags"],
            "formats": ["u8", "u8", "u8", "u4", "u1", "u1"],
            "offsets": [0, 8, 16, 24, 28, 29],
            "itemsize": 32,
        }
    )


class Message:
    """A message that was received.

    Attributes:
      tag: its tag.
      counter: its number in its tag and publisher, from 1, lost ones included.
      status: a byte that the publisher has given.
      data: its bytes, a read-only memoryview, which keeps the page alive.
      request_id: 16 bytes, if it is a request (Publisher.reply), else None.
    """

    __slots__ = ("tag", "counter", "status", "data", "request_id")

    def __init__(self, tag: int, counter: int, status: int, data: memoryview, request_id: Optional[bytes]):
        self.tag, self.counter, self.status, self.data, self.request_id = tag, counter, status, data, request_id

    def __bytes__(self) -> bytes:
        return bytes(self.data)

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"<tagbus.Message tag={self.tag:#x} counter={self.counter} {len(self.data)} bytes status={self.status}>"


class _Memory:
    """Memory of C as numpy takes it: read only, with what keeps it alive."""

    def __init__(self, owner: Any, address: int, size: int):
        self._owner = owner
        self.__array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (address, True),
            "version": 3,
        }


def _address(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


def _release(out: Any, release: Any, null: Any) -> None:
    if out[0] != null:
        release(out[0])


def incoming() -> Any:
    """Return the place for a batch of C; with the place the batch is released.

    So a batch has one owner at each moment, also if an exception comes between two steps.
    """
    # What it needs is its own: at the end of the interpreter modules are emptied before.
    release = functools.partial(_release, release=load().tagbus_batch_release, null=ffi.NULL)
    return ffi.gc(ffi.new("const tagbus_batch **"), release)


def _request_id(c: Any, i: int) -> Optional[bytes]:
    if not c.messages[i].flags & 1:
        return None
    buffer = ffi.new("uint8_t[16]")
    check(load().tagbus_batch_request_id(c, i, buffer))
    return bytes(buffer)


def copied(c: Any) -> Tuple[Any, List[Optional[bytes]]]:
    """Return the place of a batch that is a copy of another, and its request ids."""
    ids = [_request_id(c, i) for i in range(c.count)]
    page = ffi.new("char[]", c.page_bytes) if c.page != ffi.NULL else ffi.NULL
    messages, keep = ffi.new("tagbus_message[]", c.count), [page, ffi.new("char[]", ffi.string(c.publisher))]
    ffi.memmove(messages, c.messages, ffi.sizeof(messages))
    if page != ffi.NULL:
        ffi.memmove(page, c.page, c.page_bytes)
    for m in messages:
        if page != ffi.NULL:
            m.data = page + (_address(m.data) - _address(c.page))
        else:
            keep.append(ffi.from_buffer(bytes(ffi.buffer(m.data, m.size)) if m.size else b""))
            m.data = keep[-1]
    batch = ffi.new("tagbus_batch *", (messages, c.count, page, c.page_bytes, keep[1]))
    keep += [messages, batch]
    return ffi.gc(ffi.new("const tagbus_batch **", batch), functools.partial(_nothing, keep)), ids


def _nothing(_place: Any, _page: Any) -> None:
    pass


class Batch:
    """The messages of one received page, in the order of their arrival.

    All views of a batch are read only and without a copy. They keep the page
    alive, also after the subscription and the bus are closed; what is kept
    counts for retain_bytes. With numpy the views are arrays, without it
    lists and memoryviews. A batch ends with the last of its views: there is
    nothing to release by hand, and no view of memory that is gone.
    """

    __slots__ = ("_c", "_messages", "_page", "_view", "_fields", "_ids", "__weakref__")

    def __init__(self, place: Any, ids: Optional[List[Optional[bytes]]] = None):
        c = place[0]
        self._ids = ids
        # The page keeps the place, since a buffer of cffi keeps its pointer alone.
        self._page = ffi.gc(ffi.cast("char *", c.page if c.page != ffi.NULL else c), functools.partial(_nothing, place))
        self._c = c
        self._messages = c.messages
        self._view: Optional[memoryview] = None
        self._fields: Any = None

    def __len__(self) -> int:
        return int(self._c.count)

    def __repr__(self) -> str:
        return f"<tagbus.Batch of {len(self)} messages from {self.publisher}>"

    def _struct(self) -> Any:
        if self._fields is None:
            memory = _Memory(self._page, _address(self._messages), MESSAGE.itemsize * len(self))
            self._fields = np.ndarray((len(self),), MESSAGE, np.asarray(memory))
        return self._fields

    def _column(self, name: str) -> Any:
        if np is not None:
            return self._struct()[name]
        return [getattr(self._messages[i], name) for i in range(len(self))]

    @property
    def tags(self) -> Numbers:
        """The tags of the messages."""
        return self._column("tag")

    @property
    def counters(self) -> Numbers:
        """Their numbers, in their tag and publisher."""
        return self._column("counter")

    @property
    def sizes(self) -> Numbers:
        """The sizes of their data in bytes."""
        return self._column("size")

    @property
    def status(self) -> Numbers:
        """Their status bytes."""
        return self._column("status")

    @property
    def publisher(self) -> str:
        """The instance of the publisher, as tagbus ls -v shows it."""
        return text(self._c.publisher)

    @property
    def page(self) -> Any:
        """The memory that all data lies in; None if it is not in one piece."""
        if self._c.page == ffi.NULL:
            return None
        if np is not None:
            return np.asarray(_Memory(self._page, _address(self._c.page), self._c.page_bytes))
        return self._memory()

    @property
    def offsets(self) -> Numbers:
        """Where the data of the messages begins in page."""
        if self._c.page == ffi.NULL:
            raise ValueError("the data of this batch is not in one page: use its messages")
        base = _address(self._c.page)
        if np is not None:
            return (self._struct()["data"] - np.uint64(base)).astype(np.int64)
        return [_address(self._messages[i].data) - base for i in range(len(self))]

    def _memory(self) -> memoryview:
        if self._view is None:
            self._view = memoryview(ffi.buffer(self._page, self._c.page_bytes)).toreadonly()
        return self._view

    def _data(self, m: Any) -> memoryview:
        if self._c.page != ffi.NULL:
            at = _address(m.data) - _address(self._c.page)
            return self._memory()[at : at + m.size]
        if m.size == 0:
            return memoryview(b"")
        if np is not None:
            return memoryview(np.asarray(_Memory(self._page, _address(m.data), m.size)))  # type: ignore[arg-type]
        return memoryview(bytes(ffi.buffer(m.data, m.size)))  # in pieces: a copy

    def _message(self, i: int) -> Message:
        m = self._messages[i]
        request_id = _request_id(self._c, i) if self._ids is None else self._ids[i]
        return Message(m.tag, m.counter, m.status, self._data(m), request_id)

    def __getitem__(self, i: int) -> Message:
        n = len(self)
        if i < 0:
            i += n
        if not 0 <= i < n:
            raise IndexError(f"message {i} of a batch of {n}")
        return self._message(i)

    def __iter__(self) -> Iterator[Message]:
        for i in range(len(self)):
            yield self._message(i)

    def array(self, dtype: Any = "u1", tag: Union[int, None] = None) -> Any:
        """Return the data of all messages as one array, a message a row.

        Messages of one size lie at equal distances, and then the array is a
        view without a copy; else they are gathered into a new one. A dtype as
        large as a message makes an array of one dimension.

        Args:
          dtype: of the items of a message, such as "<u2".
          tag: only the messages of this tag.
        Raises:
          ValueError: the messages have several sizes, or one that is no
            multiple of that of dtype: use arrays.
        """
        _need_numpy("array")
        dtype = np.dtype(dtype)
        if tag is None and self._c.count == 1 and self._c.page != ffi.NULL:
            return self._one(dtype)
        rows = self._struct()
        if tag is not None:
            rows = rows[rows["tag"] == tag]
        n = len(rows)
        if n == 0:
            return _frozen(np.empty((0, 0), dtype))
        sizes, size = rows["size"], int(rows["size"][0])
        if np.count_nonzero(sizes != size):
            raise ValueError(f"messages of {sizes.min()} to {sizes.max()} bytes make no array: use arrays, or tag")
        columns = _columns(size, dtype)
        out = self._strided(rows["data"], size, dtype, columns)
        return out[:, 0] if columns == 1 else out

    def _one(self, dtype: Any) -> Any:
        """Return the array of a batch of one message, whose data is the page."""
        columns = _columns(self._c.page_bytes, dtype)
        shape = (1,) if columns == 1 else (1, columns)
        return np.ndarray(shape, dtype, self.page)

    def _strided(self, addresses: Any, size: int, dtype: Any, columns: int) -> Any:
        n = len(addresses)
        if size == 0:
            return _frozen(np.empty((n, 0), dtype))
        distance = int(addresses[1]) - int(addresses[0]) if n > 1 else size
        if distance >= size and not np.count_nonzero(addresses[1:] - addresses[:-1] != np.uint64(distance)):
            first = int(addresses[0])
            memory = np.asarray(_Memory(self._page, first, distance * (n - 1) + size))
            return np.ndarray((n, columns), dtype, memory, strides=(distance, dtype.itemsize))
        out = np.empty((n, size), np.uint8)
        for i, address in enumerate(addresses.tolist()):
            out[i] = np.asarray(_Memory(self._page, address, size))
        return _frozen(out.view(dtype))

    def arrays(self, dtype: Any = "u1") -> List[Any]:
        """Return a view of the data of each message, in a list."""
        _need_numpy("arrays")
        dtype = np.dtype(dtype)
        rows = self._struct()
        return [
            np.asarray(_Memory(self._page, a, n)).view(dtype) if n else _frozen(np.empty(0, dtype))
            for a, n in zip(rows["data"].tolist(), rows["size"].tolist())
        ]


def _columns(size: int, dtype: Any) -> int:
    """Return how many items a message of size bytes has."""
    if size % dtype.itemsize != 0:
        raise ValueError(f"messages of {size} bytes are no multiple of {dtype} with {dtype.itemsize}")
    return int(size // dtype.itemsize)


def _frozen(array: Any) -> Any:
    array.flags.writeable = False
    return array


def _need_numpy(what: str) -> None:
    if np is None:
        raise _errors.Error(f"{what} needs numpy (Debian: python3-numpy); messages can be read one by one without it")
