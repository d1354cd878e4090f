# SPDX-License-Identifier: Apache-2.0
"""Requester: commands and their replies."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Optional

from ._batch import Batch, Message, incoming
from ._handle import Handle, counters
from ._lib import check, load
from ._publisher import Sender
from ._subscriber import Subscriber
from ._waiting import interruptible, milliseconds
from ._writer import Data, buffer


class Requester(Handle):
    """Sends commands and waits for their replies; Bus.requester opens one."""

    _closer = "tagbus_requester_close"

    def __init__(self, h: Any, bus: Handle, sender: Sender, subscriber: Subscriber, owned: Iterable[Handle]):
        super().__init__(h, bus)
        self._uses = sender, subscriber  # which must not be collected before
        self._owned = list(owned)

    def request(self, command: Data, timeout: Optional[float] = None) -> Message:
        """Send a command and return its reply.

        Raises:
          NoReply: it is sent, and not answered.
        """
        memory, lib, ms = buffer(command), load(), milliseconds(timeout)

        def call() -> Batch:
            place = incoming()
            check(lib.tagbus_request(self._h, memory, len(memory), place, ms))
            return Batch(place)

        return interruptible(call)[0]

    def stats(self) -> Dict[str, Any]:
        """Return its counters, in the names of the Go package bus."""
        return counters(self._h)

    def close(self) -> None:
        """Close it, and the sender and subscriber that were opened for it."""
        try:
            super().close()
        finally:
            while self._owned:
                self._owned.pop().close()
