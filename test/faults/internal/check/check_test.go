// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"strings"
	"testing"

	"tagbus/test/faults/internal/check"
)

// canary is a run of 10 messages, of which something is done to the sixth, and what the checker says.
func canary(t *testing.T, change func(j *check.Judge, payload []byte), told check.Told, edit func(*check.Pair)) error {
	t.Helper()
	const publisher, tag, n = "publisher", 7, 10
	var got check.Got
	j := check.NewJudge(&got, publisher, tag)
	for i := range uint64(n) {
		payload := check.AppendMessage(nil, check.StreamOf(publisher), tag, i, 100)
		if i == 5 {
			change(j, payload)
			continue
		}
		j.Observe(payload, int64(i))
	}
	got.Goodbye, got.Told = 1, told
	p := check.Pair{Sent: check.Sent{Tag: tag, Tried: n, Accepted: n, Drained: 1}, Got: got, Policy: "block"}
	if edit != nil {
		edit(&p)
	}
	return p.Verify()
}

func delivered(j *check.Judge, payload []byte) { j.Observe(payload, 5) }
func lost(*check.Judge, []byte)                {}

// TestPair_Verify: the checker sees each thing that must not happen, and nothing else.
func TestPair_Verify(t *testing.T) {
	message := func(publisher string, tag, counter uint64) []byte {
		return check.AppendMessage(nil, check.StreamOf(publisher), tag, counter, 100)
	}
	tests := []struct {
		name   string
		change func(*check.Judge, []byte)
		told   check.Told
		edit   func(*check.Pair)
		want   string // part of the error; "": none
	}{
		{"all is well", delivered, check.Told{}, nil, ""},
		{"a message is lost", lost, check.Told{}, nil, "1 are not accounted for"},
		{"a message is lost with the connection, and told", lost, check.Told{check.Connection: 1}, nil, ""},
		{"a loss is told that is none", delivered, check.Told{check.Connection: 1}, nil, "-1 are not accounted for"},
		{"a policy that loses nothing loses", lost, check.Told{check.Full: 1}, nil, "a policy that loses nothing has lost: full 1"},
		{"one that may lose does", lost, check.Told{check.Full: 1}, func(p *check.Pair) { p.Policy = "drop-oldest" }, ""},
		{"a message is lost where no connection broke", lost, check.Told{check.Connection: 1}, func(p *check.Pair) { p.Lossless = true }, "no connection broke"},
		{"a message is doubled", func(j *check.Judge, p []byte) { delivered(j, p); delivered(j, p) }, check.Told{}, nil, "1 messages doubled"},
		{"a message is late", func(j *check.Judge, p []byte) { delivered(j, message("publisher", 7, 6)); delivered(j, p) }, check.Told{}, nil, "1 messages out of order"},
		{"a message is changed", func(j *check.Judge, p []byte) { p[60] ^= 1; delivered(j, p) }, check.Told{}, nil, "1 messages changed"},
		{"a message is cut", func(j *check.Judge, p []byte) { delivered(j, p[:99]) }, check.Told{}, nil, "1 messages changed"},
		{"a message is next to nothing", func(j *check.Judge, _ []byte) { delivered(j, nil) }, check.Told{}, nil, "1 messages changed"},
		{"a message has another tag", func(j *check.Judge, _ []byte) { delivered(j, message("publisher", 8, 5)) }, check.Told{}, nil, "1 messages of another stream or tag"},
		{"a message is of another publisher", func(j *check.Judge, _ []byte) { delivered(j, message("other", 7, 5)) }, check.Told{}, nil, "1 messages of another stream or tag"},
		{"a message comes that was never tried", delivered, check.Told{}, func(p *check.Pair) { p.Sent.Tried, p.Sent.Accepted = 9, 9 }, "message 10 came, and 9 were tried"},
		{"the end is not told", delivered, check.Told{}, func(p *check.Pair) { p.Got.Goodbye = 0 }, "the subscriber was not told"},
		{"the publisher vanishes with its last messages", delivered, check.Told{}, func(p *check.Pair) {
			p.Got.Goodbye, p.Got.Vanished, p.Sent.Tried, p.Sent.Accepted = 0, 1, 15, 14
		}, ""},
		{"the publisher vanishes, and what was missing before is not told", lost, check.Told{}, func(p *check.Pair) { p.Got.Goodbye, p.Got.Vanished = 0, 1 }, "vanished: 9 delivered, 1 missing among them, 0 told lost"},
		{"the subscriber is killed with what it was told", lost, check.Told{}, func(p *check.Pair) { p.Got.Goodbye, p.Killed = 0, true }, ""},
		{"the subscriber leaves", lost, check.Told{check.Connection: 1}, func(p *check.Pair) { p.Got.Goodbye, p.Left = 0, true }, ""},
		{"the subscriber leaves, and what was missing before is not told", lost, check.Told{}, func(p *check.Pair) { p.Got.Goodbye, p.Left = 0, true }, "vanished: 9 delivered, 1 missing among them, 0 told lost"},
		{"the subscriber leaves before it is told what was left out last", lost, check.Told{}, func(p *check.Pair) { p.Got.Goodbye, p.Left, p.Policy = 0, true, "sample:3" }, ""},
		{"a late subscriber had no message yet, and was told of losses", func(*check.Judge, []byte) {}, check.Told{check.Connection: 4}, func(p *check.Pair) {
			p.Got, p.Late = check.Got{Tag: 7, Goodbye: 1, Told: p.Got.Told}, true
		}, ""},
		{"the ends differ", lost, check.Told{check.Connection: 1}, func(p *check.Pair) { p.Owed = &check.Owed{} }, "the publisher tells [0 0 0 0 0 0 0]"},
		{"the ends agree", lost, check.Told{check.Connection: 1}, func(p *check.Pair) { p.Owed = &check.Owed{Told: check.Told{check.Connection: 1}} }, ""},
		{"a message is accepted twice", delivered, check.Told{}, func(p *check.Pair) { p.Sent.Tried = 11 }, "has tried 11 and accepted 10"},
		{"the checker itself miscounts", delivered, check.Told{}, func(p *check.Pair) { p.Got.Missing = 1 }, "the checker has counted 10 delivered and 1 missing of 10"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := canary(t, test.change, test.told, test.edit)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestPair_Verify_ofALateSubscriber: its account begins at some counter up to its first message.
func TestPair_Verify_ofALateSubscriber(t *testing.T) {
	for _, test := range []struct {
		name      string
		late      bool
		told      uint64
		delivered [2]uint64 // the first and the last counter
		fails     bool
	}{
		{"from its first message on", true, 0, [2]uint64{4, 9}, false},
		{"with a loss before its first message", true, 2, [2]uint64{4, 9}, false},
		{"without its last message", true, 0, [2]uint64{4, 8}, true},
		{"with more lost than there was", true, 5, [2]uint64{4, 9}, true},
		{"and one that is not late", false, 0, [2]uint64{4, 9}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got check.Got
			j := check.NewJudge(&got, "publisher", 7)
			for i := test.delivered[0]; i <= test.delivered[1]; i++ {
				j.Observe(check.AppendMessage(nil, check.StreamOf("publisher"), 7, i, 0), int64(i))
			}
			got.Goodbye, got.Told[check.Connection] = 1, test.told
			p := check.Pair{Sent: check.Sent{Tried: 10, Accepted: 10}, Got: got, Policy: "block", Late: test.late}
			if err := p.Verify(); (err != nil) != test.fails {
				t.Errorf("got %v, want an error: %v", err, test.fails)
			}
		})
	}
}

// TestJudge_Observe_measuresPauses: the longest one is kept.
func TestJudge_Observe_measuresPauses(t *testing.T) {
	var got check.Got
	j := check.NewJudge(&got, "publisher", 7)
	for i, at := range []int64{100, 150, 400, 410} {
		j.Observe(check.AppendMessage(nil, check.StreamOf("publisher"), 7, uint64(i), 0), at)
	}
	if got.MaxPause != 250 || got.LastAt != 410 {
		t.Errorf("got a pause of %d until %d, want 250 until 410", got.MaxPause, got.LastAt)
	}
}
