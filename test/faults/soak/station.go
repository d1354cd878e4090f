// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/test/faults/internal/audit"
	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/check"
	"tagbus/test/faults/internal/record"
	"tagbus/test/faults/load"
)

// station is a program of the site, which runs again and again.
type station struct {
	kind   string // as package expected has it
	name   string
	host   bed.Host
	tls    bool
	stays  bool                      // no fault ends it, so that its memory is seen for long
	words  func(run string) []string // command line of a run; run is the name of its record
	policy func(tag uint64) string   // of a subscriber

	runs       int
	process    *bed.Process
	began      time.Time
	ending     bool // it is to end
	read       int64
	rest       []byte // of the log: a line that is not complete
	strange    int    // lines of this run that nothing explains
	publisher  *audit.Publisher
	subscriber *audit.Subscriber
	vitals     []check.Vitals
	measures   *measures
	ticks      uint64 // of processor time, so far
}

// start starts a station. s.mu is held.
func (s *site) start(st *station) {
	st.runs++
	run := fmt.Sprintf("%s.%d", st.name, st.runs)
	path := filepath.Join(s.Dir, run+".record")
	process, err := s.Start(st.host, run, nil, st.words(path)...)
	if err != nil {
		s.problem("%s cannot start: %v", run, err)
		return
	}
	st.process, st.began, st.ending, st.read, st.rest, st.strange, st.vitals, st.measures, st.ticks = process, time.Now(), false, 0, nil, 0, nil, &measures{}, 0
	switch st.kind {
	case "publisher":
		st.publisher = s.audit.Publisher(path)
	case "subscriber":
		st.subscriber = s.audit.Subscriber(run, path, st.policy)
	}
}

// ended closes the books of a run that has ended. s.mu is held.
func (s *site) ended(st *station) {
	s.listen(st)
	how := audit.Killed
	if ordered(st.process.Status()) {
		how = audit.Ordered
	}
	switch st.kind {
	case "publisher":
		s.audit.Ended(st.publisher, how)
	case "subscriber":
		s.audit.Left(st.subscriber, how)
	}
	if st.vitals != nil {
		record.Release(st.vitals)
		st.vitals = nil
	}
	s.levels.add(st)
	s.cpu.ended += st.ticks
	if st.strange == 0 && !s.keeps {
		_ = os.Remove(st.process.Log)
	}
	st.process = nil
}

// listen reads what a station has said since the last time. s.mu is held.
func (s *site) listen(st *station) {
	f, err := os.Open(st.process.Log)
	if err != nil {
		s.problem("%v", err)
		return
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.NewSectionReader(f, st.read, 1<<30))
	if err != nil {
		s.problem("%v", err)
	}
	st.read += int64(len(text))
	text = append(st.rest, text...)
	for {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			break
		}
		s.said(st, line)
		text = rest
	}
	st.rest = bytes.Clone(text)
}

// said looks at a line.
func (s *site) said(st *station, line []byte) {
	text := string(line)
	var l load.Line
	if (st.kind == "publisher" || st.kind == "subscriber") && json.Unmarshal(line, &l) == nil && l.What != "" {
		if text = l.What; l.Err != "" {
			text += ": " + l.Err
		}
	}
	if text != "" && !s.explained(st.kind, text) {
		st.strange++
		s.line(st, text)
	}
}

// gone reports whether the process of a station has ended.
func (st *station) gone() bool {
	select {
	case <-st.process.Ended():
		return true
	default:
		return false
	}
}

// end lets a station end in order, with status 0 within some time. s.mu is not held; the caller has the station.
func (s *site) end(st *station, status func(int) bool) {
	s.with(func() { st.ending = true })
	p := s.running(st)
	if err := p.Signal(unix.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) {
		s.problem("%v", err)
	}
	select {
	case <-p.Ended():
		if got := p.Status(); !status(got) {
			s.problem("%s has ended with status %d", p.Name, got)
		}
	case <-time.After(endsWithin):
		s.problem("%s does not end within %v; its stacks are in %s", p.Name, endsWithin, p.Log)
		_ = p.Signal(unix.SIGQUIT) // it may end now
		<-time.After(time.Second)
		p.Kill()
		s.with(func() { st.strange++ }) // keep the log
	}
	s.with(func() {
		if st == s.recorder {
			s.recorded(st)
			return
		}
		s.ended(st)
	})
}

// endsWithin is how long a program may take to end.
const endsWithin = time.Minute

func zero(status int) bool { return status == 0 }

// ordered reports whether a program has ended in order, and maybe said that it lacks something, such as the directory.
func ordered(status int) bool { return status == 0 || status == 1 }
