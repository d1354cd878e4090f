// SPDX-License-Identifier: Apache-2.0

package table

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"time"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/check"
	"tagbus/test/faults/internal/record"
	"tagbus/test/faults/load"
)

const (
	sigusr1 = syscall.SIGUSR1
	sigterm = syscall.SIGTERM
)

// Program is a publisher or subscriber of package load, as a process.
type Program struct {
	*bed.Process
	c      *Case
	record string

	Killed bool // it was: what it was told last is not known
	Late   bool // a subscriber that came when the publisher had begun
	Absent bool // it is promised nothing of the other side, such as one that is not let in

	got []check.Got
}

// lines returns what the program has said.
func (p *Program) lines() (all []load.Line) {
	f, err := os.Open(p.Log)
	p.c.Must(err)
	defer func() { _ = f.Close() }()
	for scanner := bufio.NewScanner(f); scanner.Scan(); {
		var l load.Line
		if json.Unmarshal(scanner.Bytes(), &l) == nil {
			all = append(all, l)
		}
	}
	return all
}

// find returns the first line of a kind, or one of several with "|" between them, since a time.
func (p *Program) find(what string, since int64) (load.Line, bool) {
	for _, l := range p.lines() {
		if l.At >= since && strings.Contains("|"+what+"|", "|"+l.What+"|") {
			return l, true
		}
	}
	return load.Line{}, false
}

// Says waits until the program has said something, ever.
func (p *Program) Says(what string) load.Line { return p.await(what, 0, Patience) }

func (p *Program) await(what string, since int64, promise time.Duration) load.Line {
	for deadline := p.c.deadline(promise); ; Idle(5 * time.Millisecond) {
		if l, ok := p.find(what, since); ok {
			return l
		}
		if time.Now().After(deadline) {
			p.c.Fail("%s is not told %q; promised within %v", p.Name, what, promise)
		}
		if p.gone() && what != "ended" {
			if l, ok := p.find(what, since); ok {
				return l
			}
			p.c.Fail("%s has ended with status %d and was not told %q", p.Name, p.Status(), what)
		}
	}
}

// Told waits until the program is told something since a time, notes when, counts it as "victim told lost", and
// returns the line.
func (p *Program) Told(what string, since int64, promise time.Duration) load.Line {
	l := p.await(what, since, promise)
	p.c.Took(p.Name+" told "+or(what), time.Duration(l.At-since), promise)
	p.c.Count(p.Name+" told "+or(what), 1)
	return l
}

// ToldWhy is Told, compares the reason with a regular expression, and counts it as "victim told panic".
func (p *Program) ToldWhy(what, why string, since int64, promise time.Duration) {
	pattern := regexp.MustCompile(why)
	p.c.Until(fmt.Sprintf("%s told %s: %s", p.Name, or(what), or(why)), promise, func() bool {
		for _, l := range p.lines() {
			if l.At >= since && strings.Contains("|"+what+"|", "|"+l.What+"|") && pattern.MatchString(l.Err) {
				return true
			}
		}
		return false
	})
	p.c.Count(p.Name+" told "+or(why), 1)
}

// or returns alternatives as a text that breaks no table.
func or(alternatives string) string { return strings.ReplaceAll(alternatives, "|", " or ") }

// hasAll waits until a subscriber is told of each publisher that it has ended.
func (p *Program) hasAll() {
	if p.Absent {
		return
	}
	for _, publisher := range p.c.publishers {
		if publisher.Absent {
			continue
		}
		instance := publisher.Says("ready").Instance
		for deadline := p.c.deadline(Patience); !p.toldEnd(instance); Idle(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				p.c.Fail("%s is not told that %s has ended", p.Name, publisher.Name)
			}
			if p.gone() {
				p.c.Fail("%s has ended with status %d: %s", p.Name, p.Status(), p.last())
			}
		}
	}
}

func (p *Program) toldEnd(instance string) bool {
	for _, l := range p.lines() {
		if l.Peer == instance && (l.What == "goodbye" || l.What == "vanished") {
			return true
		}
	}
	return false
}

// NotTold fails if the program was told something since a time.
func (p *Program) NotTold(what string, since int64) {
	if l, ok := p.find(what, since); ok {
		p.c.Fail("%s was told %q: %s", p.Name, l.What, l.Err)
	}
}

// LogHas reports whether the program has written something that matches, in any form.
func (p *Program) LogHas(pattern string) bool {
	text, err := os.ReadFile(p.Log)
	p.c.Must(err)
	return regexp.MustCompile(pattern).Match(text)
}

func (p *Program) gone() bool {
	select {
	case <-p.Ended():
		return true
	default:
		return false
	}
}

// Exits waits for the end of the program, and compares its status.
func (p *Program) Exits(status int) {
	select {
	case <-p.Ended():
	case <-time.After(p.c.limit(Patience)):
		_ = p.Signal(syscall.SIGQUIT) // its stacks are in the log
		Idle(time.Second)
		p.c.Fail("%s does not end", p.Name)
	}
	if p.Status() != status {
		p.c.Fail("%s has ended with status %d, want %d: %s", p.Name, p.Status(), status, p.last())
	}
	if p.LogHas(`(?m)^(goroutine \d+ |fatal error|SIGBUS)`) {
		p.c.Fail("%s has written a stack trace", p.Name)
	}
}

func (p *Program) last() string {
	text, err := os.ReadFile(p.Log)
	p.c.Must(err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// KillNow kills the program, and returns when. A program that has ended before ends the case.
func (p *Program) KillNow() int64 {
	at := p.c.Now()
	p.Kill()
	if p.Status() != -1 {
		p.c.Fail("%s has ended with status %d before it was killed: %s", p.Name, p.Status(), p.last())
	}
	p.c.Count("killed", 1)
	p.Killed = true
	return at
}

// slots returns what a subscriber has written down so far.
func (p *Program) slots() []check.Got {
	if p.got == nil {
		got, err := record.Open[check.Got](p.record)
		if err != nil {
			return nil // it has not begun
		}
		p.got = got
	}
	return p.got
}

// Delivered returns how many messages of a tag a subscriber has; of tag 0, of all.
func (p *Program) Delivered(tag uint64) (n uint64) {
	for i := range p.slots() {
		if g := &p.got[i]; tag == 0 || g.Tag == tag {
			n += g.Delivered
		}
	}
	return n
}

// Lost returns how many messages a subscriber was told are lost, except those that a policy leaves out.
func (p *Program) Lost() (n uint64) {
	for _, g := range p.slots() {
		n += g.Told.Missing() - g.Told[check.LeftOut]
	}
	return n
}

// Waited returns how long all calls of a publisher took that published a tag.
func (p *Program) Waited(tag uint64) time.Duration {
	sent, err := record.Open[check.Sent](p.record)
	p.c.Must(err)
	return time.Duration(sent[tag-1].Waited)
}

// MaxPause returns the longest time between two messages of a tag.
func (p *Program) MaxPause(tag uint64) (pause time.Duration) {
	for _, g := range p.slots() {
		if g.Tag == tag {
			pause = max(pause, time.Duration(g.MaxPause))
		}
	}
	return pause
}

// flows waits until some messages of each tag come, from now on.
func (p *Program) flows(promise time.Duration) {
	const some = 20
	for i := range load.Policies {
		tag := uint64(i + 1)
		before := p.Delivered(tag)
		for deadline := p.c.deadline(promise); p.Delivered(tag) < before+some; Idle(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				p.c.Fail("%s: no messages of tag %d (%s) within %v: %d came", p.Name, tag, load.Policies[i], promise, p.Delivered(tag)-before)
			}
		}
	}
}

// Flows waits until messages of all tags come, since a time, and notes when that was.
func (p *Program) Flows(since int64, promise time.Duration) {
	p.flows(promise)
	p.c.Took("messages at "+p.Name, time.Duration(p.c.Now()-since), promise)
}
