// SPDX-License-Identifier: Apache-2.0

package file

import (
	"errors"
	"fmt"
	"time"
)

// Config tunes a Directory. The zero value is right for a folder on a local disk.
type Config struct {
	// Beat is how often an announced entry is renewed. Default 1s; 10ms to 1h.
	Beat time.Duration

	// Expiry is how long an entry may go without a new beat before it is Gone.
	// Default 5s; set at least 90s on NFS. It must be at least twice Poll. An entry
	// whose publisher beats slowly gets three of its own beats.
	Expiry time.Duration

	// Poll is how often the folder is looked at; notifications only make it
	// faster. While nothing changes in it, its files are looked at more seldom, each
	// fifth of Expiry. Default 500ms; at least 1ms.
	Poll time.Duration

	// CollectAfter is the age at which the file of a publisher that has provably
	// ended is removed, and a file that merely expired is reported as left
	// behind. Default 10min.
	CollectAfter time.Duration

	// MaxFileBytes is the largest file that is read or written. Default 8 MiB,
	// enough for 400,000 tags that are not in ranges.
	MaxFileBytes int64

	// MaxFiles is how many names of the folder are looked at. Default 4,096.
	MaxFiles int

	// MaxTagParts is how many tags, ranges and patterns one file may list. Default
	// 262,144.
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

	inject func(step string) error // fails a step of writing or watching; set by tests only
}

// beatLimits keep beats from being a load and from being taken for immortality.
const (
	minBeat = 10 * time.Millisecond
	maxBeat = time.Hour
)

// withDefaults fills in the zero fields.
func (c Config) withDefaults() Config {
	def := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	def(&c.Beat, time.Second)
	def(&c.Expiry, 5*time.Second)
	def(&c.Poll, 500*time.Millisecond)
	def(&c.CollectAfter, 10*time.Minute)
	if c.MaxFileBytes == 0 {
		c.MaxFileBytes = 8 << 20
	}
	if c.MaxFiles == 0 {
		c.MaxFiles = 4096
	}
	if c.MaxTagParts == 0 {
		c.MaxTagParts = 1 << 18
	}
	return c
}

// Validate returns nil if Open would accept c.
//
//   - Errors: one error that wraps ErrConfig for each violation, joined.
func (c Config) Validate() error {
	c = c.withDefaults()
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
		}
	}
	check(c.Beat >= minBeat && c.Beat <= maxBeat, "Beat is %v, must be %v to %v", c.Beat, minBeat, maxBeat)
	check(c.Poll >= time.Millisecond, "Poll is %v, must be at least 1ms", c.Poll)
	check(c.Expiry >= 2*c.Poll, "Expiry is %v, must be at least twice Poll, %v", c.Expiry, 2*c.Poll)
	check(c.CollectAfter > 0, "CollectAfter is %v, must be positive", c.CollectAfter)
	check(c.MaxFileBytes >= 1024 && c.MaxFileBytes <= 1<<30, "MaxFileBytes is %d, must be 1024 to %d", c.MaxFileBytes, 1<<30)
	check(c.MaxFiles > 0, "MaxFiles is %d, must be positive", c.MaxFiles)
	check(c.MaxTagParts > 0, "MaxTagParts is %d, must be positive", c.MaxTagParts)
	return errors.Join(errs...)
}
