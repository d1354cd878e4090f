// SPDX-License-Identifier: Apache-2.0

package writer

import "runtime"

// maxStep is how many chains, or records, are looked at before others have the lock.
const maxStep = 1024

// all calls f for each chain. It gives way: what f does may be done for some chains, and not yet for others.
func (w *Writer) all(f func(*chain)) {
	n := 0
	for _, s := range w.sources {
		w.each(s, &n, f)
	}
}

// each calls f for each chain of a publisher. It gives way, as all does.
func (w *Writer) each(s *source, n *int, f func(*chain)) {
	for _, c := range s.chains {
		f(c)
		*n++
		w.giveWay(*n)
	}
}

// giveWay lets others have the lock after some steps: Page is called by the loop of the subscriber.
func (w *Writer) giveWay(n int) {
	if n%w.cfg.step == 0 {
		w.mu.Unlock()
		runtime.Gosched() // what waits for the lock has it next
		w.mu.Lock()
	}
}
