// SPDX-License-Identifier: Apache-2.0

package overview_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/overview/overviewtest"
)

// verdict is what is said of a bus, without the times, which are by the clock of the host.
type verdict struct {
	Problems []overview.Problem
	Ages     []time.Duration // of First, when it was said
	Rates    []overview.Rate
	Stalled  []float64
}

func verdictOf(o overview.Overview) (v verdict) {
	for _, p := range o.Problems() {
		age := time.Duration(0)
		if !p.First.IsZero() && !p.At.IsZero() {
			age = p.At.Sub(p.First)
		}
		v.Ages = append(v.Ages, age)
		p.First, p.Last, p.At = time.Time{}, time.Time{}, time.Time{}
		v.Problems = append(v.Problems, p)
	}
	for _, in := range o.Instances() {
		v.Rates = append(v.Rates, in.MessageRate, in.ByteRate, in.LostRate, in.RefusalRate)
	}
	for _, l := range o.Links() {
		v.Rates = append(v.Rates, l.MessageRate, l.ByteRate, l.LostRate)
		v.Stalled = append(v.Stalled, l.StalledFor)
	}
	return v
}

// The clocks of hosts differ, and are set while programs run. What is wrong with a bus, and for how
// long, does not depend on them.
func TestNoVerdictDependsOnTheClocksOfHosts(t *testing.T) {
	for _, s := range overviewtest.Situations() {
		for _, c := range overviewtest.AllClocks {
			t.Run(s.Name+", clocks "+c.Name, func(t *testing.T) {
				want := verdictOf(overviewtest.AllClocks[0].By(s.Look))
				set := c.Before != c.Now // then First may be a time of the look before
				got := verdictOf(c.By(s.Look))
				if set {
					got.Ages, want.Ages = nil, nil
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("want (-) and got (+) differ:\n%s", diff)
				}
			})
		}
	}
}

func TestAllTimesAreByOneClock(t *testing.T) {
	for _, c := range overviewtest.AllClocks[1:] {
		for _, s := range overviewtest.Situations() {
			same, o := overviewtest.AllClocks[0].By(s.Look), c.By(s.Look)
			o.OneClock()
			for i := range o.Rows {
				if diff := cmp.Diff(same.Rows[i].State, o.Rows[i].State); diff != "" {
					t.Errorf("%s, clocks %s: want (-) and got (+) differ:\n%s", s.Name, c.Name, diff)
				}
			}
		}
	}
}
