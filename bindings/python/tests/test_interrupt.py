# SPDX-License-Identifier: Apache-2.0
"""KeyboardInterrupt in each call that waits."""

import json
import os
import signal
import time

import pytest

# Each call that waits: what it needs, and the call.
WAITS = {
    "next": ("s = bus.subscribe(1)", "s.next()"),
    "next with a timeout": ("s = bus.subscribe(1)", "s.next(60)"),
    "iteration": ("s = bus.subscribe(1)", "next(iter(s))"),
    "asyncio": ("s = bus.subscribe(1)", "asyncio.run(s.anext())"),
    "subscription wait": ("s = bus.subscribe(1)", "s.wait()"),
    "publisher wait": ("p = bus.publisher(1)", "p.wait()"),
    "publish": ("p, s = full()", "repeat(lambda: p.publish(1, b'x' * 1000))"),
    "publish_zero_copy": ("p, s = full()", "repeat(lambda: p.publish_zero_copy(1, b'x' * 1000))"),
    "publish_batch": ("p, s = full()", "p.publish_batch(itertools.repeat((1, b'x' * 1000)))"),
    "writer": ("p, s = full(); w = p.writer()", "repeat(lambda: w.add(1, b'x' * 1000))"),
    "drain": ("p, s = full(); fill(p)", "p.drain()"),
    "send": ("s = bus.sender()", "s.send(1, b'x')"),
    "send_acked": ("s = bus.sender()", "s.send_acked(1, b'x')"),
    "sender wait": ("s = bus.sender(1)", "s.wait()"),
    "request": ("r = bus.receiver(1); q = bus.requester(1, 2, timeout=60)", "q.request(b'x')"),
    "close": ("p = bus.publisher(1); s = stuck(p)", "s.close()"),
}

INTERRUPTED = """
import asyncio, itertools, json, sys, threading, time
import tagbus

bus = tagbus.Bus(sys.argv[1])
go_on = threading.Event()

def full():
    p, s = bus.publisher(1, queue_bytes="2MiB"), bus.subscribe(1, queue_bytes="2MiB")
    s.wait(); p.wait()
    return p, s

def fill(p):
    try:
        while True:
            p.publish(1, b"x" * 1000, timeout=0)
    except tagbus.NoRoom:
        pass

def stuck(p):
    inside = threading.Event()
    s = bus.subscribe(1, on_batch=lambda b: (inside.set(), go_on.wait(60)))
    s.wait(); p.wait(); p.publish(1, b"x"); p.flush(); inside.wait(60)
    return s

def repeat(call):
    while True:
        call()

for need, call in json.loads(sys.argv[2]):
    go_on.clear()
    exec(need)
    code = compile(call, "call", "eval")  # else CPython ends with status -2
    try:
        print("waits", flush=True)
        eval(code)
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
    go_on.set()
    bus.close()
    bus = tagbus.Bus(sys.argv[1])
"""


def asleep(child):
    """Wait until the main thread of a process sleeps."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with open(f"/proc/{child.pid}/stat") as f:
            if f.read().rsplit(")", 1)[1].split()[0] == "S":
                return
    pytest.fail("it does not sleep")


def test_keyboard_interrupt(folder, programs):
    """One process makes all calls: it starts for longer than it runs."""
    child = programs.python(INTERRUPTED, folder, json.dumps(list(WAITS.values())))
    late = {}
    for name in WAITS:
        assert child.stdout.readline() == "waits\n", child.stderr.read()
        asleep(child)  # in that call, or soon: if it is not, the test passes too easily, and no more
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        line = child.stdout.readline()
        assert line, (name, child.stderr.read())
        late[name] = float(line) - began
    assert child.wait(60) == 0, child.stderr.read()
    # A busy machine takes its time: to most of them it does not, and more than that is none of its doing.
    assert sorted(late.values())[len(late) // 2] < 0.2 + 0.8 * (os.getloadavg()[0] > 1), late
    assert max(late.values()) < 5, late
