// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/tags"
)

// lossCounts is what the commands print with --json.
type lossCounts struct {
	Full, Memory, Connection, Ended uint64
	LeftOut                         uint64 `json:"left_out"`
}

func (l lossCounts) lost() uint64 { return l.Full + l.Memory + l.Connection + l.Ended }

func (l lossCounts) plus(m lossCounts) lossCounts {
	return lossCounts{l.Full + m.Full, l.Memory + m.Memory, l.Connection + m.Connection, l.Ended + m.Ended, l.LeftOut + m.LeftOut}
}

// publisherSummary is what a publisher prints.
type publisherSummary struct {
	Instance           string
	Messages, Refusals uint64
	Subscribers        []struct {
		PID    int
		Policy string
		lossCounts
	}
}

// subscriberSummary is what a subscriber prints.
type subscriberSummary struct {
	Messages, Lost uint64
	Missing        uint64
	LostBy         lossCounts `json:"lost_by"`
	Latency        struct {
		P99 float64 `json:"p99_seconds"`
	}
	Tags []struct {
		Publisher           string
		Tag                 tags.Tag
		Published, Received uint64
		lossCounts
	}
}

const (
	accountTags = 8 // of each publisher
	stopTime    = 10 * time.Second
)

// accountPublisher is a publisher of tags of its own.
type accountPublisher struct {
	*program
	first   tags.Tag
	summary publisherSummary
}

func startPublisher(t *testing.T, dir string, first tags.Tag, subscribers int) *accountPublisher {
	t.Helper()
	rate := "1k"
	if testkit.Race { // what takes so much longer must not pile up until the end
		rate = "250"
	}
	p := run(t, fmt.Sprintf("publisher of tag %v", first), "publisher", "--bus", dir, "--tags", fmt.Sprintf("%d-%d", first, first+accountTags-1),
		"--emulate", "4KiB", "--stamp", "--rate", rate, "--wait-subscribers", strconv.Itoa(subscribers), "--json")
	return &accountPublisher{program: p, first: first}
}

// end ends it in order.
//
//   - codes: with which it may end.
func (p *accountPublisher) end(codes ...int) {
	p.tb.Helper()
	p.signal(syscall.SIGTERM)
	p.finish(codes...)
	p.program.summary(&p.summary)
}

// published returns how many messages of a tag it has published, in turn.
func (p *accountPublisher) published(tag tags.Tag) uint64 {
	return (p.summary.Messages + accountTags - 1 - uint64(tag-p.first)) / accountTags
}

// accountSubscriber is a subscriber of all tags.
type accountSubscriber struct {
	*program
	policy  string
	before  []string // lines until the stop, and while it lasts
	during  []string
	summary subscriberSummary
}

// TestEveryMessageIsAccountedFor: three publishers, eight subscribers, of which
// one is stopped for a while and one is killed; one publisher is restarted in
// order. For each subscriber that is left and each tag, what was published is
// received or reported lost, and the publishers have the same counts.
func TestEveryMessageIsAccountedFor(t *testing.T) {
	notShort(t)
	t.Parallel()
	dir := t.TempDir()
	policies := []string{"block", "block", "drop-newest", "drop-newest", "drop-oldest", "latest", "sample:10", "disconnect:30s"}
	const killed, stopped = 1, 3
	subs := make([]*accountSubscriber, len(policies))
	for i, policy := range policies {
		args := []string{"subscriber", "--bus", dir, "--tags", "*", "--policy", policy, "--verify", "--until-goodbye", "--json", "--per-tag", "--report", "500ms"}
		if i == stopped {
			args = append(args, "--backlog", "512KiB")
		}
		subs[i] = &accountSubscriber{program: run(t, fmt.Sprintf("subscriber %d, %s", i, policy), args...), policy: policy}
	}
	a, b, c := startPublisher(t, dir, 100, len(subs)), startPublisher(t, dir, 200, len(subs)), startPublisher(t, dir, 300, len(subs))
	for _, s := range subs {
		for _, p := range []*accountPublisher{a, b, c} {
			s.await(fmt.Sprintf("subscribed .*:%d ", p.cmd.Process.Pid))
		}
		s.await("in 500ms: [1-9]")
	}
	idle(2 * time.Second)
	subs[killed].signal(syscall.SIGKILL)
	subs[killed].finish(-1)
	for _, p := range []*accountPublisher{a, b, c} {
		p.await(fmt.Sprintf("lost [^ ]*:%d ", subs[killed].cmd.Process.Pid))
	}
	left := slices.Delete(slices.Clone(subs), killed, killed+1)
	b.end(0, 1) // 1 if it has lost one just now, and not long ago, as on a machine that is busy
	restarted := startPublisher(t, dir, 200, len(left))
	for _, s := range left {
		s.await(fmt.Sprintf("subscribed .*:%d ", restarted.cmd.Process.Pid))
	}
	idle(time.Second)

	mark := make([]int, len(left))
	for i, s := range left {
		s.before = s.linesFrom(0)
		mark[i] = len(s.before)
	}
	subs[stopped].signal(syscall.SIGSTOP)
	idle(stopTime)
	for i, s := range left {
		s.during = s.linesFrom(mark[i])
	}
	subs[stopped].signal(syscall.SIGCONT)
	idle(2 * time.Second) // long enough to connect again, should it have been cut off

	publishers := []*accountPublisher{a, b, restarted, c}
	for _, p := range []*accountPublisher{a, restarted, c} {
		p.end(0)
	}
	for _, s := range left {
		if s == subs[stopped] {
			s.finish(0, 1) // 1 if it has been cut off meanwhile, which its policy does not allow
		} else {
			s.finish(0)
		}
		s.program.summary(&s.summary)
		s.check(t, publishers)
	}
	if s := subs[stopped].summary; s.LostBy.lost() == 0 {
		t.Errorf("the stopped subscriber has lost nothing of %d messages: the test tests nothing", s.Messages)
	}
	for _, s := range left {
		if s != subs[stopped] {
			t.Logf("%s: p99 latency %v before, %v during the stop of another; %d received, lost %+v",
				s.name, p99(s.before), p99(s.during), s.summary.Messages, s.summary.LostBy)
		}
	}
	t.Logf("%s, stopped for %v: %d received, lost %+v", subs[stopped].name, stopTime, subs[stopped].summary.Messages, subs[stopped].summary.LostBy)
}

// check compares what the subscriber has with what the publishers have.
func (s *accountSubscriber) check(t *testing.T, publishers []*accountPublisher) {
	t.Helper()
	if s.summary.Missing > 0 || s.summary.LostBy.Ended > 0 {
		t.Errorf("%s: %d messages are missing that were not reported, %d without a reason", s.name, s.summary.Missing, s.summary.LostBy.Ended)
	}
	if lossless := s.policy == "block" || strings.HasPrefix(s.policy, "disconnect"); lossless && s.summary.Lost > 0 {
		t.Errorf("%s: got %d lost, want none", s.name, s.summary.Lost)
	}
	for _, p := range publishers {
		seen := 0
		var sum lossCounts
		for _, tag := range s.summary.Tags {
			if tag.Publisher != p.summary.Instance {
				continue
			}
			seen++
			sum = sum.plus(tag.lossCounts)
			if got, want := tag.Received+tag.lost()+tag.LeftOut, p.published(tag.Tag); got != want {
				t.Errorf("%s, tag %v: received %d, lost %+v: together %d, published %d", s.name, tag.Tag, tag.Received, tag.lossCounts, got, want)
			}
		}
		if seen != accountTags {
			t.Errorf("%s: got %d tags of %s, want %d", s.name, seen, p.name, accountTags)
		}
		known := 0
		for _, there := range p.summary.Subscribers {
			if there.PID != s.cmd.Process.Pid {
				continue
			}
			known++
			if there.Policy != s.policy || there.lossCounts != sum {
				t.Errorf("%s: %s counts %s and %+v, it counts %s and %+v", s.name, p.name, there.Policy, there.lossCounts, s.policy, sum)
			}
		}
		if known != 1 {
			t.Errorf("%s: %s knows it %d times, want once", s.name, p.name, known)
		}
	}
}

var p99Pattern = regexp.MustCompile(`latency p50 .*, p99 ([^,]+), max`)

// p99 returns the 99th percentiles in lines of --report, from the best to the
// worst.
func p99(lines []string) string {
	var all []string
	for _, line := range lines {
		if m := p99Pattern.FindStringSubmatch(line); m != nil {
			all = append(all, m[1])
		}
	}
	if len(all) == 0 {
		return "none"
	}
	durations := make([]time.Duration, len(all))
	for i, text := range all {
		durations[i], _ = time.ParseDuration(strings.NewReplacer(" ", "", ",", "").Replace(text)) // 0 if it cannot be read
	}
	slices.Sort(durations)
	return fmt.Sprintf("%v (worst %v of %d intervals)", durations[len(durations)/2], durations[len(durations)-1], len(durations))
}
