// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"net/netip"
	"os"
	"slices"

	"tagbus/bus/directory"
	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/hostaddr"
	"tagbus/bus/internal/listing"
	"tagbus/netio"
	"tagbus/tags"
)

// maxListedParts is how many ranges and patterns the entry of a client has at most: it is for
// operators, and nothing dials because of it.
const maxListedParts = 64

// clientEntry returns the entry of a subscriber or a sender. Its Backend names all that it has, as nothing
// dials it: who looks for the reason of a slow connection sees there what it lacks.
//
//   - wanted: what it subscribes to or sends, or some of it.
//   - monitor: of the configuration.
func clientEntry(e directory.Entry, wanted tags.Set, monitor netip.AddrPort) directory.Entry {
	e.PID, e.Tags = os.Getpid(), someOf(wanted, maxListedParts)
	if monitor.IsValid() {
		if at, err := newPlace(hostaddr.System, monitorOnly(monitor)); err == nil {
			e.Monitor = at.Monitor
		}
	}
	return e
}

// monitorOnly returns the reach of a program of which nothing but the monitor is announced.
func monitorOnly(monitor netip.AddrPort) advertise.Reach { return advertise.Reach{Monitor: monitor} }

// list lists a client, whose monitor may be wherever the addresses of the host say.
//
//   - trouble: where it is noted that there are too many clients. That the entry cannot be
//     renewed is no trouble: nothing fails without it.
func list(dir directory.Directory, monitor netip.AddrPort, describe func() (directory.Entry, bool), loop netio.Loop, trouble *entryTrouble, event func(Event)) *listing.Listing {
	announced := func(r directory.Registration) { reportEntry(&listed{Registration: r}, loop, trouble, event) }
	return listing.Start(dir, describe, announced, func(changed func()) (stop func()) {
		if !monitor.IsValid() {
			return func() {}
		}
		l := monitorOnly(monitor)
		at, _ := newPlace(hostaddr.System, l) // the next change tells of what could not be found
		return followHost(hostaddr.System, l, at, func(advertise.Place) error { changed(); return nil })
	})
}

// listed is the registration of a client: of its problems, only that there are too many.
type listed struct {
	directory.Registration
	crowded bool // was told; one report at a time
}

// OnProblem implements directory.Reporter.
func (l *listed) OnProblem(report func(error)) {
	reporter, ok := l.Registration.(directory.Reporter)
	if !ok {
		return
	}
	reporter.OnProblem(func(err error) {
		crowded := errors.Is(err, directory.ErrCrowded)
		if crowded == l.crowded {
			return
		}
		if l.crowded = crowded; !crowded {
			err = nil
		}
		report(err)
	})
}

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
