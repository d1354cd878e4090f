// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAStoppedBlockSubscriberMakesThePublisherWait: its memory stays flat, it
// waits, and goes on when the subscriber does.
func TestAStoppedBlockSubscriberMakesThePublisherWait(t *testing.T) {
	notShort(t)
	t.Parallel()
	dir := t.TempDir()
	const pool = 16 << 20
	sub := run(t, "subscriber", "subscriber", "--bus", dir, "--tags", "1-4", "--verify", "--until-goodbye", "--json")
	pub := run(t, "publisher", "publisher", "--bus", dir, "--tags", "1-4", "--emulate", "4KiB", "--rate", "5k", "--wait-subscribers", "1",
		"--pool-bytes", strconv.Itoa(pool), "--heartbeat-timeout", "60s", "--metrics", "127.0.0.1:0", "--json")
	sub.await("subscribed .* tags")
	idle(time.Second)
	sub.signal(syscall.SIGSTOP)
	memory, published := []int64{pub.residentBytes()}, []float64{pub.metric("tagbus_publisher_messages_total")}
	waits := false
	for range 30 { // how soon all room is taken depends on the machine
		idle(time.Second)
		before := published[len(published)-1]
		memory = append(memory, pub.residentBytes())
		published = append(published, pub.metric("tagbus_publisher_messages_total"))
		if waits = published[len(published)-1] == before; waits {
			break
		}
	}
	sub.signal(syscall.SIGCONT)
	t.Logf("resident memory of the publisher, second by second: %d MiB", mebibytes(memory))
	if grown := memory[len(memory)-1] - memory[0]; grown > pool+pool/2 {
		t.Errorf("the publisher grew by %d bytes while a subscriber was stopped, its pool has %d", grown, pool)
	}
	if !waits {
		t.Errorf("the publisher did not wait: published %v", published)
	}
	for range 30 {
		if idle(time.Second); pub.metric("tagbus_publisher_messages_total") > published[len(published)-1] {
			break
		}
	}
	if now := pub.metric("tagbus_publisher_messages_total"); now <= published[len(published)-1] {
		t.Errorf("the publisher did not go on: %v and then %v messages", published[len(published)-1], now)
	}
	pub.signal(syscall.SIGTERM)
	pub.finish(0)
	sub.finish(0)
	var there publisherSummary
	var here subscriberSummary
	pub.summary(&there)
	sub.summary(&here)
	if here.Messages != there.Messages || here.Lost != 0 || there.Refusals == 0 {
		t.Errorf("received %d, lost %d; the publisher has published %d and was refused %d times, want the same, none, and some",
			here.Messages, here.Lost, there.Messages, there.Refusals)
	}
}

func mebibytes(bytes []int64) (all []int64) {
	for _, n := range bytes {
		all = append(all, n>>20)
	}
	return all
}

var (
	tagLine     = regexp.MustCompile(`subscriber: tag (0x[0-9a-f]+): ([0-9,]+) of ([0-9,]+) lost: ([0-9,]+) too slow$`)
	summaryLine = regexp.MustCompile(`subscriber: ([0-9,]+) messages, .* ([0-9,]+) lost \(([0-9,]+) too slow\), 0 corrupt, 0 duplicates; ended by goodbye$`)
)

// TestADropNewestSubscriberNeverMakesThePublisherWait: what it loses while it is
// stopped, it says exactly and by tag.
func TestADropNewestSubscriberNeverMakesThePublisherWait(t *testing.T) {
	notShort(t)
	t.Parallel()
	dir := t.TempDir()
	sub := run(t, "subscriber", "subscriber", "--bus", dir, "--tags", "1-4", "--verify", "--until-goodbye", "--policy", "drop-newest")
	pub := run(t, "publisher", "publisher", "--bus", dir, "--tags", "1-4", "--emulate", "4KiB", "--rate", "5k", "--wait-subscribers", "1",
		"--queue-bytes", "2MiB", "--heartbeat-timeout", "60s", "--json")
	sub.await("subscribed .* tags")
	idle(time.Second)
	sub.signal(syscall.SIGSTOP)
	idle(4 * time.Second)
	sub.signal(syscall.SIGCONT)
	idle(time.Second)
	pub.signal(syscall.SIGTERM)
	pub.finish(0)
	sub.finish(0)
	var there publisherSummary
	pub.summary(&there)
	if there.Refusals > 0 {
		t.Errorf("the publisher was refused %d times, want never", there.Refusals)
	}
	var lost, published uint64
	seen := 0
	for _, line := range sub.linesFrom(0) {
		if m := tagLine.FindStringSubmatch(line); m != nil {
			t.Log(line)
			seen++
			lost += number(t, m[2])
			published += number(t, m[3])
		}
	}
	last := sub.await(summaryLine.String()) // what was not shown may be counted after it
	t.Log(last)
	m := summaryLine.FindStringSubmatch(last)
	if seen != 4 || lost == 0 || published != there.Messages || number(t, m[1])+lost != published || number(t, m[2]) != lost {
		t.Errorf("the %d tags named have lost %d of %d; published %d", seen, lost, published, there.Messages)
	}
}

// number reads a number with separators.
func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.ReplaceAll(text, ",", ""), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
