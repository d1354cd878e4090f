#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sender BUS TAG COUNT [OPTIONS]: sends COUNT messages to the receiver that owns the tag."""

from __future__ import annotations

from typing import List

import _open


def run(args: List[str]) -> None:
    """Send; the end of the with block drains."""
    tag, count = int(args[1], 0), int(args[2], 0)
    with _open.bus(args[0], args[3:]) as bus, bus.sender(tag) as sender:
        for i in range(1, count + 1):
            sender.send(tag, b"message %d" % i)
    print(f"sent {count} messages")


if __name__ == "__main__":
    _open.main("sender BUS TAG COUNT [OPTIONS]", run)
