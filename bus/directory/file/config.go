// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"time"

	"tagbus/internal/validate"
)

// Config tunes a Directory. The zero value is right for a folder on a local disk.
type Config struct {
	// Beat is how often an announced entry is renewed. Default 1s; 10ms to 1h.
	Beat time.Duration

	// Expiry is how long an entry may go without a new beat before it is Gone.
	// Default 5s; set at least 90s on NFS. It must be at least twice Poll, and at most
	// ten years. An entry whose publisher beats slowly gets three of its own beats.
	Expiry time.Duration

	// Poll is how often the folder is looked at; notifications only make it
	// faster. While nothing changes in it, its files are looked at more seldom, each
	// fifth of Expiry. Default 500ms; 1ms to 1h.
	Poll time.Duration

	// CollectAfter is the age at which the file of a publisher that has provably
	// ended is removed, and for how long one whose publisher is silent is looked at
	// before it is removed: a publisher that lives writes it again. Default 10min; at most ten years.
	CollectAfter time.Duration

	// MaxFileBytes is the largest file that is read or written. Default 8 MiB,
	// enough for 400,000 tags that are not in ranges; 1 KiB to 1 GiB.
	MaxFileBytes int64

	// MaxFiles is how many entries of programs that may live are followed: those that are
	// known, and of the others those that were written last. 16 times as many names are
	// looked at. Default 4,096; at most 2^20.
	MaxFiles int

	// MaxTagParts is how many tags, ranges and patterns one file may list. Default
	// 262,144; at most 2^30.
	MaxTagParts int

	// TrustedOwners are the user ids whose files are believed; files that group
	// or others may write are then not believed either. Default: all files, since
	// the permissions of the folder say who may announce.
	TrustedOwners []uint32

	// PollOnly turns file notifications off, for file systems that have none. The names
	// in the folder are then read each Poll.
	PollOnly bool

	// OnProblem is told every problem that Watch reports as Problem, of this
	// program's entries and of other files, also while none watches: a publisher
	// learns here that its entry could not be renewed. It is called from one goroutine
	// and must not block. Default: none.
	OnProblem func(error)

	faults faults // set by tests only
}

// Limits keep beats from being a load and from being taken for immortality.
const (
	minBeat = 10 * time.Millisecond
	maxBeat = time.Hour
	maxPoll = time.Hour
)

// withDefaults fills in the zero fields.
func (c Config) withDefaults() Config {
	validate.Default(&c.Beat, time.Second)
	validate.Default(&c.Expiry, 5*time.Second)
	validate.Default(&c.Poll, 500*time.Millisecond)
	validate.Default(&c.CollectAfter, 10*time.Minute)
	validate.Default(&c.MaxFileBytes, 8<<20)
	validate.Default(&c.MaxFiles, 4096)
	validate.Default(&c.MaxTagParts, 1<<18)
	return c
}

// Validate returns nil if Open would accept c.
//
//   - Errors: one error that wraps ErrConfig for each violation, joined.
func (c Config) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrConfig}
	validate.Within(&v, "Beat", c.Beat, minBeat, maxBeat)
	validate.Within(&v, "Poll", c.Poll, time.Millisecond, maxPoll)
	validate.Within(&v, "Expiry", c.Expiry, 2*min(c.Poll, maxPoll), validate.MaxDuration) // a look at each half of it
	v.Positive("CollectAfter", c.CollectAfter)
	validate.Within(&v, "MaxFileBytes", c.MaxFileBytes, 1024, 1<<30)
	validate.Within(&v, "MaxFiles", c.MaxFiles, 1, 1<<20)
	validate.Within(&v, "MaxTagParts", c.MaxTagParts, 1, 1<<30)
	return v.Err()
}
