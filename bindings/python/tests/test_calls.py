# SPDX-License-Identifier: Apache-2.0
"""on_batch: exceptions in it, ends from it, and what it holds."""

import gc
import threading
import weakref

import pytest

import tagbus
from conftest import Seen, catch, pair

np = pytest.importorskip("numpy")


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


@pytest.mark.parametrize("what", ["subscription", "subscriber", "bus"])
def test_close_while_on_batch_is_held_up(bus, monkeypatch, what):
    reported = catch(monkeypatch)
    kept = Seen()
    p, s = listen(bus, kept, retain_bytes="1KiB")
    for i in range(3):
        p.publish(0x100, bytes(30000))
        p.flush()
    reported.wait()
    {"subscription": s, "subscriber": s._subscriber, "bus": bus}[what].close()
    s.close()
    assert sum(len(b) for b in kept.all) < 3


def test_a_close_that_is_refused_loses_nothing(bus, monkeypatch):
    reported = catch(monkeypatch)
    kept, refused = Seen(), Seen()

    def on_batch(batch):
        with pytest.raises(tagbus.WouldDeadlock):
            bus.close()
        refused()
        kept(batch)

    p, s = listen(bus, on_batch, retain_bytes="1KiB")
    for i in range(3):
        p.publish(0x100, bytes(30000))
        p.flush()
    reported.wait()  # it waits
    got = 0
    while got < 3:
        kept.wait(1)
        with kept.changed:
            got += sum(len(b) for b in kept.all)
            kept.all.clear()
    assert len(refused.all) == 3 and all(isinstance(e, tagbus.LimitExceeded) for e in reported.all)
    s.close()


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


def test_on_batch_takes_no_events_that_are_raised(bus):
    """None of its calls would raise them, and they would wait for ever."""
    with bus.subscriber(events="raise") as s:
        for call in (lambda: s.subscribe(1, on_batch=print), lambda: bus.subscribe(1, on_batch=print, events="raise"),
                     lambda: bus.receiver(1, on_batch=print, events="raise")):  # fmt: skip
            with pytest.raises(ValueError, match="events"):
                call()
        s.subscribe(1).close()
