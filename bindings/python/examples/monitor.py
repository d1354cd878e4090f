#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""monitor BUS TAGS COUNT [OPTIONS]: subscribes, and ends after COUNT messages, lost ones included."""

from __future__ import annotations

import sys
from typing import List

import _open
import tagbus


def run(args: List[str]) -> None:
    """Count."""
    count, messages, size, lost = int(args[2], 0), 0, 0, 0

    def on_event(event: tagbus.Event) -> None:
        nonlocal lost
        print(f"monitor: {event.text}", file=sys.stderr)
        if event.kind == "gap":
            lost += event.count

    with _open.bus(args[0], args[3:]) as bus, bus.subscribe(args[1], events=on_event) as subscription:
        while messages + lost < count:
            try:
                batch = subscription.next(timeout=1)
            except tagbus.Timeout:  # to look at what is lost
                continue
            messages += len(batch)
            size += sum(len(m) for m in batch)
    print(f"received {messages} messages, {size} bytes, {lost} lost")


if __name__ == "__main__":
    _open.main("monitor BUS TAGS COUNT [OPTIONS]", run)
