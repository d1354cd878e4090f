// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"bytes"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/session"
)

// lossy is a subscriber of which the test says what was left out.
type lossy struct {
	subscriber
	leftOut atomic.Uint64
}

func (l *lossy) Stats() bus.SubscriberStats { return bus.SubscriberStats{LeftOut: l.leftOut.Load()} }

func TestWhatThePolicyLeavesOutIsALineAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := new(lossy)
		flags := &Flags{Policy: bus.Policy{Kind: bus.Latest}}
		r := &run{flags: flags, console: cli.NewConsole("subscriber", &out, cli.Log{LogFormat: cli.LogJournal}), subscriber: s, ending: session.NewEnding()}
		done := make(chan struct{})
		go func() { defer close(done); r.tellLeftOut() }()
		for _, n := range []uint64{1000, 1000, 1500} {
			s.leftOut.Store(n)
			time.Sleep(leftOutInterval)
			synctest.Wait()
		}
		r.ending.End("count", nil)
		<-done
		if err := r.console.Close(); err != nil {
			t.Error(err)
		}
		const want = "<6>1,000 messages left out in a minute, as --policy latest asks for kind=left_out count=1000\n" +
			"<6>500 messages left out in a minute, as --policy latest asks for kind=left_out count=500\n"
		if out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	})
}
