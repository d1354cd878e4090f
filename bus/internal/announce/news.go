// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tagbus/bus/directory"
	"tagbus/internal/sanitize"
)

// News is what has become of an entry: a Moved, a LeftOut, a Gone or a Failing.
type News interface{ news() }

// Moved says that the entry names other addresses now, because those of the host have changed.
type Moved struct{ Addresses []netip.AddrPort }

// LeftOut says that the host has more addresses than an entry names.
type LeftOut struct {
	Has   int // addresses of the host that others may dial
	Named int // that the entry has
}

// Gone says that an address that is announced whatever the host has was one of the host,
// and is no more, or is again.
type Gone struct {
	Addr   netip.AddrPort
	Over   bool          // the host has it again
	Lasted time.Duration // if Over: for how long it had not
}

// Failing says that the entry cannot be announced, renewed or changed, or is one of too many.
type Failing struct {
	Err         error
	Unannounced bool          // it was in the directory never
	Over        bool          // it can again
	Lasted      time.Duration // if Over: for how long it could not
}

func (Moved) news()   {}
func (LeftOut) news() {}
func (Gone) news()    {}
func (Failing) news() {}

// Text says how many there are, and what to do.
func (l LeftOut) Text() string {
	return fmt.Sprintf("bus: this host has %d addresses, and its entry names %d, the first of each network first: set Advertise to name others", l.Has, l.Named)
}

// Text names the address, and what to do.
func (g Gone) Text() string {
	if g.Over {
		return sanitize.Linef("bus: %v is an address of this host again, after %v without", g.Addr, g.Lasted.Round(time.Millisecond))
	}
	return sanitize.Linef("bus: %v, which is announced, is not an address of this host any more: no program connects by it: give the host the address again, or listen on 0.0.0.0, which follows what the host has", g.Addr)
}

// Text says why, or how long it lasted. Of an entry that was announced late it does not repeat why.
func (f Failing) Text() string {
	crowded := errors.Is(f.Err, directory.ErrCrowded)
	switch {
	case crowded && f.Over:
		return sanitize.Linef("bus: other programs follow the entries of the directory again, after %v with too many", f.Lasted.Round(time.Millisecond))
	case crowded:
		return sanitize.Linef("bus: other programs may not find this one: %v", f.Err)
	case f.Over && f.Unannounced:
		return sanitize.Linef("bus: the entry is in the directory now, %v late", f.Lasted.Round(time.Millisecond))
	case f.Unannounced:
		return sanitize.Linef("bus: the entry is not in the directory yet, so that no other program finds this one: %v", f.Err)
	case f.Over:
		return sanitize.Linef("bus: the entry in the directory is renewed again, after %v without: %v", f.Lasted.Round(time.Millisecond), f.Err)
	}
	return sanitize.Linef("bus: the entry in the directory cannot be renewed, so that others find an old one, or none when it has expired: %v", f.Err)
}
