// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"os"
	"strings"
	"testing"

	"tagbus/recording"
)

func TestCat(t *testing.T) {
	b := newBed(t)
	odd := msg(2, alice, 1, 2)
	odd.Status, odd.Data = 7, []byte("a\x1b[2J\xff")
	b.record("a.tbr", header(1), join(joined(0, alice, 1, 2), msg(1, alice, 1, 1), odd, gap(3, alice, 1, 2, recording.CauseFull), msg(4, alice, 2, 9), stop(5))...)
	b.wants("cat a.tbr", 0, `-- 2026-11-24T12:00:00.000000000Z joined alice@host1:11 (10.0.0.1:4001) tags 0x1-0x2
0x1 1 0 2026-11-24T12:00:00.001000000Z 7: alice 1
0x1 2 7 2026-11-24T12:00:00.002000000Z 6: "a\x1b[2J\xff"
-- 2026-11-24T12:00:00.003000000Z gap alice@host1:11 (10.0.0.1:4001) 2 messages of tag 0x1: full
0x2 9 0 2026-11-24T12:00:00.004000000Z 7: alice 9
-- 2026-11-24T12:00:00.005000000Z stopped: by a signal
`)
	b.wants("cat a.tbr --print hex --no-events --tags 1 --from +2ms", 0, "0x1 2 7 2026-11-24T12:00:00.002000000Z 6: 611b5b324aff\n")
	b.wants("cat a.tbr --print none --to 12:00:00.005", 0, `-- 2026-11-24T12:00:00.000000000Z joined alice@host1:11 (10.0.0.1:4001) tags 0x1-0x2
-- 2026-11-24T12:00:00.003000000Z gap alice@host1:11 (10.0.0.1:4001) 2 messages of tag 0x1: full
`)
	b.wants("cat a.tbr --head 1 --publisher alice", 0, `-- 2026-11-24T12:00:00.000000000Z joined alice@host1:11 (10.0.0.1:4001) tags 0x1-0x2
0x1 1 0 2026-11-24T12:00:00.001000000Z 7: alice 1
`)
	b.wants("cat a.tbr --json --tags 1", 0, `{"event":"joined","time":"2026-11-24T12:00:00.000000000Z","publisher":"AAAAAAAAAAAAAAAAAAAAAA","name":"alice","host":"host1","tags":"0x1-0x2"}
{"tag":"0x1","counter":1,"status":0,"time":"2026-11-24T12:00:00.001000000Z","publisher":"AAAAAAAAAAAAAAAAAAAAAA","size":7,"data":"alice 1"}
{"tag":"0x1","counter":2,"status":7,"time":"2026-11-24T12:00:00.002000000Z","publisher":"AAAAAAAAAAAAAAAAAAAAAA","size":6,"base64":"YRtbMkr/"}
{"event":"gap","time":"2026-11-24T12:00:00.003000000Z","publisher":"AAAAAAAAAAAAAAAAAAAAAA","name":"alice","host":"host1","tag":"0x1","count":2,"cause":"full"}
{"event":"stopped","time":"2026-11-24T12:00:00.005000000Z","text":"by a signal"}
`)
	b.wants("cat a.tbr --from +1s --to +1ms", 2, "--to: got 2026-11-24T12:00:00.001Z, want a time after --from, 2026-11-24T12:00:01Z\n")
}

func TestCatReadsSeveralRecordingsInTheOrderOfTime(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), msgs(0, alice, 1, 1, 3)...)
	b.record("b.tbr", header(2), msgs(5, bob, 3, 1, 3)...)
	got := b.says("cat b.tbr a.tbr", 0)
	var order []string
	for line := range strings.Lines(got.out) {
		_, data, _ := strings.Cut(line, ": ")
		order = append(order, strings.TrimSpace(data))
	}
	if got, want := strings.Join(order, ","), "alice 1,bob 1,alice 2,bob 2,alice 3,bob 3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCatPassesOverDamage(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.change("a.tbr", damageBlock(1))
	got := b.says("cat a.tbr", 1, "block 1 at offset", "checksum is wrong")
	if !strings.Contains(got.out, "bob 20") || !strings.Contains(got.out, "alice 1\n") {
		t.Errorf("got\n%s, want what is before and behind", got.out)
	}
}

func TestCatShowsFieldsOfPayloads(t *testing.T) {
	b := newBed(t)
	m := msg(0, alice, 1, 1)
	m.Data = []byte{255, 255, 255, 255, 255, 255, 255, 255, 1}
	short := msg(1, alice, 1, 2)
	short.Data = []byte{1}
	b.record("a.tbr", header(1), m, short)
	must(t, os.WriteFile(b.path("p.json"), []byte(`{"payloads":[{"name":"P","tags":"1","fields":[{"name":"n","type":"u64"}]}]}`), 0o600))
	out := b.says("cat a.tbr --print json --payloads "+b.path("p.json"), 0, `"fields":{"n":18446744073709551615}`).out
	if strings.Count(out, `"fields"`) != 1 {
		t.Errorf("got %s, want no fields of the short one", out)
	}
	b.says("cat a.tbr --payloads "+b.path("p.json"), 2, "--payloads is for messages that are printed as JSON")
	b.says("cat a.tbr --print json --payloads none.json", 2, "none.json")
}
