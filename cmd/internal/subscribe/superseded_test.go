// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/lossfile"
	"tagbus/cmd/internal/session"
)

// overflowed is a subscriber of which the test says what its queue has lost.
type overflowed struct{ subscriber }

func (overflowed) Stats() bus.SubscriberStats { return bus.SubscriberStats{Overflowed: 9, Panics: 1} }

// TestWhatLatestSupersedesIsNoLoss neither in --loss-file, nor in the events of the console,
// nor in the summary.
func TestWhatLatestSupersedesIsNoLoss(t *testing.T) {
	for _, test := range []struct {
		kind bus.PolicyKind
		want map[state.Cause]uint64
		says bool
		sum  string
	}{
		{bus.Latest, map[state.Cause]uint64{state.Panic: 1}, false, ", 0 lost, 9 superseded in the command's own queue;"},
		{bus.DropOldest, map[state.Cause]uint64{state.Panic: 1, state.Overflow: 9}, true, ", 0 lost, 9 more in the command's own queue;"},
	} {
		t.Run(bus.Policy{Kind: test.kind}.String(), func(t *testing.T) {
			var out bytes.Buffer
			flags := &Flags{Policy: bus.Policy{Kind: test.kind}}
			flags.LossFile = filepath.Join(t.TempDir(), "losses")
			r := &run{flags: flags, console: cli.NewConsole("subscriber", &out, cli.Log{}), subscriber: overflowed{}, ending: session.NewEnding()}
			r.newLossFile()
			r.lossFile.Start("S1", nil)
			r.onEvent(bus.Event{Kind: bus.Gap, Peer: &bus.Peer{Instance: "P1"}, Tag: 5, Count: 4, Err: bus.ErrQueueFull})
			r.closeLosses()
			if err := r.console.Close(); err != nil {
				t.Error(err)
			}
			if says := out.Len() > 0; says != test.says {
				t.Errorf("got %q, want a line: %v", out.String(), test.says)
			}
			if got := r.summary().String(); !strings.Contains(got, test.sum) {
				t.Errorf("got the summary %q, want %q in it", got, test.sum)
			}
			got := make(map[state.Cause]uint64)
			_, err := lossfile.Read(flags.LossFile, func(r lossfile.Record) { got[r.Cause] += r.Count })
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("error %v, (-want +got)\n%s", err, diff)
			}
		})
	}
}
