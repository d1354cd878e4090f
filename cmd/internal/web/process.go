// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/stateapi"
	"tagbus/tags"
)

// ofProcess is Scope.Of of a page that shows one process.
const ofProcess = "process"

var errGone = errors.New("it has ended")

// NewOfProcess returns the page of one process. Close it.
//
//   - name: of the process, until it has an instance with a name.
//   - source: its state.
func NewOfProcess(name string, source stateapi.Source) *Page {
	var before map[string]*state.State
	return New(Scope{Of: ofProcess, Name: name}, Source{
		Look: func(ctx context.Context, q state.Question) overview.Overview {
			o := overview.Overview{Time: time.Now()}
			all, err := source(ctx, q)
			if err != nil {
				o.Problem = fmt.Errorf("the state is not known: %w", err)
				return o
			}
			last := before
			before = make(map[string]*state.State)
			for i := range all.Instances {
				s := &all.Instances[i]
				o.Rows = append(o.Rows, overview.Row{Entry: entryFor(s), State: s, Before: last[s.Instance]})
				before[s.Instance] = s
			}
			return o
		},
		Ask: func(ctx context.Context, row *overview.Row, q state.Question) (state.State, error) {
			all, err := source(ctx, q)
			for i := range all.Instances {
				if all.Instances[i].Instance == row.Entry.Instance {
					return all.Instances[i], nil
				}
			}
			return state.State{}, cmp.Or(err, errGone)
		},
	})
}

// entryFor returns the entry that a directory would have of an instance.
func entryFor(s *state.State) directory.Entry {
	e := directory.Entry{Instance: s.Instance, Name: s.Name, Host: s.Host, PID: s.PID, Backend: s.Backend, Since: s.Since}
	for _, text := range s.Addresses {
		if addr, err := netip.ParseAddrPort(text); err == nil { // others are not shown
			e.Addresses = append(e.Addresses, addr)
		}
	}
	if addr, err := netip.ParseAddrPort(s.Monitor); err == nil {
		e.Monitor = addr
	}
	if set, err := tags.ParseSet(s.Tags); err == nil { // a set that is cut is none
		e.Tags = set
	}
	return e
}
