// SPDX-License-Identifier: Apache-2.0

//go:build linux

package info

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"tagbus/bus/directory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
)

// TestWhatTheDirectoryHidesMayBeMeant: by a tag, or by a name of which others are known. An instance is meant by its own.
func TestWhatTheDirectoryHidesMayBeMeant(t *testing.T) {
	hangs := errors.New("B2.jsonl: file system does not answer")
	const unread = "the directory is not read whole: B2.jsonl: file system does not answer"
	for _, test := range []struct {
		of      string
		problem error
		want    string
	}{
		{"0x100", hangs, unread},
		{"0x500", hangs, "no publisher or receiver in /run/bus has the tag 0x0000000000000500; " + unread},
		{"felix-07", hangs, unread},
		{"A1", hangs, ""},
		{"felix-08", hangs, "nothing in /run/bus is called felix-08: did you mean felix-07?; " + unread},
		{"daq", hangs, unread},
		{"felix-07", directory.ErrHarmless, ""},
		{"0x100", directory.ErrHarmless, ""},
	} {
		for _, asJSON := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				f, a := bus()
				f.entries, f.err = f.entries[:1], test.problem
				_, _, err := looked(t, test.of, asJSON, f, a)
				text := ""
				if err != nil {
					text = cli.Text(err)
				}
				if text != test.want || (tool.Code(err) == cli.ExitDone) != (text == "") {
					t.Errorf("%s, %v: got %q and status %d, want %q", test.of, test.problem, text, tool.Code(err), test.want)
				}
			})
		}
	}
}

// TestATagOfWhichNothingIsToldIsNoSuccess, and one is of which something is told.
func TestATagOfWhichNothingIsToldIsNoSuccess(t *testing.T) {
	for instance, want := range map[string]int{"A1": cli.ExitDone, "none": cli.ExitFailed} {
		for _, asJSON := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				f, a := bus()
				out, _, err := looked(t, "0x100", asJSON, f, answers{instance: a["A1"]})
				if tool.Code(err) != want || !strings.Contains(out, "connection refused") {
					t.Errorf("answer of %s: got status %d and %s, want %d", instance, tool.Code(err), out, want)
				}
			})
		}
	}
}
