// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"syscall"
	"testing"
)

// TestWatchOnATerminal: each look takes the place of the last one, also while there is no bus
// to see, and a signal ends it as it was asked to.
func TestWatchOnATerminal(t *testing.T) {
	t.Parallel()
	const cleared = `\x1b\[H\x1b\[2J`
	for _, test := range []struct {
		command []string
		shows   string
	}{
		{[]string{"ls"}, " is empty: "},
		{[]string{"ls", "--verbose"}, " is empty: "},
		{[]string{"losses"}, "no losses: [^\n]* is empty: "},
	} {
		t.Run(test.command[0], func(t *testing.T) {
			t.Parallel()
			c := onConsole(t, append(append([]string{"tagbus"}, test.command...), "--bus", t.TempDir(), "--watch", "100ms")...)
			from := c.await(0, `^`+cleared+`[^\x1b]*`+test.shows)
			c.await(from, cleared+`[^\x1b]*`+test.shows)
			if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			c.finish(0)
		})
	}
}
