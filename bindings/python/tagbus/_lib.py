# SPDX-License-Identifier: Apache-2.0
"""The library: found, loaded at the first use, and asked for its errors."""

from __future__ import annotations

import importlib
import os
import threading
from typing import Any, List, NoReturn, Optional

import cffi  # type: ignore[import]

from . import _errors
from ._cdef import CDEF

NAME = "libtagbus.so.0"

ffi = cffi.FFI()
ffi.cdef(CDEF)

_lock = threading.Lock()
_lib: Any = None

# A thread that looks up a function of the library, or a type, holds a lock of cffi. A fork waits for it: in the child
# that thread is gone, and nothing would give the lock back. It does not wait for long: a signal handler that forks may have
# interrupted such a look, which goes on in the child, too.
_forking: List[Any] = [_lock]
if hasattr(ffi, "_lock"):
    _forking.append(ffi._lock)
_held: List[Any] = []


def _begin_fork() -> None:
    for lock in _forking:
        if lock.acquire(timeout=1):
            _held.append(lock)


def _end_fork() -> None:
    while _held:
        _held.pop().release()


os.register_at_fork(before=_begin_fork, after_in_parent=_end_fork, after_in_child=_end_fork)


def places() -> List[str]:
    """Return where the library is looked for, in this order."""
    found = []
    named = os.environ.get("TAGBUS_LIB")
    if named:
        return [os.path.join(named, NAME) if os.path.isdir(named) else named]
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), NAME)
    if os.path.exists(beside):
        found.append(beside)
    found.append(NAME)
    return found


def load() -> Any:
    """Return the library; the first call loads it."""
    global _lib
    if _lib is not None:
        return _lib
    with _lock:
        if _lib is None:
            _refuse_subinterpreters()
            reasons = []
            for place in places():
                try:
                    _lib = ffi.dlopen(place)
                    break
                except OSError as e:
                    reasons.append(str(e))
            else:
                raise _errors.make(
                    -11,
                    "TAGBUS_ELOAD",
                    f"{NAME} cannot be loaded: {'; '.join(reasons)}: install "
                    "libtagbus0, or name the file or its folder in TAGBUS_LIB",
                )
    return _lib


def _refuse_subinterpreters() -> None:
    """Raise LoadError in a sub-interpreter: callbacks of cffi come to the main one."""
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if _number(module.get_current()) != _number(module.get_main()):
            raise _errors.make(
                -11,
                "TAGBUS_ELOAD",
                f"{NAME} is not for sub-interpreters: use it in the main interpreter, or start a process",
            )
        return


def _number(interpreter: Any) -> int:
    # 3.13 returns it in a tuple.
    return int(interpreter[0] if isinstance(interpreter, tuple) else interpreter)


def text(c: Any) -> str:
    """Return a text of C."""
    return "" if c == ffi.NULL else str(ffi.string(c), "utf-8", "replace")


def failure(code: Optional[int] = None) -> _errors.Error:
    """Return the last failure of this thread.

    Args:
      code: that a function has returned; without it the last one counts.
    """
    lib = load()
    if code is None:
        code = lib.tagbus_last_code()
    return _errors.make(code, text(lib.tagbus_error_name(code)), text(lib.tagbus_last_error()))


def fail(code: Optional[int] = None) -> NoReturn:
    """Raise the last failure of this thread."""
    raise failure(code)


def check(code: int) -> None:
    """Raise what a code stands for unless it is TAGBUS_OK."""
    if code != 0:
        fail(code)


def handle(h: Any) -> Any:
    """Return a handle, or raise why there is none."""
    if h == ffi.NULL:
        fail()
    return h


def version() -> str:
    """Return the version of the library."""
    return text(load().tagbus_version())
