# SPDX-License-Identifier: Apache-2.0
"""What the tests share: a bus, programs beside, and the size of the tests."""

import os
import pathlib
import subprocess
import sys
import threading

import pytest

import tagbus

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("TAGBUS_BIN", ROOT / "bin"))
ALL = os.environ.get("TAGBUS_TESTS") == "all"


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "bus")


@pytest.fixture
def bus(folder):
    with tagbus.Bus(folder) as b:
        yield b
    _kept.clear()


_kept = []


class Programs:
    """Starts processes, and ends those that are left."""

    def __init__(self):
        self.running = []

    def start(self, *words, **options):
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
        p = subprocess.Popen([str(w) for w in words], **options)
        self.running.append(p)
        return p

    def tool(self, name, *words, **options):
        """Start publisher, subscriber or tagbus."""
        path = BIN / name
        if not path.exists():
            pytest.skip(f"needs {path}: make build")
        return self.start(path, *words, **options)

    def python(self, code, *words, **options):
        """Start Python with a program as text."""
        return self.start(sys.executable, "-c", code, *words, **options)


@pytest.fixture
def programs():
    p = Programs()
    yield p
    for x in p.running:
        if x.poll() is None:
            x.kill()
        x.wait()
        for stream in (x.stdin, x.stdout, x.stderr):
            if stream is not None:
                stream.close()


def pair(bus, tags="0x100-0x10f", publisher=None, **options):
    """Return a publisher and a subscription that have found each other."""
    p = bus.publisher(tags, **(publisher or {}))
    s = bus.subscribe(tags, **options)
    s.wait(10)
    p.wait(1, timeout=10)
    _kept.append((p, s))  # until the bus closes them
    return p, s


def take(sub, n, timeout=10):
    """Return batches with n messages."""
    out = []
    while n > 0:
        b = sub.next(timeout)
        out.append(b)
        n -= len(b)
    assert n == 0
    return out


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
