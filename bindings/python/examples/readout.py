#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""readout BUS TAG COUNT SIZE [OPTIONS]: publishes COUNT messages of SIZE bytes, once there is a subscriber."""

from __future__ import annotations

from typing import List

import _open


def run(args: List[str]) -> None:
    """Publish; the end of the with block drains."""
    tag, count, size = (int(a, 0) for a in args[1:4])
    with _open.bus(args[0], args[4:]) as bus, bus.publisher(tag) as publisher:
        publisher.wait()
        with publisher.writer() as writer:
            for i in range(1, count + 1):
                writer.add(tag, bytes([i % 256]) * size)
    print(f"published {count} messages")


if __name__ == "__main__":
    _open.main("readout BUS TAG COUNT SIZE [OPTIONS]", run)
