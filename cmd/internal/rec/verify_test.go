// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"os"
	"strings"
	"testing"

	"tagbus/recording"
)

func TestVerify(t *testing.T) {
	b := newBed(t)
	b.record("whole.tbr", header(1), simple()...)
	b.wants("verify whole.tbr", 0, `recording 01000000000000000000000000000000: whole
1 file, 2 publishers, 94 messages, 691 bytes of data
the recorder stopped: by a signal
`)
	b.record("holes.tbr", header(2), join(joined(0, alice, 1, 2), msgs(0, alice, 1, 1, 5), gap(60, alice, 1, 3, recording.CauseFull), msgs(70, alice, 1, 9, 12),
		msgs(80, alice, 2, 1, 2), msgs(90, alice, 2, 5, 6), msg(99, alice, 2, 6), msg(99, alice, 2, 4), stop(100))...)
	b.wants("verify holes.tbr whole.tbr", 1, `recording 02000000000000000000000000000000: not whole
  3 messages are lost: full 3
  2 messages are missing, and no event says why
  1 message is there twice
  1 message is out of order
1 file, 1 publisher, 15 messages, 108 bytes of data
the recorder stopped: by a signal
TAG   PUBLISHER  MESSAGES  FIRST  LAST  MISSING  UNEXPLAINED  LOST    ALSO
0x1  alice             9      1    12        3            0  full 3  -
0x2  alice             6      1     6        2            2  -       twice 1, out of order 1
-> the recorder or its disk was slower than the publishers: record with --policy block, a larger --queue-bytes, fewer tags, or --codec s2 on a slow disk
-> tagbus rec merge drops what is there twice

recording 01000000000000000000000000000000: whole
1 file, 2 publishers, 94 messages, 691 bytes of data
the recorder stopped: by a signal
`)
	b.says("verify holes.tbr --head 1", 1, "1 of 2 rows (--head)\n")
	got := b.says("verify holes.tbr --json", 1, `{"recording":"02000000000000000000000000000000","whole":false,"reasons":["3 messages are lost: full 3",`,
		`"missing":5,"unexplained":2,"lost":{"full":3}}`, `"tag":"0x2","publisher":"alice","instance":"AAAAAAAAAAAAAAAAAAAAAA","messages":6,"first":1,"last":6,"missing":2,"unexplained":2,"repeated":1,"backward":1}`)
	if n := strings.Count(got.out, "\n"); n != 3 {
		t.Errorf("got %d lines, want 3:\n%s", n, got.out)
	}
}

func TestVerifySaysWhatToDo(t *testing.T) {
	b := newBed(t)
	b.record("killed.tbr", header(1), simple()...)
	b.cutOff("killed.tbr", 500)
	b.says("verify killed.tbr", 1, "was not closed", "-> tagbus rec index killed.tbr writes the index")
	h := header(2)
	h.Part = 1
	b.record("second.tbr", h, simple()...)
	b.says("verify second.tbr", 1, "part 0 is missing", "-> give all parts of the recording, each once: 1 is second.tbr")
	b.record("damaged.tbr", header(3), simple()...)
	b.change("damaged.tbr", damageBlock(2))
	b.says("verify damaged.tbr", 1, "1 block cannot be read", "-> damaged.tbr is damaged: copy it again")
	b.record("broke.tbr", header(4), join(msgs(0, alice, 1, 1, 5), gap(60, alice, 1, 3, recording.CauseConnection), stop(70))...)
	b.says("verify broke.tbr", 1, "-> connections broke")
	b.record("part1", header(5), simple()...)
	b.change("part1", damageBlock(2))
	t.Chdir(b.dir)
	if got := b.says("verify part1", 1, "part1: 1 block cannot be read"); strings.Contains(got.out, "give all parts") {
		t.Errorf("got %s, want no word of parts: there is one, whatever its name", got.out)
	}
	must(t, os.WriteFile(b.path("other.tbr"), []byte("another file, which is no recording at all, and long enough"), 0o600))
	b.says("verify other.tbr", 2, "not a recording")
}
