// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"bytes"
	"os"
	"testing"
)

// TestTheCommandsAgreeOnAFile: of a file that does not have all, each command that reads it says
// why, in the same words, and ends with the same status.
func TestTheCommandsAgreeOnAFile(t *testing.T) {
	commands := []string{"info a.tbr", "info a.tbr --exact", "verify a.tbr", "cat a.tbr", "cat a.tbr --print none", "cut a.tbr --tags 1-9 --out c.tbr", "merge a.tbr --out m.tbr"}
	for _, kind := range []struct {
		name   string
		change func([]byte) []byte
		status int
		words  string
	}{
		{"whole", func(b []byte) []byte { return b }, 0, ""},
		{"empty", func([]byte) []byte { return nil }, 1, "it ends within its header: nothing is in it"},
		{"of a part of its header", func(b []byte) []byte { return b[:50] }, 1, "it ends within its header: nothing is in it"},
		{"cut off in a block", func(b []byte) []byte { return b[:bytes.LastIndex(b, []byte("TBRb"))+60] }, 1, "it was not closed: the last block of its recorder is missing"},
		{"of which the recorder was killed", killed, 1, "it was not closed: the last block of its recorder is missing"},
		{"without the end of its index", func(b []byte) []byte { return b[:len(b)-7] }, 1, "it was closed, and its index is damaged"},
	} {
		for _, line := range commands {
			t.Run(kind.name+"/"+line, func(t *testing.T) {
				b := newBed(t)
				b.record("a.tbr", header(1), join(joined(0, alice, 1), msgs(10, alice, 1, 1, 40), ended(500, alice), stop(510))...)
				whole, err := os.ReadFile(b.path("a.tbr"))
				must(t, err)
				must(t, os.WriteFile(b.path("a.tbr"), kind.change(whole), 0o600))
				words := kind.words
				if line == "verify a.tbr" && words != "" {
					words = words[len("it "):]
				}
				b.says(line, kind.status, words)
			})
		}
	}
}

// TestAMissingPartIsSaid by every command that reads the parts around it.
func TestAMissingPartIsSaid(t *testing.T) {
	b := newBed(t)
	b.parts()
	for _, line := range []string{"info a.tbr c.tbr", "cat a.tbr c.tbr", "merge a.tbr c.tbr --out m.tbr", "cut a.tbr c.tbr --tags 1 --out x.tbr"} {
		b.says(line, 1, "part 1", "was not there")
	}
	b.says("verify a.tbr c.tbr", 1, "part 1 is missing")
	b.says("info a.tbr b.tbr c.tbr", 0)
}
