# SPDX-License-Identifier: Apache-2.0
"""Ways to publish: without a copy, by writers, in batches that fail."""

import gc
import types

import pytest

import tagbus
from conftest import Seen, catch, pair, take
from tagbus import _publisher as sending
from tagbus import _waiting
from tagbus._lib import load

np = pytest.importorskip("numpy")


def test_zero_copy(bus):
    done = Seen()
    p, s = pair(bus)
    sizes = (0, 10, 100_000, 1_000_000)
    data = [bytearray(b"%d" % (i % 10) * n) for i, n in enumerate(sizes)]
    for d in data:
        p.publish_zero_copy(0x101, d, done, status=7)
    p.flush()
    got = [m for b in take(s, 4) for m in b]
    assert [(bytes(m), m.status) for m in got] == [(bytes(d), 7) for d in data]
    done.wait(4)
    del got
    for d in data:
        d.append(1)  # it is lent no more
    p.publish_zero_copy(0x101, np.arange(50_000, dtype="<u4"))  # the only reference
    p.flush()
    gc.collect()
    assert (s.next(30).array("<u4")[0] == np.arange(50_000)).all()


def test_zero_copy_fails(bus, monkeypatch):
    reported = catch(monkeypatch)
    p, s = pair(bus)
    data = bytearray(10)
    with pytest.raises(tagbus.UnknownTag):
        p.publish_zero_copy(0x999, data, lambda: pytest.fail("done was called"))
    data.append(1)
    with pytest.raises(TypeError, match="done"):
        p.publish_zero_copy(0x100, data, done=3)

    def fails():
        raise RuntimeError("from done")

    p.publish_zero_copy(0x100, data, fails)
    p.flush()
    take(s, 1)
    p.drain(timeout=30)
    p.close()
    assert [str(e) for e in reported.all] == ["from done"]


def test_writer(bus):
    p, s = pair(bus)
    sent = [(0x100 + i % 16, b"%d" % i * (i % 50), i % 256) for i in range(3000)]
    with p.writer() as w:
        for tag, data, status in sent:
            w.add(tag, bytearray(data), status)
        assert 0 < len(w) <= 512
        w.add(0x100, bytes(100_000))
    assert len(w) == 0
    p.flush()
    got = [(m.tag, bytes(m), m.status) for b in take(s, 3001) for m in b]
    assert got == [*sent, (0x100, bytes(100_000), 0)]


def test_writer_after_an_error(bus):
    p, s = pair(bus)
    w = p.writer()
    for tag in (0x100, 0x101, 0x999, 0x102):
        w.add(tag, b"x")
    with pytest.raises(tagbus.UnknownTag):
        w.flush()
    assert len(w) == 2  # the one that is refused, and what is behind it
    for args, error in (((0x100, "text"), TypeError), ((0x100, 5), TypeError), ((-1, b""), OverflowError), ((1, b"", 256), OverflowError)):
        with pytest.raises(error):
            w.add(*args)
    p.add(0x999)
    p.flush()  # of the publisher, too
    assert len(w) == 0 and len([m for b in take(s, 3) for m in b]) == 3
    w.add(0x100, b"lost")
    with pytest.warns(ResourceWarning, match="lost"):
        del w
        gc.collect()


def test_writer_publishes_before_an_exception(bus):
    p, s = pair(bus)
    with pytest.raises(RuntimeError):
        with p.writer() as w:
            w.add(0x100, b"before")
            raise RuntimeError
    p.flush()
    assert bytes(s.next(30)[0]) == b"before"


def test_publish_batch_of_what_fails(bus):
    p, s = pair(bus)

    def source():
        yield from ((0x100, b"x") for _ in range(700))
        raise RuntimeError("of the source")

    with pytest.raises(RuntimeError) as e:
        p.publish_batch(source())
    assert e.value.accepted == 700
    with pytest.raises(TypeError) as e:
        p.publish_batch([(0x100, b"x"), (0x100, None)])
    assert e.value.accepted == 1
    p.flush()
    take(s, 701)


@pytest.mark.parametrize(
    "tags, array, status, error",
    [
        (-1, [[1]], 0, OverflowError),
        (1 << 64, [[1]], 0, OverflowError),
        (0x100, [[1]], 256, OverflowError),
        ([0x100, -1], [[1], [2]], 0, OverflowError),
        ([1 << 63, -1], [[1], [2]], 0, OverflowError),
        ([1 << 64, 1], [[1], [2]], 0, OverflowError),
        ([1 << 63, 1.5], [[1], [2]], 0, TypeError),
        ([1 << 63, "1"], [[1], [2]], 0, TypeError),
        (1.5, [[1]], 0, TypeError),
        ([0x100] * 3, [[1], [2]], 0, ValueError),
    ],
)
def test_publish_array_cuts_nothing(bus, tags, array, status, error):
    p = bus.publisher("0x100-0x10f")
    with pytest.raises(error):
        p.publish_array(tags, np.array(array, "<u4"), status)
    p.close()


def test_tags_of_a_writer_and_an_array_have_64_bits(bus):
    top = (1 << 64) - 1
    p, s = pair(bus, tags=[top, 1])
    with p.writer() as w:
        w.add(top, b"a"), w.add(1, b"b")
    p.publish_array(np.array([top, 1], np.uint64), [[1], [2]])
    p.publish_array([1, top], [[1], [2]])  # of these numpy makes floats
    p.flush()
    assert [m.tag for b in take(s, 6) for m in b] == [top, 1, top, 1, 1, top]


def test_the_end_of_a_bus_drains_each(folder, monkeypatch):
    drained = []

    def drain(self, failure=None, timeout=None):
        drained.append(self)
        raise tagbus.Undelivered(f"the {len(drained)}.")

    monkeypatch.setattr(tagbus.Publisher, "drain", drain)
    with pytest.raises(tagbus.Undelivered, match="the 1."):
        with tagbus.Bus(folder) as bus:
            publishers = [bus.publisher(tag) for tag in range(3)]
    assert len(drained) == 3 and all(p.closed for p in publishers) and bus.closed


class Full:
    """Has no room for messages, and a clock that counts how long it is waited for."""

    def __init__(self, monkeypatch):
        self.waits = []
        monkeypatch.setattr(_waiting, "time", types.SimpleNamespace(monotonic=lambda: sum(self.waits) / 1000))
        monkeypatch.setattr(sending, "load", lambda: self)
        monkeypatch.setattr(sending, "failure", lambda code: tagbus.NoRoom())

    def __getattr__(self, name):
        return getattr(load(), name)

    def tagbus_publish(self, h, tag, data, n, status, ms):
        self.waits.append(ms)
        return -3

    def tagbus_publish_batch(self, h, c, n, ms):
        self.waits.append(ms)
        assert len(self.waits) < 100
        return 0


@pytest.mark.parametrize("of_the_writer", [None, 0.1, 60])
def test_drain_has_a_timeout_for_writers_too(bus, monkeypatch, of_the_writer):
    p, s = pair(bus)
    w = p.writer(of_the_writer)
    w.add(0x100, b"x")
    full = Full(monkeypatch)
    with pytest.raises(tagbus.NoRoom):
        p.drain(timeout=0.5)
    monkeypatch.undo()
    assert 0 <= sum(full.waits) / 1000 - min(of_the_writer or 1, 0.5) < 0.01 and len(w) == 1
    w.flush()
    assert len(w) == 0


def looks(monkeypatch, p, error):
    """Have a publisher raise an error at its second look, before which C accepts a part of what it gets."""
    seen = []

    def look():
        seen.append(1)
        if len(seen) == 2:
            raise error

    class Part:
        def __init__(self, lib):
            self._lib = lib

        def __getattr__(self, name):
            return getattr(self._lib, name)

        def tagbus_publish_batch(self, h, c, n, ms):
            return self._lib.tagbus_publish_batch(h, c, min(n, 300), ms)

    monkeypatch.setattr(p, "_look", look)
    monkeypatch.setattr(sending, "load", lambda: Part(load()))
    monkeypatch.setattr(sending, "failure", lambda code: tagbus.NoRoom())


@pytest.mark.parametrize("error", [tagbus.Refused("by a peer"), KeyboardInterrupt()])
def test_what_comes_between_says_what_is_accepted(bus, monkeypatch, error):
    p, s = pair(bus)
    looks(monkeypatch, p, error)
    with pytest.raises(type(error)) as e:
        p.publish_batch((0x100, b"x") for _ in range(1000))
    assert e.value.accepted == 300
    looks(monkeypatch, p, error)
    with pytest.raises(type(error)) as e:
        p.publish_array(0x100, np.zeros((1000, 1), "u1"))
    assert e.value.accepted == 300
    monkeypatch.undo()
    p.flush()
    take(s, 600)


@pytest.mark.parametrize("error", [tagbus.Refused("by a peer"), KeyboardInterrupt()])
def test_a_writer_sends_nothing_twice(bus, monkeypatch, error):
    p, s = pair(bus)
    w = p.writer()
    for i in range(400):
        w.add(0x100, b"%d" % i)
    looks(monkeypatch, p, error)
    with pytest.raises(type(error)):
        w.flush()
    monkeypatch.undo()
    assert len(w) == 100
    p.flush()
    assert [bytes(m) for b in take(s, 400) for m in b] == [b"%d" % i for i in range(400)]


@pytest.mark.parametrize("timeout", [0.05, 0.1, 0.15])
def test_publish_waits_no_longer_than_it_may(bus, monkeypatch, timeout):
    p = bus.publisher(0x100)
    full = Full(monkeypatch)
    with pytest.raises(tagbus.Error):
        p.publish(0x100, b"x", timeout=timeout)
    monkeypatch.undo()
    p.close()
    assert 0 <= sum(full.waits) / 1000 - timeout < 0.01
