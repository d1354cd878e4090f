#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The first hour of docs/release.md, as a service of the systemd that it is about. The
# last line says how it ended. The machine may be emulated beside others that
# work: limits in time are for what never comes.

fail() {
  journalctl --no-pager -o cat -u 'tagbus-*' | tail -n 60
  echo "services: FAILED: $1" # of a log the last lines may be all that is kept
  poweroff -f
}
property() { systemctl show -P "$2" "tagbus-$1@$3"; }
# within SECONDS WHAT COMMAND... waits until a command succeeds.
within() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || fail "$what"
    sleep 0.2
  done
}
said() { journalctl -o cat -u "tagbus-$1@demo" | grep -qE "$2"; }
restarted() { [ "$(property publisher NRestarts demo)" -ge 1 ] && [ "$(property publisher ActiveState demo)" = active ]; }

echo "services: booted"
cp /usr/share/doc/tagbus/examples/*-demo.env /etc/tagbus/
echo TAGBUS_REPORT=1s >>/etc/tagbus/subscriber-demo.env
systemctl start tagbus-publisher@demo tagbus-subscriber@demo || fail "the services do not start"
within 120 "the subscriber says nothing of its messages" said subscriber '^in 1s: [1-9].* 0 lost'

# The first connection waits 5 s for the memory of the publisher to be committed, which this machine may take longer for.
systemctl restart tagbus-subscriber@demo || fail "the subscriber does not start again"
within 120 "services of one host do not share memory" said subscriber 'connected .* over shm'

runuser -u nobody -- subscriber --bus /run/tagbus --tags 0x100-0x10f --count 10 --timeout 2m ||
  fail "another user cannot subscribe"

echo TAGBUS_EMULATE=much >/etc/tagbus/publisher-wrong.env
systemctl start tagbus-publisher@wrong && fail "a service whose settings make no sense starts"
[ "$(property publisher ExecMainStatus wrong) $(property publisher NRestarts wrong)" = "2 0" ] ||
  fail "a service whose settings make no sense is started again"

mkdir -p /run/systemd/system/tagbus-publisher@demo.service.d
printf '[Service]\nWatchdogSec=10s\n' >/run/systemd/system/tagbus-publisher@demo.service.d/watchdog.conf
systemctl daemon-reload
systemctl restart tagbus-publisher@demo || fail "the publisher does not start again"
pid=$(property publisher MainPID demo)
within 120 "the subscriber does not find the publisher again" said subscriber "^subscribed demo@[^ ]*:$pid "
kill -STOP "$pid"
within 120 "a publisher that hangs is not started again" restarted

systemctl stop tagbus-subscriber@demo tagbus-publisher@demo || fail "the services do not stop"
for what in publisher subscriber; do
  said $what ' ended by signal ' || fail "the $what has no summary"
done
# What the publisher that was aborted had sent, the subscriber cannot know.
[ "$(property publisher ExecMainStatus demo) $(property subscriber ExecMainStatus demo)" = "0 1" ] ||
  fail "publisher and subscriber end with $(property publisher ExecMainStatus demo) and $(property subscriber ExecMainStatus demo)"
# The same with a directory on the servers of this host, to which publisher and subscriber
# hand over.
systemctl start tagbus-directory || fail "the directory does not start"
for what in publisher subscriber; do
  cp /usr/share/doc/tagbus/examples/$what-demo.env /etc/tagbus/$what-servers.env
  printf '%s\n' TAGBUS_BUS=etcd://127.0.0.1/demo TAGBUS_REPORT=1s >>/etc/tagbus/$what-servers.env
done
systemctl start tagbus-publisher@servers tagbus-subscriber@servers || fail "the services do not start with a directory on servers"
on_servers() { journalctl -o cat -u tagbus-subscriber@servers | grep -qE '^in 1s: [1-9].* 0 lost'; }
within 120 "the subscriber on servers says nothing of its messages" on_servers
tagbus-directory status || fail "something is wrong with the directory"
if runuser -u nobody -- tagbus-directory status; then fail "a user without a right administers the directory"; fi
systemctl restart tagbus-directory || fail "the directory does not start again"
runuser -u nobody -- subscriber --bus etcd://127.0.0.1/demo --tags 0x100-0x10f --count 10 --timeout 2m ||
  fail "a subscriber finds nothing after the directory was restarted"
systemctl stop tagbus-publisher@servers tagbus-subscriber@servers tagbus-directory || fail "the services with a directory on servers do not stop"
[ "$(property publisher ExecMainStatus servers) $(property subscriber ExecMainStatus servers)" = "0 0" ] ||
  fail "publisher and subscriber on servers end with $(property publisher ExecMainStatus servers) and $(property subscriber ExecMainStatus servers)"
echo "services: all work"
poweroff -f
