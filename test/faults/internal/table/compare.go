// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"

	"tagbus/test/faults/internal/check"
	"tagbus/test/faults/internal/record"
	"tagbus/test/faults/load"
)

// account is the sum of pairs.
type account struct{ pairs, accepted, delivered, told, leftOut, unconfirmed uint64 }

// String returns the sums as a line.
func (a account) String() string {
	return fmt.Sprintf("%d pairs: %d accepted = %d delivered + %d told lost + %d left out + %d unconfirmed",
		a.pairs, a.accepted, a.delivered, a.told, a.leftOut, a.unconfirmed)
}

// compare compares a publisher with a subscriber.
//
// Errors: what is wrong.
func (c *Case) compare(p, s *Program, all *account) error {
	if s.Absent || p.Absent {
		return nil
	}
	sent, err := record.Open[check.Sent](p.record)
	c.Must(err)
	owed, err := record.Open[check.Owed](p.record + ".owed")
	c.Must(err)
	instance := ""
	if ready, ok := s.find("ready", 0); ok {
		instance = ready.Instance
	}
	var errs []error
	for tag, policy := range load.Policies {
		pair := check.Pair{Sent: sent[tag], Policy: policy, Late: s.Late, Killed: s.Killed, Lossless: c.lossless}
		pair.Got = check.Got{Publisher: pair.Sent.Publisher, Tag: pair.Sent.Tag}
		for _, g := range s.slots() {
			if g.Publisher == pair.Sent.Publisher && g.Tag == pair.Sent.Tag {
				pair.Got = g
			}
		}
		if sent[tag].Drained == 1 && !s.Late {
			pair.Owed = &check.Owed{}
			for i := range owed {
				if owed[i].Subscriber == check.NameOf(instance) && owed[i].Tag == pair.Sent.Tag {
					pair.Owed = &owed[i]
				}
			}
		}
		if err := pair.Verify(); err != nil {
			errs = append(errs, fmt.Errorf("%s of %s: %w", s.Name, p.Name, err))
		}
		all.add(pair)
	}
	return errors.Join(errs...)
}

func (a *account) add(p check.Pair) {
	told, out := p.Got.Told.Missing()-p.Got.Told[check.LeftOut], p.Got.Told[check.LeftOut]
	accepted := p.Sent.Accepted
	if p.Late { // its account begins later
		accepted = min(accepted, p.Got.Delivered+told+out)
	}
	a.pairs++
	a.accepted += accepted
	a.delivered += p.Got.Delivered
	a.told += told
	a.leftOut += out
	if sum := p.Got.Delivered + told + out; sum < accepted {
		a.unconfirmed += accepted - sum
	}
}
