// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/internal/writer"
	"tagbus/bridge/record"
)

// TestWriter_writesWhatComes with the begin, the end and what is missing in its place.
func TestWriter_writesWhatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(limit, nil)
		w, c := open(t, log)
		w.Page(time.Now(), page(alice, 1, 4, 5))
		synctest.Wait()
		if n := len(log.Entries()); n != 0 || c.asked == 0 {
			t.Errorf("got %d entries and %d questions before it is known where the tag begins, want 0 and some", n, c.asked)
		}
		settle(w, alice, 1, 2, 5, full(1)) // 3 was lost before the first message
		w.Page(time.Now(), page(alice, 1, 8, 9))
		synctest.Wait()
		if got := only(t, log); got.next != 6 {
			t.Errorf("got %+v before it is known why 6 and 7 are lost, want all before", got)
		}
		settle(w, alice, 1, 2, 11, full(2), record.Share{Cause: record.CauseConnection, Count: 2})
		w.End(alice.Instance, record.Goodbye, time.Now(), "")
		closeWriter(t, w)
		got := only(t, log)
		if got.begin != 3 || got.next != 12 || len(got.lost) != 5 || got.end != record.Goodbye || got.kinds != "blmlmle" {
			t.Errorf("got %+v", got)
		}
		if got.causes[record.CauseFull] != 2 || got.causes[record.CauseConnection] != 2 {
			t.Errorf("got the causes %v", got.causes)
		}
		st := w.Stats()
		if st.Messages != 4 || st.Lost != 5 || st.Held != 0 || st.Chains != 0 || st.Away {
			t.Errorf("got %+v", st)
		}
	})
}

// TestWriter_lossesThatGoOn hold a chain up for one question at most: what was lost before it is explained by its
// answer, whatever is lost meanwhile.
func TestWriter_lossesThatGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(limit, nil)
		w, _ := open(t, log)
		settle(w, alice, 1, 0, 0)
		for n := uint64(2); n <= 200; n += 2 { // each other one is lost
			mark := w.Mark()
			w.Page(time.Now(), page(alice, 1, n))
			w.Positions(mark, []writer.Standing{{Peer: alice, Tag: 1, Position: n, Losses: []record.Share{full(n / 2)}}})
			synctest.Wait()
			if got := only(t, log); got.next+2 < n {
				t.Fatalf("got the log up to %d, want up to %d", got.next, n-2)
			}
		}
		closeWriter(t, w)
		if got := only(t, log); got.next != 201 || len(got.lost) != 100 || got.causes[record.CauseFull] < 99 {
			t.Errorf("got %+v, want 100 lost of 200, of which 99 are explained", got)
		}
	})
}

// TestWriter_gathersWhatComesMeanwhile in one record, while another one is on its way.
func TestWriter_gathersWhatComesMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(limit, func(durable.Append) memlog.Fate { return memlog.Fate{Answer: time.Second} })
		w, _ := open(t, log)
		settle(w, alice, 1, 0, 0)
		for n := range uint64(100) {
			w.Page(time.Now(), page(alice, 1, n+1))
			synctest.Wait()
		}
		closeWriter(t, w)
		if n := len(log.Entries()); n != 3 { // begin, messages, end
			t.Errorf("got %d entries, want 3", n)
		}
		only(t, log)
	})
}

// TestWriter_bounds of records: their bytes, their messages, and one message that is too large for the log.
func TestWriter_bounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(limit, nil)
		w, c := open(t, log, func(cfg *writer.Config) { cfg.RecordMessages = 3 })
		settle(w, alice, 1, 0, 0)
		w.Page(time.Now(), page(alice, 1, upTo(1, 10)...))
		large := page(alice, 1, 11)
		large[0].Data = make([]byte, limit)
		w.Page(time.Now(), large)
		w.Page(time.Now(), page(alice, 1, 12))
		closeWriter(t, w)
		got := only(t, log)
		if !got.lost[11] || len(got.lost) != 1 || got.causes[record.CauseTooLarge] != 1 {
			t.Errorf("got %+v", got)
		}
		var tooLarge *writer.TooLargeError
		if len(c.reports) != 1 || !errors.As(c.reports[0], &tooLarge) || tooLarge.Counter != 11 || tooLarge.Size != limit {
			t.Errorf("got the reports %v, want one of message 11", c.reports)
		}
		for _, e := range log.Entries() {
			if r, err := record.Parse(e.Data); err != nil || r.Kind == record.Messages && r.Count > 3 {
				t.Errorf("got %v, %v, want at most 3 messages", r, err)
			}
		}
	})
}

// TestWriter_aPartOfTheLogIsAway is one outage, and holds up no other tag.
func TestWriter_aPartOfTheLogIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool
		away.Store(true)
		log := memlog.New(limit, func(a durable.Append) memlog.Fate {
			gone := away.Load() && a.Key.Tag == 2
			return memlog.Fate{Lost: gone, Silent: gone}
		})
		w, c := open(t, log)
		settle(w, alice, 1, 0, 0)
		settle(w, alice, 2, 0, 0)
		w.Page(time.Now(), page(alice, 2, 1))
		for n := range uint64(50) {
			w.Page(time.Now(), page(alice, 1, n+1))
			time.Sleep(200 * time.Millisecond) // twice the longest rest
			if st := w.Stats(); st.Messages != n+1 || !st.Away {
				t.Fatalf("got %+v, want the %d messages of the tag that is not away", st, n+1)
			}
		}
		if said := c.said(); len(said.reports) != 1 {
			t.Errorf("got %d reports, want one of the outage", len(said.reports))
		}
		away.Store(false)
		time.Sleep(time.Second)
		if st := w.Stats(); st.Messages != 51 || st.Away {
			t.Errorf("got %+v, want all", st)
		}
		closeWriter(t, w)
	})
}

// TestWriter_pausesAtItsLimit and resumes when half of it is stored.
func TestWriter_pausesAtItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(limit, nil)
		w, c := open(t, log, func(cfg *writer.Config) { cfg.MaxBytes = 16 << 10 })
		settle(w, alice, 1, 0, 0)
		synctest.Wait()
		log.SetAway(true)
		n := uint64(0)
		for c.pauses == 0 && n < 1e4 {
			n++
			w.Page(time.Now(), page(alice, 1, n))
		}
		if st := w.Stats(); st.Held < 16<<10 || st.Held > 17<<10 || c.resumes != 0 {
			t.Errorf("got %+v and %d resumes after %d messages", st, c.resumes, n)
		}
		time.Sleep(time.Minute)
		if len(c.reports) != 1 || !errors.Is(c.reports[0], memlog.ErrAway) || !w.Stats().Away {
			t.Errorf("got the reports %v, want one of the outage", c.reports)
		}
		log.SetAway(false)
		time.Sleep(time.Second)
		if st := w.Stats(); c.resumes != 1 || st.Held != 0 || st.Away || st.Messages != n {
			t.Errorf("got %d resumes and %+v, want 1 and nothing held", c.resumes, st)
		}
		closeWriter(t, w)
		only(t, log)
	})
}

// TestWriter_anotherBridge writes to the same log: each message is there once.
func TestWriter_anotherBridge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(limit, func(durable.Append) memlog.Fate {
			return memlog.Fate{Store: 3 * time.Millisecond, Answer: 5 * time.Millisecond}
		})
		other := log.Reopen(func(durable.Append) memlog.Fate {
			return memlog.Fate{Store: 2 * time.Millisecond, Answer: 7 * time.Millisecond}
		})
		a, _ := open(t, log)
		b, _ := open(t, other)
		settle(a, alice, 1, 0, 0)
		settle(b, alice, 1, 0, 0)
		for n := range uint64(200) {
			a.Page(time.Now(), page(alice, 1, n+1))
			time.Sleep(time.Millisecond)
			if n%3 > 0 {
				b.Page(time.Now(), page(alice, 1, n+1))
			}
		}
		closeWriter(t, a)
		closeWriter(t, b)
		got := only(t, log)
		if got.next != 201 {
			t.Errorf("got %+v, want messages 1 to 200", got)
		}
		if a.Stats().Passed+b.Stats().Passed == 0 || a.Stats().Looks+b.Stats().Looks == 0 {
			t.Errorf("got %+v and %+v, want both to have met", a.Stats(), b.Stats())
		}
	})
}

// TestWriter_goesOnBehindTheLog after another run, and says what was missed, and which publishers are gone.
func TestWriter_goesOnBehindTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(limit, nil)
		first, _ := open(t, log)
		settle(first, alice, 1, 0, 0)
		settle(first, alice, 2, 0, 0)
		settle(first, bob, 1, 0, 0)
		first.Page(time.Now(), page(alice, 1, upTo(1, 10)...))
		first.Page(time.Now(), page(alice, 2, upTo(1, 3)...))
		first.Page(time.Now(), page(bob, 1, upTo(1, 5)...))
		synctest.Wait()
		kill(first, log)

		log = log.Reopen(nil)
		second, _ := open(t, log)
		second.Page(time.Now(), page(alice, 1, upTo(8, 12)...)) // the cache of the publisher
		settle(second, alice, 2, 7, 7)                          // which has none of these any more
		second.EndAway(time.Now())
		closeWriter(t, second)
		all := read(t, log)
		one, two, gone := all[durable.Key{Tag: 1, Instance: "ALICE"}], all[durable.Key{Tag: 2, Instance: "ALICE"}], all[durable.Key{Tag: 1, Instance: "BOB"}]
		if one.next != 13 || len(one.lost) != 0 || one.end != record.Stopped {
			t.Errorf("got %+v, want all messages up to 12", one)
		}
		if two.next != 8 || len(two.lost) != 4 || two.causes[record.CauseAway] != 4 {
			t.Errorf("got %+v, want 4 to 7 lost", two)
		}
		if gone.next != 6 || gone.end != record.Away {
			t.Errorf("got %+v, want an unknown end", gone)
		}
	})
}

// TestWriter_aForeignRecord ends the writer, at its start and later.
func TestWriter_aForeignRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := durable.Key{Tag: 1, Instance: "ALICE"}
		log := memlog.New(limit, nil)
		w, _ := open(t, log)
		settle(w, alice, 1, 0, 0)
		synctest.Wait()
		log.Append(durable.Append{Key: key, After: 1, Data: []byte("hello"), Done: func(durable.Position, error) {}})
		w.Page(time.Now(), page(alice, 1, 1))
		<-w.Failed()
		err := w.Close(t.Context())
		var foreign *writer.ForeignError
		var unwritten *writer.UnwrittenError
		if !errors.As(err, &foreign) || foreign.Position != 2 || !errors.As(err, &unwritten) || unwritten.Messages != 1 || !errors.Is(err, record.ErrNotRecord) {
			t.Errorf("got %v, want entry 2 to be foreign and one message unwritten", err)
		}
		_, err = writer.New(t.Context(), writer.Config{Log: log}, every)
		if !errors.As(err, &foreign) || !strings.Contains(err.Error(), "entry 2, of tag") {
			t.Errorf("got %v, want a *ForeignError of entry 2", err)
		}
	})
}

// TestWriter_Close_saysWhatIsNotStored when the log is away until the end, and when it refuses.
func TestWriter_Close_saysWhatIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(limit, nil)
		w, _ := open(t, log)
		settle(w, alice, 1, 0, 0)
		synctest.Wait()
		log.SetAway(true)
		w.Page(time.Now(), page(alice, 1, upTo(1, 7)...))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var unwritten *writer.UnwrittenError
		if err := w.Close(ctx); !errors.As(err, &unwritten) || unwritten.Messages != 7 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want 7 messages unwritten", err)
		}
		small := memlog.New(10, nil)
		w, _ = open(t, small)
		settle(w, alice, 1, 0, 0)
		if err := w.Close(t.Context()); !errors.As(err, &unwritten) || !errors.Is(err, durable.ErrRefused) {
			t.Errorf("got %v, want the refusal", err)
		}
	})
}
