// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"tagbus/netio"
	"tagbus/netio/reactor"
)

// eventLoop is a reactor.EventLoop as a netio.Loop.
type eventLoop struct{ *reactor.EventLoop }

// Loop returns l as a netio.Loop.
func Loop(l *reactor.EventLoop) netio.Loop { return eventLoop{l} }

// NewTimer implements netio.Loop.
func (l eventLoop) NewTimer(f func()) (netio.Timer, error) {
	t, err := l.EventLoop.NewTimer(f)
	if err != nil {
		return nil, err // not t: it would be a non-nil Timer
	}
	return t, nil
}
