# SPDX-License-Identifier: Apache-2.0
"""Receiving in asyncio."""

import asyncio
import os

import pytest

import tagbus
from conftest import pair


def test_asyncio(bus):
    p, s = pair(bus)

    async def receive():
        got = []
        async for b in s:
            got += [bytes(m) for m in b]
            if len(got) == 3:
                return got

    async def both():
        task = asyncio.ensure_future(receive())
        for i in range(3):
            await asyncio.sleep(0.01)
            p.publish(0x100, b"%d" % i)
            p.flush()
        return await asyncio.wait_for(task, 10)

    assert asyncio.run(both()) == [b"0", b"1", b"2"]


def test_asyncio_ends(bus):
    _, s = pair(bus)

    async def receive():
        async for _ in s:
            pass
        return True

    async def both():
        tasks = [asyncio.ensure_future(receive()) for _ in range(3)]
        await asyncio.sleep(0.05)
        tasks[0].cancel()  # a wait that is given up leaves the others
        await asyncio.sleep(0)
        s.close()
        return await asyncio.wait_for(asyncio.gather(*tasks[1:]), 10)

    assert asyncio.run(both()) == [True, True]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_asyncio_after_another_one_is_closed(bus, elsewhere):
    """The next subscription may have the descriptor of one that tasks wait for."""
    p = bus.publisher("1-2")
    subscriber = bus.subscriber()

    def change(one):
        one.close()
        two = subscriber.subscribe(2)
        two.wait(30)
        return two

    async def both():
        one = subscriber.subscribe(1)
        waits = [asyncio.ensure_future(one.anext()) for _ in range(2)]
        await asyncio.sleep(0.05)
        two = await asyncio.get_running_loop().run_in_executor(None, change, one) if elsewhere else change(one)
        next_ = asyncio.ensure_future(two.anext())
        ends = await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), 30)
        p.publish(2, b"x")
        p.flush()
        batch = await asyncio.wait_for(next_, 30)
        two.close()
        return ends, batch

    ends, batch = asyncio.run(both())
    assert all(isinstance(e, tagbus.Closed) for e in ends) and bytes(batch[0]) == b"x"
    subscriber.close()
    p.close()


def test_asyncio_leaves_no_descriptor(bus):
    p, s = pair(bus)
    counts = []

    async def receive():
        for _ in range(30):
            waits = asyncio.ensure_future(s.anext())
            await asyncio.sleep(0.01)
            p.publish(0x100, b"x")
            p.flush()
            await asyncio.wait_for(waits, 30)
            counts.append(len(os.listdir("/proc/self/fd")))

    asyncio.run(receive())
    assert max(counts[20:]) <= max(counts[:10]), counts
