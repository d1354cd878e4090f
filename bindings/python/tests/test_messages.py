# SPDX-License-Identifier: Apache-2.0
"""Messages: published in each way, received in each way."""

import gc
import select
import threading

import pytest

import tagbus
from conftest import pair, take
from tagbus._options import tag_set

np = pytest.importorskip("numpy")


def test_one_message(bus):
    p, s = pair(bus)
    p.publish(0x100, b"hello", status=3)
    p.flush()
    b = s.next(10)
    assert (len(b), b.tags[0], b.counters[0], b.sizes[0], b.status[0]) == (1, 0x100, 1, 5, 3)
    m = b[0]
    assert (bytes(m), m.tag, m.counter, m.status, len(m), m.request_id) == (b"hello", 0x100, 1, 3, 5, None)
    assert bytes(b.page[b.offsets[0] :][:5]) == b"hello"
    assert bytes(b[-1]) == b"hello"
    with pytest.raises(IndexError, match="message 1 of a batch of 1"):
        b[1]


@pytest.mark.parametrize("data", [b"", bytearray(b"abc"), memoryview(b"abcdef")[1:3], np.arange(3, dtype="<u2"), b"x" * 60000])
def test_data_of_any_kind(bus, data):
    p, s = pair(bus)
    p.publish(0x101, data)
    p.flush()
    assert bytes(s.next(10)[0]) == bytes(data)


def test_publish_batch_and_messages(bus):
    p, s = pair(bus)
    sent = [(0x100 + i % 16, str(i).encode() * (i % 7), i % 256) for i in range(2000)]
    assert p.publish_batch(iter(sent)) == 2000
    p.flush()
    got = [(m.tag, bytes(m), m.status) for b in take(s, 2000) for m in b]
    assert got == sent


def test_a_refused_message_of_a_batch(bus):
    p, s = pair(bus)
    with pytest.raises(tagbus.UnknownTag) as e:
        p.publish_batch([(0x100, b"a"), (0x101, b"b"), (0x999, b"c"), (0x102, b"d")])
    assert (e.value.accepted, e.value.code, e.value.name) == (2, -5, "TAGBUS_EUNKNOWNTAG")
    p.flush()
    assert [bytes(m) for b in take(s, 2) for m in b] == [b"a", b"b"]


def test_received_messages_are_published_again(bus):
    p, s = pair(bus)
    p.publish_batch([(0x100, b"a", 1), (0x101, b"b", 2)])
    p.flush()
    for b in take(s, 2):
        p.publish_batch(b)
    p.flush()
    assert [(m.tag, bytes(m), m.status) for b in take(s, 2) for m in b] == [(0x100, b"a", 1), (0x101, b"b", 2)]


def test_arrays(bus):
    p, s = pair(bus)
    rows = np.arange(30000, dtype="<u4").reshape(-1, 10)
    assert p.publish_array(0x103, rows) == 3000
    p.flush()
    batches = take(s, 3000)
    got = [b.array("<u4") for b in batches]
    assert (np.concatenate(got) == rows).all()
    assert (np.concatenate([b.counters for b in batches]) == np.arange(1, 3001)).all()
    for b, x in zip(batches, got):
        assert b.array("u1").shape == (len(b), 40)
        record = b.array(np.dtype([("a", "<u4", 10)]))
        assert record.shape == (len(b),)
        page = b.page
        assert page.ctypes.data <= x.ctypes.data < page.ctypes.data + len(page)  # without a copy
        assert len(b.arrays("<u4")) == len(b)


def test_arrays_of_tags_and_one_dimension(bus):
    p, s = pair(bus)
    tags = 0x100 + np.arange(64) % 16
    p.publish_array(tags, np.arange(64, dtype="<i8")[::-1], status=np.arange(64))
    p.flush()
    batches = take(s, 64)
    assert np.concatenate([b.tags for b in batches]).tolist() == tags.tolist()
    assert np.concatenate([b.array("<i8") for b in batches]).tolist() == list(range(63, -1, -1))
    assert np.concatenate([b.status for b in batches]).tolist() == list(range(64))
    assert sum(len(b.array("<i8", tag=0x105)) for b in batches) == 4
    assert batches[0].array("<i8", tag=0x999).shape == (0, 0)


def test_messages_of_several_sizes_make_no_array(bus):
    p, s = pair(bus)
    p.publish_batch([(0x100, b"ab"), (0x100, b"abcd"), (0x101, b"abcd"), (0x100, b"ab"), (0x101, b"efgh")])
    p.flush()
    batches = take(s, 5)
    if len(batches) == 1:
        b = batches[0]
        with pytest.raises(ValueError, match="messages of 2 to 4 bytes"):
            b.array("<u2")
        assert [bytes(x) for x in b.array("u1", tag=0x101)] == [b"abcd", b"efgh"]
        assert [bytes(x) for x in b.arrays()] == [b"ab", b"abcd", b"abcd", b"ab", b"efgh"]
    with pytest.raises(ValueError, match="no multiple"):
        batches[0].array("<u8", tag=0x100) if len(batches) > 1 else batches[0].array("<u8", tag=0x101)


def test_views_are_read_only_and_outlive_all(folder):
    with tagbus.Bus(folder) as bus:
        p, s = pair(bus)
        p.publish_array(0x100, np.arange(100, dtype="<u4").reshape(10, 10))
        p.flush()
        b = take(s, 10)[0]
        n, x, page, data, counters = len(b), b.array("<u4"), b.page, b[0].data, b.counters
        for view in (x, page, counters):
            with pytest.raises(ValueError):
                view[0] = 1
            with pytest.raises(ValueError):
                view.flags.writeable = True
        with pytest.raises(TypeError):
            data[0] = 1
        del b
    gc.collect()
    assert x.tolist() == np.arange(n * 10).reshape(n, 10).tolist()
    assert bytes(data) == bytes(x[0])
    assert counters.tolist() == list(range(1, n + 1))
    del x, page, data, counters
    gc.collect()


def test_next_times_out(bus):
    _, s = pair(bus)
    for timeout in (0, 0.01):
        with pytest.raises(tagbus.Timeout) as e:
            s.next(timeout)
        assert isinstance(e.value, TimeoutError) and e.value.code == -3


def test_iteration_ends_with_close(bus):
    p, s = pair(bus)
    p.publish(0x100, b"x")
    p.flush()
    got = []

    def receive():
        for m in s.messages():
            got.append(bytes(m))
            arrived.set()

    arrived = threading.Event()
    t = threading.Thread(target=receive)
    t.start()
    assert arrived.wait(10)
    s.close()
    s.close()
    t.join(10)
    assert not t.is_alive() and got == [b"x"] and s.closed
    with pytest.raises(tagbus.Closed):
        s.next()


def test_fileno(bus):
    p, s = pair(bus)
    with pytest.raises(tagbus.Timeout):
        fd = s.fileno()
        s.next(0)
    assert select.select([s], [], [], 0)[0] == []
    p.publish(0x100, b"x")
    p.flush()
    assert select.select([s], [], [], 10)[0] == [s]
    assert fd == s.fileno() and bytes(s.next(0)[0]) == b"x"


def test_add_and_remove(bus):
    p, s = pair(bus, tags="0x100-0x103")
    p.add(0x200)
    s.add([0x200])
    s.wait(10)
    p.wait(1, tags=0x200, timeout=10)
    s.remove("0x100")
    s.wait(10)
    p.publish(0x200, b"new")
    p.flush()
    assert bytes(s.next(10)[0]) == b"new"
    p.remove(0x200)
    with pytest.raises(tagbus.UnknownTag):
        p.publish(0x200, b"x")


def test_one_subscriber_for_several(bus):
    with bus.publisher("0x100,0x200") as p, bus.subscriber(name="both") as subscriber:
        a, b = subscriber.subscribe(0x100), subscriber.subscribe(0x200)
        a.wait(10), b.wait(10)
        p.publish(0x100, b"a")
        p.publish(0x200, b"b")
        p.flush()
        assert (bytes(a.next(10)[0]), bytes(b.next(10)[0])) == (b"a", b"b")
        assert p.state()["connected_peers"] == 1
        assert p.stats()["Messages"] == 2
        assert a.stats() and a.state(max_tags=1)["role"] == "subscriber"
        a.close(), b.close()


def test_without_numpy(bus, monkeypatch):
    monkeypatch.setattr("tagbus._batch.np", None)
    monkeypatch.setattr("tagbus._arrays.np", None)
    monkeypatch.setattr("tagbus._writer.np", None)
    p, s = pair(bus)
    p.publish_batch([(0x100, b"a"), (0x101, b"bc", 7)])
    p.flush()
    got = [(t, c, z, st, bytes(b.page[o : o + z])) for b in take(s, 2)
           for t, c, z, st, o in zip(b.tags, b.counters, b.sizes, b.status, b.offsets)]
    assert got == [(0x100, 1, 1, 0, b"a"), (0x101, 1, 2, 7, b"bc")]
    with pytest.raises(tagbus.Error, match="needs numpy"):
        p.publish_array(0x100, [1])


def test_sender_receiver_and_requests(bus):
    handled = []
    with bus.receiver("0x500-0x501") as r, bus.publisher("0x600") as replies:

        def serve():
            for m in r.messages():
                handled.append(bytes(m))
                if m.request_id is not None:
                    replies.reply(m.request_id, 0x600, bytes(m)[::-1], status=4)
                    replies.flush()

        t = threading.Thread(target=serve)
        t.start()
        with bus.sender() as s:
            s.send_acked(0x500, b"one", timeout=10)
            s.send(0x500, b"two", timeout=10)
            with pytest.raises(tagbus.Error):
                s.send(0x999, b"", timeout=0.2)
        with bus.requester(0x501, 0x600) as q:
            for _ in range(3):
                m = q.request(b"abc", timeout=10)
                assert (bytes(m), m.status, m.tag) == (b"cba", 4, 0x600)
            assert q.stats()
    t.join(10)
    assert not t.is_alive() and handled[:2] == [b"one", b"two"]


@pytest.mark.parametrize(
    "tags, text",
    [
        (range(1 << 64), "0x0-0xffffffffffffffff"),
        (range((1 << 64) - 1, -1, -1), "0x0-0xffffffffffffffff"),
        (range(9, 3, -1), "0x4-0x9"),
        (range(3, 4), "0x3-0x3"),
        (range(1, 9, 3), "0x1,0x4,0x7"),
    ],
)
def test_a_range_of_tags_is_not_walked(tags, text):
    assert tag_set(tags) == text
