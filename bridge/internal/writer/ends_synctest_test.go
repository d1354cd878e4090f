// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/internal/writer"
	"tagbus/bridge/record"
)

// TestWriter_aLaterEndAtTheSameCounter is another record, also for a log that knows a record again by its id.
func TestWriter_aLaterEndAtTheSameCounter(t *testing.T) {
	for name, first := range map[string]func(t *testing.T, log *memlog.Log, w *writer.Writer) (last *writer.Writer){
		"a publisher that has vanished": func(_ *testing.T, _ *memlog.Log, w *writer.Writer) *writer.Writer {
			w.End(alice.Instance, record.Vanished, time.Now(), "")
			return w
		},
		"a bridge is stopped, and the next one sees the goodbye": func(t *testing.T, log *memlog.Log, w *writer.Writer) *writer.Writer {
			closeWriter(t, w)
			next, _ := open(t, log)
			return next
		},
		"a bridge is stopped, and one beside it sees the goodbye": func(t *testing.T, log *memlog.Log, w *writer.Writer) *writer.Writer {
			beside, _ := open(t, log)
			closeWriter(t, w)
			return beside
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := memlog.New(limit, nil)
				w, _ := open(t, log)
				w.Page(time.Now(), page(alice, 1, upTo(1, 5)...))
				settle(w, alice, 1, 0, 5)
				time.Sleep(time.Second)
				w = first(t, log, w)
				time.Sleep(time.Second)
				settle(w, alice, 1, 5, 5)
				w.End(alice.Instance, record.Goodbye, time.Now(), "")
				closeWriter(t, w)
				if c := only(t, log); c.kinds != "bmee" || c.end != record.Goodbye {
					t.Errorf("got %+v, want two ends, of which the last one is the goodbye", c)
				}
			})
		})
	}
}
