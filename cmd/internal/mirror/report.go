// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"strings"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
)

// summary is the last line.
type summary struct {
	Program    string     `json:"program"`
	Directions []standing `json:"directions"` // with --both that from TO to FROM is the second
	Ended      string     `json:"ended"`      // signal, duration or error
	cli.Conclusion
}

// String returns the summary as a line.
func (s summary) String() string {
	parts := make([]string, 0, len(s.Directions)+1)
	for _, d := range s.Directions {
		parts = append(parts, d.total())
	}
	return strings.Join(append(parts, "ended by "+s.Ended), "; ")
}

// failing returns how many entries are not where they are to be copied to.
func (s summary) failing() (n uint64) {
	for _, d := range s.Directions {
		n += d.Failing
	}
	return n
}

// report says how the run went. It closes the console.
func (r *run) report(err error) error {
	s := summary{Program: name, Ended: r.ended}
	for i := range r.copiers {
		s.Directions = append(s.Directions, r.standing(i))
	}
	switch {
	case err != nil:
		s.Ended = "error"
	case s.failing() > 0:
		err = fmt.Errorf("%s could not be written: the lines above have the cause", units.FormatNumber(s.failing(), "entry"))
	}
	r.console.Failed(&s, tool.Code(err), err)
	return tool.Status(r.console.Report(&s, r.env.JSON, r.env.Out))
}
