# SPDX-License-Identifier: Apache-2.0
"""Arguments of Python as the texts that the library reads."""

from __future__ import annotations

import datetime
import operator
import os
from typing import Any, Dict, Iterable, Mapping, Tuple, Union

from ._lib import ffi

Tags = Union[str, int, range, Iterable[Union[str, int, range]]]

_SECONDS = {"heartbeat", "heartbeat_timeout", "expiry", "flush_interval", "max_stall", "timeout"}


def tag_set(tags: Tags) -> str:
    """Return a set of tags as text: of a text, a number, a range, or several of them."""
    if isinstance(tags, str):
        return tags
    if isinstance(tags, (bytes, bytearray, memoryview)) or tags is None:
        raise TypeError(f"tags: got {tags!r}, want a text, a number, a range, or several of them")
    if isinstance(tags, range):
        if not tags:
            return ""
        if abs(tags.step) == 1:
            first, last = sorted((tags[0], tags[-1]))
            return f"{_tag(first):#x}-{_tag(last):#x}"
        return ",".join(f"{_tag(t):#x}" for t in tags)
    try:
        return f"{_tag(operator.index(tags)):#x}"  # type: ignore[arg-type]
    except TypeError:
        pass
    try:
        several = iter(tags)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"tags: got {tags!r}, want a text, a number, a range, or several of them") from None
    return ",".join(tag_set(t) for t in several)


def _tag(number: int) -> int:
    if not 0 <= number < 1 << 64:
        raise OverflowError(f"tags: {number} is no tag: want 0 to 2**64-1")
    return number


def encode(argument: str, text: str) -> Any:
    """Return a text for C."""
    if not isinstance(text, str):
        raise TypeError(f"{argument}: got {text!r}, want a str")
    if "\0" in text:
        raise ValueError(f"{argument} has a character 0: {text!r}")
    try:
        # What os.fsdecode makes of names of files that are not UTF-8 goes back to the bytes that they have.
        return ffi.new("char[]", text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        raise ValueError(f"{argument} is not text: {text!r} has half a character") from None


def tags_text(tags: Any) -> Any:
    """Return a set of tags for C; None is NULL."""
    return ffi.NULL if tags is None else encode("tags", tag_set(tags))


def _value(name: str, value: Any) -> str:
    if isinstance(value, datetime.timedelta):
        return f"{value.total_seconds():.9f}s"
    if name in _SECONDS and isinstance(value, (int, float)):
        return f"{value:.9f}s"
    if name == "tags":
        return tag_set(value)
    if isinstance(value, (list, tuple)):
        return ",".join(_value(name, v) for v in value)
    if isinstance(value, (bytes, os.PathLike)):
        return os.fsdecode(value)
    return str(value)


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\\''") + "'"


def words(options: Mapping[str, Any]) -> Any:
    """Return keyword options as words: queue_bytes="64MiB" is --queue-bytes=64MiB."""
    out = []
    for name, value in options.items():
        if name == "on_loop" and value:
            raise ValueError(
                "on_loop is not for Python: a callback that waits for the GIL on the event loop stops the bus"
            )
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        out.append(flag if value is True else f"{flag}={_quoted(_value(name, value))}")
    return encode("options", " ".join(out))


_SUBSCRIBER_OPTIONS = {"name", "max_message_bytes", "queue_bytes", "retain_bytes", "heartbeat", "heartbeat_timeout", "on_loop"}


def split(options: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Return the options of a subscriber, and those of a subscription."""
    mine = {k: v for k, v in options.items() if k in _SUBSCRIBER_OPTIONS}
    return mine, {k: v for k, v in options.items() if k not in _SUBSCRIBER_OPTIONS}
