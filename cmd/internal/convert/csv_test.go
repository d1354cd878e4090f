// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestCSVHasEachMessage(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	for _, data := range []string{"hex", "text"} {
		r := b.run("run.tbr", "--to", "csv", "--out", "-", "--data", data)
		rows, err := csv.NewReader(bytes.NewReader([]byte(r.out))).ReadAll()
		if err != nil || r.status != 0 {
			t.Fatalf("got status %d, %v: %s", r.status, err, r.said)
		}
		var want [][]string
		for _, m := range ofAll(all()) {
			if m.Kind != 0 {
				continue
			}
			cell := hex.EncodeToString([]byte(m.Data))
			if data == "text" {
				// A reader of CSV makes a line feed of each line end.
				cell = string(bytes.ReplaceAll([]byte(m.Data), []byte("\r\n"), []byte("\n")))
			}
			want = append(want, []string{
				m.At, "message", m.Tag.String(), m.Peer.String(), m.Peer.Instance, fmt.Sprint(m.Counter), fmt.Sprint(m.Status), fmt.Sprint(len(m.Data)), cell, "", "", "",
			})
		}
		var got [][]string
		for _, row := range rows[1:] {
			if row[1] == "message" {
				got = append(got, row)
			}
		}
		differ(t, want, got)
		differ(t, len(all())+1, len(rows))
	}
}

// TestEmptyCSVHasItsTitles: a table without rows is one, too.
func TestEmptyCSVHasItsTitles(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	r := b.wants(1, "no message is from 2030-01-01T00:00:00Z on (--from): those that are there are of about 2026-11-24T12:00:00.123456789Z to 2026-11-24T12:00:00.213456789Z\n"+
		"0 messages and 0 events written to standard output as csv: 78 B\n", "run.tbr", "--to", "csv", "--out", "-", "--from", "2030-01-01")
	differ(t, "time,kind,tag,publisher,instance,counter,status,length,data,count,cause,text\r\n", r.out)
}

// TestTimesOfCSVHaveNineDigits, so that a column of them can be sorted and read as text.
func TestTimesOfCSVHaveNineDigits(t *testing.T) {
	b := newBed(t)
	whole := msg(0, alice, 1, 1, 0, "x")
	whole.Time = time.Unix(1_700_000_000, 0)
	half := whole
	half.Time = time.Unix(1_700_000_000, 500_000_000)
	b.record("run.tbr", 256, whole, half)
	r := b.run("run.tbr", "--to", "csv", "--out", "x.csv")
	got := string(b.file("x.csv"))
	if r.status != 0 || !strings.Contains(got, "\n2023-11-14T22:13:20.000000000Z,") || !strings.Contains(got, "\n2023-11-14T22:13:20.500000000Z,") {
		t.Errorf("got status %d and %s", r.status, got)
	}
}

// TestALongInstanceIsCut, as a few bytes of a recording would be a megabyte of each row.
func TestALongInstanceIsCut(t *testing.T) {
	b := newBed(t)
	long := *alice
	long.Instance = strings.Repeat("x", 1<<20)
	b.record("run.tbr", 256, msg(10, &long, 1, 1, 0, ""), msg(20, &long, 1, 2, 0, ""))
	if r := b.run("run.tbr", "--to", "csv", "--out", "-"); r.status != 0 || len(r.out) > 16<<10 {
		t.Errorf("got status %d and %d bytes for two empty messages: %s", r.status, len(r.out), r.said)
	}
}
