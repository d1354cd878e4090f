# SPDX-License-Identifier: Apache-2.0
"""What the benchmark programs in Python have in common: as c/bench.h, see there."""

import json
import os
import struct
import sys
import time

END_LANE = 0xFFFFFFFF
QUIET_ENDS = 20
HEADER = struct.Struct("<QIIq")  # sequence, lane, check, due


def options():
    """Return the flags as a dict."""
    o = {"role": "", "work": "throughput", "addr": "", "way": "", "size": "40", "seconds": "1"}
    o.update(a.lstrip("-").split("=", 1) for a in sys.argv[1:] if "=" in a)
    return o


def say(**line):
    print(json.dumps(line), flush=True)


def await_go():
    """Wait for the runner's line."""
    if not os.read(0, 3):
        sys.exit(1)


def check_of(sequence, lane):
    return (((sequence ^ lane << 32) * 0x9E3779B97F4A7C15) >> 32) & 0xFFFFFFFF


class Checker:
    """Counts what is received; its tag is the only one."""

    def __init__(self, size):
        self.size, self.received, self.corrupt, self.disordered, self.next = size, 0, 0, 0, 0
        self.seen, self.quiet = -1, 0

    def take(self, data):
        """Check a message. Return True if it was the last."""
        sequence, lane, check, _ = HEADER.unpack_from(data)
        if len(data) != self.size or check != check_of(sequence, lane):
            self.corrupt += 1
        elif lane == END_LANE:
            return self.end(sequence)
        else:
            self.disordered += sequence < self.next
            self.next = sequence + 1
            self.received += 1
        return False

    def end(self, total):
        self.quiet = self.quiet + 1 if self.seen == self.received else 0
        self.seen = self.received
        return self.received >= total or self.quiet >= QUIET_ENDS

    def report(self):
        say(role="sub", received=self.received, corrupt=self.corrupt, disordered=self.disordered, last_ns=time.monotonic_ns())


def ping(o, exchange):
    """Send messages, and wait for the answer to each."""
    rest = bytes((i * 31 + (i >> 8)) & 0xFF for i in range(HEADER.size, int(o["size"])))
    times, corrupt = [], 0
    start = end = time.monotonic_ns()
    until = start + int(float(o["seconds"]) * 1e9)
    while end < until:
        n, sent = len(times), time.monotonic_ns()
        message = HEADER.pack(n, 0, check_of(n, 0), sent) + rest
        if exchange(message) != message:
            corrupt += 1
        end = time.monotonic_ns()
        times.append(end - sent)
    n = len(times)
    times = sorted(times[n // 10 :])
    latency = {"count": len(times), "p50": times[len(times) // 2], "max": times[-1]}
    say(role="pub", sent=n, start_ns=start, end_ns=end, corrupt=corrupt, latency=latency)
    sys.stdin.read()
