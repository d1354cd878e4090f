// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"runtime"
	"time"

	"tagbus/netio"
)

const (
	// yieldBytes is the least that comes in a turn for which the loop yields. Less stays in the
	// cache anyway.
	yieldBytes = 64 << 10

	// longYield is how long a yield takes where other goroutines want all processors. The loop then
	// does not yield for yieldPause times as long.
	longYield  = 2 * time.Millisecond
	yieldPause = 50
)

// waker wakes the readers of a queue at the end of the turn of the loop in which something has come,
// once for all of it. Loop only.
type waker struct {
	loop   netio.Loop
	tell   func()    // as a value made once
	posted bool      // tell is
	bytes  int       // that have come since
	quiet  time.Time // until then the loop does not yield

	gosched func() // runtime.Gosched, except in a test
}

// init prepares a waker.
//
//   - wake: wakes a reader, and reports whether it is a goroutine.
func (w *waker) init(loop netio.Loop, wake func() bool) {
	w.loop, w.gosched = loop, runtime.Gosched
	w.tell = func() {
		much := w.bytes >= yieldBytes
		w.posted, w.bytes = false, 0
		if wake() && much {
			w.yield()
		}
	}
}

// came notes that something has come.
//
//   - waits: a reader does.
func (w *waker) came(bytes int, waits bool) {
	w.bytes += bytes
	if !waits || w.posted {
		return
	}
	w.posted = true
	if !w.loop.Post(w.tell) {
		w.tell()
	}
}

// yield lets the reader run that was just woken. The loop could go on until the queue is full, if the
// system gives the reader no processor earlier: then all memory of the queue goes through the cache,
// and reading each page from there costs more than all else.
func (w *waker) yield() {
	began := time.Now()
	if began.Before(w.quiet) {
		return
	}
	w.gosched()
	if took := time.Since(began); took > longYield {
		w.quiet = began.Add(yieldPause * took)
	}
}
