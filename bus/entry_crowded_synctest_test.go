// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/bus/state"
	"tagbus/tags"
)

// An entry among too many is a problem of each role, in its events and its state, until it is over. Of a
// client it is the only one: nothing fails without its entry.
func TestEntryError_ofAnEntryAmongTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(2)}, func(bus.Message) {})
		s := b.subscriber(bus.SubscriberConfig{})
		x := b.sender(bus.SenderConfig{})
		time.Sleep(time.Second) // clients are listed
		clients := b.dir.Clients().(*memory.Directory)
		crowded := fmt.Errorf("too many: %w", directory.ErrCrowded)
		for _, one := range []struct {
			name, instance string
			dir            *memory.Directory
			member         *member
			state          func() state.State
			client         bool
		}{
			{"publisher", p.Instance(), b.dir, p.member, func() state.State { return stateOf(t, p, everything) }, false},
			{"receiver", r.Instance(), b.dir, r.member, func() state.State { return stateOf(t, r, everything) }, false},
			{"subscriber", s.Instance(), clients, s.member, func() state.State { return stateOf(t, s, everything) }, true},
			{"sender", x.Instance(), clients, x.member, func() state.State { return stateOf(t, x, everything) }, true},
		} {
			for _, step := range []struct {
				err              error
				crowded, failing bool
			}{{crowded, true, false}, {nil, false, false}, {crowded, true, false}, {errors.New("no space left"), false, !one.client}, {nil, false, false}} {
				one.dir.Fail(one.instance, step.err)
				time.Sleep(time.Second)
				synctest.Wait()
				if st := one.state(); st.EntryCrowded != step.crowded || st.EntryFailing != step.failing {
					t.Errorf("%s, %v: got crowded %v and failing %v", one.name, step.err, st.EntryCrowded, st.EntryFailing)
				}
			}
			var got []string
			for _, e := range one.member.of(bus.Problem) {
				got = append(got, e.Err.Error())
			}
			begins, over := "bus: other programs may not find this one: "+crowded.Error(), "bus: other programs follow the entries of the directory again, after 1s with too many"
			want := []string{begins, over, begins, over}
			if !one.client {
				want = append(want, "bus: the entry in the directory cannot be renewed, so that others find an old one, or none when it has expired: no space left",
					"bus: the entry in the directory is renewed again, after 1s without: no space left")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got)\n%s", one.name, diff)
			}
		}
	})
}
