// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"tagbus/internal/invariants"
)

// pinned is the memory of an MR. It is apart from it, so that it outlives one that is
// lost: the report of a build with invariants must come before the panic of
// runtime.Pinner, which names no place.
type pinned struct {
	pin   runtime.Pinner
	bytes int
	stack []uintptr // of Register, in a build with invariants
}

func pin(mem []byte) *pinned {
	p := &pinned{bytes: len(mem)}
	p.pin.Pin(unsafe.SliceData(mem))
	return p
}

func (p *pinned) end() { p.pin.Unpin() }

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

// open are the registrations that are not closed, in a build with invariants.
var open = struct {
	mu  sync.Mutex
	all map[*pinned]struct{}
}{all: make(map[*pinned]struct{})}

// maxStack is how many callers of Register are remembered.
const maxStack = 32

// watch reports m if it is collected before Close.
func (m *MR) watch() {
	const callers = 3 // above runtime.Callers, watch and Register
	stack := make([]uintptr, maxStack)
	m.pin.stack = stack[:runtime.Callers(callers, stack)]
	open.mu.Lock()
	defer open.mu.Unlock()
	open.all[m.pin] = struct{}{}
	m.leak = runtime.AddCleanup(m, lost, m.pin)
}

func (m *MR) unwatch() {
	m.leak.Stop()
	forget(m.pin)
}

func forget(p *pinned) {
	open.mu.Lock()
	defer open.mu.Unlock()
	delete(open.all, p)
}

// lost is called when an MR was collected that was not closed.
func lost(p *pinned) {
	forget(p)
	p.end()
	invariants.Report("a registration of memory was collected that was never closed: %v", p)
}

// Registrations describes those that are not closed: their sizes, and where they were
// made. In a build without invariants it returns nothing. Threads: any.
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
