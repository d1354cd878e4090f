#!/usr/bin/env bash
# Runs in the virtual machine, for run.sh: each test binary of the list in the
# directory of its package, one after the other. Leaves their output and exit
# status beside them.
work=$1
shift
failed=0
while IFS=$'\t' read -r number directory name; do
  # The end of the machine is no way to end: a test that hangs is ended before
  # it, and says where.
  left=$((VERBS_DEADLINE - EPOCHSECONDS - 15))
  if [ "$left" -le 0 ]; then
    echo "verbs: no time left for $name"
    failed=1
    continue
  fi
  start=$SECONDS status=0
  cd "$directory" || exit
  "$work/$number.test" -test.v=test2json -test.paniconexit0 -test.shuffle=on -test.timeout="${left}s" "$@" \
    >"$work/$number.out" 2>&1 || status=$?
  echo $status >"$work/$number.status"
  echo "verbs: status $status, $((SECONDS - start)) s: $name"
  [ $status -eq 0 ] || failed=1
done <"$work/list"
exit $failed
