# SPDX-License-Identifier: Apache-2.0
"""The bus through package tagbus. --way is, of a subscriber, arrays (default) or messages."""

import tempfile

import numpy as np

import bench
import tagbus

FIRST = 0x1000000000000000


def take_page(checker, batch):
    """Check the messages of a page as arrays: sizes and order of all, and the check of the last.

    Return True if one was the end.
    """
    words = batch.array("<u8")
    n, first, last = len(batch), checker.next, int(words[-1, 1])
    if last & 0xFFFFFFFF == bench.END_LANE:
        return any([checker.take(m.data) for m in batch])
    checker.disordered += not np.array_equal(words[:, 0], np.arange(first, first + n, dtype=np.uint64))
    checker.corrupt += 8 * words.shape[1] != checker.size or last >> 32 != bench.check_of(first + n - 1, 0)
    checker.next += n
    checker.received += n
    return False


def subscribe(o):
    checker = bench.Checker(int(o["size"]))
    with tagbus.Bus(o["addr"]) as bus:
        sub = bus.subscribe(FIRST)
        sub.wait()
        bench.say(ready=True)
        if o["way"] == "messages":
            for m in sub.messages():
                if checker.take(m.data):
                    break
        else:
            for batch in sub:
                if take_page(checker, batch):
                    break
        checker.report()


def ask(o):
    with tempfile.TemporaryDirectory(prefix="bus") as folder, tagbus.Bus(folder) as bus:
        publisher = bus.publisher(FIRST)
        bench.say(listen=folder)
        bench.await_go()
        answers = bus.subscribe(FIRST + 1)
        answers.wait()
        publisher.wait()

        def exchange(message):
            publisher.publish(FIRST, message)
            return bytes(answers.next()[0].data)

        bench.ping(o, exchange)


def main():
    o = bench.options()
    if o["role"] == "sub":
        subscribe(o)
    else:
        ask(o)


main()
