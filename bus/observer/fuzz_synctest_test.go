// SPDX-License-Identifier: Apache-2.0

package observer_test

import (
	"encoding/binary"
	"errors"
	"runtime"
	"runtime/metrics"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/subscription"
)

// hostile is an instance that answers as an input says: pieces, each with a length of two
// bytes in front, are messages for the next of its answers. A piece of no bytes ends what it
// says to one message.
type hostile struct {
	netio.NopHandler
	left []byte
}

// pieces appends messages as an input.
func pieces(messages ...[]byte) (input []byte) {
	for _, m := range messages {
		input = append(binary.LittleEndian.AppendUint16(input, uint16(len(m))), m...)
	}
	return input
}

func (h *hostile) OnData(ep netio.Endpoint, _ []byte) {
	for len(h.left) >= 2 {
		n := min(int(binary.LittleEndian.Uint16(h.left)), len(h.left)-2)
		piece := h.left[2 : 2+n]
		h.left = h.left[2+n:]
		if n == 0 {
			return
		}
		_ = ep.SendCopy(0, nil, piece)
	}
	_ = ep.Close()
}

// FuzzAnswers asks an instance that answers anything, on several connections. What must
// hold: nothing panics; each question ends in time; an answer is of the instance that was
// asked for; an error is one of those that are documented; the heap stays bounded; no
// connection is left.
func FuzzAnswers(f *testing.F) {
	hello := helloOf(f, "stranger")
	describe := func(id uint64, text string, more bool) []byte {
		return control(f, &subscription.Description{ID: id, Part: []byte(text), More: more})
	}
	const good = `{"state_version":1,"instance":"stranger","peers":[{"name":"[{\"\\"}],"busiest_tags":[{"tag":5}]}`
	f.Add(pieces(hello, nil, describe(1, good, false), nil, describe(2, good[:9], true), describe(2, good[9:], false)))
	f.Add(pieces(hello, nil, control(f, &subscription.Refused{ID: 1, Reason: "no\x1b"}), nil, control(f, &subscription.Beat{}), control(f, &subscription.Refused{Reason: "no"})))
	f.Add(pieces(control(f, &subscription.Refused{Reason: "old"}), nil, hello, describe(1, good, false)))
	f.Add(pieces(hello, hello))
	f.Add(pieces(hello, nil, describe(1, `{"state_version":1,"instance":"stranger","peers":[`+string(slices.Repeat([]byte("1,"), 5000)), false)))
	f.Add(pieces(hello, nil, describe(1, `{"state_version":2}`, false), nil, describe(2, `{"x":`+string(slices.Repeat([]byte("["), 5000)), false)))
	f.Add(pieces(hello, nil, []byte{byte(subscription.KindDescription), 0x80}))
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 64<<10 {
			t.Skip("longer than an answer has to be")
		}
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			e := b.listen(&hostile{left: input})
			o, host := b.observer(observer.Config{})
			before := heap()
			for _, q := range []state.Question{{}, {Peers: 10, Busiest: 10}, {}} {
				begun := time.Now()
				s, err := o.Ask(t.Context(), e, q)
				switch {
				case time.Since(begun) > observer.DefaultTimeout:
					t.Errorf("a question took %v", time.Since(begun))
				case err == nil && (s.Instance != e.Instance || s.Version != state.Version):
					t.Errorf("got an answer of %q in version %d", s.Instance, s.Version)
				case err != nil && !documented(err):
					t.Errorf("got error %v, which is none of those that are documented", err)
				}
				g, err := o.Greet(t.Context(), e, e.Addresses[0])
				if err != nil && !errors.Is(err, observer.ErrNotTagbus) && !errors.As(err, new(*netio.OpError)) || g.Took > observer.DefaultTimeout {
					t.Errorf("Greet: got %+v and error %v", g, err)
				}
			}
			if grown := heap() - before; grown > 32<<20 && !testkit.Race {
				runtime.GC()
			}
			if grown := heap() - before; grown > 32<<20 && !testkit.Race {
				t.Errorf("the heap has grown by %d bytes for an input of %d", grown, len(input))
			}
			must(t, o.Close())
			if open := b.connections(host).now; open != 0 {
				t.Errorf("got %d open connections after the end, want none", open)
			}
		})
	})
}

// documented reports whether an error is one of those of Ask.
func documented(err error) bool {
	for _, known := range []error{
		bus.ErrStaleEntry, bus.ErrProtocol, observer.ErrNotObservable, observer.ErrDenied, observer.ErrRefused, observer.ErrLost, observer.ErrTimeout,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, new(*observer.VersionError)) || errors.As(err, new(*netio.OpError))
}

// heap returns the bytes of the heap that are in use or not swept yet.
func heap() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
