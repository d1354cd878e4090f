# SPDX-License-Identifier: Apache-2.0
"""pyzmq: what c/zmq.c does, with a message at a time as its users have them."""

import sys

import zmq

import bench

TAG = 8  # bytes of the tag before each message


def socket(kind):
    s = zmq.Context().socket(kind)
    s.set_hwm(10000)
    s.linger = 0
    return s


def subscribe(o):
    checker, s = bench.Checker(int(o["size"])), socket(zmq.SUB)
    s.connect(o["addr"])
    s.subscribe(bytes(TAG))
    bench.say(ready=True)
    while not checker.take(s.recv()[TAG:]):
        pass
    checker.report()


def ask(o):
    s = socket(zmq.PAIR)
    s.bind("tcp://127.0.0.1:*")
    bench.say(listen=s.last_endpoint.decode().rstrip("\0"))
    bench.await_go()

    def exchange(message):
        s.send(message)
        return s.recv()

    bench.ping(o, exchange)


def main():
    o = bench.options()
    if o["role"] == "sub":
        subscribe(o)
    else:
        ask(o)


if "--version" in sys.argv:
    print(zmq.__version__, zmq.zmq_version())
else:
    main()
