// SPDX-License-Identifier: Apache-2.0

// Package invariants is what a backend's debug build checks: that its users keep
// the rules of package netio about memory and threads. A backend asks Enabled,
// a constant of the build tag invariants, so that the product pays nothing.
package invariants

import (
	"fmt"
	"hash/maphash"
	"os"
	"runtime/debug"
	"sync"
)

// poison is what memory is overwritten with. A run of it in a message, as
// 0xDBDBDBDB, shows that it was read too late.
const poison = 0xDB

// Poison overwrites memory that its user may not look at any more.
func Poison(mem []byte) {
	if len(mem) == 0 {
		return
	}
	mem[0] = poison
	// Each copy is one access to the race detector, and not one a byte.
	for done := 1; done < len(mem); {
		done += copy(mem[done:], mem[:done])
	}
}

// Poisoned reports whether memory is as Poison has left it.
func Poisoned(mem []byte) bool {
	for _, b := range mem {
		if b != poison {
			return false
		}
	}
	return true
}

var seed = maphash.MakeSeed()

// Sum returns a checksum of pieces of memory, the same for the same bytes in
// this process.
func Sum(pieces ...[]byte) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, piece := range pieces {
		_, _ = h.Write(piece) // never fails
	}
	return h.Sum64()
}

var (
	mu       sync.Mutex
	recorded *[]string // nil: no test records
)

// Report says that a rule was broken. It ends the process, unless a test
// records: what has gone wrong may be anywhere, and event loops recover panics.
func Report(format string, args ...any) {
	text := "netio: " + fmt.Sprintf(format, args...)
	mu.Lock()
	defer mu.Unlock()
	if recorded == nil {
		crash(text + "\n" + string(debug.Stack()))
		return
	}
	*recorded = append(*recorded, text)
}

// crash ends the process; a test of this package replaces it.
var crash = func(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(2)
}

// Record makes Report collect its texts until stop is called. reports
// returns what came since the last call of it. One recording at a time.
func Record() (reports func() []string, stop func()) {
	mu.Lock()
	defer mu.Unlock()
	if recorded != nil {
		panic("invariants: another test records already")
	}
	recorded = new([]string)
	reports = func() []string {
		mu.Lock()
		defer mu.Unlock()
		all := *recorded
		*recorded = nil
		return all
	}
	stop = func() {
		mu.Lock()
		defer mu.Unlock()
		recorded = nil
	}
	return reports, stop
}

// CheckThread panics if the caller of a method may not call it here.
func CheckThread(allowed bool, method string) {
	if !allowed {
		panic("netio: " + method + " of an Unsafe backend was called off its event loop: use Loop.Post, or netio.Safe")
	}
}
