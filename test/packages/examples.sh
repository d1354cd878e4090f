#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the examples in C and C++ that are in the packages, and has them and those in Python talk to
# programs in Go and to each other, over a folder, and over etcd.
set -euo pipefail
cd "$(mktemp -d)"
export PYTHONDONTWRITEBYTECODE=1
c=/usr/share/doc/libtagbus-dev/examples python=/usr/share/doc/python3-tagbus/examples
bus=/tmp/examples

fail() {
  echo "examples: $1" >&2
  exit 1
}

# says WANT FILE fails unless a program has printed that.
says() { [ "$(cat "$2")" = "$1" ] || fail "$2: got $(cat "$2"), want $1"; }

# run LANGUAGE EXAMPLE BUS ARGUMENT...
run() {
  local language=$1 example=$2
  shift 2
  case $language in
  python) timeout 120 python3 $python/"$example".py "$@" ;;
  *) timeout 120 ./"$language-$example" "$@" ;;
  esac
}

languages=(c cpp)
for example in monitor readout receiver request sender; do
  # shellcheck disable=SC2046 # words
  cc -std=c11 $c/c/$example.c -o c-$example $(pkg-config --cflags --libs tagbus)
  # shellcheck disable=SC2046
  c++ -std=c++17 -O0 $c/cpp/$example.cpp -o cpp-$example $(pkg-config --cflags --libs tagbus)
done
if [ -e $python/monitor.py ]; then languages+=(python); fi

# with_go LANGUAGE has programs in Go on the other side.
with_go() {
  publisher --bus "$bus" --tags 0x1000-0x100f --emulate 40 --count 5000 --wait-subscribers 1 >go.out 2>&1 &
  run "$1" monitor "$bus" 0x1000-0x100f 5000 >monitor.out
  wait $!
  says "received 5000 messages, 200000 bytes, 0 lost" monitor.out
  subscriber --bus "$bus" --tags 0x1000-0x10ff --count 5000 >go.out 2>&1 &
  run "$1" readout "$bus" 0x1001 5000 40 >readout.out
  wait $! || fail "subscriber: $(tail -n 3 go.out)"
  says "published 5000 messages" readout.out
}

# with LANGUAGE OTHER has examples of two languages talk.
with() {
  run "$1" receiver "$bus" 0x2000-0x20ff 1000 >receiver.out &
  run "$2" sender "$bus" 0x2001 1000 >sender.out
  wait $!
  says "sent 1000 messages" sender.out
  says "received 1000 messages, 10893 bytes" receiver.out
  run "$1" request "$bus" device 100 >device.out &
  run "$2" request "$bus" ask 100 >ask.out
  wait $!
  says "answered 100 commands" device.out
  says "asked 100 times" ask.out
}

for i in "${!languages[@]}"; do
  one=${languages[i]} other=${languages[(i + 1) % ${#languages[@]}]}
  with_go "$one"
  with "$one" "$other"
  echo "  $one with Go, and with $other"
done

# The second core, for etcd, by its URL.
tagbus-directory --data "$PWD/directory" --listen 127.0.0.1:4379 >directory.out 2>&1 &
directory=$!
trap 'kill $directory' EXIT
for _ in $(seq 600); do
  if tagbus-directory status --at 127.0.0.1:4379 >/dev/null 2>&1; then break; fi
  sleep 0.1
done
bus=etcd://127.0.0.1:4379/examples
with_go c
echo "  c with Go, over etcd"
echo "examples: all work"
