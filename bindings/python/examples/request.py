#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""request BUS device|ask COUNT [OPTIONS]: a device that doubles numbers, and a program that asks it.

The device owns tag 1, and publishes replies with tag 2.
"""

from __future__ import annotations

import itertools
from typing import List

import _open
import tagbus

COMMAND, REPLY = 1, 2


def device(bus: tagbus.Bus, count: int) -> None:
    """Answer so many commands."""
    with bus.publisher(REPLY) as replies, bus.receiver(COMMAND) as commands:
        for m in itertools.islice(commands.messages(), count):
            if m.request_id is not None:
                replies.reply(m.request_id, REPLY, b"%d" % (2 * int(bytes(m))))
        replies.drain(timeout=60)
    print(f"answered {count} commands")


def ask(bus: tagbus.Bus, count: int) -> None:
    """Ask so many times."""
    with bus.requester(COMMAND, REPLY) as requester:
        for i in range(1, count + 1):
            reply = bytes(requester.request(b"%d" % i, timeout=60))
            if int(reply) != 2 * i:
                raise ValueError(f"{i} doubled is not {reply!r}")
    print(f"asked {count} times")


def run(args: List[str]) -> None:
    """Be one or the other."""
    with _open.bus(args[0], args[3:]) as bus:
        (device if args[1] == "device" else ask)(bus, int(args[2], 0))


if __name__ == "__main__":
    _open.main("request BUS device|ask COUNT [OPTIONS]", run)
