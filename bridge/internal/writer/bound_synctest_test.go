// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/follow"
	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/internal/spool/memdisk"
	"tagbus/bridge/internal/writer"
	"tagbus/bridge/record"
	"tagbus/bus"
)

// most bounds the chains of a writer.
func most(n int) func(*writer.Config) { return func(cfg *writer.Config) { cfg.MaxChains = n } }

// wantTooMany fails a test unless an error is that of a bound, and returns what it says is unwritten besides.
//
//   - key: the zero value: any.
func wantTooMany(t *testing.T, err error, limit int, key durable.Key) *writer.UnwrittenError {
	t.Helper()
	var many *follow.TooManyError
	if !errors.As(err, &many) || many.Limit != limit || key != (durable.Key{}) && many.Key != key || many.Log != "memory" || many.What != follow.Keys {
		t.Errorf("got %v, want a *TooManyError of %v, with %d", err, key, limit)
	}
	var unwritten *writer.UnwrittenError
	errors.As(err, &unwritten)
	return unwritten
}

// TestWriter_tooManyChains end the writer in order: what it took before is stored, what comes later is for the next one.
func TestWriter_tooManyChains(t *testing.T) {
	for name, tooMany := range map[string]func(*writer.Writer){
		"message":  func(w *writer.Writer) { w.Page(time.Now(), append(page(alice, 2, 1), page(alice, 1, 4)...)) },
		"position": func(w *writer.Writer) { settle(w, alice, 2, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := memlog.New(limit, func(durable.Append) memlog.Fate { return memlog.Fate{Answer: time.Second} })
				w, c := open(t, log, most(2))
				settle(w, alice, 1, 0, 0)
				w.Page(time.Now(), append(page(alice, 1, 1, 2, 3), page(bob, 1, 1)...)) // where that of bob begins is not known
				select {
				case <-w.Failed():
					t.Fatal("2 are too many, want up to 2")
				default:
				}
				tooMany(w)
				<-w.Failed()
				w.Page(time.Now(), page(alice, 1, 4, 5))
				settle(w, alice, 1, 0, 5)
				settle(w, bob, 1, 0, 1)
				w.EndAway(time.Now())
				w.End(alice.Instance, record.Goodbye, time.Now(), "")
				time.Sleep(time.Minute)
				if said, st := c.said(), w.Stats(); said.pauses != 1 || said.resumes != 0 || st.Held > 0 || st.Messages != 4 || st.Chains != 2 {
					t.Errorf("got %d pauses, %d resumes and %+v, want the publishers to wait", said.pauses, said.resumes, st)
				}
				if unwritten := wantTooMany(t, w.Close(t.Context()), 2, durable.Key{Tag: 2, Instance: "ALICE"}); unwritten != nil {
					t.Errorf("got %v, want all to be written", unwritten)
				}
				for key, got := range read(t, log) {
					if want := map[string]uint64{"ALICE": 4, "BOB": 2}[key.Instance]; got.next != want || len(got.lost) > 0 || got.end != record.Stopped {
						t.Errorf("got %v: %+v, want it up to %d", key, got, want)
					}
				}

				_, err := writer.New(t.Context(), writer.Config{Log: log, MaxChains: 1}, every)
				_ = wantTooMany(t, err, 1, durable.Key{})
				w, _ = open(t, log, most(3))
				w.Page(time.Now(), append(page(alice, 1, 4, 5), page(alice, 2, 1)...))
				closeWriter(t, w)
				if all := read(t, log); len(all) != 3 || all[durable.Key{Tag: 1, Instance: "ALICE"}].next != 6 {
					t.Errorf("got %d chains, want 3, with all", len(all))
				}
			})
		})
	}
}

// TestWriter_tooManyChains_away: the error has what is not stored, too, if the log does not come back.
func TestWriter_tooManyChains_away(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(limit, nil)
		w, _ := open(t, log, most(1))
		settle(w, alice, 1, 0, 0)
		synctest.Wait()
		log.SetAway(true)
		w.Page(time.Now(), page(alice, 1, 1, 2, 3))
		settle(w, bob, 1, 0, 0)
		if unwritten := wantTooMany(t, closeNow(w), 1, durable.Key{Tag: 1, Instance: "BOB"}); unwritten == nil || unwritten.Messages != 3 {
			t.Errorf("got %v, want 3 messages unwritten", unwritten)
		}
	})
}

// TestWriter_endedChainsMakeRoom: those that have ended and are stored do not count.
func TestWriter_endedChainsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(limit, nil)
		w, _ := open(t, log, most(1))
		for i := range 10 {
			p := &bus.Peer{Instance: fmt.Sprint(i)}
			settle(w, p, 1, 0, 0)
			w.Page(time.Now(), page(p, 1, 1))
			w.End(p.Instance, record.Goodbye, time.Now(), "")
			synctest.Wait()
		}
		closeWriter(t, w)
		if n := len(read(t, log)); n != 10 {
			t.Errorf("got %d chains, want 10", n)
		}
	})
}

// TestWriter_tooManyChains_spool: what is in the spool stays there for a writer with more of them.
func TestWriter_tooManyChains_spool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, d := memlog.New(limit, nil), memdisk.New()
		w, _ := open(t, log, withSpool(t, d, 8<<20))
		log.SetAway(true)
		for _, p := range []*bus.Peer{alice, bob} {
			settle(w, p, 1, 0, 0)
			w.Page(time.Now(), page(p, 1, upTo(1, 1000)...))
		}
		if unwritten := new(writer.UnwrittenError); !errors.As(closeNow(w), &unwritten) || unwritten.Spooled != 2000 {
			t.Errorf("got %v, want 2000 messages in the spool", unwritten)
		}
		log = log.Reopen(nil)
		w, c := open(t, log, withSpool(t, d, 8<<20), most(1))
		<-w.Failed()
		err := w.Close(t.Context())
		if unwritten := wantTooMany(t, err, 1, durable.Key{}); unwritten == nil || unwritten.Messages > 0 || unwritten.Spooled != 2000 {
			t.Errorf("got %v, want all in the spool still", err)
		}
		if said := c.said(); len(said.reports) > 0 {
			t.Errorf("got the reports %v, want none", said.reports)
		}
		log = log.Reopen(nil)
		w, _ = open(t, log, withSpool(t, d, 8<<20), most(2))
		closeWriter(t, w)
		all := read(t, log)
		if a, b := all[durable.Key{Tag: 1, Instance: "ALICE"}], all[durable.Key{Tag: 1, Instance: "BOB"}]; a == nil || b == nil || a.next != 1001 || b.next != 1001 || len(a.lost)+len(b.lost) > 0 {
			t.Errorf("got %+v and %+v, want 1000 messages of each", a, b)
		}
	})
}
