# SPDX-License-Identifier: Apache-2.0
"""Callbacks: the functions that the library calls, and what they call in Python.

The functions of C are made once and never freed, so that none can be freed
while it runs. What a call is for is told by a number, the user pointer. A number
that is not known any more is of something that was collected: nothing is called.
"""

from __future__ import annotations

import _thread
import itertools
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional, Tuple

from ._lib import ffi

if TYPE_CHECKING:
    from ._events import Listener
    from ._receiving import Handler

# Whether this thread is in a callback.
inside = threading.local()

_numbers: "Iterator[int]" = itertools.count(1)
_listeners: "weakref.WeakValueDictionary[int, Listener]" = weakref.WeakValueDictionary()
_handlers: "weakref.WeakValueDictionary[int, Handler]" = weakref.WeakValueDictionary()
_loans: Dict[int, Tuple[Any, Optional[Callable[[], Any]]]] = {}


def report() -> None:
    """Report the exception of a callback, as threading does that of a thread."""
    kind, value, trace = sys.exc_info()
    try:
        threading.excepthook(threading.ExceptHookArgs((kind, value, trace, threading.current_thread())))
    except BaseException:  # of the hook: the library must not see it
        try:
            sys.excepthook(*sys.exc_info())
        except BaseException:  # there is nothing left that could report it
            pass


def guarded(call: Callable[..., Any], *args: Any) -> None:
    """Make a callback: no exception of it unwinds into the library."""
    before = getattr(inside, "callback", False)
    inside.callback = True
    try:
        call(*args)
    except BaseException:
        report()
    finally:
        inside.callback = before


def in_callback() -> bool:
    """Return whether this thread is in a callback."""
    return bool(getattr(inside, "callback", False))


def _number(user: Any) -> int:
    return int(ffi.cast("uintptr_t", user))


def user(number: int) -> Any:
    """Return a number as the user pointer of C; 0 is NULL."""
    return ffi.cast("void *", number)


def listening(listener: "Listener") -> int:
    """Return the number of what gets events, for as long as it is there."""
    number = next(_numbers)
    _listeners[number] = listener
    return number


def handling(handler: "Handler") -> int:
    """Return the number of what gets batches and events, for as long as it is there."""
    number = next(_numbers)
    _handlers[number] = handler
    if handler.listener is not None:
        _listeners[number] = handler.listener
    return number


def lend(memory: Any, done: Optional[Callable[[], Any]]) -> int:
    """Keep memory until on_done is called with the number that is returned."""
    number = next(_numbers)
    _loans[number] = (memory, done)
    return number


def take_back(number: int) -> None:
    """Keep it no more: it was not published."""
    _loans.pop(number, None)


def _event(user: Any, c: Any) -> None:
    listener = _listeners.get(_number(user))
    if listener is not None:
        guarded(listener.event, c)


def _batch(user: Any, c: Any) -> None:
    handler = _handlers.get(_number(user))
    if handler is not None:
        guarded(handler.batch, c)


def _end(user: Any, code: int, why: Any) -> None:
    handler = _handlers.get(_number(user))
    if handler is not None:
        guarded(handler.end, code, why)


def _done(user: Any) -> None:
    loan = _loans.pop(_number(user), None)
    if loan is not None and loan[1] is not None:
        guarded(loan[1])


on_event: Any = ffi.callback("void(void *, const tagbus_event *)", _event)
on_batch: Any = ffi.callback("void(void *, const tagbus_batch *)", _batch)
on_end: Any = ffi.callback("void(void *, int, const char *)", _end)
on_done: Any = ffi.callback("void(void *)", _done)


def apart(call: Callable[..., Any], *args: Any) -> None:
    """Make a call on a thread of its own, for one that would wait here: in a callback, or in a
    collection, which comes while this thread holds any lock.

    The args are kept until it returns.
    """
    # Not threading.Thread, which takes locks that this thread may hold.
    try:
        _thread.start_new_thread(_quiet, (call, *args))
    except RuntimeError:  # the interpreter ends, and closes all
        pass


def _quiet(call: Callable[..., Any], *args: Any) -> None:
    try:
        call(*args)
    except Exception:
        report()
