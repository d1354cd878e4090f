// SPDX-License-Identifier: Apache-2.0

// Package rec is the command tagbus rec, which looks at recordings, checks them, and makes others
// of them.
//
// Each of its commands is a type of this package. All of them read the files of package
// recording, block after block: memory grows with the tags of a recording, and not with
// its messages. A block that is damaged is named and passed over, and the command goes on
// and ends with status 1.
package rec

// Commands are those of tagbus rec.
type Commands struct {
	Info   Info   `cmd:"" help:"Show what is in a recording: a table of its tags with counts, rates, times and losses."`
	Cat    Cat    `cmd:"" help:"Print the messages of a recording, and what happened between them, a line each."`
	Verify Verify `cmd:"" help:"Check that a recording is whole, and name its holes. Ends with status 0 if it is whole, 1 if it is not, and 2 if a file cannot be read."`
	Cut    Cut    `cmd:"" help:"Make a recording of a part of one: some tags, or a span of time."`
	Merge  Merge  `cmd:"" help:"Make one recording of several, in the order of time, without what is there twice."`
	Index  Index  `cmd:"" help:"Repair a file whose recorder was killed: write the index and the end that it lacks."`
}
