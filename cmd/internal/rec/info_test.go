// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

func TestInfo(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), join(simple()[:72], gap(690, alice, 1, 3, recording.CauseFull), gap(690, alice, 1, 5, recording.CauseLeftOut), simple()[72:])...)
	b.wants("info a.tbr --exact", 0, `a.tbr: part 0 of recording 01000000000000000000000000000000 by rec on recorder1
  begun 2026-11-24 12:00:00, written by v1
  asked for: tags 0x1-0x3, policy block
  2.56 kB in 6 blocks: 94 messages, 7 events, 1.00 s from 2026-11-24 12:00:00.000 on
  opened by its index; it is the last part

TAG   PUBLISHER  COUNT  BYTES     RATE         FIRST          LAST  LOST
0x1  alice         50    391  50.0 /s  12:00:00.000  12:00:00.490  full 3, left-out 5
0x2  alice         24    189  24.0 /s  12:00:00.700  12:00:00.930  -
0x3  bob           20    111  20.0 /s  12:00:00.500  12:00:00.690  -
3 rows: 94 messages, 691 B of data, lost: full 3, left-out 5
`)
	got := b.says("info a.tbr --sort count --head 1 --tags 2-3", 0, "2 rows (1 of them shown, --head): 44 messages")
	if strings.Contains(got.out, "bob") {
		t.Errorf("got\n%s, want the row of alice alone", got.out)
	}
	got = b.says("info a.tbr --publisher bob --json", 0, `"file":"`, `"indexed":true`, `{"tag":"0x3","publisher":"bob","instance":"BBBBBBBBBBBBBBBBBBBBBB","messages":20,"bytes":111,"rate":20,`)
	if n := strings.Count(got.out, "\n"); n != 2 {
		t.Errorf("got %d lines, want 2:\n%s", n, got.out)
	}
	b.says("info a.tbr --json --tags 1", 0, `"lost":3,"causes":{"full":3,"left-out":5}`)
	b.wants("info a.tbr --sort size", 2, "--sort: got \"size\", want tag, publisher, count, bytes, lost, first or last\n")
	b.wants("info a.tbr --head=-1", 2, "--head: got -1, want 1 or more\n")
	b.wants("info none.tbr", 2, "recording: open none.tbr: no such file or directory\n")
}

func TestInfoOfAFileThatWasCutOff(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.cutOff("a.tbr", 700)
	b.says("info a.tbr", 1, "opened by a walk over its blocks: it was not closed: the last block of its recorder is missing (", "tagbus rec index repairs it")
}

func TestInfoNamesDamage(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.change("a.tbr", damageBlock(1))
	for _, exact := range []string{"", " --exact"} {
		got := b.says("info a.tbr"+exact, 1, "recording: a.tbr: block 1 at offset ", "it is passed over")
		if !strings.Contains(got.out, "bob") {
			t.Errorf("got\n%s, want the blocks behind the damaged one", got.out)
		}
	}
}

// damageBlock changes a bit of the table of a block.
func damageBlock(n int) func([]byte) []byte {
	return func(data []byte) []byte {
		at := -1
		for range n + 1 {
			at += 1 + strings.Index(string(data[at+1:]), "TBRb")
		}
		data[at+64] ^= 1
		return data
	}
}

// TestInfoOfManyTags: the table stays useful, and the memory small.
func TestInfoOfManyTags(t *testing.T) {
	b := newBed(t)
	const many = 100_000
	f := make([]recording.Record, many)
	for i := range f {
		f[i] = msg(i/100, alice, tags.Tag(i+1), 1)
	}
	f = append(f, gap(1000, &bus.Peer{Name: "carol", Instance: "C"}, 77, 4, recording.CauseMemory))
	b.record("a.tbr", header(1), f...)
	got := b.says("info a.tbr --sort lost --head 2", 0, "0x4d  carol", "memory 4", "100,001 rows (2 of them shown, --head)")
	if n := strings.Count(got.out, "\n"); n != 5+1+3+1 {
		t.Errorf("got %d lines, want 10:\n%s", n, got.out)
	}
}
