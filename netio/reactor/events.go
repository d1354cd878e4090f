// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Events is a set of conditions of a descriptor: those to watch for, in
// Register and Modify, and those that hold, in OnEvent.
type Events uint32

const (
	// Readable means: a read does not block. So does an accept.
	Readable Events = unix.EPOLLIN

	// Writable means: a write does not block. So has a connect ended.
	Writable Events = unix.EPOLLOUT

	// PeerClosed means: the other side has ended its direction of a stream; data may
	// still be there to read.
	PeerClosed Events = unix.EPOLLRDHUP

	// Priority means: out-of-band data, or a change of a file in /proc or /sys.
	Priority Events = unix.EPOLLPRI

	// Failed means: an error waits to be fetched. It is always watched for.
	Failed Events = unix.EPOLLERR

	// Hangup means: both directions have ended. It is always watched for.
	Hangup Events = unix.EPOLLHUP

	// EdgeTriggered reports a condition when it begins, and not as long as it
	// lasts: the source reads or writes until EAGAIN (or a short read or
	// write), or, when its budget is used up before, arranges to be called
	// again by itself. It is never part of what OnEvent is given.
	EdgeTriggered Events = unix.EPOLLET
)

const (
	reportable = Readable | Writable | PeerClosed | Priority | Failed | Hangup
	watchable  = reportable | EdgeTriggered
)

var eventNames = []struct {
	events Events
	name   string
}{
	{Readable, "readable"},
	{Writable, "writable"},
	{PeerClosed, "peer closed"},
	{Priority, "priority"},
	{Failed, "failed"},
	{Hangup, "hangup"},
	{EdgeTriggered, "edge-triggered"},
}

// Has reports whether any of the conditions in some is in e.
func (e Events) Has(some Events) bool { return e&some != 0 }

// String names the conditions, as in "readable|hangup"; "none" if there are
// none.
func (e Events) String() string {
	if e == 0 {
		return "none"
	}
	var names []string
	for _, n := range eventNames {
		if e.Has(n.events) {
			names = append(names, n.name)
		}
	}
	if unknown := e &^ watchable; unknown != 0 {
		names = append(names, fmt.Sprintf("%#x", uint32(unknown)))
	}
	return strings.Join(names, "|")
}

// validate refuses bits that have no name here, such as EPOLLONESHOT, whose
// meaning Modify and the table would have to know.
func (e Events) validate() error {
	if e&^watchable != 0 {
		return &ConfigError{"events", e, "contains bits that are not defined in this package"}
	}
	return nil
}
