// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"encoding/binary"
	"slices"
	"time"

	"pgregory.net/rapid"

	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/ledger"
	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// modelLoop keeps what is posted until its next turn. Its timers are only noted: the
// model calls what they would.
type modelLoop struct {
	netio.Loop
	posted []func()
}

func (l *modelLoop) Post(f func()) bool { l.posted = append(l.posted, f); return true }

func (l *modelLoop) NewTimer(func()) (netio.Timer, error) { return modelTimer{}, nil }

// turn runs what is posted, and what that posts.
func (l *modelLoop) turn() {
	for len(l.posted) > 0 {
		l.next()
	}
}

// next runs the first of what is posted, if there is something.
func (l *modelLoop) next() {
	if len(l.posted) > 0 {
		f := l.posted[0]
		l.posted = l.posted[1:]
		f()
	}
}

type modelTimer struct{ netio.Timer }

func (modelTimer) StartOnce(time.Duration) error { return nil }

func (modelTimer) Close() error { return nil }

// modelEndpoint keeps what is sent until the model completes it. Then it reads it, as
// the network may do until the completion.
type modelEndpoint struct {
	netio.Endpoint
	pool    *netio.Pool
	refuses bool // has no resources
	directs int  // calls of SendDirect
	sent    []modelSend
	read    func(message []byte)
}

type modelSend struct {
	key    netio.Key
	header []byte
	pieces [][]byte
	buffer *netio.Buffer // of a control message, or nil
}

func (e *modelEndpoint) Capabilities() netio.Capabilities {
	return netio.Capabilities{AnyMemory: true, Direct: true}
}

// SendDirect takes two of three messages whole.
func (e *modelEndpoint) SendDirect(key netio.Key, header []byte, data ...[]byte) (bool, error) {
	if e.directs++; e.refuses || e.directs%3 == 0 || len(e.sent) > 0 {
		return false, e.Send(key, header, data...)
	}
	e.read(slices.Concat(append([][]byte{header}, data...)...))
	return true, nil
}

func (e *modelEndpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	if e.refuses {
		return netio.ErrNoResources
	}
	e.sent = append(e.sent, modelSend{key: key, header: slices.Clone(header), pieces: slices.Clone(data)})
	return nil
}

func (e *modelEndpoint) Buffer() (*netio.Buffer, error) {
	if !e.refuses {
		if b := e.pool.Get(); b != nil {
			return b, nil
		}
	}
	return nil, netio.ErrNoResources
}

func (e *modelEndpoint) SendBuffer(b *netio.Buffer) error {
	b.MarkSent(e.pool)
	e.sent = append(e.sent, modelSend{key: b.Key(), pieces: [][]byte{b.Bytes()}, buffer: b})
	return nil
}

// complete completes the oldest send, and reports whether there was one.
func (e *modelEndpoint) complete(box *Outbox) bool {
	if len(e.sent) == 0 {
		return false
	}
	x := e.sent[0]
	e.sent = e.sent[1:]
	e.read(slices.Concat(append([][]byte{x.header}, x.pieces...)...))
	if x.buffer != nil {
		x.buffer.ReleaseSent()
	}
	box.Completed(x.key)
	box.Ready()
	return true
}

// drop forgets what is under way, as the end of a connection does.
func (e *modelEndpoint) drop() {
	for _, x := range e.sent {
		if x.buffer != nil {
			x.buffer.ReleaseSent()
		}
	}
	e.sent = nil
}

// newModelFanout returns a fanout for modelTags tags with little memory.
//
//   - buffers: of the pool.
//   - cached: messages of each tag in the cache; 0: it has none.
//   - flush: the interval; 0: the model has a clock of its own.
func newModelFanout(rt *rapid.T, loop *modelLoop, buffers, cached int, flush time.Duration) *Fanout {
	rt.Helper()
	const pageBytes = 256
	pool, err := netio.NewPool(buffers, pageBytes)
	if err != nil {
		rt.Fatal(err)
	}
	clock := new(alarm.Clock)
	if err := alarm.Open(clock, loop.NewTimer); err != nil {
		rt.Fatal(err)
	}
	var kept *cache.Cache
	if cached > 0 {
		if kept, err = cache.New(cached, 8<<10); err != nil {
			rt.Fatal(err)
		}
	}
	fan := new(Fanout)
	fan.Init(Config{
		Cache:  kept,
		Served: tags.Of(0, 1, 2, 3), Pool: pool, PageBytes: pageBytes, QueueBytes: 6 * pageBytes,
		MaxMessageBytes: 900, MaxStreams: 2, FlushInterval: flush,
		First: func(tags.Tag) {}, Call: func(f func()) { f() },
		LossError: func(subscription.Cause) error { return ErrLost },
	})
	if err := fan.Start(loop, clock); err != nil {
		rt.Fatal(err)
	}
	return fan
}

// modelPayload returns a message that says which it is, and what its bytes should be.
func modelPayload(tag tags.Tag, position uint64, n int) []byte {
	data := binary.LittleEndian.AppendUint64(make([]byte, 0, 16+n), uint64(tag))
	data = binary.LittleEndian.AppendUint64(data, position)
	for i := range n {
		data = append(data, byte(int(position)+i*7))
	}
	return data
}

// account opens the account of a lane, as a publisher does.
func account(n int, w *Wish) *ledger.Lane {
	var book ledger.Book[int, struct{}]
	return book.Open("peer", n, struct{}{}, w.Request.Lane, w.Policy, 8, func(uint16) bool { return true })
}
