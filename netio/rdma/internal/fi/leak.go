// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

import (
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"tagbus/internal/invariants"
)

// pinned is the memory of an MR. It is apart from it, so that it outlives one that is
// lost: what a device may write to is never given to something else, and runtime.Pinner, which panics
// when it is collected with its memory, is not.
type pinned struct {
	pin   runtime.Pinner
	bytes int
	stack []uintptr // of Register, in a build with invariants
}

func pin(mem []byte) *pinned {
	p := &pinned{bytes: len(mem)}
	p.pin.Pin(unsafe.SliceData(mem))
	open.mu.Lock()
	defer open.mu.Unlock()
	open.all[p] = struct{}{}
	return p
}

func (p *pinned) end() {
	p.pin.Unpin()
	open.mu.Lock()
	defer open.mu.Unlock()
	delete(open.all, p)
}

// String says what was registered where.
func (p *pinned) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d bytes, registered at", p.bytes)
	frames := runtime.CallersFrames(p.stack)
	for {
		f, more := frames.Next()
		fmt.Fprintf(&b, "\n\t%s\n\t\t%s:%d", f.Function, f.File, f.Line)
		if !more {
			return b.String()
		}
	}
}

// open are the registrations that are not closed.
var open = struct {
	mu  sync.Mutex
	all map[*pinned]struct{}
}{all: make(map[*pinned]struct{})}

// maxStack is how many callers of Register are remembered.
const maxStack = 32

// watch reports m if it is collected before Close.
func (m *MR) watch() {
	if invariants.Enabled {
		const callers = 3 // above runtime.Callers, watch and Register
		stack := make([]uintptr, maxStack)
		m.pin.stack = stack[:runtime.Callers(callers, stack)]
	}
	m.leak = runtime.AddCleanup(m, lost, m.pin)
}

// lost is called when an MR was collected that was not closed. Its memory stays: the device may
// write to it.
func lost(p *pinned) {
	if invariants.Enabled {
		invariants.Report("a registration of memory was collected that was never closed: %v", p)
		return
	}
	slog.Error("rdma: a registration of memory was never closed, and keeps it locked: build with -tags invariants to learn where it was made", "bytes", p.bytes)
}

// Registrations describes those that are not closed: their sizes, and in a build with invariants
// where they were made. Threads: any.
func Registrations() []string {
	open.mu.Lock()
	defer open.mu.Unlock()
	all := make([]string, 0, len(open.all))
	for p := range open.all {
		all = append(all, p.String())
	}
	slices.Sort(all)
	return all
}
