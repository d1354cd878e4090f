// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"context"
	"fmt"
	"io"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/recording"
)

// fileObject is a file as --json prints it.
type fileObject struct {
	File      string    `json:"file"`
	Recording string    `json:"recording"`
	Part      uint32    `json:"part"`
	Created   time.Time `json:"created,omitzero"`
	Name      string    `json:"name,omitempty"`
	Host      string    `json:"host,omitempty"`
	Version   string    `json:"version,omitempty"`
	Tags      string    `json:"asked_tags,omitempty"`
	Policy    string    `json:"policy,omitempty"`
	Bytes     int64     `json:"file_bytes"`
	Blocks    int       `json:"blocks"`
	Messages  uint64    `json:"messages"`
	Events    uint64    `json:"events"`
	First     time.Time `json:"first,omitzero"`
	Last      time.Time `json:"last,omitzero"`
	Recorded  float64   `json:"recorded_seconds"`
	Holes     int       `json:"holes"`
	Indexed   bool      `json:"indexed"`
	Repaired  bool      `json:"repaired"`
	Continues bool      `json:"continues"`
	HeaderCut bool      `json:"header_cut,omitempty"`
	Writing   bool      `json:"being_written,omitempty"`
	Steps     uint64    `json:"clock_steps"`
	ClockBack float64   `json:"clock_back_seconds,omitempty"`
	Cut       int64     `json:"cut_bytes"`
	Skipped   int64     `json:"skipped_bytes"`
	Damage    string    `json:"header_damage,omitempty"`
}

// writeFileJSON writes a file as a line of JSON.
//
//   - steps: of the clock of its recorder.
func writeFileJSON(ctx context.Context, out io.Writer, r *recording.Reader, steps uint64) error {
	i := r.Info()
	recorded, holes := recording.Readers{r}.Recorded()
	if ctx.Err() != nil { // and they are wrong
		return context.Cause(ctx)
	}
	o := fileObject{
		File: i.File, Recording: i.ID.String(), Part: i.Part, Created: i.Created, Name: i.Name, Host: i.Host,
		Version: i.Version, Tags: i.Tags.String(), Policy: i.Policy, Bytes: i.Bytes, Blocks: i.Blocks,
		Messages: i.Messages, Events: i.Events, First: i.First, Last: i.Last, Recorded: recorded.Seconds(), Holes: len(holes), Indexed: i.Indexed,
		Repaired: i.Repaired, Continues: i.Continues, HeaderCut: i.HeaderCut, Writing: i.BeingWritten,
		Steps: stepsIn(&i, steps), ClockBack: i.ClockBack.Seconds(), Cut: i.Cut, Skipped: i.Skipped,
	}
	if i.HeaderDamage != nil {
		o.Damage = fmt.Sprint(i.HeaderDamage)
	}
	return cli.WriteJSON(out, o)
}

// stepsIn returns how often the clock of the recorder was set: at least once if only the times of
// the blocks tell it.
//
//   - told: by events.
func stepsIn(i *recording.Info, told uint64) uint64 {
	if i.ClockBack > 0 { // within a block it is not counted
		return max(told, i.ClockBacks, 1)
	}
	return told
}
