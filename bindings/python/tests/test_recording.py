# SPDX-License-Identifier: Apache-2.0
"""Recordings, and the example that draws one."""

import os
import pathlib
import sys

import pytest

import tagbus
from conftest import BIN

np = pytest.importorskip("numpy")


@pytest.fixture
def recording(bus, folder, programs, tmp_path, monkeypatch):
    """1,000 messages of 10 numbers over two tags."""
    monkeypatch.setenv("TAGBUS_PROGRAM", str(BIN / "tagbus"))
    file = tmp_path / "run.tbr"
    with bus.publisher("1-2") as p:
        recorder = programs.tool("tagbus", "record", "-q", "--bus", folder, "--count", 1000, "1-2", file)
        p.wait(timeout=30)
        p.publish_array(1 + np.arange(1000) % 2, np.arange(10000, dtype="<u2").reshape(1000, 10), status=7)
    out, err = recorder.communicate(timeout=30)
    assert recorder.returncode == 0, err
    return file


def test_recording(recording):
    r = tagbus.Recording(recording)
    everything = r.read()
    assert (len(everything), everything.lost) == (1000, 0)
    assert (everything.array("<u2") == np.arange(10000).reshape(1000, 10)).all()
    one = r.read(1)
    assert set(one.tags.tolist()) == {1} and one.counters.tolist() == list(range(1, 501)) and set(one.status.tolist()) == {7}
    assert (one.arrays("<u2")[1] == np.arange(20, 30)).all()
    middle = everything.times[500]
    early, late = r.read(end=middle), r.read(start=middle)
    assert len(early) + len(late) == 1000
    assert len(r.read(9)) == 0
    with pytest.raises(tagbus.Error, match="nosuch.tbr"):
        tagbus.Recording("nosuch.tbr").read()


@pytest.mark.parametrize("size", [0.1, 0.9])
@pytest.mark.parametrize("tags", [None, 1, 9])
def test_a_recording_that_is_cut_is_not_read_as_an_empty_one(recording, tmp_path, size, tags):
    data, file = recording.read_bytes(), tmp_path / "cut.tbr"
    file.write_bytes(data[: int(len(data) * size)])
    with pytest.raises(tagbus.Error, match="not whole: .*cut.tbr"):
        tagbus.Recording(file).read(tags)


def test_large_messages(bus, folder, programs, tmp_path, monkeypatch):
    """As large as no cell of csv may be."""
    monkeypatch.setenv("TAGBUS_PROGRAM", str(BIN / "tagbus"))
    file, sent = tmp_path / "large.tbr", np.random.default_rng(1).bytes(300_000)
    with bus.publisher(1) as p:
        recorder = programs.tool("tagbus", "record", "-q", "--bus", folder, "--count", 2, "1", file)
        p.wait(timeout=60)
        p.publish(1, sent)
        p.publish(1, b"")
    out, err = recorder.communicate(timeout=60)
    assert recorder.returncode == 0, err
    r = tagbus.Recording(file).read()
    assert r.sizes.tolist() == [300_000, 0] and r.page.tobytes() == sent and r.counters.tolist() == [1, 2]


def test_the_spectrum_of_a_recording(recording, programs):
    example = pathlib.Path(__file__).parents[1] / "examples" / "spectrum.py"
    p = programs.start(sys.executable, example, "--text", "--range", "0", "10000", "--bins", "10", recording, "1", env=dict(os.environ))
    out, err = p.communicate(timeout=30)
    assert p.returncode == 0, err
    # On a slow machine it has drawn before, with what was there.
    assert [int(line.split()[1]) for line in out.splitlines()][-10:] == [500] * 10
