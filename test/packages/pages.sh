#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Does what docs/c.md, docs/felix-client.md and docs/python.md say, from the documents of the packages, in a Debian
# that has these packages and compilers. What it says is a transcript.
#   pages.sh         as /usr/bin/python3 has the package
#   pages.sh WHEEL   only the page for Python, with the wheel in a virtual environment of its own
set -euo pipefail
cd "$(mktemp -d)"
export PYTHONDONTWRITEBYTECODE=1
c=/usr/share/doc/libtagbus-dev python=/usr/share/doc/python3-tagbus

fail() {
  echo "pages: $1" >&2
  exit 1
}

# block FILE LANGUAGE N prints the block of a document that is the Nth in a language.
block() { awk -v want="\`\`\`$2" -v n="$3" '/^```/ { on = $0 == want && ++seen == n; next } on' "$1"; }

# prints WANT COMMAND runs a command of a page, and fails unless it prints that.
prints() {
  local got
  echo "$ $2"
  got=$(eval "$2") || fail "$2: status $?"
  echo "$got"
  [ "$got" = "$1" ] || fail "$2: got the above, want $1"
}

first() {
  local command commands
  block $c/c.md c 1 >first.c
  block $c/c.md cpp 1 >first.cpp
  grep 'pkg-config --cflags' $c/c.md | grep -o '\(cc\|c++\) .*first.*&& ./first' >commands
  [ "$(wc -l <commands)" = 2 ] || fail "c.md: $(wc -l <commands) lines compile the first programs, want 2"
  mapfile -t commands <commands
  for command in "${commands[@]}"; do prints "hello, detector" "$command"; done
  {
    echo 'cmake_minimum_required(VERSION 3.13)'
    echo 'project(mine C CXX)'
    echo 'add_executable(mine first.cpp)'
    echo 'target_compile_features(mine PRIVATE cxx_std_17)'
    block $c/c.md cmake 1
  } | sed '/^find_package/{h;d}; /^project/{p;s/.*/find_package(tagbus REQUIRED)/}' >CMakeLists.txt
  prints "hello, detector" "cmake -B build . >/dev/null && cmake --build build >/dev/null && build/mine"
}

felix() {
  block $c/felix-client.md cpp 1 >mine.cpp
  echo "$ g++ mine.cpp -o mine \$(pkg-config --cflags --libs tagbus)"
  # shellcheck disable=SC2046 # words
  g++ mine.cpp -o mine $(pkg-config --cflags --libs tagbus)
  echo "$ publisher --bus /tmp/felix --tags 0x100 --emulate 40 --rate 10 & ./mine /tmp/felix 0x100"
  publisher --bus /tmp/felix --tags 0x100 --emulate 40 --rate 10 --count 5 --wait-subscribers 1 >/dev/null 2>&1 &
  stdbuf -oL ./mine /tmp/felix 0x100 >felix.out &
  local mine=$!
  for _ in $(seq 600); do
    if grep -q disconnected felix.out; then break; fi
    sleep 0.1
  done
  kill $mine
  wait
  cat felix.out
  [ "$(grep -c '^0x100: 40 bytes, status 0$' felix.out)" = 5 ] || fail "the port of a felix-client program: want 5 messages"
  [ "$(sed -n '1p;$p' felix.out)" = $'connected: 0x100\ndisconnected: 0x100' ] ||
    fail "the port of a felix-client program: want on_connect first and on_disconnect last"
}

# the_page_for_python PYTHON runs both programs of the page at a time, and one of the publisher's messages.
the_page_for_python() {
  block $python/python.md python 1 >sub.py
  block $python/python.md python 2 >pub.py
  rm -rf /tmp/bus
  echo "$ $1 sub.py & $1 pub.py"
  "$1" -u sub.py >sub.out 2>sub.err &
  local sub=$!
  "$1" pub.py || fail "pub.py: status $?"
  for _ in $(seq 600); do
    if [ "$(awk '{ n += $1 } END { print n + 0 }' sub.out)" = 1000 ]; then break; fi
    sleep 0.1
  done
  kill $sub # a shell has its background ignore SIGINT
  wait $sub || true
  head -n 3 sub.out
  [ "$(awk '{ n += $1 } END { print n + 0 }' sub.out)" = 1000 ] || fail "sub.py received other than 1000 messages: $(tail -n 5 sub.out sub.err)"
}

if [ $# -eq 1 ]; then
  echo "$ python3 -m venv --system-site-packages venv && venv/bin/pip install $(basename "$1")"
  python3 -m venv --system-site-packages venv # cffi and numpy are Debian's
  venv/bin/pip install --no-index --quiet "$1"
  venv/bin/python -c '
import tagbus, sys
with tagbus.Bus("/tmp/wheel"): pass
used = {line.split()[-1] for line in open("/proc/self/maps") if "libtagbus" in line}
print(tagbus.__file__, *sorted(used), sep="\n")
sys.exit(0 if len(used) == 2 and all(sys.prefix in file for file in used) else "libraries from elsewhere than the wheel")'
  the_page_for_python venv/bin/python
else
  first
  felix
  the_page_for_python python3
fi
echo "pages: all as they say"
