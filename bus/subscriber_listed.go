// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"tagbus/bus/directory"
	"tagbus/tags"
)

// listed returns the entry of the subscriber as it is now. ok is false at its end. Blocks: for
// the loop.
func (s *Subscriber) listed() (e directory.Entry, ok bool) {
	result := make(chan tags.Set, 1)
	if !s.loop.Post(func() {
		wanted, _ := s.wanted()
		result <- wanted
	}) {
		return e, false
	}
	select {
	case wanted := <-result:
		return clientEntry(directory.Entry{
			Instance: s.instance, Name: s.cfg.Name, Host: s.host, Role: directory.Subscriber, Backend: s.backend.Name(), Since: s.opened,
		}, wanted, s.cfg.Monitor), true
	case <-s.closer.Ended():
		return e, false
	}
}
