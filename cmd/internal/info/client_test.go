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
	"tagbus/tags"
)

// TestWhatAClientIsConnectedTo is what others say. It was "to no publisher" where a publisher could
// not be asked, and one that was connected to half of its publishers lacked nothing.
func TestWhatAClientIsConnectedTo(t *testing.T) {
	for _, test := range []struct {
		set, of  string
		contains []string
		err      string
	}{
		{"0x999", "lonely", []string{"connected    to no publisher: none here has a tag that it wants"}, ""},
		{"0x10f", "none", []string{"connected    to no publisher\n", "lacks        felix-07 on host-1, with tags that it wants"}, ""},
		{"*", "may be", []string{"connected    not known: not every publisher could be asked", "lacks        felix-07 on host-1, front on host-1"}, "felix-08 on host-1 could not be asked for all its peers: connection refused"},
		{"*", "S1", []string{"lacks        front on host-1, with tags that it wants", "felix-07   host-1  4711  tcp  block"}, ""}, // felix-08 has no other tag than felix-07
		{"0x10f", "S0", []string{"connected    to no publisher\n", "lacks        felix-07 on host-1", "gone         this is what is remembered of it", "felix-07   host-1  4711"}, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, a := bus()
			f.entries[2].Tags = tags.Of(0x300) // front
			client := entry(test.of, "", test.set)
			client.Role, client.Addresses = directory.Subscriber, nil
			f.entries = append(f.entries, client)
			out, _, err := looked(t, test.of, false, f, a)
			text := ""
			if err != nil {
				text = cli.Text(err)
			}
			for _, want := range test.contains {
				if !strings.Contains(out, want) {
					t.Errorf("%s: got\n%s, want %q in it", test.of, out, want)
				}
			}
			if text != test.err {
				t.Errorf("%s: got error %q, want %q", test.of, text, test.err)
			}
		})
	}
}

// TestWhatTheDirectoryHidesIsNotMissing: a publisher whose certificate has ended was one that there is not.
func TestWhatTheDirectoryHidesIsNotMissing(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			client := entry("S9", "mon", "0x999")
			client.Role, client.Addresses = directory.Subscriber, nil
			f, a := bus()
			f.entries, f.err = append(f.entries, client), errors.New("the entry of A1 is not used: expired")
			out, _, err := looked(t, "mon", asJSON, f, a)
			if !asJSON && !strings.Contains(out, "connected    not known: the directory is not read whole\n") || strings.Contains(out, "connected_peers") {
				t.Errorf("got\n%s, want that it is not known", out)
			}
			if err == nil || err.Error() != "the directory is not read whole: the entry of A1 is not used: expired" {
				t.Errorf("got error %v, want that of the directory", err)
			}
		})
	}
}

// TestNothingIsSaidOfConnectionsThatAreNotKnown, as JSON.
func TestNothingIsSaidOfConnectionsThatAreNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, a := bus()
		client := entry("S9", "mon", "0x100")
		client.Role = directory.Subscriber
		client.Tags = tags.Of(0x100)
		f.entries = append(f.entries, client)
		out, _, err := looked(t, "mon", true, f, a)
		if strings.Contains(out, "connected_peers") || !strings.Contains(out, `"not_connected_to":["A1","C3"],"not_asked":["B2"]`) || err == nil {
			t.Errorf("got %s (%v), want no number of connections, who was not asked, and an error", out, err)
		}
	})
}
