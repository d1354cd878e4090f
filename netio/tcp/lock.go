package tcp

import (
	"sync"

	"tagbus/netio"
	"tagbus/netio/internal/invariants"
)

// lock is a mutex that an Unsafe backend leaves out.
type lock struct {
	off bool
	mu  sync.Mutex
}

func (l *lock) Lock() {
	if !l.off {
		l.mu.Lock()
	}
}

func (l *lock) Unlock() {
	if !l.off {
		l.mu.Unlock()
	}
}

// checkThread panics, in a build with the tag invariants, if the backend is
// Unsafe and the caller of a method is not on the loop. The constant is for the
// caller to ask, so that other builds do not even call this.
func (b *backend) checkThread(method string) {
	if b.config.ThreadSafety == netio.Unsafe {
		invariants.CheckThread(!b.loop.Running() || b.loop.OnLoop(), method)
	}
}
