#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs in the virtual machine, for run.sh: each test binary of the list in the
# directory of its package, as many at once as there are processors. Leaves their
# output and exit status beside them.
#   suite.sh WORK [flags of a test binary]
#   suite.sh one LINE WORK [flags]    a line of the list
# Most of what a test waits for here is a processor, so that two binaries do not
# disturb each other more than two tests of one; and none is left idle.
if [ "$1" != one ]; then
  work=$1 status=0
  # Those of node go last and one by one: a test of theirs makes a device and cuts
  # its link, which others must not meet while they look for theirs.
  node=$'\ttagbus/node'
  # The line stands before the flags.
  grep -v "$node" "$work/list" | xargs -d '\n' -P "$(nproc)" -I LINE "$0" one LINE "$@" || status=$?
  grep "$node" "$work/list" | xargs -d '\n' -I LINE "$0" one LINE "$@" || status=$?
  exit "$status"
fi
IFS=$'\t' read -r number directory name <<<"$2"
work=$3
shift 3

# The end of the machine is no way to end: a test that hangs is ended before it,
# and says where.
left=$((VERBS_DEADLINE - EPOCHSECONDS - 15))
if [ "$left" -le 0 ]; then
  echo "verbs: no time left for $name"
  exit 1
fi
# Their goroutines share it, too: what runs at once here is the two sides of a
# connection and the device, in any case.
export GOMAXPROCS=1
start=$SECONDS status=0
if [ -n "${VERBS_SCRIPTS:-}" ] && [ "$name" = tagbus/cmd/internal/scripts ]; then set -- -test.run="$VERBS_SCRIPTS" "$@"; fi
cd "$directory" || exit
"$work/$number.test" -test.v=test2json -test.paniconexit0 -test.shuffle=on -test.timeout="${left}s" "$@" \
  >"$work/$number.out" 2>&1 || status=$?
echo $status >"$work/$number.status"
echo "verbs: status $status, $((SECONDS - start)) s: $name"
exit $((status != 0))
