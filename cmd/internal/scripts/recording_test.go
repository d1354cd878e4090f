// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// recording FILE FIRST LAST writes a recording of the messages FIRST to LAST of the tags 1
// and 2, one each millisecond. Of tag 2, message 5 is lost. The recordings of two calls are
// those of two recorders.
func writeRecording(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: recording FILE FIRST LAST")
	}
	first, err := strconv.Atoi(args[1])
	ts.Check(err)
	last, err := strconv.Atoi(args[2])
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w, err := recording.NewWriter(f, recording.Header{Host: "daq1", Name: "recorder", Version: "v0.1.0", Tags: tags.Of(1, 2), Policy: "drop-newest"}, recording.Config{BlockBytes: 4096})
	ts.Check(err)
	begin := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	p := &bus.Peer{Instance: "AAAAAAAAAAAAAAAAAAAAAA", Name: "felix", Host: "daq2", PID: 4711}
	ts.Check(w.AppendEvent(recording.Event{Kind: recording.Joined, Time: begin, Peer: p, Tags: tags.Of(1, 2)}))
	for n := first; n <= last; n++ {
		at := begin.Add(time.Duration(n) * time.Millisecond)
		for _, tag := range []tags.Tag{1, 2} {
			if tag == 2 && n == 5 {
				ts.Check(w.AppendEvent(recording.Event{Kind: recording.Gap, Time: at, Peer: p, Tag: tag, Count: 1, Cause: recording.CauseFull}))
				continue
			}
			ts.Check(w.Append(at, &bus.Message{Tag: tag, Counter: uint64(n), Publisher: p, Data: fmt.Appendf(nil, "event %d of tag %d", n, uint64(tag))}))
		}
	}
	at := begin.Add(time.Duration(last) * time.Millisecond)
	ts.Check(w.AppendEvent(recording.Event{Kind: recording.Ended, Time: at, Peer: p}))
	ts.Check(w.AppendEvent(recording.Event{Kind: recording.Stopped, Time: at, Text: "signal"}))
	ts.Check(w.Close())
	ts.Check(f.Close())
}

// truncate FILE N takes N bytes off the end of a file.
func truncateFile(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: truncate FILE N")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()-int64(n)))
}
