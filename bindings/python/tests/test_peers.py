# SPDX-License-Identifier: Apache-2.0
"""Against the programs of Go, with equal counts; and memory over many messages."""

import gc
import re
import sys
import threading

import pytest

import tagbus
from conftest import ALL, pair
from tagbus import _calls

np = pytest.importorskip("numpy")

MANY = 10_000_000 if ALL else 1_000_000


def test_from_a_publisher_of_go(bus, folder, programs):
    n = 200_000
    with bus.subscribe("0x100-0x10f", events="raise") as s:
        p = programs.tool(
            "publisher", "--bus", folder, "--tags", "0x100-0x10f", "--emulate", "40-400", "--count", n, "--wait-subscribers", 1
        )
        last, got, size = {}, 0, 0
        while got < n:
            b = s.next(30)
            got += len(b)
            size += int(b.sizes.sum())
            for tag in np.unique(b.tags).tolist():
                c = b.counters[b.tags == tag]
                assert c[0] == last.get(tag, 0) + 1 and (np.diff(c) == 1).all()
                last[tag] = int(c[-1])
        out, err = p.communicate(timeout=30)
        assert p.returncode == 0, err
    assert got == n and sum(last.values()) == n and size >= 40 * n


def test_to_a_subscriber_of_go(bus, folder, programs):
    n = 100_000
    rows = np.arange(n * 10, dtype="<u4").reshape(n, 10)
    with bus.publisher("0x100-0x103") as p:
        sub = programs.tool("subscriber", "--bus", folder, "--tags", "0x100-0x103", "--count", n, "--duration", "60s", text=True)
        p.wait(timeout=30)
        assert p.publish_array(0x100 + np.arange(n) % 4, rows) == n
    out, err = sub.communicate(timeout=60)
    assert sub.returncode == 0, err
    assert re.search(r"100,?000", out + err), out + err


def test_sender_to_a_receiver_of_go(bus, folder, programs):
    sub = programs.tool(
        "subscriber", "--receive", "--bus", folder, "--tags", "0x200", "--count", 1001, "--duration", "60s"
    )
    with bus.sender(0x200) as s:
        s.wait(timeout=30)
        s.send_acked(0x200, b"first", timeout=30)
        for i in range(1000):
            s.send(0x200, b"%d" % i, timeout=30)
    out, err = sub.communicate(timeout=60)
    assert sub.returncode == 0, err


def test_receiver_from_a_sender_of_go(bus, folder, programs):
    n = 10_000
    with bus.receiver("0x200-0x20f") as r:
        p = programs.tool("publisher", "--send", "--bus", folder, "--tags", "0x200-0x20f", "--emulate", 40, "--count", n)
        got = 0
        while got < n:
            got += len(r.next(30))
        out, err = p.communicate(timeout=30)
        assert p.returncode == 0, err
    assert got == n


def test_a_killed_publisher(bus, folder, programs):
    with bus.subscribe(1, events="raise") as s:
        p = programs.tool("publisher", "--bus", folder, "--tags", 1, "--emulate", 40, "--rate", "1k", "--wait-subscribers", 1)
        s.next(30)
        p.kill()
        with pytest.raises((tagbus.Vanished, tagbus.Gap)):
            while True:
                try:
                    s.next(60)
                except tagbus.Refused:  # it is in the directory for some seconds
                    pass


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def test_memory(bus):
    p, s = pair(bus)
    rows = np.zeros((4096, 40), np.uint8)

    def flood():
        sent = 0
        while sent < MANY:
            sent += p.publish_array(0x100, rows)
        p.flush()

    t = threading.Thread(target=flood)
    t.start()
    got, early, objects = 0, 0, 0
    while got < MANY:
        b = s.next(30)
        assert int(b.counters[0]) == got + 1
        b.array("<u4"), b[0], b.tags
        got += len(b)
        if early == 0 and got > MANY // 4:
            gc.collect()
            early, objects = resident(), len(gc.get_objects())
    t.join()
    del b
    gc.collect()
    assert resident() - early < 16 << 20
    assert len(gc.get_objects()) - objects < 1000


def test_memory_of_callbacks(bus):
    """What is lent comes back, and handlers keep nothing."""
    n, got, done, end = MANY // 100, [0], [0], threading.Event()

    def on_batch(batch):
        got[0] += len(batch)
        batch.array("<u4")
        if got[0] == n:
            end.set()

    def on_done():
        done[0] += 1

    p = bus.publisher(1)
    s = bus.subscribe(1, on_batch=on_batch)
    s.wait(30), p.wait(timeout=30)
    data = bytes(40)
    with p.writer() as w:
        for i in range(n):
            if i == n // 4:
                early, objects = resident(), len(gc.get_objects())
            if i % 2:
                w.add(1, data)
            else:
                p.publish_zero_copy(1, data, on_done)
    p.flush()
    assert end.wait(60)
    p.drain(timeout=30)
    p.close()
    s.close()
    assert done[0] == n // 2 and not _calls._loans
    gc.collect()
    assert resident() - early < 16 << 20
    assert len(gc.get_objects()) - objects < 1000


def test_memory_of_many_callbacks(bus):
    """On the path of on_batch, too, memory and references stay as they are."""
    got, early, more = [0], [], threading.Condition()
    rows = np.zeros((4096, 40), np.uint8)

    def on_batch(batch):
        assert int(batch.counters[0]) == got[0] + 1 and batch.array("<u4").shape == (len(batch), 10)
        batch[0], batch.tags
        if not early and got[0] > MANY // 4:
            gc.collect()
            early.extend([resident(), len(gc.get_objects()), sys.getrefcount(None), sys.getrefcount(type(batch))])
        with more:
            got[0] += len(batch)
            more.notify()

    with bus.publisher(1) as p, bus.subscribe(1, on_batch=on_batch) as s:
        s.wait(30), p.wait(timeout=30)
        sent = 0
        while sent < MANY:
            sent += p.publish_array(1, rows)
        p.flush()
        with more:
            assert more.wait_for(lambda: got[0] >= sent, 600)
        p.drain(timeout=60)
        stats = s.stats()
    assert got[0] == sent == stats["Messages"] and stats["Lost"] == 0
    gc.collect()
    assert resident() - early[0] < 16 << 20
    assert len(gc.get_objects()) - early[1] < 1000
    assert abs(sys.getrefcount(None) - early[2]) < 1000
    assert abs(sys.getrefcount(tagbus.Batch) - early[3]) < 10


def test_open_and_close(folder):
    """Handles do not pile up."""
    with tagbus.Bus(folder) as bus:
        for i in range(120 if not ALL else 3000):
            if i == 50:
                early = resident()
            with bus.publisher(1, events=lambda e: None), bus.subscribe(1, events=lambda e: None):
                pass
    assert resident() - early < 16 << 20
