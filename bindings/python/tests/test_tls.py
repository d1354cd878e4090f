# SPDX-License-Identifier: Apache-2.0
"""Over TLS, with certificates and a policy: python_test.go makes the certificates."""

import json
import os
import pathlib

import pytest

import tagbus
from conftest import Seen

np = pytest.importorskip("numpy")

CERTS = os.environ.get("TAGBUS_TEST_CERTS")
pytestmark = pytest.mark.skipif(CERTS is None, reason="needs certificates: go test ./bindings/python")


@pytest.fixture
def tls(folder, tmp_path):
    """Return a function that opens a bus with the certificate of a name."""
    policy = tmp_path / "policy.json"
    rules = [{"who": "cn:writer", "publish": "0x100-0x10f"}, {"who": "cn:reader", "subscribe": "0x100-0x10f"}]
    policy.write_text(json.dumps({"rules": rules}))
    buses = []

    def opened(name, **options):
        certs = pathlib.Path(CERTS)
        files = {"cert": certs / f"{name}.pem", "key": certs / f"{name}.key", "ca": certs / "ca.pem", "acl": policy}
        buses.append(tagbus.Bus(folder, **{**files, "log_level": "error", **options}))
        return buses[-1]

    yield opened
    for b in buses:
        b.close()


def told(seen, kind, text):
    """Wait for an event of a kind with a text, and return it."""
    with seen.changed:
        assert seen.changed.wait_for(lambda: any(e.kind == kind and text in e.text for e in seen.all), 60), seen.all
        return next(e for e in seen.all if e.kind == kind and text in e.text)


def exchange(p, s, n=20_000):
    """Have all messages of a publisher come to a subscription, and both count them."""
    s.wait(60)
    p.wait(timeout=60)
    rows = np.arange(n * 5, dtype="<u8").reshape(n, 5)
    assert p.publish_array(0x100 + np.arange(n) % 16, rows) == n
    p.flush()
    got, size = 0, 0
    while got < n:
        b = s.next(60)
        got += len(b)
        size += int(b.sizes.sum())
        for tag in np.unique(b.tags).tolist():
            assert (b.array("<u8", tag)[:, 0] == ((b.counters[b.tags == tag] - 1) * 16 + tag - 0x100) * 5).all()
    assert (got, size) == (n, n * 40)
    assert p.stats()["Messages"] == s.stats()["Messages"] == n and s.stats()["Lost"] == 0
    assert p.stats()["Subscribers"][0]["Lanes"][0]["Sent"] == n


def test_messages(tls):
    with tls("writer") as w, tls("reader") as r:
        with w.publisher("0x100-0x10f") as p, r.subscribe("0x100-0x10f", events="raise") as s:
            exchange(p, s)


def test_a_subscriber_that_may_not(tls):
    """It is told so, as is the publisher, and the one that may gets all."""
    at_publisher, at_guest = Seen(), Seen()
    with tls("writer") as w, tls("reader") as r, tls("guest") as g, w.publisher("0x100-0x10f", events=at_publisher) as p:
        with g.subscribe("0x100-0x10f", events=at_guest) as denied, r.subscribe("0x100-0x10f", events="raise") as s:
            for seen in (at_guest, at_publisher):
                assert told(seen, "refused", "cn:guest may not subscribe").code == -8  # TAGBUS_EDENIED
            with pytest.raises(tagbus.Timeout):
                denied.wait(0)
            exchange(p, s)
            with pytest.raises(tagbus.Timeout):
                denied.next(0)
            assert denied.stats()["Messages"] == 0 and p.stats()["NotAllowed"] >= 1


def test_a_refusal_is_raised(tls):
    with tls("writer") as w, tls("guest") as g, w.publisher("0x100-0x10f"):
        with g.subscribe("0x100-0x10f", events="raise") as s, pytest.raises(tagbus.Refused, match="cn:guest may not subscribe"):
            s.next(60)


def test_a_publisher_that_may_not(tls):
    """It is refused by its own policy, and without one by the subscriber, which gets nothing of it."""
    seen = Seen()
    with tls("reader") as r, tls("guest") as g, tls("guest", acl=None) as bold, tls("writer") as w:
        with pytest.raises(tagbus.Denied, match="cn:guest may not publish"):
            g.publisher("0x101")
        with r.subscribe("0x100-0x10f", events=seen) as s, bold.publisher("0x101") as p:
            told(seen, "problem", "not covered by the policy")
            for _ in range(100):
                p.publish(0x101, b"not allowed")
            with w.publisher("0x100-0x10f") as good:
                exchange(good, s)


def test_a_stranger(tls, folder):
    """Certificates of another CA, and none at all, do not connect."""
    with tls("writer") as w, tls("stranger") as x, tagbus.Bus(folder, log_level="error") as none, tls("reader") as r:
        with w.publisher("0x100-0x10f") as p:
            for bus, text in ((x, "certificate"), (none, "--cert and --ca")):
                seen = Seen()
                with bus.subscribe("0x100-0x10f", events=seen) as s:
                    told(seen, "refused", text)
                    with pytest.raises(tagbus.Timeout):
                        s.next(0)
            with r.subscribe("0x100-0x10f", events="raise") as s:
                exchange(p, s)
