# SPDX-License-Identifier: Apache-2.0
"""What a program should not do, and does: it gets an exception, and the interpreter lives."""

import gc
import json
import os
import random
import sys
import threading
import weakref

import pytest

import tagbus
from conftest import ALL, pair, take

np = pytest.importorskip("numpy")


@pytest.mark.parametrize("text", ["\udcff", "\ud800", "1\udc80", "\U0001f600", "1\n2", "1 --x", "'", "\\"])
def test_texts_that_are_none(bus, text):
    for call in (
        lambda: bus.publisher(text), lambda: bus.subscribe(text), lambda: bus.receiver(text),
        lambda: bus.sender(text), lambda: bus.publisher(1, policies=text), lambda: bus.subscribe(1, policy=text),
    ):
        with pytest.raises(ValueError):
            call()
    with bus.publisher(1) as p:
        for call in (lambda: p.add(text), lambda: p.remove(text), lambda: p.wait(tags=text, timeout=0)):
            with pytest.raises(ValueError):
                call()


def test_a_folder_that_is_not_utf8(tmp_path):
    for at in (os.fsencode(tmp_path) + b"/bus\xff", os.fsdecode(os.fsencode(tmp_path) + b"/bus\xff")):
        with pytest.raises(tagbus.InvalidArgument, match="bus is not UTF-8"):
            tagbus.Bus(at)
    tagbus.Bus(os.fsencode(tmp_path)).close()


@pytest.mark.parametrize(
    "tags, error",
    [(b"0x100", TypeError), (None, TypeError), (3.5, TypeError), (-1, OverflowError), (1 << 64, OverflowError),
     ([1, [2, b"3"]], TypeError), (range(-3, 3), OverflowError), (object(), TypeError)],
)  # fmt: skip
def test_tags_that_are_none(bus, tags, error):
    with pytest.raises(error, match="tags|no tag"):
        bus.publisher(tags)


def test_tags_of_numpy(bus):
    with bus.publisher(np.arange(1, 4)) as p, bus.subscribe(np.uint64(2)) as s:
        s.wait(30)
        p.wait(tags=[np.int32(2)], timeout=30)


def test_times_that_are_none(bus):
    _, s = pair(bus)
    for timeout, error in ((float("nan"), ValueError), ("1s", TypeError), (-5, tagbus.Timeout), (0, tagbus.Timeout)):
        with pytest.raises(error):
            s.next(timeout)
    for timeout in (float("inf"), 1e300, None, 5):
        assert bus.alive(timeout)


def closed_calls(bus, p, s, r, d, q, w):
    """Return each call on what is closed."""
    return {
        "publish": lambda: p.publish(0x100, b""), "batch": lambda: p.publish_batch([(0x100, b"")]),
        "array": lambda: p.publish_array(0x100, [[1]]), "zero": lambda: p.publish_zero_copy(0x100, b""),
        "flush": p.flush, "drain": p.drain, "p.wait": p.wait, "p.add": lambda: p.add(1), "p.remove": lambda: p.remove(1),
        "p.stats": p.stats, "p.state": p.state, "reply": lambda: p.reply(bytes(16), 0x100, b""), "writer": w.flush,
        "next": lambda: s.next(1), "messages": lambda: s._subscriber.subscribe(1), "s.wait": s.wait, "s.add": lambda: s.add(1),
        "fileno": s.fileno, "s.stats": s.stats, "r.next": lambda: r.next(1), "r.drain": r.drain, "r.state": r.state,
        "send": lambda: d.send(1, b""), "acked": lambda: d.send_acked(1, b""), "d.wait": lambda: d.wait(1), "d.drain": d.drain,
        "request": lambda: q.request(b"", timeout=1),
    }  # fmt: skip


@pytest.mark.parametrize("how", ["each", "bus"])
def test_every_call_on_what_is_closed(folder, how):
    bus = tagbus.Bus(folder)
    p, s = pair(bus)
    r, d, q = bus.receiver(0x300), bus.sender(), bus.requester(0x300, 0x301)
    w = p.writer()
    w.add(0x100, b"x")
    for x in (q, r, d, s, p) if how == "each" else ():
        x.close()
    if how == "bus":
        bus.close()
    for name, call in closed_calls(bus, p, s, r, d, q, w).items():
        with pytest.raises(tagbus.Closed):
            call()
            pytest.fail(name)
    assert list(s) == []
    w._waiting.rows.clear()
    for x in (p, s, r, d, q, bus):
        x.close()
        x.close()


def test_views_outlive_their_batch_and_the_bus(folder):
    """In each kind of view; what was behind a batch is used again meanwhile."""
    with tagbus.Bus(folder) as bus:
        p, s = pair(bus, retain_bytes="64MiB")
        kept = []
        for i in range(50):
            p.publish_array(0x100, np.full((20, 100), i, "<u4"))
            p.flush()
            for b in take(s, 20):
                kept.append((i, random.choice([b.array("<u4"), b.arrays("<u4")[0], b[0].data, b.page[b.offsets[0] :][:400], iter(b)])))
        del b
    gc.collect()
    for i, view in kept:
        if hasattr(view, "__next__"):
            view = next(view).data
        assert (np.frombuffer(bytes(view), "<u4") == i).all()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_collected_in_any_order(folder):
    """Handles without a close, in cycles with their callbacks."""
    for seed in range(60 if ALL else 4):
        rng = random.Random(seed)
        bus = tagbus.Bus(folder)
        things = [bus]
        box = {}
        call = lambda *a, box=box: box.get("things")  # noqa: E731
        p = bus.publisher("0x100-0x10f", events=call)
        s = bus.subscribe("0x100-0x10f", events=call, on_batch=call if seed % 2 else None)
        s.wait(30), p.wait(timeout=30)
        p.publish_zero_copy(0x100, bytes(100), call)
        p.publish_batch([(0x101, b"x")] * 100)
        w = p.writer()
        w.add(0x102, b"x")
        things += [p, s, bus.receiver(0x300 + seed, events=call), bus.sender(), bus.requester(1, 2), w]
        if not seed % 2:
            things.append(s.next(30))
        rng.shuffle(things)
        if seed % 3 == 0:
            box["things"] = list(things)
        gone = weakref.ref(bus)
        del bus, p, s, w
        while things:
            things.pop()
            if rng.random() < 0.3:
                gc.collect()
        del box, call
        gc.collect()
        del gone


def test_a_lock_that_a_callback_waits_for(bus):
    """A collection in a thread that has the lock waits for no callback."""
    lock, inside = threading.Lock(), threading.Event()

    def on_event(event):
        inside.set()
        with lock:
            pass

    lock.acquire()
    p = bus.publisher(1, events=on_event)
    with bus.subscribe(1) as s:
        s.wait(30)
        assert inside.wait(30)
        with pytest.warns(ResourceWarning):
            del p
            gc.collect()
        lock.release()


def test_many_threads(bus):
    p, s = pair(bus)
    n, each = 8, 300
    got, failed = [], []

    def publish(k):
        try:
            with p.writer() as w:
                for i in range(each):
                    (w.add if i % 2 else p.publish)(0x100 + k, b"%d" % i)
            p.flush()
        except Exception as e:
            failed.append(e)

    def receive():
        try:
            for b in s:
                got.append(len(b))
                if sum(got) >= n * each:
                    s.close()
        except Exception as e:
            failed.append(e)

    threads = [threading.Thread(target=publish, args=(k,)) for k in range(n)] + [threading.Thread(target=receive) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not failed and sum(got) == n * each


def test_multiprocessing(folder, programs, tmp_path):
    """A child of the method fork cannot use the bus of its parent, and ends as usual; one of spawn opens its own."""
    program = tmp_path / "program.py"
    program.write_text(
        """
import multiprocessing, sys, threading, tagbus

def fork(p, q):
    try:
        p.publish(1, b"x")
    except tagbus.Forked as e:
        q.put("Forked")

def say(x): # while the program prints
    print(x, file=sys.stderr)

def spawn(folder, q):
    with tagbus.Bus(folder) as bus, bus.publisher(2) as p:
        p.publish(2, b"x")
    q.put("published")

if __name__ == "__main__":
    with tagbus.Bus(sys.argv[1]) as bus, bus.publisher(1, events=say) as p, bus.subscribe(1, on_batch=say) as s:
        s.wait(); p.wait()
        for method, target, args in (("fork", fork, (p,)), ("spawn", spawn, (sys.argv[1],))):
            context = multiprocessing.get_context(method)
            q = context.Queue()
            child = context.Process(target=target, args=(*args, q))
            child.start()
            print(method, q.get(timeout=60), flush=True)
            child.join(60)
            print(child.exitcode, flush=True)
"""
    )
    p = programs.start(sys.executable, program, folder)
    out, err = p.communicate(timeout=120)
    assert (p.returncode, out.splitlines()) == (0, ["fork Forked", "0", "spawn published", "0"]), (out, err)


ENDS = {
    "open in a thread": "t = threading.Thread(target=lambda: [None for b in s], daemon=True); t.start()",
    "callbacks that run": "p.publish(1, b'x'); p.flush(); started.wait(30)",
    "sys.exit in a with block": "with bus, p, s: sys.exit(0)",
    "handles in a cycle with a module": "sys.modules['x'] = x = type(sys)('x'); x.all = bus, p, s, x; del bus, p, s",
    "messages that are kept": "p.publish(1, b'x'); p.flush(); kept = [t.next(30)]; view = kept[0][0].data",
    "a writer": "w = p.writer(); w.add(1, b'x')",
    "zero copy": "p.publish_zero_copy(1, bytes(1000), lambda: None)",
    "a collection after all": "sys.last = [bus, s, p]; gc.disable()",
}


def test_the_interpreter_ends(folder, programs):
    """With all open, in each state; one process forks for each, before it has opened anything."""
    ends = ENDS if ALL else {name: ENDS[name] for name in list(ENDS)[1:4]}
    child = programs.python(
        """
import gc, json, os, sys, threading, time
import tagbus

children = {}
for i, (name, code) in enumerate(json.loads(sys.argv[2]).items()):
    children[name] = os.fork()
    if children[name] == 0:
        break
else:
    for name, pid in children.items():
        print(name, os.waitpid(pid, 0)[1], flush=True)
    sys.exit(0)
started = threading.Event()
bus = tagbus.Bus(f"{sys.argv[1]}{i}")
p = bus.publisher(1, events=lambda e: None)
s = bus.subscribe(1, on_batch=lambda b: (started.set(), time.sleep(0.05)), on_end=lambda e: None)
t = bus.subscribe(1)
s.wait(30); t.wait(30); p.wait(2, timeout=30)
exec(code)
""",
        folder,
        json.dumps(ends),
    )
    out, err = child.communicate(timeout=120)
    assert out.splitlines() == [f"{name} 0" for name in ends], err
    assert "Fatal" not in err and "Exception ignored" not in err.replace("not supported", ""), err


def test_a_sub_interpreter_is_refused(folder, programs):
    child = programs.python(
        """
import sys, tagbus
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
bus = tagbus.Bus(sys.argv[1])
i = interpreters.create()
interpreters.run_string(i, '''
import sys
sys.path[:0] = %r
try:
    import tagbus
    tagbus.Bus("/tmp/x")
except ImportError as e:
    print(e, flush=True)
''' % sys.path)
bus.close()
""",
        folder,
    )
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0 and "interpreter" in out, (out, err)
