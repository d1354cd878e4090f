// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/test/faults/internal/audit"
	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/expected"
	"tagbus/test/faults/internal/pki"
	"tagbus/test/faults/internal/record"
)

const (
	// lookEvery is how often the records and logs are read.
	lookEvery = time.Second

	// lately is how long a fault explains lines after its end.
	lately = time.Minute

	// stands is for how long the machine stands still before that explains lines.
	stands = time.Second

	// settles is how long all streams have to go on after the last fault, and three times as long as the machine stands
	// still meanwhile.
	settles = 90 * time.Second

	// mostLines is how many lines that nothing explains are shown.
	mostLines = 200
)

// site is the bus with all of its programs.
type site struct {
	*bed.Bed
	options
	bin                 string
	keeps               bool
	began               time.Time
	faultsEnd           time.Time
	ca                  *pki.Authority
	valid               time.Duration // of certificates
	cpu                 processor
	viewer              viewer
	directoryGoroutines atomic.Int64

	publishers, subscribers []*station
	directory, recorder     *station

	mu         sync.Mutex
	stalls     *bed.Stalls
	late       time.Duration // of which notice was taken
	stations   []*station
	audit      *audit.Audit
	levels     levels
	last       map[expected.Fault]time.Time // end of the last one; the zero time: it goes on
	counts     map[expected.Fault]int
	problems   int
	lines      int // that nothing explains
	live       int // streams that went on at the end
	recordings recordings
}

// newSite makes the hosts and all programs, which do not run yet.
//
// Errors: those of the hosts and of the certificates.
func newSite(o options, dir string) (*site, error) {
	b, err := bed.New(dir)
	if err != nil {
		return nil, err
	}
	total := time.Duration(o.hours * float64(time.Hour))
	s := &site{
		Bed: b, options: o, stalls: bed.NewStalls(), bin: filepath.Join(dir, "bin"), keeps: o.keep != "", began: time.Now(),
		valid: max(time.Minute, min(total/6, 10*time.Minute)), last: make(map[expected.Fault]time.Time), counts: make(map[expected.Fault]int),
	}
	s.audit = audit.New(time.Now, s.problemLocked)
	s.levels = levels{warm: max(20*time.Second, total/8), least: max(40*time.Second, total/8), rows: make(map[string]*[len(kinds)]level), problem: s.problemLocked}
	s.faultsEnd = s.began.Add(total - min(45*time.Second, total/3))
	if s.ca, err = pki.New(filepath.Join(b.Dir, "pki")); err != nil {
		return nil, err
	}
	s.plan()
	for _, st := range s.stations {
		if st.tls {
			if _, _, err := s.ca.Issue(st.name, s.valid); err != nil {
				return nil, err
			}
		}
	}
	return s, s.disks()
}

// run runs the site until its time is over or ctx ends.
func (s *site) run(ctx context.Context) {
	fmt.Fprintf(os.Stdout, "seed %d; %d publishers, %d subscribers, %d tags, for %v\n", s.seed, len(s.publishers), len(s.subscribers), len(s.publishers)*tagsEach, time.Duration(s.hours*float64(time.Hour)))
	s.cpu.from = ticks()
	s.with(func() { s.start(s.directory) })
	s.awaitDirectory()
	for _, st := range s.stations {
		if st != s.directory {
			s.with(func() { s.start(st) })
		}
	}
	watching, done := context.WithCancel(context.Background())
	var watchers sync.WaitGroup
	watchers.Go(func() { s.watch(watching) })
	watchers.Go(func() { s.view(watching) })
	s.idle(ctx, 10*time.Second) // so that there is something to disturb
	faulty, cancel := context.WithDeadline(ctx, s.faultsEnd)
	var lanes sync.WaitGroup
	lanes.Go(func() { s.renew(faulty) })
	if !s.quiet {
		lanes.Go(func() { s.lane(faulty, s.processFaults(), rand.New(rand.NewPCG(s.seed, 1))) })
		lanes.Go(func() { s.lane(faulty, s.otherFaults(), rand.New(rand.NewPCG(s.seed, 2))) })
	}
	lanes.Wait()
	cancel()
	if ctx.Err() != nil {
		s.say("interrupted by a signal")
	}
	s.say("no more faults")
	s.settle()
	s.finish()
	done()
	watchers.Wait()
	s.with(func() { s.audit.Look() })
}

// settle waits until each stream goes on, which it must.
func (s *site) settle() {
	since := record.Now()
	var lacking []string
	begun, stood := time.Now(), s.stalls.Total()
	for ; time.Since(begun) < settles+3*(s.stalls.Total()-stood); s.idle(context.Background(), time.Second) {
		lacking = nil
		s.with(func() { s.live, lacking = s.lacking(since) })
		if lacking == nil && s.viewer.sees() {
			return
		}
	}
	if !s.viewer.sees() {
		s.problem("the page has sent no picture for a while, %v after the last fault", settles)
	}
	if lacking != nil {
		s.problem("streams stand still, %v after the last fault: %s", settles, strings.Join(lacking, ", "))
	}
}

// lacking returns how many streams had a message since a time, and where some did not.
func (s *site) lacking(since int64) (live int, lacking []string) {
	for _, sub := range s.subscribers {
		for _, pub := range s.publishers {
			if !takes(sub, pub) || sub.process == nil || pub.process == nil {
				continue
			}
			n := s.audit.Live(sub.subscriber, pub.publisher, since)
			if live += n; n < tagsEach {
				lacking = append(lacking, fmt.Sprintf("%s of %s: %d of %d", sub.process.Name, pub.process.Name, n, tagsEach))
			}
		}
	}
	return live, lacking
}

// finish ends all programs in order, the publishers first.
func (s *site) finish() {
	s.happens(expected.End)
	each := func(all []*station, status func(int) bool) {
		var wait sync.WaitGroup
		for _, st := range all {
			if st.process != nil {
				wait.Go(func() { s.end(st, status) })
			}
		}
		wait.Wait()
	}
	each(s.publishers, ordered)
	for deadline := time.Now().Add(settles); time.Now().Before(deadline); s.idle(context.Background(), lookEvery) {
		open := 0
		s.with(func() { s.audit.Look(); open = s.audit.Open() })
		if open == 0 {
			break
		}
	}
	each(s.subscribers, ordered)
	var others []*station
	for _, st := range s.stations {
		if st.kind != "publisher" && st.kind != "subscriber" && st != s.directory {
			others = append(others, st)
		}
	}
	each(others, ordered)
	each([]*station{s.directory}, zero)
}

// watch reads records and logs, and measures, until ctx ends.
func (s *site) watch(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		s.idle(ctx, lookEvery)
		s.mu.Lock()
		if late := s.stalls.Total(); late-s.late > stands {
			s.late, s.last[expected.Busy] = late, time.Now()
		}
		for _, st := range s.stations {
			if st.process == nil {
				continue
			}
			if st.gone() && !st.ending {
				s.fell(st)
				continue
			}
			s.listen(st)
		}
		s.audit.Look()
		if every := int(max(1, s.hours*5)); n%every == 0 {
			s.measure()
		}
		s.mu.Unlock()
	}
}

// fell starts a station that has ended by itself. s.mu is held.
func (s *site) fell(st *station) {
	if st.kind == "recorder" { // its disk is full
		s.recorded(st)
		s.start(st)
		return
	}
	s.problemLocked("%s has ended by itself, with status %d", st.process.Name, st.process.Status())
	st.strange++
	s.ended(st)
	s.start(st)
}

// with calls f with s.mu held.
func (s *site) with(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// idle waits, at most until ctx ends.
func (*site) idle(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
