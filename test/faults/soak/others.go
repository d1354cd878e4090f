// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"tagbus/test/faults/internal/expected"
)

// answers is how long the server of the directory may take to work after its start. All clients come back at once,
// and the machine may have other work: for as long as that stands still it has three times as long more.
const answers = 3 * time.Minute

// awaitDirectory waits until the server of the directory answers.
func (s *site) awaitDirectory() {
	var err error
	begun, stood := time.Now(), s.stalls.Total()
	for ; time.Since(begun) < answers+3*(s.stalls.Total()-stood); s.idle(context.Background(), 200*time.Millisecond) {
		if err = s.On(s.directory.host, filepath.Join(s.bin, "tagbus-directory"), "status", "--at", directoryAddress); err == nil {
			return
		}
	}
	s.problem("the server of the directory does not answer within %v: %v", answers, err)
}

// renew renews all certificates, again and again. Connections that were made with the old ones end with them.
func (s *site) renew(ctx context.Context) {
	s.happens(expected.CertificatesRenewed)
	for s.idle(ctx, s.valid/renewEvery); ctx.Err() == nil; s.idle(ctx, s.valid/renewEvery) {
		s.certificates()
	}
	s.certificates() // the last ones are to count until the end
}

// fill fills the disk of the recorder for a while.
func (s *site) fill(ctx context.Context, r *rand.Rand) string {
	path := filepath.Join(filepath.Dir(s.recording()), "filler")
	f, err := os.Create(path)
	if err != nil {
		s.problem("%v", err)
		return path
	}
	defer func() { _ = f.Close() }()
	for n := 1 << 20; n > 0; n /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
	}
	s.idle(ctx, between(r, time.Second, 5*time.Second))
	s.must(os.Remove(path))
	return path
}

// processor is how busy the machine was.
type processor struct {
	from, to [2]uint64
	ended    uint64 // ticks of the programs that have ended
}

// text returns the share of the time in which the processors had work.
func (p *processor) text() string {
	p.to = ticks()
	busy, all := p.to[0]-p.from[0], float64(max(1, p.to[1]-p.from[1]))
	return fmt.Sprintf("the machine was %.0f %% busy, %.0f %% with the programs of the soak", 100*float64(busy)/all, 100*float64(p.ended)/all)
}

// ticks returns the busy time of all processors, and all time.
func ticks() (t [2]uint64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t
	}
	var user, nice, system, idle, wait, irq, soft, steal uint64
	_, _ = fmt.Sscanf(string(text), "cpu %d %d %d %d %d %d %d %d", &user, &nice, &system, &idle, &wait, &irq, &soft, &steal) // its form is fixed
	t[0] = user + nice + system + irq + soft + steal
	t[1] = t[0] + idle + wait
	return t
}
