package file

import (
	"errors"
	"fmt"
	"time"
)

// The pauses between two reports of a missing folder: they double up to the longest one.
const (
	firstPause   = 10 * time.Second
	longestPause = 10 * time.Minute
)

// missing is how long the folder is missing, and how often that was said. The zero value
// is a folder that is there.
type missing struct {
	since time.Time     // when it was first seen to be missing; zero if it is there
	said  time.Duration // how long it was missing when that was last said
	pause time.Duration // until it is said again
}

// repeat returns what to report of an error of opening the folder: the error, or for one
// that is missing an error whose text changes when it is to be said again.
//
//   - err: nil if the folder is there.
func (m *missing) repeat(now time.Time, err error) error {
	if !errors.Is(err, ErrVanished) {
		*m = missing{}
		return err
	}
	if m.since.IsZero() {
		*m = missing{since: now, pause: firstPause}
	}
	if lasts := now.Sub(m.since); lasts >= m.said+m.pause {
		m.said = lasts.Truncate(time.Second)
		m.pause = min(2*m.pause, longestPause)
	}
	path := (*PathError)(nil)
	if m.said == 0 || !errors.As(err, &path) {
		return err
	}
	return &PathError{path.Path, fmt.Errorf("%w, for %v", ErrVanished, m.said), path.Hint}
}
