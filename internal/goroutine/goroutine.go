// SPDX-License-Identifier: Apache-2.0

// Package goroutine tells goroutines apart, and which of them are event loops: what
// waits must know that it is not inside a callback.
package goroutine

import (
	"bytes"
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// StackHeader is what the runtime writes before the number of a goroutine.
const StackHeader = "goroutine "

// ID returns the number of the calling goroutine, which no other has had or will have;
// 0 if the runtime has changed the text of its stacks, the only place that shows it.
// It takes a microsecond, or some where the stack is deep.
func ID() uint64 {
	var buffer [64]byte
	text := buffer[:runtime.Stack(buffer[:], false)]
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte(StackHeader)), []byte(" "))
	id, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// loops are the goroutines that are loops, as Self has them, and how often each has entered.
// The map is replaced, never changed.
var (
	loops    atomic.Pointer[map[uint64]int]
	changing sync.Mutex // of loops
)

// EnterLoop says that the calling goroutine is an event loop, or does the work of one,
// until leave is called, before it ends. Threads: leave may be called by any goroutine, once.
func EnterLoop() (leave func()) {
	self := Self()
	change(self, 1)
	return func() { change(self, -1) }
}

func change(self uint64, by int) {
	changing.Lock()
	defer changing.Unlock()
	changed := make(map[uint64]int)
	if old := loops.Load(); old != nil {
		maps.Copy(changed, *old)
	}
	if changed[self] += by; changed[self] == 0 {
		delete(changed, self)
	}
	loops.Store(&changed)
}

// OnLoop reports whether the calling goroutine is an event loop, of whatever kind, of
// this process. It takes some nanoseconds, or as long as ID where Self does. Threads: any.
func OnLoop() bool {
	all := loops.Load()
	if all == nil || len(*all) == 0 {
		return false
	}
	self := Self()
	return self != 0 && (*all)[self] > 0
}

// PlaceOfPanic returns the function and the line that panicked, from the stack
// that was taken where the panic was caught; "" if it does not say.
func PlaceOfPanic(stack []byte) string {
	_, below, found := strings.Cut(string(stack), "\npanic(")
	if !found {
		return ""
	}
	lines := strings.Split(below, "\n") // a function and its place in turn, from the rest of panic's own
	for i := 2; i+1 < len(lines); i += 2 {
		if strings.HasPrefix(lines[i], "runtime.") { // how the runtime came to panic
			continue
		}
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +")
		return fmt.Sprintf(" at %s (%s)", lines[i], place)
	}
	return ""
}
