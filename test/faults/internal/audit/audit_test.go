// SPDX-License-Identifier: Apache-2.0

//go:build linux

package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tagbus/test/faults/internal/audit"
	"tagbus/test/faults/internal/check"
	"tagbus/test/faults/internal/record"
)

// site is a publisher of one tag and a subscriber, whose records a test writes.
type site struct {
	t          *testing.T
	now        time.Time
	audit      *audit.Audit
	publisher  *audit.Publisher
	subscriber *audit.Subscriber
	path       string // of the record of the publisher
	sent       *check.Sent
	got        *check.Got
	judge      *check.Judge
	problems   []string
}

const tag = 0x10007

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, now: time.Unix(0, 0), path: filepath.Join(t.TempDir(), "publisher")}
	s.audit = audit.New(func() time.Time { return s.now }, func(format string, args ...any) {
		s.problems = append(s.problems, fmt.Sprintf(format, args...))
	})
	sent, err := record.Create[check.Sent](s.path, 3)
	must(t, err)
	path := filepath.Join(t.TempDir(), "subscriber")
	got, err := record.Create[check.Got](path, 3)
	must(t, err)
	s.publisher = s.audit.Publisher(s.path)
	s.subscriber = s.audit.Subscriber("subscriber", path, func(uint64) string { return "block" })
	sent[0] = check.Sent{Publisher: check.NameOf("publisher"), Tag: tag}
	s.sent, s.got = &sent[0], &got[1]
	s.judge = check.NewJudge(s.got, "publisher", tag)
	return s
}

// publish publishes messages, of which some do not come.
func (s *site) publish(n int, lost ...int) {
	for i := range n {
		if at := s.sent.Accepted; len(lost) == 0 || i != lost[0] {
			s.judge.Observe(check.AppendMessage(nil, check.StreamOf("publisher"), tag, at, 0), int64(at))
		} else {
			lost = lost[1:]
		}
		s.sent.Tried++
		s.sent.Accepted++
	}
}

// looks looks a few times, with a time between.
func (s *site) looks(every time.Duration) {
	for range 3 {
		s.audit.Look()
		s.now = s.now.Add(every)
	}
}

func (s *site) want(problems ...string) {
	s.t.Helper()
	if len(s.problems) != len(problems) {
		s.t.Fatalf("got problems %q, want %q", s.problems, problems)
	}
	for i, want := range problems {
		if !strings.Contains(s.problems[i], want) {
			s.t.Errorf("got problem %q, want %q", s.problems[i], want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAudit_Look(t *testing.T) {
	tests := []struct {
		name string
		life func(*site)
		want []string
	}{
		{"a publisher ends in order", func(s *site) {
			s.publish(10)
			s.audit.Ended(s.publisher, audit.Ordered)
			s.got.Goodbye = 1
		}, nil},
		{"its last message is not there", func(s *site) {
			s.publish(10, 9)
			s.audit.Ended(s.publisher, audit.Ordered)
			s.got.Goodbye = 1
		}, []string{"1 are not accounted for"}},
		{"a publisher is killed", func(s *site) {
			s.publish(10, 9)
			s.audit.Ended(s.publisher, audit.Killed)
			s.got.Vanished = 1
		}, nil},
		{"a message in the middle is not told", func(s *site) {
			s.publish(10, 5)
			s.audit.Ended(s.publisher, audit.Killed)
			s.got.Vanished = 1
		}, []string{"1 missing among them, 0 told lost"}},
		{"the end of a publisher is not told", func(s *site) {
			s.publish(10)
			s.audit.Ended(s.publisher, audit.Killed)
		}, []string{"the publisher is gone, which is not told"}},
		{"a live publisher has lost a message, which is not told", func(s *site) { s.publish(10, 5) }, []string{"1 messages were missing below the last one"}},
		{"and one which is", func(s *site) { s.publish(10, 5); s.got.Told[check.Connection] = 1 }, nil},
		{"a live publisher leaves messages out all the time, and tells it a little later", func(s *site) {
			for i := range uint64(20) {
				s.publish(10, 5)
				s.got.Told[check.LeftOut] = i
				s.audit.Look()
				s.now = s.now.Add(30 * time.Second)
			}
			s.got.Told[check.LeftOut]++
		}, nil},
		{"messages from before the subscription", func(s *site) { s.publish(10, 0, 1, 2) }, nil},
		{"a message comes twice", func(s *site) {
			s.publish(10)
			s.sent.Accepted = 5
			s.publish(1)
		}, []string{"1 messages doubled"}},
		{"a subscriber is killed", func(s *site) { s.publish(10, 5); s.audit.Left(s.subscriber, audit.Killed) }, nil},
		{"a subscriber leaves", func(s *site) { s.publish(10, 5); s.audit.Left(s.subscriber, audit.Ordered) }, []string{"1 missing among them, 0 told lost"}},
		{"a publisher vanishes and goes on", func(s *site) {
			s.publish(10)
			s.got.Vanished = 1
			s.looks(time.Second)
			s.publish(10)
		}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t)
			test.life(s)
			s.looks(5 * time.Minute)
			s.looks(5 * time.Minute)
			s.want(test.want...)
		})
	}
}

// TestAudit_Look_keepsNothing: what was judged gives its slot and its files back, and counts in the sums.
func TestAudit_Look_keepsNothing(t *testing.T) {
	s := newSite(t)
	s.publish(10, 5)
	s.audit.Look()
	if s.audit.Open() != 1 || s.audit.Live(s.subscriber, s.publisher, 0) != 1 {
		t.Errorf("got %d open streams, of which %d live, want one of each", s.audit.Open(), s.audit.Live(s.subscriber, s.publisher, 0))
	}
	s.got.Told[check.Connection], s.got.Goodbye = 1, 1
	s.audit.Ended(s.publisher, audit.Ordered)
	s.looks(time.Second)
	if s.got.Judged != 1 || s.audit.Open() != 0 {
		t.Errorf("got Judged %d and %d open streams, want 1 and 0", s.got.Judged, s.audit.Open())
	}
	s.looks(time.Hour)
	if _, err := os.Stat(s.path); !os.IsNotExist(err) {
		t.Errorf("the record of a publisher that no stream names is there: %v", err)
	}
	s.audit.Left(s.subscriber, audit.Ordered)
	s.looks(time.Second)
	want := audit.Sums{Streams: 1, Accepted: 10, Delivered: 9, Told: check.Told{check.Connection: 1}}
	if got := s.audit.Sums()["block"]; got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	s.want()
}

// TestAudit_Look_seesWhatComesLate: a stream of a publisher whose account is closed.
func TestAudit_Look_seesWhatComesLate(t *testing.T) {
	s := newSite(t)
	s.publish(10)
	s.got.Goodbye = 1
	s.audit.Ended(s.publisher, audit.Ordered)
	s.looks(time.Hour)
	s.got.Judged = 0 // as a stream that begins again
	s.looks(time.Hour)
	s.want("after its account was closed")
}
