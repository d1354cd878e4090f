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
	monitor, trouble, tell, wanted := c.Monitor, c.Trouble, c.Tell, c.Describe // a closure takes no more than it needs: there are as many as clients
	describe := func() (directory.Entry, bool) {
		e, ok := wanted()
		if !ok {
			return e, false
		}
		e.PID, e.Tags = os.Getpid(), someOf(e.Tags, maxParts)
		if monitor.IsValid() {
			if at, err := announce.PlaceOf(hostaddr.System, reachOf(monitor)); err == nil {
				e.Monitor = at.Monitor
			}
		}
		return e, true
	}
	return Start(d, describe, func(r directory.Registration) { trouble.ReportCrowded(r, tell) }, func(changed func()) (stop func()) {
		if !monitor.IsValid() {
			return func() {}
		}
		reach := reachOf(monitor)
		at, _ := announce.PlaceOf(hostaddr.System, reach) // the next change tells of what could not be found
		return announce.Follow(hostaddr.System, reach, at, func(advertise.Place) error { changed(); return nil })
	})
}

// reachOf returns the reach of a program of which nothing but the monitor is announced.
func reachOf(monitor netip.AddrPort) advertise.Reach { return advertise.Reach{Monitor: monitor} }

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
