# SPDX-License-Identifier: Apache-2.0
"""Arrays as messages of C."""

from __future__ import annotations

from typing import Any, Tuple

from . import _errors
from ._batch import MESSAGE

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]


def _whole(name: str, values: Any, most: int) -> Any:
    """Return whole numbers as numpy has them; it would cut what does not fit."""
    array = np.asarray(values)
    if array.dtype.kind not in "iub":
        given = array.dtype
        if not isinstance(values, np.ndarray):  # of whole numbers on both sides of 2**63 numpy makes floats
            array = np.array(values, object)
        if array.dtype.kind != "O" or not all(isinstance(x, (int, np.integer)) for x in array.flat):
            raise TypeError(f"{name}: got {given}, want whole numbers")
    if array.size and not (0 <= int(array.min()) and int(array.max()) <= most):
        raise OverflowError(f"{name}: got {int(array.min())} to {int(array.max())}, want 0 to {most:#x}")
    return array


def gathered(tags: Any, array: Any, status: Any) -> Tuple[Any, Any]:
    """Return an array of tagbus_message, one for each array[i], and the array that they point into."""
    if np is None:
        raise _errors.Error("publish_array needs numpy (Debian: python3-numpy); publish_batch does not")
    array = np.asarray(array)
    if array.ndim == 0:
        raise ValueError("array has no dimension: publish publishes one message")
    array = np.ascontiguousarray(array)
    if array.dtype.hasobject:
        raise TypeError("array holds Python objects, want numbers")
    n = len(array)
    messages = np.zeros(n, MESSAGE)
    if n == 0:
        return messages, array
    size = array.nbytes // n
    if size >= 1 << 32:
        raise _errors.make(-6, "TAGBUS_ETOOLARGE", f"array: a message would have {size} bytes")
    messages["tag"] = _whole("tags", tags, (1 << 64) - 1)
    messages["status"] = _whole("status", status, 255)
    messages["size"] = size
    messages["data"] = np.uint64(array.ctypes.data) + np.arange(n, dtype=np.uint64) * np.uint64(size)
    return messages, array
