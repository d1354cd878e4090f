// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/bus/observer"
	"tagbus/bus/state"
)

// seen is a bus as this host sees it. What it means is decided by others.
type seen struct {
	bus     string // the folder, or the URL
	us      us
	folder  folderSeen
	servers *serversSeen // instead of folder; nil: the bus is in a folder
	entries []entrySeen  // of publishers and receivers, in the order of their instances
	host    hostSeen

	clients map[string]*state.State // answers of those that may say why they do not use a better transport
	dialers []directory.Entry       // subscribers and senders that are listed, when the last question was asked
	at      time.Time               // that was

	self *selfSeen // nil: this command has no certificate and no policy

	asked   bool  // entries were dialed; false: see backend
	backend error // why none could be
	ended   error // what ended the look before it was done; nil: it is complete
}

// us is this host, and this program.
type us struct {
	host       string
	backend    string        // as this command was given it
	program    string        // version; empty: unknown
	expiry     time.Duration // of entries
	maxEntries int           // that programs follow in a folder; 0 elsewhere
}

// folderSeen is the folder of the bus.
type folderSeen struct {
	err    error         // why it could not be looked at; the rest is then empty
	survey file.Survey   // without the files that are entries
	took   time.Duration // the slower of listing it, and of making and removing a file

	write error         // why no file could be made in it
	timed bool          // a file was made, so that its clock is known
	ahead time.Duration // its clock against ours
	about time.Duration // how exact that is

	system  fileSystem
	unknown error // why system is not known
}

// fileSystem is the file system of the folder.
type fileSystem struct {
	nfs        bool
	free       uint64 // bytes, for this user
	countFiles bool   // it has a limit of files
	freeFiles  uint64
}

// serversSeen is a directory that is no folder, as it says of itself.
type serversSeen struct {
	problems []error
	entries  int           // of any kind
	took     time.Duration // to list them
}

// listed reports whether the entries of the bus are known.
func (s *seen) listed() bool {
	if s.servers != nil {
		return s.servers.entries > 0 || len(s.servers.problems) == 0
	}
	return s.folder.err == nil
}

// add adds an entry, with its addresses, which are still to be greeted.
//
//   - own: the addresses of this host.
func (s *seen) add(e entrySeen, own map[netip.Addr]bool) {
	for _, a := range e.Entry.Addresses {
		e.greets = append(e.greets, greetSeen{addr: a, local: isLocal(a.Addr(), own)})
	}
	s.entries = append(s.entries, e)
}

// entrySeen is an entry, and what its program does.
type entrySeen struct {
	file.Found
	moved  bool          // its beats went on while this host looked
	silent time.Duration // since the file was written last, by the clock of the folder
	greets []greetSeen   // in the order of its addresses
	first  answerSeen
	second answerSeen // a second later, to a question of 16 KiB if that is more than one packet
	small  bool       // only small questions have answers

	process *processSeen // nil: it answers, or is not known to be of this host
}

// greetSeen is one try to reach an address.
type greetSeen struct {
	addr  netip.AddrPort
	local bool // leads to this host
	done  bool // false: it was not tried
	err   error

	observer.Greeting
}

// right reports whether the instance of the entry is there, and speaks as this program does.
func (g *greetSeen) right(e *directory.Entry) bool {
	return g.done && g.err == nil && g.Protocol == observer.ProtocolVersion && (g.Instance == e.Instance || g.Refused != "")
}

// answerSeen is the answer to one question.
type answerSeen struct {
	state *state.State  // nil: none was given
	at    time.Time     // in the middle between question and answer, by our clock
	took  time.Duration // from question to answer
	err   error
}

// hostSeen is what the system of this host says; -1 or empty: unknown.
type hostSeen struct {
	openFiles    int64 // limit of this program, as programs of this user have it
	lockedMemory int64 // bytes; maxLimit: unlimited
	receive      int64 // largest buffer of a TCP connection, bytes
	send         int64
	backlog      int64 // connections that wait to be accepted
	congestion   string
}

// state returns the newest answer of an instance; nil: it gave none.
func (e *entrySeen) state() *state.State {
	if e.second.state != nil {
		return e.second.state
	}
	return e.first.state
}

// reached reports whether an address answered in the right name.
func (e *entrySeen) reached() bool {
	return e.way() != nil
}

// way returns the first address at which the instance is; nil: there is none.
func (e *entrySeen) way() *greetSeen {
	for i := range e.greets {
		if g := &e.greets[i]; g.right(&e.Entry) {
			return g
		}
	}
	return nil
}

// expired reports whether others take the entry for one that is not renewed.
func (e *entrySeen) expired(expiry time.Duration) bool {
	return !e.moved && e.silent > max(expiry, 3*e.Beat)
}

// stale reports whether the entry is all that is left of its program.
func (e *entrySeen) stale(expiry time.Duration) bool {
	return e.Ended || e.expired(expiry) && !e.reached()
}

// living returns the entries that are not stale.
func (s *seen) living() []*entrySeen {
	var living []*entrySeen
	for i := range s.entries {
		if e := &s.entries[i]; !e.stale(s.us.expiry) {
			living = append(living, e)
		}
	}
	return living
}

// elsewhere reports whether an entry says that it is of another host.
func (u us) elsewhere(e *directory.Entry) bool {
	return e.Host != "" && u.host != "" && e.Host != u.host
}

// onlyLoopback reports whether an entry has no address for other hosts.
func onlyLoopback(e *directory.Entry) bool {
	for _, a := range e.Addresses {
		if !a.Addr().Unmap().IsLoopback() {
			return false
		}
	}
	return len(e.Addresses) > 0
}

// errHangs is why a folder could not be looked at.
var errHangs = errors.New("the file system does not answer")

// errEnded is why a folder was not looked at: the check was ended before that was done.
var errEnded = errors.New("the check was ended")

// sortEntries puts entries into the order of their instances.
func sortEntries(all []entrySeen) {
	slices.SortFunc(all, func(a, b entrySeen) int { return cmp.Compare(a.Entry.Instance, b.Entry.Instance) })
}
