// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"fmt"
	"time"

	"tagbus/internal/sanitize"
)

// Note is what is to be said of a file.
type Note struct {
	Path   string
	Flag   string        // which named it, as Named has it; "": that is not known
	Pipe   bool          // it is a FIFO or a device that is to be read to its end
	Unread bool          // it is a pipe or a terminal that takes nothing
	Since  time.Time     // when the call began that does not return
	Took   time.Duration // the file system answers again, after so long; 0: it does not answer
}

// Text says that the file is waited for.
func (n Note) Text() string {
	if n.Pipe {
		return fmt.Sprintf("waiting for the end of %s, which is a pipe or a device: write to it, or name a file", n.file())
	}
	if n.Unread {
		return fmt.Sprintf("%s has taken nothing for %v", n.file(), time.Since(n.Since).Round(100*time.Millisecond))
	}
	return fmt.Sprintf("waiting for %s: its file system does not answer", n.file())
}

// file returns the path, and the flag behind it.
func (n Note) file() string {
	if n.Flag == "" {
		return sanitize.Text(n.Path)
	}
	return sanitize.Text(n.Path) + " (" + n.Flag + ")"
}

// String returns the text, with the time.
func (n Note) String() string {
	if n.Took > 0 {
		return fmt.Sprintf("%s: its file system answers again, after %v", n.file(), n.Took.Round(100*time.Millisecond))
	}
	return n.Text() + ", since " + n.Since.Format(time.TimeOnly)
}
