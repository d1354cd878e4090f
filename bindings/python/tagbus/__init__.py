# SPDX-License-Identifier: Apache-2.0
"""Publish and subscribe by tag on a bus for detector readout.

    import tagbus

    with tagbus.Bus("/tmp/bus") as bus:
        for batch in bus.subscribe("0x100-0x10f"):
            print(batch.tags, batch.counters, batch.sizes)

docs/python.md leads to the first message in ten minutes, and has recipes.
What is promised (order, loss, acknowledgement, bounds) is in
docs/guarantees.md. Every object may be used from several threads. Waiting
leaves the GIL free, and KeyboardInterrupt comes within 0.2 s. A child of
os.fork cannot use what its parent has opened (Forked).
"""

from ._batch import Batch, Message
from ._bus import Bus
from ._errors import (
    Closed,
    Denied,
    End,
    Error,
    Forked,
    Gap,
    InternalError,
    InvalidArgument,
    LimitExceeded,
    LoadError,
    NoPublisher,
    NoReceiver,
    NoReply,
    NoRoom,
    Refused,
    SystemFailure,
    TooLarge,
    Timeout,
    Unacked,
    Undelivered,
    UnknownTag,
    Vanished,
    WouldDeadlock,
)
from ._events import Event
from ._lib import version
from ._publisher import Publisher, Sender
from ._recording import Recorded, Recording
from ._requester import Requester
from ._subscriber import Receiver, Subscriber, Subscription
from ._writer import Writer

__all__ = [
    "Batch",
    "Bus",
    "Closed",
    "Denied",
    "End",
    "Error",
    "Event",
    "Forked",
    "Gap",
    "InternalError",
    "InvalidArgument",
    "LimitExceeded",
    "LoadError",
    "Message",
    "NoPublisher",
    "NoReceiver",
    "NoReply",
    "NoRoom",
    "Publisher",
    "Receiver",
    "Recorded",
    "Recording",
    "Refused",
    "Requester",
    "Sender",
    "Subscriber",
    "Subscription",
    "SystemFailure",
    "Timeout",
    "TooLarge",
    "Unacked",
    "Undelivered",
    "UnknownTag",
    "Vanished",
    "WouldDeadlock",
    "Writer",
    "version",
]
