// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bench

import (
	"net/netip"
	"syscall"
	"time"
)

// The operations of a request.
const (
	helloOp  = "hello"  // begins a session
	beginOp  = "begin"  // of a round: counts from 0
	reportOp = "report" // what was counted
	endOp    = "end"    // of the session
)

// request is what the running side asks, as a message of JSON.
type request struct {
	Session string `json:"session"`
	ID      uint64 `json:"id"`
	Op      string `json:"op"`
}

// answer is what the serving side answers.
type answer struct {
	Session string `json:"session"`
	ID      uint64 `json:"id"` // of the request
	Error   string `json:"error,omitempty"`

	IP    netip.Addr `json:"ip,omitzero"`     // at which it listens, for a peer that is connected within the host
	Port  uint16     `json:"port,omitempty"`  // of plain TCP
	Token string     `json:"token,omitempty"` // which plain TCP begins with

	Messages uint64  `json:"messages"` // of data, of this round
	Bytes    uint64  `json:"bytes"`
	CPU      float64 `json:"cpu_seconds"` // of the process, since the begin of the round

	// Of the whole session.
	Corrupt    uint64 `json:"corrupt"`
	Duplicates uint64 `json:"duplicates"`
	Missing    uint64 `json:"missing"`
	Lost       uint64 `json:"lost"` // what the bus has reported
}

// cpuTime returns the processor time of the process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0 // it never fails on Linux
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
