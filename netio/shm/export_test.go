// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
)

// BreakConnection breaks the connection of an endpoint, as the sudden end of its process
// does. Threads: any.
func BreakConnection(ep netio.Endpoint) {
	e := ep.(*endpoint)
	e.backend.EventLoop.Post(func() {
		if e.state != ended {
			_ = unix.Shutdown(e.fd, unix.SHUT_RDWR)
		}
	})
}

// WithReadBudget returns c with a limit for what an endpoint receives in a turn.
func WithReadBudget(c Config, bytes int) Config {
	c.readBudget = bytes
	return c
}

// WithAcceptBudget returns c with a limit for what is accepted in a turn.
func WithAcceptBudget(c Config, n int) Config {
	c.acceptBudget = n
	return c
}

// WithGreetingTimeout returns c with a limit for how long strangers may be silent.
func WithGreetingTimeout(c Config, d time.Duration) Config {
	c.greeting = d
	return c
}

// WithPartTimeout returns c with a limit for how long an endpoint waits for its peer when
// it closes.
func WithPartTimeout(c Config, d time.Duration) Config {
	c.part = d
	return c
}

// WithCommit returns c with another netio.CommitRegion, and what comes after a failure of it.
func WithCommit(c Config, commit func(region []byte, budget int) (done bool, err error), pause time.Duration) Config {
	c.commit, c.commitPause = commit, pause
	return c
}

// PeerHasClosed reports whether the other side has closed. Threads: the loop, or any while
// the loop waits for it.
func PeerHasClosed(ep netio.Endpoint) bool { return ep.(*endpoint).reader.peer.final.Load() != 0 }

// SetFolders sets where default folders are.
func SetFolders(t *testing.T, users, temporary string) {
	t.Helper()
	oldUsers, oldTemporary := usersFolder, temporaryFolder
	usersFolder, temporaryFolder = users, temporary
	t.Cleanup(func() { usersFolder, temporaryFolder = oldUsers, oldTemporary })
}

// Trusts returns why an endpoint does not trust a listener of a user, or nil.
func Trusts(c Config, uid int) error {
	c = c.withDefaults()
	return c.trusts(unix.Ucred{Uid: uint32(uid)})
}

// WithClaim returns c, where this side says something false of itself behind its certificate.
func WithClaim(c Config, claim func(*bond)) Config {
	c.claim = claim
	return c
}

// OfUser says another user.
func OfUser(uid uint32) func(*bond) { return func(b *bond) { b.uid = uid } }

// InSpace says another user namespace; 0: none.
func InSpace(ino uint64) func(*bond) {
	return func(b *bond) {
		b.space = fileID{}
		if ino > 0 {
			b.space = fileID{1, ino}
		}
	}
}

// WithOtherMemory says another segment than that of the greeting.
func WithOtherMemory(b *bond) { b.segment.ino++ }

// Handshakes returns how many handshakes of accepted connections have a place, wait in
// line, and go on without a place.
func Handshakes(b netio.Backend) (busy, waiting, parked int) { return b.(*backend).accepts.Count() }

// OwnBond returns what a process says behind its certificate.
func OwnBond() ([]byte, error) {
	fd, mem, err := newSegment(peerShape)
	if err != nil {
		return nil, err
	}
	made := segment{fd, mem}
	defer made.free()
	id, err := idOf(fd)
	own := &bond{uid: uint32(unix.Geteuid()), space: userSpace(), segment: id}
	return own.encoded(), err
}

// BondOf returns what a process says behind its certificate that will pass these files.
//
//   - claim: changes what it says; nil: nothing.
func BondOf(claim func(*bond), files ...int) ([]byte, error) {
	own := &bond{uid: uint32(unix.Geteuid()), space: userSpace()}
	var err error
	for i, to := range []*fileID{&own.segment, &own.region} {
		if i < len(files) && err == nil {
			*to, err = idOf(files[i])
		}
	}
	if claim != nil {
		claim(own)
	}
	return own.encoded(), err
}

// Judged returns what a side in one user namespace says of a peer in another one; 0: an unknown one.
func Judged(own, theirs uint64) error {
	a, b := &bond{}, &bond{}
	InSpace(own)(a)
	InSpace(theirs)(b)
	_, err := a.judge(b, unix.Ucred{})
	return err
}

// ParseBond parses a bond, and returns what would be sent of it.
func ParseBond(b []byte) ([]byte, error) {
	parsed, err := parseBond(b)
	if err != nil {
		return nil, err
	}
	return parsed.encoded(), nil
}

// FilesWait reports whether files that peers have passed are still to be closed.
func FilesWait() bool {
	foreign.mu.Lock()
	defer foreign.mu.Unlock()
	return len(foreign.waiting) > 0
}

// Strangers returns how many accepted endpoints have not introduced themselves. Threads: the loop, or any while the loop
// waits for it.
func Strangers(b netio.Backend) int { return b.(*backend).strangers.Len() }

// PushDirect is the first try of SendDirect, and reports whether all of the message was sent. Threads: any.
func PushDirect(ep netio.Endpoint, data []byte) (done bool) {
	done, _ = ep.(*endpoint).queue.pushDirect(&message{pieces: [][]byte{data}, size: len(data)})
	return done
}

// SetBootID sets the id of this run of the system; zero: it is not known.
func SetBootID(t *testing.T, id [16]byte) {
	t.Helper()
	before := bootID
	bootID = func() [16]byte { return id }
	t.Cleanup(func() { bootID = before })
}

// DismissForMemory does what follows when a connection has no memory. Threads: the loop.
func DismissForMemory(l netio.ListenEndpoint) {
	l.(*listenEndpoint).tellDismissed(&endpoint{}, netio.ErrNoMemory)
}
