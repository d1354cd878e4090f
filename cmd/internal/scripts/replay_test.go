// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// recorded FILE TIME:TAG:STATUS:TEXT... writes a recording of messages from one
// publisher. The times are those since 2026-11-24T09:30:00Z.
func makeRecording(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: recorded FILE TIME:TAG:STATUS:TEXT...")
	}
	file, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w, err := recording.NewWriter(file, recording.Header{Name: "script"}, recording.Config{})
	ts.Check(err)
	from := &bus.Peer{Instance: "AAAAAAAAAAAAAAAAAAAAAA", Name: "alice"}
	counters := make(map[tags.Tag]uint64)
	for _, arg := range args[1:] {
		parts := strings.SplitN(arg, ":", 4)
		at, err := time.ParseDuration(parts[0])
		ts.Check(err)
		tag, err := tags.Parse(parts[1])
		ts.Check(err)
		status, err := strconv.ParseUint(parts[2], 0, 8)
		ts.Check(err)
		counters[tag]++
		m := bus.Message{Tag: tag, Counter: counters[tag], Status: bus.Status(status), Publisher: from, Data: []byte(parts[3])}
		ts.Check(w.Append(time.Date(2026, 11, 24, 9, 30, 0, 0, time.UTC).Add(at), &m))
	}
	ts.Check(w.Close())
	ts.Check(file.Close())
}
