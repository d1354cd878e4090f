// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/validate"
	"tagbus/netio"
)

// Defaults of Config.
const (
	DefaultMaxEndpoints = 1024

	defaultRingSlots  = 256
	defaultArenaBytes = 256 << 10
)

const (
	// backlog is the number of connections that wait to be accepted.
	backlog = 1024

	// acceptBudget is the number of connections accepted in one turn of the loop.
	acceptBudget = 64

	// acceptPause is how long a listen endpoint rests when the process has no free
	// descriptor, or the system no memory.
	acceptPause = 100 * time.Millisecond

	// maxStrangers is how many accepted connections may not have introduced themselves
	// yet. One more displaces the oldest.
	maxStrangers = 64

	// maxSecuring is the same where a handshake of TLS comes before that: the subscribers of a
	// publisher may come at once, and wait in line. All of them are looked at when one makes way.
	maxSecuring = 1024

	// greetingTimeout is how long a stranger may take to introduce itself. A program of
	// this package does so when it connects.
	greetingTimeout = 2 * time.Second

	// partTimeout is how long an endpoint that closes waits for its peer to turn away
	// from memory that it was lent. A peer that lives does so within a turn of its loop.
	partTimeout = 500 * time.Millisecond

	// commitBytes is how much of a region is committed in a step, which takes about a
	// millisecond.
	commitBytes = 2 << 20

	// commitPause is how long connections are refused for which there is not enough memory to
	// commit the region.
	commitPause = 5 * time.Second

	maxAccepted = 60_000 // each has a port
)

// Config tunes a backend. The zero value is good for some hundred connections.
type Config struct {
	// Config is what all backends have in common. Its Mode changes nothing. Receive
	// buffers, shared or not, change nothing either, except the limit of messages: what
	// has not been read is in the memory of its sender.
	netio.Config

	// Folder is where the sockets are, one for each listen endpoint. Both ends of a
	// connection have the same. It is made, for this user alone, if it is missing. Every
	// process that may use the folder and write to its sockets, for which the umask of
	// their owner counts, may connect. Default: tagbus in /run/user/UID if the system has that
	// folder of this user, else /tmp/tagbus-UID, which must be this user's alone. The first comes and goes
	// with the sessions of the user: each listen endpoint is in what there is by then, and one that
	// connects looks into both, and takes no answer of another user than root there.
	Folder string

	// RingSlots is the number of descriptors for each direction of a connection: so many
	// messages, or pieces of them, can be under way. A power of two from 16 to 65,536.
	// Default 256.
	RingSlots int

	// ArenaBytes is the memory for each direction of a connection through which go all
	// data that is not in a shared region: 16 KiB to 1 GiB, whole pages of 4 KiB. A
	// message of more than half of it goes in parts. Default 256 KiB.
	ArenaBytes int

	// MaxEndpoints is the largest number of accepted connections, up to 60,000. Further
	// ones are closed at once, counted in Stats.AcceptShed and logged. Each has a segment, 4 KiB,
	// 64 bytes for each of RingSlots, and ArenaBytes, which the system commits. Default 1,024.
	MaxEndpoints int

	// TLS makes both sides of each connection show certificates. Default nil: none does.
	TLS *TLS

	// Logger gets warnings about what is counted but has no callback. Default:
	// slog.Default().
	Logger *slog.Logger

	// Tests set these.
	ownFolder    bool // Folder is the default: it must be this user's alone
	acceptBudget int
	acceptPause  time.Duration
	greeting     time.Duration // default greetingTimeout
	part         time.Duration // default partTimeout
	readBudget   int           // default readBytes
	commit       func(region []byte, budget int) (done bool, err error)
	commitBytes  int
	commitPause  time.Duration
	claim        func(*bond) // what this side says falsely
}

func (c Config) withDefaults() Config {
	c.Config = c.WithDefaults()
	if c.Folder == "" {
		c.ownFolder, c.Folder = true, defaultFolders()[0]
	}
	validate.Default(&c.RingSlots, defaultRingSlots)
	validate.Default(&c.ArenaBytes, defaultArenaBytes)
	validate.Default(&c.MaxEndpoints, DefaultMaxEndpoints)
	validate.Default(&c.acceptBudget, acceptBudget)
	validate.Default(&c.acceptPause, acceptPause)
	validate.Default(&c.greeting, greetingTimeout)
	validate.Default(&c.part, partTimeout)
	validate.Default(&c.readBudget, readBytes)
	validate.Default(&c.commitBytes, commitBytes)
	validate.Default(&c.commitPause, commitPause)
	if c.commit == nil {
		c.commit = netio.CommitRegion
	}
	if c.TLS != nil {
		c.TLS = c.TLS.withDefaults()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Where default folders are. Variables for tests.
var usersFolder, temporaryFolder = "/run/user", "/tmp"

// defaultFolders returns where sockets may be by default at this time: where they are made, and where they
// are looked for, too. They depend on nothing but the user and the system, as environments of one user differ.
func defaultFolders() []string {
	uid := os.Geteuid()
	temporary := fmt.Sprintf("%s/tagbus-%d", temporaryFolder, uid)
	var st unix.Stat_t
	home := fmt.Sprintf("%s/%d", usersFolder, uid)
	if err := unix.Lstat(home, &st); err == nil && int(st.Uid) == uid && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return []string{filepath.Join(home, "tagbus"), temporary}
	}
	return []string{temporary}
}

// Validate reports all violations of c, joined; each wraps netio.ErrInvalidConfig
// and names the field, its value and its limit. The opener calls it.
func (c Config) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: netio.ErrInvalidConfig}
	if longest := maxPathBytes - len(longestName); len(c.Folder) > longest {
		v.Add("Folder has %d bytes, want up to %d: the path of a socket has a limit", len(c.Folder), longest)
	}
	validate.Within(&v, "RingSlots", c.RingSlots, minSlots, maxSlots)
	if c.RingSlots&(c.RingSlots-1) != 0 {
		v.Add("RingSlots is %d, want a power of two", c.RingSlots)
	}
	validate.Within(&v, "ArenaBytes", c.ArenaBytes, minArena, maxArena)
	if c.ArenaBytes%pageBytes != 0 {
		v.Add("ArenaBytes is %d, want a multiple of %d", c.ArenaBytes, pageBytes)
	}
	validate.Within(&v, "MaxEndpoints", c.MaxEndpoints, 1, maxAccepted)
	c.TLS.validate(&v)
	v.Join(c.Config.Validate())
	return v.Err()
}

// maxStrangers returns how many accepted connections may not have introduced themselves yet.
func (c *Config) maxStrangers() int {
	if c.TLS != nil {
		return min(c.MaxEndpoints, maxSecuring)
	}
	return maxStrangers
}

// shape returns the size of the segments of this side.
func (c *Config) shape() shape { return shape{slots: c.RingSlots, arena: c.ArenaBytes} }
