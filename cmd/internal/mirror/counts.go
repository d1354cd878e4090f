// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"sync/atomic"

	"tagbus/cmd/internal/units"
)

// counts are what a copier has done, and how it stands.
//
// Threads: any.
type counts struct {
	announced, updated, withdrawn atomic.Uint64 // since it began
	copies, others, failing       atomic.Uint64 // now
}

// see counts how it stands.
func (c *counts) see(all map[string]*copied) {
	var copies, others, failing uint64
	for _, e := range all {
		if e.reg != nil {
			copies++
		}
		if e.other {
			others++
		}
		if e.err != nil {
			failing++
		}
	}
	c.copies.Store(copies)
	c.others.Store(others)
	c.failing.Store(failing)
}

// standing is one look at counts, in the form of JSON.
type standing struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Copies    uint64 `json:"copies"`    // entries of From that are in To because of this mirror
	Others    uint64 `json:"others"`    // entries of From that To has from another mirror
	Failing   uint64 `json:"failing"`   // entries that could not be written, and are tried again
	Announced uint64 `json:"announced"` // since it began: copied
	Updated   uint64 `json:"updated"`   // copied again because they have changed
	Withdrawn uint64 `json:"withdrawn"` // withdrawn because they are gone, or at the end
}

func (c *counts) standing(from, to string) standing {
	return standing{
		From: from, To: to, Copies: c.copies.Load(), Others: c.others.Load(), Failing: c.failing.Load(),
		Announced: c.announced.Load(), Updated: c.updated.Load(), Withdrawn: c.withdrawn.Load(),
	}
}

// String returns how it stands as a line.
func (s standing) String() string {
	line := fmt.Sprintf("%s to %s: %s copied", s.From, s.To, units.FormatNumber(s.Copies, "entry"))
	if s.Others > 0 {
		line += fmt.Sprintf(", %s by another mirror", units.FormatCount(s.Others))
	}
	if s.Failing > 0 {
		line += fmt.Sprintf(", %s cannot be written and will be tried again", units.FormatCount(s.Failing))
	}
	return line
}

// total returns what was done since it began.
func (s standing) total() string {
	return fmt.Sprintf("%s to %s: %s copied, %s changed, %s withdrawn", s.From, s.To,
		units.FormatNumber(s.Announced, "entry"), units.FormatCount(s.Updated), units.FormatCount(s.Withdrawn))
}
