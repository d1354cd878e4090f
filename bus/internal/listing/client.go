// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"net/netip"
	"os"
	"slices"

	"tagbus/bus/directory"
	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/announce"
	"tagbus/bus/internal/hostaddr"
	"tagbus/tags"
)

// Client is a subscriber or a sender that is listed.
type Client struct {
	Monitor  netip.AddrPort                      // of the configuration, wherever the addresses of the host say; the zero value: none
	Trouble  *announce.Trouble                   // where it is noted that there are too many clients
	Tell     func(announce.News)                 // of that; called in any goroutine, and must not block
	Describe func() (e directory.Entry, ok bool) // as of Start. Backend names all that the client has, as nothing dials it: what a slow connection lacks is seen there
}

// List lists a client in the directory of the clients of d. It returns nil if there is none.
// PID and Monitor of its entry are filled in, and its tags are some of those of Describe.
//
// Blocks: never.
func List(d directory.Directory, c Client) *Listing {
	reach := advertise.Reach{Monitor: c.Monitor}
	describe := func() (directory.Entry, bool) {
		e, ok := c.Describe()
		if !ok {
			return e, false
		}
		e.PID, e.Tags = os.Getpid(), someOf(e.Tags, maxParts)
		if c.Monitor.IsValid() {
			if at, err := announce.PlaceOf(hostaddr.System, reach); err == nil {
				e.Monitor = at.Monitor
			}
		}
		return e, true
	}
	return Start(d, describe, func(r directory.Registration) { c.Trouble.ReportCrowded(r, c.Tell) }, func(changed func()) (stop func()) {
		if !c.Monitor.IsValid() {
			return func() {}
		}
		at, _ := announce.PlaceOf(hostaddr.System, reach) // the next change tells of what could not be found
		return announce.Follow(hostaddr.System, reach, at, func(advertise.Place) error { changed(); return nil })
	})
}

// maxParts is how many ranges and patterns the entry of a client has at most: it is for
// operators, and nothing dials because of it.
const maxParts = 64

// someOf returns a set with the first ranges and patterns of another one.
func someOf(set tags.Set, most int) tags.Set {
	if set.Parts() <= most {
		return set
	}
	var some []tags.Set
	for lo, hi := range set.Ranges() {
		if len(some) == most {
			break
		}
		part, err := tags.Range(lo, hi)
		if err == nil { // they come from a set
			some = append(some, part)
		}
	}
	for value, mask := range set.Masks() {
		if len(some) == most {
			break
		}
		some = append(some, tags.Match(value, mask))
	}
	return tags.Union(slices.Clip(some)...)
}
