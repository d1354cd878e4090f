# SPDX-License-Identifier: Apache-2.0
"""What driven.c is, in Python: a publisher and a subscriber that do what the lines of their input say."""

import collections
import json
import shlex
import sys
import threading

import numpy as np

import tagbus

EVENTS = (
    "connected subscribed unsubscribed lost refused gap vanished goodbye problem stalled resumed resubscribed duplicate announced left"
).split()


def options(text):
    """Return words of a command line as keywords."""
    words = shlex.split(text or "")
    return {k[2:].replace("-", "_"): v for k, v in zip(words[::2], words[1::2])}


class Received:
    """What has come of a tag."""

    def __init__(self):
        self.got = self.lost = self.first = self.last = 0
        self.publisher = ""


class Driven:
    """The publisher, the subscriber, and what has come."""

    def __init__(self, at, more):
        self.bus = tagbus.Bus(at, **options(more))
        self.publisher = self.subscriber = self.subscription = None
        self.changed = threading.Condition()
        self.received = collections.defaultdict(Received)
        self.events = collections.Counter()
        self.got = self.lost = self.wrong = self.disordered = 0
        self.held = self.stopped = False
        self.published = collections.Counter()

    # --- what comes

    def take(self, batch):
        with self.changed:
            self.changed.wait_for(lambda: not self.held)
            self.check(batch)
            for tag in np.unique(batch.tags).tolist():
                self.of_tag(self.received[tag], batch.publisher, batch.counters[batch.tags == tag])
            self.got += len(batch)
            self.changed.notify_all()

    def check(self, batch):
        """Check that each message has its number, and ends with it."""
        at, sizes, page = batch.offsets, batch.sizes.astype(np.int64), batch.page
        numbers = np.ascontiguousarray(page[at[:, None] + np.arange(8)]).view("<u8")[:, 0]
        ends = page[at + sizes - 1][sizes > 8]
        self.wrong += int((numbers != batch.counters).sum()) + int((ends != (numbers[sizes > 8] & np.uint64(255))).sum())

    def of_tag(self, r, publisher, counters):
        if r.publisher != publisher:
            r.publisher, r.last = publisher, 0
        if r.got == 0:
            r.first = int(counters[0])
        r.got += len(counters)
        self.disordered += int(counters[0] <= r.last) + int((counters[1:] <= counters[:-1]).sum())
        r.last = int(counters[-1])

    def pulls(self):
        while True:
            with self.changed:
                self.changed.wait_for(lambda: not self.held)
            try:
                self.take(self.subscription.next())
            except (tagbus.End, tagbus.Closed):
                return

    def note(self, e):
        with self.changed:
            self.events[e.kind] += 1
            if e.kind == "gap":
                self.received[e.tag].lost += e.count
                self.lost += e.count
            self.changed.notify_all()

    # --- what goes

    def publish(self, first, last, count):
        """Publish messages on the tags from first to last in turn, without those that the publisher does not have."""
        done, turn, tags = 0, 0, last - first + 1
        while done < count and not self.stopped:
            of = first + (turn + np.arange(min(count - done, 1024))) % tags
            rows = self.rows(of, 8 + done % 90)
            try:
                accepted = self.publisher.publish_array(of, rows)
                turn += accepted
            except tagbus.UnknownTag as e:
                accepted = e.accepted
                turn += accepted + 1
            done += accepted
            for tag, n in zip(*np.unique(of[:accepted], return_counts=True)):
                self.published[int(tag)] += int(n)
        return done

    def rows(self, of, size):
        """Return the next messages of tags, which have one size."""
        numbers = np.empty(len(of), "<u8")
        for tag in np.unique(of).tolist():
            mine = of == tag
            numbers[mine] = self.published[tag] + 1 + np.arange(mine.sum())
        rows = np.empty((len(of), size), np.uint8)
        rows[:, :8] = numbers.view(np.uint8).reshape(-1, 8)
        rows[:, 8:] = (numbers & np.uint64(255)).astype(np.uint8)[:, None]
        return rows

    def flood(self, first, last):
        self.flooded = self.publish(first, last, 1 << 62)

    # --- commands

    def do_publisher(self, tags, rest):
        self.publisher = self.bus.publisher(tags, events=self.note, **options(rest))

    def do_subscriber(self, _, rest):
        self.subscriber = self.bus.subscriber(events=self.note, **options(rest))

    def do_pull(self, tags, rest):
        self.subscription = self.subscriber.subscribe(tags, **options(rest))
        threading.Thread(target=self.pulls, daemon=True).start()

    def do_thread(self, tags, rest):
        self.subscription = self.subscriber.subscribe(tags, on_batch=self.take, **options(rest))

    def do_acknowledged(self, *_):
        self.subscription.wait()

    def do_wait(self, n, _):
        self.publisher.wait(int(n))

    def do_publish(self, first, rest):
        last, count = rest.split()
        return self.publish(int(first, 0), int(last, 0), int(count))

    def do_flood(self, first, last):
        self.flooding = threading.Thread(target=self.flood, args=(int(first, 0), int(last, 0)), daemon=True)
        self.flooding.start()

    def do_stop(self, *_):
        self.stopped = True
        self.flooding.join()
        self.stopped = False
        return self.flooded

    def do_flush(self, *_):
        self.publisher.flush()

    def do_drain(self, *_):
        self.publisher.drain(timeout=60)

    def do_serve(self, tags, _):
        self.publisher.add(tags)

    def do_withdraw(self, tags, _):
        self.publisher.remove(tags)

    def do_add(self, tags, _):
        self.subscription.add(tags)

    def do_remove(self, tags, _):
        self.subscription.remove(tags)

    def do_hold(self, *_):
        self.hold(True)

    def do_go(self, *_):
        self.hold(False)

    def hold(self, on):
        with self.changed:
            self.held = on
            self.changed.notify_all()

    def do_until(self, kind, n):
        with self.changed:
            count = {"got": lambda: self.got, "messages": lambda: self.got + self.lost}.get(kind, lambda: self.events[kind])
            self.changed.wait_for(lambda: count() >= int(n))

    def account(self):
        with self.changed:
            tags = {t: {k: v for k, v in vars(r).items() if k != "publisher"} for t, r in self.received.items()}
            out = {"wrong": self.wrong, "disordered": self.disordered, "tags": tags, "published": dict(self.published)}
            out["events"] = {k: self.events[k] for k in EVENTS}
        for name, x in (("publisher", self.publisher), ("subscriber", self.subscriber)):
            if x is not None:
                out[name] = x.stats()
        return json.dumps(out)


def main():
    driven = Driven(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "")
    print("ok", flush=True)
    for line in sys.stdin:
        name, _, rest = line.strip().partition(" ")
        a, _, rest = rest.partition(" ")
        if name == "account":
            print(driven.account(), flush=True)
            continue
        try:
            if name == "end":
                driven.bus.close()
            else:
                result = getattr(driven, "do_" + name)(a, rest)
        except Exception as e:
            print(f"{type(e).__name__}: {e}", flush=True)
            continue
        if name == "end":
            print("ok", flush=True)
            return
        print("ok" if result is None else f"ok {result}", flush=True)


if __name__ == "__main__":
    main()
