// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package load is a publisher and a subscriber for tests of faults, as programs: each message has a counter
// of its own and a checksum, and both write down what they did, and what they were told, in files that outlive
// them (package record). Each event of the bus is a line of JSON on standard output.
package load

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/access"
	"tagbus/bus"
	"tagbus/identity"
	"tagbus/netio/shm"
	"tagbus/node"
	"tagbus/test/faults/internal/record"
)

// Slots is how many streams a subscriber can write down, and Tags how many a publisher.
const (
	Slots = 256
	Tags  = 64
)

// Main runs the program that the arguments name, and returns its exit status: 0 if it ended in order, 1 if
// not, 2 if it could not begin.
func Main(args []string) int {
	programs := map[string]func(*common, []string) int{"publish": publish, "subscribe": subscribe, "strangers": strangers}
	if len(args) == 0 || programs[args[0]] == nil {
		fmt.Fprintln(os.Stderr, "usage: load publish|subscribe|strangers FLAGS")
		return 2
	}
	// What traces a program is between it and what has started it.
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0)
	c := &common{FlagSet: flag.NewFlagSet(args[0], flag.ExitOnError), out: os.Stdout}
	if args[0] != "strangers" {
		c.flags()
	}
	return programs[args[0]](c, args[1:])
}

// common is what both programs have.
type common struct {
	*flag.FlagSet
	bus, backend, shmFolder, record, name string
	cert, key, ca, revoked, policy        string
	heartbeat, timeout, lookEvery         time.Duration
	refuse                                string
	says                                  bool // vitals
	expiry                                time.Duration

	mu  sync.Mutex
	out io.Writer
}

func (c *common) flags() {
	c.StringVar(&c.bus, "bus", "", "directory")
	c.StringVar(&c.backend, "backend", "tcp", "transport")
	c.StringVar(&c.shmFolder, "shm-folder", "", "folder of the sockets of shared memory")
	c.StringVar(&c.record, "record", "", "file in which is written down what happens")
	c.StringVar(&c.name, "name", "", "name")
	c.StringVar(&c.cert, "cert", "", "certificate")
	c.StringVar(&c.key, "key", "", "its key")
	c.StringVar(&c.ca, "ca", "", "certificates of the CAs")
	c.StringVar(&c.revoked, "revoked", "", "lists of revoked certificates, with commas")
	c.StringVar(&c.policy, "acl", "", "policy")
	c.DurationVar(&c.heartbeat, "heartbeat", time.Second, "interval")
	c.DurationVar(&c.timeout, "timeout", 3*time.Second, "silence that ends a connection")
	c.DurationVar(&c.expiry, "expiry", 0, "how long an instance gives no sign of life before its entry is gone; 0: as the directory has it")
	c.BoolVar(&c.says, "vitals", false, "write down how many goroutines there are, beside the record")
	c.StringVar(&c.refuse, "refuse", "", "call of the system that fails: memfd or seals")
	c.DurationVar(&c.lookEvery, "look", time.Second, "time between two looks at certificates and policy")
}

// Line is a line of standard output.
type Line struct {
	At       int64  `json:"at"` // by record.Now
	What     string `json:"what"`
	Peer     string `json:"peer,omitempty"`
	Name     string `json:"name,omitempty"`
	Backend  string `json:"backend,omitempty"`
	Err      string `json:"err,omitempty"`
	Instance string `json:"instance,omitempty"` // of the program itself: "ready"

	Count      int   `json:"count,omitempty"`      // of strangers: connections
	Handshakes int   `json:"handshakes,omitempty"` // of these, with a handshake of TLS that the other side has answered to its end
	Answered   int   `json:"answered,omitempty"`   // of these, on which an answer of HTTP with the status 200 has begun
	Took       int64 `json:"took,omitempty"`       // nanoseconds until the last one was closed by the other side
}

// say writes a line.
func (c *common) say(l Line) {
	l.At = record.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = json.NewEncoder(c.out).Encode(l) // what reads it may have ended
}

// failed says why the program cannot go on, and returns its exit status.
func (c *common) failed(status int, err error) int {
	c.say(Line{What: "failed", Err: err.Error()})
	return status
}

// event says what the bus tells, except losses, which are counted.
func (c *common) event(e bus.Event) {
	if e.Kind == bus.Gap {
		return
	}
	l := Line{What: e.Name()}
	if e.Peer != nil {
		l.Peer, l.Name, l.Backend = e.Peer.Instance, e.Peer.Name, e.Peer.Backend
	}
	if e.Err != nil {
		l.Err = e.Err.Error()
	}
	c.say(l)
}

// open opens a node.
//
// Errors: those of its parts.
func (c *common) open() (*node.Node, error) {
	if c.refuse != "" {
		if err := refuse(c.refuse); err != nil {
			return nil, err
		}
	}
	cfg := node.Config{Bus: c.bus, Backend: c.backend, Expiry: c.expiry, SHM: shm.Config{Folder: c.shmFolder}}
	if c.cert != "" || c.policy != "" {
		id := identity.Config{Certificate: c.cert, Key: c.key, CA: c.ca}
		if c.revoked != "" {
			id.Revoked = strings.Split(c.revoked, ",")
		}
		a, err := access.Open(access.Config{Identity: id, Policy: c.policy, Every: c.lookEvery})
		if err != nil {
			return nil, err
		}
		cfg.Access = a
	}
	return node.Open(cfg)
}

func (c *common) settings(h func(bus.Event)) bus.Common {
	return bus.Common{Name: c.name, HeartbeatInterval: c.heartbeat, HeartbeatTimeout: c.timeout, OnEvent: h}
}
