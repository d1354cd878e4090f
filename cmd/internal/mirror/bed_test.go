// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/tags"
)

// leaseTime is how long the entries of a process outlive it.
const leaseTime = 30 * time.Second

var errAway = errors.New("the storage is away")

// handle is a directory as one process has it: the storage can be away, and the process can
// be killed.
type handle struct {
	*memory.Directory

	mu   sync.Mutex
	away bool
	dead bool
	held []directory.Registration
}

func (h *handle) fails() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failure()
}

// failure returns why a call fails, or nil. The lock is held.
func (h *handle) failure() error {
	switch {
	case h.dead:
		return directory.ErrClosed
	case h.away:
		return errAway
	}
	return nil
}

func (h *handle) set(away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.away = away
}

func (h *handle) Announce(e directory.Entry) (directory.Registration, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.failure(); err != nil {
		return nil, err
	}
	r, err := h.Directory.Announce(e)
	if err != nil {
		return nil, err
	}
	h.held = append(h.held, r)
	return &lease{h, r}, nil
}

// kill ends the process. What it has announced stays for leaseTime.
func (h *handle) kill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dead = true
	held := slices.Clone(h.held)
	time.AfterFunc(leaseTime, func() {
		for _, r := range held {
			_ = r.Withdraw() // that of memory does not fail
		}
	})
}

// lease is an entry that a handle has announced.
type lease struct {
	of *handle
	directory.Registration
}

func (l *lease) Update(e directory.Entry) error {
	if err := l.of.fails(); err != nil {
		return err
	}
	return l.Registration.Update(e)
}

func (l *lease) Withdraw() error {
	if err := l.of.fails(); err != nil {
		return err
	}
	return l.Registration.Withdraw()
}

// running is a copier that runs.
type running struct {
	*copier
	to     *handle
	cancel func()
	done   chan error
}

// begin runs a copier.
func begin(id string, from, to *memory.Directory) *running {
	ctx, cancel := context.WithCancel(context.Background())
	h := &handle{Directory: to}
	r := &running{newCopier(id, from, h, func(error) {}), h, cancel, make(chan error, 1)}
	go func() { r.done <- r.run(ctx, context.Background()) }()
	return r
}

// end ends a copier and returns what its run does.
func (r *running) end() error {
	r.cancel()
	return <-r.done
}

// native returns an entry as a publisher announces it.
func native(instance string, served ...tags.Tag) directory.Entry {
	return directory.Entry{
		Instance: instance, Host: "pc-07", Backend: "tcp", Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53100")},
		Tags: tags.Of(served...), PageBytes: 65536, MaxMessageBytes: 1 << 20,
	}
}

func announce(t *testing.T, d directory.Directory, e directory.Entry) directory.Registration {
	t.Helper()
	r, err := d.Announce(e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// listed returns what a directory has, each entry as its instance, its tags and its mirror.
func listed(d *memory.Directory) (all []string) {
	entries, err := d.List()
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range entries {
		all = append(all, fmt.Sprintf("%s %v %s", e.Instance, e.Tags, e.Mirror))
	}
	return all
}
