// SPDX-License-Identifier: Apache-2.0

package mailbox

import (
	"bytes"
	"testing"
	"testing/synctest"
)

// memory returns what a box has of it.
func (b *Box[K, M]) memory() (bytes int) {
	for i := range b.full.Len() {
		bytes += cap((*b.full.At(i)).bytes)
	}
	for _, f := range append(b.free, b.filling, b.reading) {
		bytes += cap(f.bytes)
	}
	return bytes
}

// A reader that keeps up is given the same memory again: a box that grew to its limit had all of it
// go through the cache, and the system provide all of it.
func TestABoxTakesLittleMemoryIfItsReaderKeepsUp(t *testing.T) {
	const page = 100_000
	mail := lossless(100 * page)
	data := make([]byte, page)
	for i := range 1000 {
		mail.Push(i, data)
		if _, err := mail.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		takeAll(mail)
	}
	if got := mail.memory(); got > 2*blockBytes {
		t.Errorf("got %d bytes, want at most two blocks of %d", got, blockBytes)
	}
}

// A box that was full keeps no more memory than it may hold, and gives its messages in order.
func TestABoxThatWasFullKeepsBlocksUpToItsLimit(t *testing.T) {
	const page, limit = 100_000, 20 * 100_000
	mail := lossless(limit)
	pushed, taken := 0, 0
	data := make([]byte, page)
	for range 3 {
		for full := false; !full; pushed++ {
			data[0] = byte(pushed)
			full = mail.Push(pushed, data)
		}
		for drained := false; !drained; {
			var err error
			if drained, err = mail.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
			if drained != (mail.cost <= limit/2) {
				t.Errorf("drained is %v with %d of %d bytes left", drained, mail.cost, limit)
			}
			for {
				m, got, ok := mail.Take()
				if !ok {
					break
				}
				if m != taken || got[0] != byte(taken) || len(got) != page {
					t.Fatalf("got message %d %.8q, want %d", m, got, taken)
				}
				taken++
			}
		}
	}
	mail.Close(nil)
	for err := error(nil); err == nil; _, err = mail.Next(t.Context()) {
		taken += len(takeAll(mail))
	}
	if taken != pushed {
		t.Errorf("got %d messages, want %d", taken, pushed)
	}
	if got := mail.memory(); got > limit+2*blockBytes {
		t.Errorf("got %d bytes, want at most %d and two blocks", got, limit)
	}
}

func TestALargeMessageHasABlockOfItsOwn(t *testing.T) {
	mail := lossless(1 << 30)
	large := bytes.Repeat([]byte("large"), blockBytes)
	for _, data := range [][]byte{[]byte("a"), large, []byte("b"), []byte("c")} {
		mail.Push(0, data)
	}
	for _, want := range [][]string{{"a"}, {string(large)}, {"b", "c"}} {
		if _, err := mail.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := takeAll(mail); len(got) != len(want) || got[0] != want[0] {
			t.Errorf("got %d messages of %d bytes first, want %d of %d", len(got), len(got[0]), len(want), len(want[0]))
		}
	}
}

// What has come before the end of a turn of the loop costs one wake-up.
func TestAReaderSleepsUntilWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mail := lossless(1 << 20)
		read := make(chan int)
		go func() {
			_, _ = mail.Next(t.Context())
			read <- len(takeAll(mail))
		}()
		synctest.Wait()
		for i := range 10 {
			mail.Push(i, []byte("x"))
			synctest.Wait()
		}
		select {
		case <-read:
			t.Fatal("a message has woken the reader")
		default:
		}
		if !mail.Waits() {
			t.Error("a reader that waits is not known")
		}
		mail.Wake()
		if got := <-read; got != 10 || mail.Waits() {
			t.Errorf("got %d messages, and a reader that waits is %v; want 10 and false", got, mail.Waits())
		}
	})
}
