// SPDX-License-Identifier: Apache-2.0

package dialer

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A try opens the addresses in their order, as RFC 8305 has it for the addresses of a
// host name ("happy eyeballs"): the next one when the one before has failed or has had
// its head start. The first connection that is established is the contact's. Those that
// follow are closed. An address that is being opened cannot be given up: it ends by
// itself, and what comes of it belongs to whatever try there is then.

// headStart is how long an address is alone before the next one is tried.
const headStart = 250 * time.Millisecond

// backendHeadStart is how long the last address of a backend is alone before the first one of a
// kind that is worse. A peer whose loop is busy answers by all of them late, and would be
// reached by the one of which the system accepts connections.
const backendHeadStart = time.Second

// nameHeadStart is the same for a name within the host. One that no process has fails at once. A peer that
// is silent there has the connection, and stands still, or commits its pool for its first reader: 64 MiB take 40 ms,
// and 4 GiB 1.6 s. By a worse way it would go as long as the connection lasts.
const nameHeadStart = 4 * time.Second

// maxOpening is how many addresses of a kind of backend are opened at a time. All that are opened are twice as
// many at most: those of other kinds, and those that are not the peer's any more, keep back none that is new.
const maxOpening = 4

// kindTime is how long a kind may open addresses before its last head start: as long as maxOpening of them take. What is left
// of it then comes behind the other kinds. Devices of both sides make 64 targets, and of 4 at a time that are silent the
// last is opened after more than a minute.
const kindTime = (maxOpening - 1) * headStart

// maxTry is how many addresses a try takes, those that are new meanwhile included: twice as
// many as an entry names. A peer that changes its addresses all the time makes no try endless.
const maxTry = 128

// try is what has become of the addresses in a try. The zero value has none.
type try struct {
	order   []Target // to be opened
	next    int      // of order
	failed  []Failure
	kind    Target    // whose kind was opened last
	since   time.Time // when it began
	revised time.Time // when addresses that were new were last opened at once
}

// Failure says why no connection has come of a target.
type Failure struct {
	Target
	Err error
}

// errNoAnswer is that of a target that was late: another one was faster.
var errNoAnswer = errors.New("no answer yet when another way was ready")

// order returns the addresses in the order of the next try: the one that worked last
// comes first among those of its backend. Those that are shared out keep their order, so that
// a contact comes back to its own device.
func (c *Contact) order() []Target {
	i := slices.Index(c.Addresses, c.worked)
	first := slices.IndexFunc(c.Addresses, c.worked.sameKind)
	if i <= first || c.dialer.backends.Spread(c.worked.Backend) {
		return slices.Clip(c.Addresses) // the try may append some
	}
	return slices.Concat(c.Addresses[:first], c.Addresses[i:i+1], c.Addresses[first:i], c.Addresses[i+1:])
}

// Dial begins a try. The contact is idle, and a connection is wanted.
func (c *Contact) Dial() {
	c.state, c.try = dialing, try{order: c.order()}
	c.more()
}

// more opens the next address that does not fail at once. The try ends if there is none
// and nothing is under way.
func (c *Contact) more() {
	c.dialer.alarms.Cancel(&c.delay)
	t := &c.try
	for t.next < len(t.order) && c.user.Wanted() {
		left := c.makeWay()
		if !c.mayOpen(t.order[t.next]) {
			if left > 0 {
				c.dialer.alarms.Set(&c.delay, left)
			}
			break
		}
		t.next++
		if c.begin(t.order[t.next-1]) {
			if t.next < len(t.order) {
				c.dialer.alarms.Set(&c.delay, c.dialer.startBefore(t.order[t.next-1], t.order[t.next]))
			}
			return
		}
	}
	if len(c.opening)+len(c.closing) == 0 {
		err := c.failure()
		c.worked, c.try = Target{}, try{}
		c.again(err)
	}
}

// startBefore returns the head start of an address before the next one.
func (d *Dialer) startBefore(addr, next Target) time.Duration {
	switch {
	case addr.sameKind(next):
		return headStart
	case d.backends.Within(addr.Backend):
		return nameHeadStart
	}
	return backendHeadStart
}

// makeWay puts what is left of a kind behind the others when it has had its time. It returns how long
// it has yet if that keeps another kind back.
func (c *Contact) makeWay() (left time.Duration) {
	t := &c.try
	now := t.order[t.next:]
	i := slices.IndexFunc(now, func(o Target) bool { return !o.sameKind(now[0]) && c.mayOpen(o) })
	if i < 0 || t.since.IsZero() || !now[0].sameKind(t.kind) {
		return 0
	}
	left = kindTime + c.dialer.startBefore(now[0], now[i]) - time.Since(t.since)
	if left <= 0 {
		t.order = slices.Concat(t.order[:t.next], now[i:], now[:i])
	}
	return left
}

// mayOpen reports whether one more address of the kind of next may be opened.
func (c *Contact) mayOpen(next Target) bool {
	current := 0
	for _, addr := range c.opening {
		if addr.sameKind(next) && slices.Contains(c.Addresses, addr) {
			current++
		}
	}
	return current < maxOpening && len(c.opening) < 2*maxOpening
}

// Revise takes over other addresses of the peer. A connection to an earlier one stays.
// Those that are new are tried next in a try that is under way, at once if none was for as
// long as a head start, and as far as the try takes some yet. A contact that waits tries
// again after the least delay; once in each wait, so that a peer which changes its
// addresses all the time is dialed no more often than that.
func (c *Contact) Revise(addresses []Target) {
	var added []Target
	for _, addr := range addresses {
		if !slices.Contains(c.Addresses, addr) {
			added = append(added, addr)
		}
	}
	c.Addresses = addresses
	if len(added) == 0 {
		return
	}
	switch {
	case c.trying():
		t := &c.try
		rest := slices.DeleteFunc(slices.Clone(t.order[t.next:]), func(a Target) bool {
			return !slices.Contains(addresses, a) || slices.Contains(added, a)
		})
		t.order = slices.Concat(t.order[:t.next], added, rest)
		t.order = t.order[:min(len(t.order), max(maxTry, t.next))]
		if c.state == dialing {
			c.hurry()
		}
	case c.state == waiting && c.delay.IsSet() && !c.hurried:
		c.hurried = true
		c.dialer.alarms.Set(&c.delay, c.dialer.least)
	}
}

// hurry opens the next address now, or a head start after the last time that it did.
func (c *Contact) hurry() {
	if left := headStart - time.Since(c.try.revised); left <= 0 {
		c.try.revised = time.Now()
		c.more()
	} else if !c.delay.IsSet() {
		c.dialer.alarms.Set(&c.delay, left)
	}
}

// begin begins to open an address, unless it has failed in this try or is taken by this
// contact: then its end is awaited. It reports whether it has begun.
func (c *Contact) begin(addr Target) bool {
	if c.try.hasFailed(addr) || slices.Contains(c.opening, addr) || slices.Contains(c.closing, addr) {
		return false
	}
	if err := c.user.Open(addr); err != nil {
		c.try.fail(addr, err)
		return false
	}
	if t := &c.try; t.since.IsZero() || !addr.sameKind(t.kind) {
		t.kind, t.since = addr, time.Now()
	}
	c.opening = append(c.opening, addr)
	c.dialer.taken[addr] = c
	return true
}

func (t *try) fail(addr Target, err error) {
	t.failed = append(t.failed, Failure{addr, err})
}

func (t *try) hasFailed(addr Target) bool {
	return slices.ContainsFunc(t.failed, func(f Failure) bool { return f.Target == addr })
}

// failure returns the errors of a try, joined in the order of the peer's addresses:
// tries that end the same way have the same text. nil: there is none. That a peer of another host is
// not on this one is no reason, if there is another.
func (c *Contact) failure() error {
	if reasons := slices.DeleteFunc(slices.Clone(c.try.failed), Failure.elsewhere); len(reasons) > 0 {
		c.try.failed = reasons
	}
	slices.SortStableFunc(c.try.failed, func(f, g Failure) int {
		return slices.Index(c.Addresses, f.Target) - slices.Index(c.Addresses, g.Target)
	})
	if len(c.try.failed) == 0 {
		return nil
	}
	return &failures{c.try.failed}
}

// Refused notes that no connection to an address has come of Open. It does nothing if
// none was being opened.
func (d *Dialer) Refused(addr Target, err error) {
	c := d.taken[addr]
	if c == nil || !slices.Contains(c.opening, addr) {
		return
	}
	delete(d.taken, addr)
	c.opening = without(c.opening, addr)
	if c.trying() {
		c.try.fail(addr, err)
	}
	if c.state == dialing {
		c.more()
	}
}

// Freed notes the end of a connection that is not its contact's, as another one was
// faster. Its address may be tried again if the other one turns out bad.
func (d *Dialer) Freed(addr Target) {
	c := d.taken[addr]
	if c == nil || !slices.Contains(c.closing, addr) {
		return
	}
	delete(d.taken, addr)
	c.closing = without(c.closing, addr)
	if t := &c.try; c.trying() && len(t.order) < maxTry && !slices.Contains(t.order[t.next:], addr) {
		t.order = append(t.order, addr)
	}
	if c.state == dialing && !c.delay.IsSet() {
		c.more()
	}
}

// better returns what has become in this try of the backends that are better than that of the
// connection, and of other devices that come before it.
func (c *Contact) better() (all []Failure) {
	own := slices.IndexFunc(c.Addresses, c.opened.sameKind)
	if c.dialer.backends.Spread(c.opened.Backend) {
		own = slices.Index(c.Addresses, c.opened)
	}
	for _, t := range c.Addresses[:max(own, 0)] {
		if i := slices.IndexFunc(c.try.failed, func(f Failure) bool { return f.Target == t }); i >= 0 {
			all = append(all, c.try.failed[i])
		} else if slices.Contains(c.opening, t) {
			all = append(all, Failure{t, errNoAnswer})
		}
	}
	return all
}

// trying reports whether a try has not ended in one way or the other.
func (c *Contact) trying() bool { return c.state == dialing || c.state == greeting }

// Refused goes on after a connection that never became ready: with the next address at
// once, and with the first one again after a delay.
func (c *Contact) Refused(err error) {
	if len(c.try.order) > 1 {
		err = fmt.Errorf("%v: %w", c.opened, err)
	}
	c.try.fail(c.opened, err)
	c.state = dialing
	c.more()
}

func without(list []Target, addr Target) []Target {
	return slices.DeleteFunc(list, func(a Target) bool { return a == addr })
}
