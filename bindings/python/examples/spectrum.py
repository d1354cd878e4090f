#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draw the spectrum of one tag, live or from a recording.

    spectrum.py /tmp/bus 0x100            from a bus, until it is interrupted
    spectrum.py run.tbr 0x100             from a recording

Each message holds samples of dtype. Without matplotlib, or with --text, the
spectrum is printed.
"""

import argparse
import os
import sys
import time

import numpy as np

import tagbus


def live(bus, tag, dtype):
    """Yield the samples of each batch of a bus."""
    with tagbus.Bus(bus) as b, b.subscribe(tag, policy="latest", name="spectrum") as sub:
        for batch in sub:
            yield np.concatenate(batch.arrays(dtype))


def recorded(path, tag, dtype):
    """Yield the samples of a recording."""
    yield np.concatenate(tagbus.Recording(path).read(tag).arrays(dtype) or [np.empty(0, dtype)])


class Text:
    """Prints a spectrum."""

    def show(self, counts, edges):
        top = max(int(counts.max()), 1)
        print("\033[H\033[2J" if sys.stdout.isatty() else "", end="")
        for n, low in zip(counts, edges):
            print(f"{low:12.5g} {n:9d} {'#' * (50 * int(n) // top)}")


class Plot:
    """Draws a spectrum with matplotlib."""

    def __init__(self, title):
        import matplotlib.pyplot as plt

        self.plt = plt
        self.figure, self.axes = plt.subplots()
        self.title = title
        plt.ion()

    def show(self, counts, edges):
        self.axes.clear()
        self.axes.set_title(self.title)
        self.axes.stairs(counts, edges)
        self.plt.pause(0.01)


def draw(source, view, low, high, bins, seconds):
    """Count samples, and show them from time to time."""
    edges = np.linspace(low, high, bins + 1)
    counts = np.zeros(bins, np.int64)
    shown = time.monotonic()
    try:
        for samples in source:
            counts += np.histogram(samples, edges)[0]
            if time.monotonic() - shown > seconds:
                view.show(counts, edges)
                shown = time.monotonic()
    except KeyboardInterrupt:
        pass
    view.show(counts, edges)
    return counts


def main():
    p = argparse.ArgumentParser(description="Draw the spectrum of one tag.")
    p.add_argument("source", help="a bus (folder or URL), or the file of a recording")
    p.add_argument("tag", type=lambda t: int(t, 0))
    p.add_argument("--dtype", default="<u2")
    p.add_argument("--range", nargs=2, type=float, default=(0, 65536), metavar=("LOW", "HIGH"))
    p.add_argument("--bins", type=int, default=32)
    p.add_argument("--text", action="store_true")
    a = p.parse_args()
    view = Text()
    if not a.text:
        try:
            view = Plot(f"{a.source} tag {a.tag:#x}")
        except ImportError:
            print("spectrum: matplotlib is not there (Debian: python3-matplotlib): text instead", file=sys.stderr)
    source = (recorded if os.path.isfile(a.source) else live)(a.source, a.tag, np.dtype(a.dtype))
    draw(source, view, *a.range, a.bins, 0.5)


if __name__ == "__main__":
    main()
