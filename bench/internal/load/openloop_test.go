// SPDX-License-Identifier: Apache-2.0

package load_test

import (
	"testing"

	"tagbus/bench/internal/load"
)

// busySystem holds its publisher up once, and notes from when on latency counts.
type busySystem struct {
	held bool
	dues [][]int64 // by tag
}

func (s *busySystem) Publish(tag int, _ uint64, _ uint32, due int64) {
	s.dues[tag] = append(s.dues[tag], due)
	if !s.held {
		s.held = true
		for until := load.Now() + 30e6; load.Now() < until; {
		}
	}
}

// TestAPublisherThatIsHeldUpOmitsNothing has 20 bursts of 5 messages, 1 ms apart, of
// which the first holds the publisher up for 30 ms.
func TestAPublisherThatIsHeldUpOmitsNothing(t *testing.T) {
	for name, burst := range map[string]int{"sleeps": 5, "spins": 0} {
		s := &busySystem{dues: make([][]int64, 1)}
		o := load.Options{Work: load.WorkOpenLoop, Tags: 1, Seconds: 0.02, Rate: 5000, Burst: burst}
		result := load.OpenLoop(o, load.System{Sender: func(load.Options) load.Sender { return s }})
		dues := s.dues[0]
		if result.Sent != 100 || len(dues) != 100 {
			t.Fatalf("%s: got %d sent and %d published, want 100", name, result.Sent, len(dues))
		}
		last := result.StartNS + 19_800_000
		if burst > 0 {
			last = result.StartNS + 19e6
		}
		if dues[99] != last {
			t.Errorf("%s: got a last message due at %d ns, want %d, when it was due", name, dues[99]-result.StartNS, last-result.StartNS)
		}
	}
}

func TestCommandsComeBetweenBursts(t *testing.T) {
	s := &busySystem{dues: make([][]int64, 2)}
	o := load.Options{Work: load.WorkOpenLoop, Tags: 2, Seconds: 0.05, Rate: 10_000, Burst: 64, Command: 32}
	var sizes []int
	result := load.OpenLoop(o, load.System{Sender: func(o load.Options) load.Sender {
		sizes = append(sizes, o.Size)
		return s
	}})
	bulk, commands := s.dues[0], s.dues[1]
	if result.Sent != 505 || len(bulk) != 500 || len(commands) != 5 || sizes[len(sizes)-1] != 32 {
		t.Fatalf("got %d sent, %d of bulk, %d commands, sizes %d, want 500 of bulk and 5 commands of 32 bytes",
			result.Sent, len(bulk), len(commands), sizes)
	}
	for i, due := range commands {
		if at := result.StartNS + int64(i)*10e6; due < at {
			t.Errorf("command %d: got %d ns before it was due, want none", i, at-due)
		}
	}
	if bulk[499] != 0 {
		t.Errorf("bulk: got latency from %d on, want none", bulk[499])
	}
}
