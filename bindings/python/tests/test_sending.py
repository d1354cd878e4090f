# SPDX-License-Identifier: Apache-2.0
"""Ways to publish: without a copy, by writers, in batches that fail."""

import gc

import pytest

import tagbus
from conftest import Seen, catch, pair, take

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
