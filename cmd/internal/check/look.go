// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/tags"
)

const (
	atOnce        = 64          // dials, and questions, at a time
	between       = time.Second // from the first answers to the second ones
	askedPeers    = 32          // of which the answers tell, unless there are more
	askedTags     = 64
	largeQuestion = 16 << 10 // bytes of the question that packets of all sizes must carry
)

// asker greets and asks instances, each for a limited time, as observer.Observer does.
type asker interface {
	Greet(ctx context.Context, e directory.Entry, addr netip.AddrPort) (observer.Greeting, error)
	Ask(ctx context.Context, e directory.Entry, q state.Question) (state.State, error)
}

// looker looks at a bus from this host. Its functions are those of the system, except in
// tests.
//
// Threads: one.
type looker struct {
	bus string
	us  us

	folder  func() folderSeen
	again   func() (file.Survey, error)
	list    func() ([]directory.Entry, error) // of a directory that is no folder; nil: of a folder
	host    func() hostSeen
	process func(pid int) processSeen                                     // looks at a process of this host; nil: none is looked at
	self    func() *selfSeen                                              // nil: there is none
	tell    func(context.Context, []overview.Row) map[string]*state.State // asks clients of some rows; nil: none is asked
	dial    func() []directory.Entry                                      // lists subscribers and senders; nil: none is known
	own     func() map[netip.Addr]bool
	asker   func() (asker, error)

	hanging bool // a look at the folder has not come back, so that there is no other one
}

// look looks once. When ctx ends it returns what is known by then.
func (l *looker) look(ctx context.Context) *seen {
	s := &seen{bus: l.bus, us: l.us, host: l.host()}
	if l.list != nil {
		l.lookAtServers(s)
	} else {
		s.folder = l.lookAtFolder(ctx)
		l.takeFiles(s)
	}
	if l.self != nil {
		s.self = l.self()
	}
	if s.listed() && ctx.Err() == nil {
		l.ask(ctx, s)
	}
	if ctx.Err() != nil {
		s.ended = context.Cause(ctx)
	}
	return s
}

func (l *looker) lookAtFolder(ctx context.Context) folderSeen {
	if l.hanging {
		return folderSeen{err: errHangs}
	}
	seen, err := within(ctx, folderPatience, func() (folderSeen, error) { return l.folder(), nil })
	if err != nil {
		seen.err = err
	}
	l.hanging = errors.Is(seen.err, errHangs)
	return seen
}

// takeFiles takes the entries of publishers and receivers out of the survey.
func (l *looker) takeFiles(s *seen) {
	own := l.own()
	var others []file.Found
	for _, found := range s.folder.survey.Files {
		e := found.Entry
		switch {
		case found.Err != nil:
			others = append(others, found)
		case e.Role == directory.Publisher || e.Role == directory.Receiver:
			s.add(entrySeen{Found: found, silent: time.Since(found.Written) + s.folder.ahead}, own)
		}
	}
	s.folder.survey.Files = others
	sortEntries(s.entries)
}

// ask greets all addresses, asks all instances twice, and looks whether entries were
// renewed meanwhile.
func (l *looker) ask(ctx context.Context, s *seen) {
	to, err := l.asker()
	if err != nil {
		s.backend = err
		return
	}
	s.asked = true
	l.greet(ctx, to, s)
	second := time.NewTimer(between)
	defer second.Stop()
	each(ctx, len(s.entries), func(i int) {
		if e := &s.entries[i]; e.reached() {
			l.askFirst(ctx, to, e)
		}
	})
	select {
	case <-second.C:
	case <-ctx.Done():
		return
	}
	each(ctx, len(s.entries), func(i int) {
		if e := &s.entries[i]; e.first.state != nil {
			l.askAgain(ctx, to, e)
		}
	})
	if l.dial != nil {
		s.at, s.dialers = time.Now(), l.dial()
	}
	l.askClients(ctx, s)
	l.renewals(ctx, s)
	l.lookAtSilent(ctx, s)
}

// askClients asks the clients that may say why they do not use a better transport, if there are some.
func (l *looker) askClients(ctx context.Context, s *seen) {
	if rows := s.rows(); l.tell != nil && len(overview.UnusedWays(rows, nil)) > 0 {
		s.clients = l.tell(ctx, rows)
	}
}

// askFirst asks an instance. If its answer does not come, a smaller one may.
func (l *looker) askFirst(ctx context.Context, to asker, e *entrySeen) {
	e.first = l.askOne(ctx, to, e, state.Question{Peers: askedPeers})
	if isTimeout(e.first.err) && !e.local() {
		if a := l.askOne(ctx, to, e, state.Question{}); a.state != nil {
			e.first, e.small = a, true
		}
	}
}

// peers returns of how many peers the second answer is to tell: of all that an answer has at
// most, if the first one could not name all. Whether one has gone, has come back, or is not
// connected, is not known otherwise.
func (e *entrySeen) peers() int {
	if s := e.first.state; s.Connected > len(s.Peers) || len(s.Gone) >= askedPeers {
		return state.MaxPeers
	}
	return askedPeers
}

// askAgain asks an instance a second time, for much and with a large question if the way
// to it is over a network.
func (l *looker) askAgain(ctx context.Context, to asker, e *entrySeen) {
	question := state.Question{Peers: e.peers()}
	switch {
	case e.small:
		question = state.Question{}
	case !e.local():
		large := state.Question{Peers: e.peers(), Busiest: askedTags, Tags: manyTags()}
		if e.second = l.askOne(ctx, to, e, large); !isTimeout(e.second.err) {
			return
		}
		e.small, question.Peers = true, askedPeers
	}
	e.second = l.askOne(ctx, to, e, question)
}

// greet dials each address of each entry that may live. Entries that share an address are
// greeted there one after the other.
func (l *looker) greet(ctx context.Context, to asker, s *seen) {
	type place struct{ entry, address int }
	at := make(map[netip.AddrPort][]place)
	var order []netip.AddrPort
	for i := range s.entries {
		e := &s.entries[i]
		if e.Ended {
			continue
		}
		for j, a := range e.Entry.Addresses {
			if at[a] == nil {
				order = append(order, a)
			}
			at[a] = append(at[a], place{i, j})
		}
	}
	each(ctx, len(order), func(k int) {
		for _, p := range at[order[k]] {
			e := &s.entries[p.entry]
			g := &e.greets[p.address]
			g.Greeting, g.err = to.Greet(ctx, e.Entry, g.addr)
			g.done = ctx.Err() == nil
		}
	})
}

// askOne asks one instance.
func (l *looker) askOne(ctx context.Context, to asker, e *entrySeen, q state.Question) (a answerSeen) {
	start := time.Now()
	answer, err := to.Ask(ctx, e.Entry, q)
	a.took = time.Since(start)
	a.at = start.Add(a.took / 2)
	switch {
	case err == nil:
		a.state = &answer
	case ctx.Err() == nil:
		a.err = err
	}
	return a
}

// renewals looks at the directory again: which entries have beaten since, and which have
// gone, of which nothing is to be said.
func (l *looker) renewals(ctx context.Context, s *seen) {
	if l.list != nil {
		l.stillListed(s)
		return
	}
	now, err := within(ctx, folderPatience, l.again)
	if errors.Is(err, errHangs) {
		l.hanging = true
	}
	if err != nil {
		return // what was seen first stands
	}
	found := make(map[string]file.Found, len(now.Files))
	for _, f := range now.Files {
		found[f.Name] = f
	}
	here := s.entries[:0]
	for _, e := range s.entries {
		if f, still := found[e.Name]; still {
			e.moved = f.Err != nil || f.Beats != e.Beats
			e.Ended = e.Ended || f.Ended
			here = append(here, e)
		}
	}
	s.entries = here
}

// manyTags returns a set whose binary form takes largeQuestion.
func manyTags() tags.Set {
	many := make([]tags.Tag, state.MaxTags)
	for i := range many {
		many[i] = tags.Tag(uint64(i)*0x9e3779b97f4a7c15 | 1) // far from each other: a range of its own each
	}
	return tags.Of(many...)
}

// each calls do for 0 to n-1, at most atOnce at a time, and returns when all are done. After
// the end of ctx it calls no more.
func each(ctx context.Context, n int, do func(i int)) {
	var wg sync.WaitGroup
	tokens := make(chan struct{}, atOnce)
	for i := range n {
		select {
		case tokens <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-tokens }()
			do(i)
		})
	}
	wg.Wait()
}
