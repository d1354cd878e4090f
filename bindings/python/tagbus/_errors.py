# SPDX-License-Identifier: Apache-2.0
"""Errors: a class for each code of tagbus.h."""

from __future__ import annotations

from typing import Dict, Optional, Type


class Error(Exception):
    """The base of all errors of this package.

    Attributes:
      code: the code of tagbus.h, such as -3.
      name: its name, such as "TAGBUS_ETIMEOUT".
      accepted: of publish_batch and publish_array: how many messages, the
        first ones, are published all the same.
      event: the Event of a Gap, Refused or Vanished.
    """

    code: int = 0
    name: str = ""
    accepted: int = 0
    event: Optional[object] = None


class InvalidArgument(Error, ValueError):
    """An argument or option makes no sense; the text names it."""


class Closed(Error):
    """The object, or what it belongs to, is closed."""


class Timeout(Error, TimeoutError):
    """The time is over, and nothing has changed."""


class NoRoom(Error):
    """Nothing was published, as queues are full: wait, or try later."""


class UnknownTag(Error, LookupError):
    """The publisher or sender does not have the tag."""


class TooLarge(Error, ValueError):
    """The message is larger than max_message_bytes."""


class NoReceiver(Error):
    """No receiver owns the tag."""


class Denied(Error):
    """A policy or certificate does not allow it."""


class Forked(Error):
    """The bus was opened by the parent of this process.

    A child of os.fork cannot use it. Open the bus after the fork, in a parent
    that has none open, or start children with the method "spawn" or
    "forkserver" of multiprocessing.
    """


class WouldDeadlock(Error):
    """The call would wait for the callback that makes it."""


class LoadError(Error, ImportError):  # type: ignore[misc]
    """libtagbus.so, or the core that it loads, cannot be loaded."""


class LimitExceeded(Error):
    """A limit is reached, such as retain_bytes."""


class End(Error, EOFError):
    """The subscription has ended, and all of it was delivered."""


class Undelivered(Error):
    """Drained, but not all peers have confirmed all."""


class Unacked(Error):
    """Sent, and perhaps not handled."""


class NoReply(Error):
    """Sent, and not answered."""


class SystemFailure(Error):
    """The system or the network fails; the text names call and cause."""


class InternalError(Error):
    """A fault of the library; the text is for its authors."""


class NoPublisher(Error):
    """No publisher has acknowledged the subscription within its timeout."""


class Gap(Error):
    """Messages were lost (events="raise"); event has tag and count."""


class Refused(Error):
    """A peer refuses the connection or subscription (events="raise")."""


class Vanished(Error):
    """A publisher is gone without goodbye (events="raise")."""


_CLASSES: Dict[int, Type[Error]] = {
    -1: InvalidArgument,
    -2: Closed,
    -3: Timeout,
    -4: NoRoom,
    -5: UnknownTag,
    -6: TooLarge,
    -7: NoReceiver,
    -8: Denied,
    -9: Forked,
    -10: WouldDeadlock,
    -11: LoadError,
    -12: LimitExceeded,
    -13: End,
    -14: Undelivered,
    -15: Unacked,
    -16: NoReply,
    -17: SystemFailure,
    -18: InternalError,
    -19: NoPublisher,
}


def make(code: int, name: str, text: str) -> Error:
    """Return the error of a code."""
    error = _CLASSES.get(code, Error)(text or name)
    error.code, error.name = code, name
    return error
