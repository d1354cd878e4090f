# SPDX-License-Identifier: Apache-2.0
"""Callbacks: on_batch, done, and what gathers; exceptions in each, and ends from each."""

import gc
import threading
import weakref

import pytest

import tagbus
from conftest import pair, take

np = pytest.importorskip("numpy")


def catch(monkeypatch):
    """Return what threading.excepthook is told; in the test itself, as pytest sets a hook of its own before."""
    said = Seen()
    monkeypatch.setattr(threading, "excepthook", lambda a: said(a.exc_value))
    return said


class Seen:
    """Collects what callbacks get, and wakes who waits for it."""

    def __init__(self):
        self.all, self.changed = [], threading.Condition()

    def __call__(self, *what):
        with self.changed:
            self.all.append(what[0] if what else None)
            self.changed.notify_all()

    def wait(self, n=1, timeout=30):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.all) >= n, timeout), self.all
            return list(self.all)


def listen(bus, on_batch, **options):
    """Return a publisher and a subscription with on_batch that have found each other."""
    p = bus.publisher("0x100-0x10f")
    s = bus.subscribe("0x100-0x10f", on_batch=on_batch, **options)
    s.wait(30)
    p.wait(1, timeout=30)
    return p, s


def test_on_batch(bus):
    seen, ended = Seen(), Seen()
    threads = set()

    def on_batch(batch):
        threads.add(threading.get_ident())
        for m in batch:
            seen(m)

    p, s = listen(bus, on_batch, on_end=ended)
    p.publish_batch([(0x100 + i % 16, b"%d" % i) for i in range(1000)])
    p.flush()
    assert [bytes(m) for m in seen.wait(1000)] == [b"%d" % i for i in range(1000)]
    assert len(threads) == 1 and threading.get_ident() not in threads
    with pytest.raises(tagbus.InvalidArgument, match="on_batch"):
        s.next(0)
    with pytest.raises(tagbus.InvalidArgument, match="on_batch"):
        s.fileno()
    s.close()
    p.close()
    assert bytes(seen.all[0]) == b"0"  # it keeps its page


def test_on_batch_goes_on_without_a_reference(bus):
    seen, ended = Seen(), Seen()
    p, s = listen(bus, seen, on_end=ended)
    gone = weakref.ref(s)
    del s
    gc.collect()
    p.publish(0x100, b"x")
    p.flush()
    seen.wait()
    p.close()
    bus.close()
    assert ended.wait() == [None]
    seen.all.clear()
    gc.collect()
    assert gone() is None


def test_an_exception_in_on_batch_is_reported(bus, monkeypatch):
    reported = catch(monkeypatch)
    seen = Seen()

    def on_batch(batch):
        seen(bytes(batch[0]))
        raise SystemExit("from on_batch")  # of any kind

    p, s = listen(bus, on_batch)
    for i in range(3):
        p.publish(0x100, b"%d" % i)
        p.flush()
        seen.wait(i + 1)
    s.close()
    p.close()
    assert [str(e) for e in reported.all] == ["from on_batch"] * 3


def test_close_in_on_batch(bus):
    seen, ended = Seen(), Seen()

    def on_batch(batch):
        s.close()
        seen()

    p, s = listen(bus, on_batch, on_end=ended)
    p.publish(0x100, b"x")
    p.flush()
    seen.wait()
    assert s.closed
    p.close()
    bus.close()
    assert len(ended.all) <= 1


def test_the_bus_is_not_closed_in_on_batch(bus, monkeypatch):
    reported = catch(monkeypatch)
    seen = Seen()

    def on_batch(batch):
        try:
            bus.close()
        except tagbus.WouldDeadlock as e:
            seen(e)

    p, s = listen(bus, on_batch)
    p.publish(0x100, b"x")
    p.flush()
    seen.wait()
    assert not bus.closed and reported.all == []


def test_batches_that_are_kept_hold_on_batch_up(bus, monkeypatch):
    reported = catch(monkeypatch)
    kept = Seen()
    p, s = listen(bus, kept, retain_bytes="1KiB")
    for i in range(3):
        p.publish(0x100, bytes(30000))
        p.flush()
    kept.wait(1)
    reported.wait()
    assert isinstance(reported.all[0], tagbus.LimitExceeded) and "retain" in str(reported.all[0])
    got = 0
    while got < 3:  # none is lost
        kept.wait(1)
        with kept.changed:
            got += sum(len(b) for b in kept.all)
            kept.all.clear()
    s.close()


def test_close_while_on_batch_is_held_up(bus, monkeypatch):
    reported = catch(monkeypatch)
    kept = Seen()
    p, s = listen(bus, kept, retain_bytes="1KiB")
    for i in range(3):
        p.publish(0x100, bytes(30000))
        p.flush()
    reported.wait()
    s.close()
    assert sum(len(b) for b in kept.all) < 3


def test_a_receiver_with_on_batch(bus):
    seen = Seen()
    with bus.receiver(0x500, on_batch=lambda b: [seen(bytes(m)) for m in b], events=seen) as r, bus.sender() as s:
        s.send_acked(0x500, b"one", timeout=30)
        s.send_acked(0x500, b"two", timeout=30)
        with pytest.raises(tagbus.InvalidArgument, match="on_batch"):
            r.next(0)
        seen.wait(3)
    assert [x for x in seen.all if isinstance(x, bytes)] == [b"one", b"two"]
    assert any(isinstance(x, tagbus.Event) and x.kind == "connected" for x in seen.all)


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
    p.flush()
    assert [m.tag for b in take(s, 4) for m in b] == [top, 1, top, 1]


def test_requests_beyond_the_limit_are_answered(bus):
    replies = bus.publisher(2)

    def answer(batch):
        for m in batch:
            replies.reply(m.request_id, 2, bytes(m)[::-1])
        replies.flush()

    with bus.receiver(1, on_batch=answer, retain_bytes=1), bus.requester(1, 2) as q:
        for size in (3, 60000):
            assert bytes(q.request(b"ab" * size, timeout=30)) == b"ba" * size
    replies.close()


def test_a_batch_that_an_interrupt_meets_comes_again(bus, monkeypatch):
    p, s = pair(bus)
    p.publish(0x100, b"kept")
    p.flush()

    def interrupted(place):
        raise KeyboardInterrupt

    with monkeypatch.context() as m:
        m.setattr("tagbus._subscriber.Batch", interrupted)
        with pytest.raises(KeyboardInterrupt):
            s.next(30)
    assert bytes(s.next(0)[0]) == b"kept"
