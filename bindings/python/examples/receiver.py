#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""receiver BUS TAGS COUNT [OPTIONS]: owns tags, and ends after COUNT messages."""

from __future__ import annotations

from typing import List

import _open


def run(args: List[str]) -> None:
    """Receive."""
    count, messages, size = int(args[2], 0), 0, 0
    with _open.bus(args[0], args[3:]) as bus, bus.receiver(args[1]) as receiver:
        while messages < count:
            batch = receiver.next()
            messages += len(batch)
            size += sum(len(m) for m in batch)
        receiver.drain(timeout=60)
    print(f"received {messages} messages, {size} bytes")


if __name__ == "__main__":
    _open.main("receiver BUS TAGS COUNT [OPTIONS]", run)
