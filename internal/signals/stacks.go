// SPDX-License-Identifier: Apache-2.0

package signals

import (
	"fmt"
	"runtime"
	"time"
)

const (
	leastStackBytes = 64 << 10
	mostStackBytes  = 64 << 20

	// stackTime is how long a process that ends waits for a reader of its stacks.
	stackTime = time.Second
)

// writeStacks writes the stacks of all goroutines. Blocks: never, whatever takes them.
func (w *watcher) writeStacks() {
	if w.Stacks == nil {
		return
	}
	text := stacks()
	written, before := make(chan struct{}), w.stacks
	w.stacks = written
	go func() {
		defer close(written)
		if before != nil {
			<-before
		}
		fmt.Fprintf(w.Stacks, "SIGQUIT: quit\n\n%s\n", text)
	}()
}

// awaitStacks waits until they are written, though not for long.
func (w *watcher) awaitStacks() {
	if w.stacks == nil {
		return
	}
	timer := time.NewTimer(stackTime)
	defer timer.Stop()
	select {
	case <-w.stacks:
	case <-timer.C:
	}
}

// stacks returns the stacks of all goroutines.
func stacks() []byte {
	for n := leastStackBytes; ; n *= 2 {
		text := make([]byte, n)
		if used := runtime.Stack(text, true); used < n || n >= mostStackBytes {
			return text[:used]
		}
	}
}
