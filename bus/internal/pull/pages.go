// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"sync/atomic"

	"tagbus/netio"
)

const (
	// leastShared is the least size of a page that is kept in the memory of the transport. Less
	// is copied: that is cheap, and would keep much memory around it.
	leastShared = 2 << 10

	// mostShared is how many times its size the memory of a page may have.
	mostShared = 5
)

// Pages keeps the pages of one publisher in the memory of the transport. Loop only.
type Pages struct {
	Retain func() (netio.Retained, error) // keeps the page that is being delivered

	last *share // of the last page that was kept
}

// share is memory of the transport with several batches in it.
type share struct {
	netio.Retained
	users atomic.Int32
}

// use adds a user, unless the memory was given back.
func (s *share) use() bool {
	for {
		n := s.users.Load()
		if n == 0 {
			return false
		}
		if s.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release implements netio.Retained.
func (s *share) Release() {
	if s.users.Add(-1) == 0 {
		s.Retained.Release()
	}
}

// share keeps the memory of the page that is being delivered; nil: the page must be copied. What is
// kept is at most mostShared times what lies in it.
//
//   - size: of what lies in it.
func (p *Pages) share(size int) *share {
	if size < leastShared {
		return nil
	}
	memory, known, err := p.keep()
	if err != nil {
		return nil
	}
	if !known && size < memory.Bytes()/mostShared {
		memory.Release()
		return nil
	}
	return memory
}

// keep keeps the memory of the page that is being delivered.
//
//   - known: it was kept before, of an earlier page.
//   - Errors: those of Retain.
func (p *Pages) keep() (memory *share, known bool, err error) {
	kept, err := p.Retain()
	if err != nil {
		return nil, false, err
	}
	if last := p.last; last != nil && last.Retained == kept && last.use() {
		kept.Release()
		return last, true, nil
	}
	p.last = &share{Retained: kept}
	p.last.users.Store(1)
	return p.last, false, nil
}
