// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"container/list"
	"sync"
	"time"

	"tagbus/netio/internal/mutual"
)

// strangers are the accepted endpoints that are not secure yet, the oldest first. When
// there are as many endpoints as may be, the oldest makes way: otherwise strangers that
// say nothing could keep all others out.
//
// Threads: any.
type strangers struct {
	mu   sync.Mutex
	list list.List // of *secure
}

func (all *strangers) add(s *secure) {
	all.mu.Lock()
	defer all.mu.Unlock()
	s.since = time.Now()
	s.unknown = all.list.PushBack(s)
}

// remove takes s out, if it is in.
func (all *strangers) remove(s *secure) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if s.unknown != nil {
		all.list.Remove(s.unknown)
		s.unknown = nil
	}
}

// count returns how many there are.
func (all *strangers) count() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.list.Len()
}

// displace ends the oldest stranger, and reports whether there was one that has had its
// time.
func (all *strangers) displace() bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	first := all.list.Front()
	if first == nil || time.Since(first.Value.(*secure).since) < mutual.YieldAfter {
		return false
	}
	s := all.list.Remove(first).(*secure)
	s.unknown = nil
	_ = s.endpoint.Close() // its end follows on its loop
	return true
}
