// SPDX-License-Identifier: Apache-2.0

package bus

import "tagbus/bus/directory"

// listed returns the entry of the sender. Threads: any.
func (s *Sender) listed() (e directory.Entry, ok bool) {
	p := s.pub
	return clientEntry(directory.Entry{
		Instance: p.instance, Name: p.cfg.Name, Host: p.host, Role: directory.Sender, Backend: p.backend.Name(), Since: p.opened,
	}, *s.wants.Load(), p.cfg.Monitor), !s.ended.Load()
}
