// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"io"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
)

// summary is what --json says at the end.
type summary struct {
	Out      string   `json:"out"`
	Format   string   `json:"format"`
	Messages uint64   `json:"messages"`
	Events   uint64   `json:"events"`
	Lost     uint64   `json:"lost"` // messages that gaps name
	Bytes    int64    `json:"bytes"`
	Damaged  uint64   `json:"damaged"` // blocks or packets that were passed over
	Notes    []string `json:"notes"`
}

// end says what was written, and returns what the command returns.
func (j *job) end() error {
	if j.damaged > maxDamage {
		j.note("%d more places cannot be read", j.damaged-maxDamage)
	}
	j.noteLeftOut()
	if err := j.say(); err != nil {
		return err
	}
	if j.damaged > 0 || j.notWhole || j.messages == 0 {
		return &tool.StatusError{Code: cli.ExitFailed}
	}
	return nil
}

// noteLeftOut says what the format does not keep.
func (j *job) noteLeftOut() {
	if j.format != formatLength32 {
		return
	}
	j.note("length32 has only the bytes of messages: no tag, counter, status, time or publisher")
	if j.lost > 0 {
		j.note("%s lost, which length32 cannot say", units.FormatNumber(j.lost, "message"))
	}
}

func (j *job) say() error {
	name := string(j.format)
	if j.format == formatNone {
		name = "recording"
	}
	if j.env.JSON {
		to := j.env.Out
		if j.Out == "-" {
			to = j.env.Err
		}
		return cli.PrintJSON(to, summary{
			j.Out, name, j.messages, j.events, j.lost, j.out.to.bytes, j.damaged, append([]string{}, j.notes...),
		})
	}
	for _, n := range j.notes {
		if _, err := io.WriteString(j.env.Err, n+"\n"); err != nil {
			return err
		}
	}
	to := sanitize.Text(j.Out)
	if j.Out == "-" {
		to = "standard output"
	}
	_, err := fmt.Fprintf(j.env.Err, "%s and %s written to %s as %s: %s\n",
		units.FormatNumber(j.messages, "message"), units.FormatNumber(j.events, "event"), to, name, units.FormatBytes(float64(j.out.to.bytes)))
	return err
}
