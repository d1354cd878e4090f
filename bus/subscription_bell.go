// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"runtime"
	"time"

	"tagbus/netio"
)

const (
	// yieldBytes is what a turn brings at least for the loop to make way. Less stays in the cache
	// without that.
	yieldBytes = 64 << 10

	// longYield is how long it takes to be made way for where other goroutines want all processors.
	// The loop then makes no way for yieldPause times as long.
	longYield  = 2 * time.Millisecond
	yieldPause = 50
)

// bell wakes the reader of a queue at the end of the turn of the loop in which something has come,
// once for all of it. Loop only.
type bell struct {
	loop  netio.Loop
	tell  func()    // as a value made once
	rung  bool      // tell is posted
	bytes int       // that have come since
	quiet time.Time // until then the loop makes no way

	gosched func() // runtime.Gosched, unless in a test
}

// init prepares a bell.
//
//   - wake: wakes the reader, and reports whether it is a goroutine.
func (b *bell) init(loop netio.Loop, wake func() bool) {
	b.loop, b.gosched = loop, runtime.Gosched
	b.tell = func() {
		much := b.bytes >= yieldBytes
		b.rung, b.bytes = false, 0
		if wake() && much {
			b.yield()
		}
	}
}

// ring has the reader woken, which waits.
func (b *bell) ring() {
	if b.rung {
		return
	}
	b.rung = true
	if !b.loop.Post(b.tell) {
		b.tell()
	}
}

// yield lets the reader run that was just woken. The loop could go on until the queue is full, if the
// system gives the reader no processor earlier: then all memory of the queue goes through the cache,
// and reading each page from there costs more than all else.
func (b *bell) yield() {
	began := time.Now()
	if began.Before(b.quiet) {
		return
	}
	b.gosched()
	if took := time.Since(began); took > longYield {
		b.quiet = began.Add(yieldPause * took)
	}
}
