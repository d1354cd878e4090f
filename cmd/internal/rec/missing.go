// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"fmt"
	"strings"

	"tagbus/internal/sanitize"
	"tagbus/recording"
)

// What is said to be missing is at most so many lines, of so many bytes.
const (
	mostMissing      = 20
	mostMissingBytes = 1024
)

// mostTextBytes is what is kept of the text of an event, of which there may be very many.
const mostTextBytes = 256

// missing says what is missing, a line for each: the first lines, and how many more there
// are. A file of some KiB has millions of events that would be one each. The zero value says
// nothing.
type missing struct {
	first []string
	more  uint64
}

// add adds a text of any length.
func (m *missing) add(text string) {
	if len(m.first) == mostMissing {
		m.more++
		return
	}
	text = sanitize.Line(sanitize.Cut(text, mostMissingBytes)) // cut first: the line may be longer
	m.first = append(m.first, sanitize.Cut(text, mostMissingBytes))
}

// addStopped adds why a recorder has ended, if that was too early.
func (m *missing) addStopped(e *recording.Event) {
	if e.Failed {
		m.add("the recorder stopped before its time: " + sanitize.Cut(e.Text, mostMissingBytes))
	}
}

// lines returns what is missing; none: nothing.
func (m *missing) lines() []string {
	if m.more == 0 {
		return m.first
	}
	return append(m.first[:len(m.first):len(m.first)], fmt.Sprintf("and %d more", m.more))
}

// below returns the lines as they stand below what was written.
func (m *missing) below() string {
	var b strings.Builder
	for _, line := range m.lines() {
		b.WriteString("\n  not whole: " + line)
	}
	return b.String()
}
