# SPDX-License-Identifier: Apache-2.0
"""What a process meets: signals, fork, exceptions in callbacks, the end, bad input."""

import os
import signal
import sys
import threading
import time

import pytest

import tagbus
from conftest import pair, take

def test_the_gil_is_free(bus):
    _, s = pair(bus)
    turns = 0
    t = threading.Thread(target=lambda: pytest.raises(tagbus.Timeout, s.next, 0.3))
    t.start()
    while t.is_alive():
        turns += 1
    t.join()
    assert turns > 1000


def in_child(check):
    """Return what a child of fork says."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)  # one that hangs is killed
        try:
            os.write(w, check().encode())
        finally:
            os._exit(0)
    os.close(w)
    with os.fdopen(r) as f:
        said = f.read()
    assert os.waitpid(pid, 0)[1] == 0
    return said


def test_fork(bus, folder):
    p, s = pair(bus)
    p.publish(0x100, b"x")
    p.flush()
    kept = take(s, 1)[0]

    def child():
        said = []
        for call in (
            lambda: p.publish(0x100, b"x"), lambda: s.next(), lambda: tagbus.Bus(folder), lambda: p.stats(),
            lambda: p.drain(), lambda: bus.publisher(1),
        ):
            try:
                call()
                said.append("no error")
            except tagbus.Forked as e:
                said.append("Forked" if "spawn" in str(e) else str(e))
        said.append(bytes(kept[0]).decode())  # what was received before can be read
        return " ".join(said)

    assert in_child(child) == "Forked Forked Forked Forked Forked Forked x"
    p.publish(0x100, b"parent")
    p.flush()
    assert bytes(s.next(10)[0]) == b"parent"


def test_fork_while_other_threads_hold_locks(bus):
    """The child has Forked, and waits for no thread of its parent: one looks a function up, one flushes a writer."""
    p = bus.publisher(1)
    w = p.writer()
    w.add(1, b"x")
    for lock in (tagbus._lib.ffi._lock, w._lock):
        held = threading.Event()

        def hold(lock=lock):
            with lock:
                held.set()
                time.sleep(0.5)

        t = threading.Thread(target=hold)
        t.start()
        held.wait()

        def child():
            said = []
            for call in (lambda: p.publish_zero_copy(1, b"x"), w.flush, lambda: w.add(1, b"x"), lambda: tagbus._lib.ffi.typeof("int (*)(char, short)")):
                try:
                    call()
                    said.append("no error")
                except tagbus.Forked:
                    said.append("Forked")
            return " ".join(said)

        assert in_child(child) == "Forked Forked no error no error"
        t.join()
    w.flush()
    p.close()
    with tagbus._lib.ffi._lock:  # as in a signal handler
        assert in_child(lambda: "forked") == "forked"


def test_import_then_fork(folder, programs):
    child = programs.python(
        """
import os, sys, tagbus
tagbus.version()
pid = os.fork()
with tagbus.Bus(sys.argv[1]) as bus, bus.publisher(1 if pid else 2) as p:
    p.publish(1 if pid else 2, b"x")
if pid:
    sys.exit(os.waitpid(pid, 0)[1])
""",
        folder,
    )
    out, err = child.communicate(timeout=30)
    assert child.returncode == 0, err


def test_exit_without_close(folder, programs):
    child = programs.python(
        """
import sys, threading, tagbus
bus = tagbus.Bus(sys.argv[1])
p = bus.publisher(1, events=lambda e: None)
s = bus.subscribe(1, events=lambda e: None)
s.wait(10); p.wait(timeout=10)
def flood():
    while True: p.publish_batch([(1, b"x" * 40)] * 500)
def receive():
    for b in s: pass
for f in (flood, receive):
    threading.Thread(target=f, daemon=True).start()
s.next(10)
""",
        folder,
    )
    out, err = child.communicate(timeout=30)
    assert child.returncode == 0, err


def test_events_by_callback(bus):
    seen = []
    p = bus.publisher(1, events=seen.append)
    with bus.subscribe(1) as s:
        s.wait(10)
        p.wait(timeout=10)
    p.close()
    kinds = [e.kind for e in seen]
    assert kinds[:2] == ["connected", "subscribed"] and kinds[-1] in ("lost", "left")
    assert seen[1].peer and seen[1].tags and seen[1].text


def test_an_exception_in_a_callback(bus, monkeypatch):
    reported = []
    monkeypatch.setattr(threading, "excepthook", reported.append)

    def fails(event):
        raise RuntimeError(event.kind)

    p = bus.publisher(1, events=fails)
    with bus.subscribe(1) as s:
        s.wait(10)
        p.wait(timeout=10)
        p.publish(1, b"goes on")
        p.flush()
        assert bytes(s.next(10)[0]) == b"goes on"
    p.close()
    assert [str(a.exc_value) for a in reported][:2] == ["connected", "subscribed"]


def test_close_from_a_callback(bus):
    result = []

    def closes(event):
        try:
            p.close()
        except tagbus.WouldDeadlock as e:
            result.append(e)
            done.set()

    done = threading.Event()
    p = bus.publisher(1, events=closes)
    with bus.subscribe(1) as s:
        s.wait(10)
        assert done.wait(10)
    assert not p.closed and result[0].name == "TAGBUS_EWOULDDEADLOCK"


def test_a_gap_is_raised(bus):
    p = bus.publisher(1)
    s = bus.subscribe(1, events="raise", policy="drop-oldest", queue_bytes="64KiB")
    s.wait(10)
    p.wait(timeout=10)
    for _ in range(40):
        p.publish_batch([(1, bytes(1000))] * 100)
    p.drain(timeout=20)
    p.close()
    got = lost = 0
    while True:
        try:
            got += len(s.next(10))
        except tagbus.Gap as e:
            assert e.event.tag == 1 and "gap" in str(e)
            lost += e.event.count
        except tagbus.Timeout:
            break
        if got + lost == 4000:
            break
    assert got + lost == 4000 and lost > 0
    s.close()


def test_refused_is_raised(bus):
    p = bus.publisher(1)
    s = bus.subscribe(1, events="raise", max_message_bytes=16384)
    with pytest.raises(tagbus.Refused, match="at once"):
        s.next(10)
    s.close()
    p.close()


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda b: tagbus.Bus(""), tagbus.InvalidArgument, "bus"),
        (lambda b: tagbus.Bus("/tmp/x\0y"), ValueError, "character 0"),
        (lambda b: tagbus.Bus("nosuch://x"), tagbus.Error, "nosuch"),
        (lambda b: b.publisher("what"), tagbus.InvalidArgument, "tags"),
        (lambda b: b.publisher(()), tagbus.InvalidArgument, ""),
        (lambda b: b.publisher(1, what=3), tagbus.InvalidArgument, "--what"),
        (lambda b: b.publisher(1, queue_bytes="many"), tagbus.InvalidArgument, "--queue-bytes"),
        (lambda b: b.publisher(1, on_loop=True), ValueError, "on_loop"),
        (lambda b: b.publisher(1, events=3), ValueError, "events: got 3"),
        (lambda b: b.subscribe("what"), tagbus.InvalidArgument, "tags"),
        (lambda b: b.subscribe(1, policy="what"), tagbus.InvalidArgument, "--policy"),
        (lambda b: b.publisher(1).publish(1, "text"), TypeError, "str"),
        (lambda b: b.publisher(1).publish(1, None), TypeError, ""),
        (lambda b: b.publisher(1).publish(-1, b""), OverflowError, ""),
        (lambda b: b.publisher(1).publish(1, b"", 256), OverflowError, ""),
        (lambda b: b.publisher(1).publish(2, b""), tagbus.UnknownTag, "0x0000000000000002"),
        (lambda b: b.publisher(1).publish(1, bytes(20 << 20)), tagbus.TooLarge, ""),
        (lambda b: b.publisher(1).publish_batch([(1, b"", 300)]), OverflowError, ""),
        (lambda b: b.publisher(1).publish_array(1, 3), ValueError, "no dimension"),
        (lambda b: b.publisher(1).publish_array(1, [None]), TypeError, "objects"),
        (lambda b: b.publisher(1).reply(b"short", 1, b""), ValueError, "16"),
        (lambda b: b.sender().send(1, b"", timeout=0.05), tagbus.Error, ""),
        (lambda b: b.subscribe(1, timeout=0.1).wait(5), tagbus.NoPublisher, ""),
    ],
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_bad_input(bus, call, error, text):
    with pytest.raises(error, match=text):
        call(bus)


def test_closed(folder):
    bus = tagbus.Bus(folder)
    p, s = pair(bus)
    bus.close()
    bus.close()
    for call in (lambda: p.publish(0x100, b""), s.next, p.stats, s.fileno, lambda: bus.publisher(1), bus.alive, p.wait):
        with pytest.raises(tagbus.Closed):
            call()
    p.close()
    s.close()


def test_names_with_blanks_and_quotes(bus):
    with bus.publisher(1, name="it's a \"name\" \\ with blanks", heartbeat=0.5, heartbeat_timeout="3s") as p:
        with bus.subscribe(1, name="ü") as s:
            s.wait(10)
            p.wait(timeout=10)
            assert p.stats()["Subscribers"][0]["Peer"]["Name"] == "ü"
            assert s.state()["peers"][0]["name"] == "it's a \"name\" \\ with blanks"


def test_a_missing_library(programs):
    child = programs.python(
        "import tagbus\ntry: tagbus.version()\nexcept tagbus.LoadError as e: print(e)", env={**os.environ, "TAGBUS_LIB": "/nowhere.so"}
    )
    out, err = child.communicate(timeout=20)
    assert "/nowhere.so" in out and "TAGBUS_LIB" in out, err


def test_cdef_is_that_of_the_header(programs):
    tool = os.path.join(os.path.dirname(__file__), "..", "tools", "cdef.py")
    child = programs.start(sys.executable, tool, "--check")
    assert child.wait(20) == 0, child.stderr.read()
