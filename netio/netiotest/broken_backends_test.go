// SPDX-License-Identifier: Apache-2.0

package netiotest_test

import (
	"errors"
	"io"
	"net/netip"
	"slices"

	"tagbus/netio"
)

// Names of the suite's tests that notice.
const (
	mixedCheck    = "messages arrive in order and unchanged in every way of sending"
	keysCheck     = "a close reports the outstanding keys in order"
	readyCheck    = "ErrNoResources is answered by one OnSendReady each, and then sending goes on"
	refusedCheck  = "a connection that nobody accepts is refused once"
	insideCheck   = "no method calls the handler"
	eofCheck      = "the peer of a closed endpoint sees io.EOF"
	pauseCheck    = "after a pause inside OnData not one more message comes"
	copyCheck     = "memory of SendCopy may be reused at once"
	loopCheck     = "the handler is called on the backend's loop"
	addressCheck  = "both ends know both addresses"
	backendCheck  = "closing a backend closes everything and nothing follows"
	dataCheck     = "an endpoint may be closed inside OnData"
	doubleCheck   = "the second close returns ErrClosed"
	buffersCheck  = "all buffers can be taken, and one more is refused"
	readCheck     = "memory of Send is only read"
	headerCheck   = "a header of 0 to 16 bytes stands before the data"
	reuseCheck    = "header and list of pieces may be reused at once"
	parallelCheck = "many goroutines may send at once"
	heldCheck     = "a pause holds back the end in order, behind what has come"
)

// racyBackends are those of brokenBackends that the race detector reports
// before the suite can.
var racyBackends = []string{
	"SendCopy does not copy", "Send keeps the header", "Send writes to the memory",
	"a completion comes before the memory is read", "a direct send that is done is read later",
}

// brokenBackend is a backend that breaks one promise, with the check that must
// notice.
type brokenBackend struct {
	name  string
	check string
	faults
}

// brokenBackends break promises about messages and callbacks.
var brokenBackends = []brokenBackend{
	{"a completion is dropped", mixedCheck, faults{completed: func(b *broken, key netio.Key, call func(netio.Key)) {
		if !b.nth("completed", 7) {
			call(key)
		}
	}}},
	{"a completion is reported twice", mixedCheck, faults{completed: func(b *broken, key netio.Key, call func(netio.Key)) {
		call(key)
		if b.nth("completed", 7) {
			call(key)
		}
	}}},
	{"two completions are exchanged", mixedCheck, faults{completed: func(b *broken, key netio.Key, call func(netio.Key)) {
		if b.nth("completed", 7) {
			b.held = append(b.held, func() { call(key) })
			return
		}
		call(key)
		b.release()
	}}},
	{"a completion has the wrong key", mixedCheck, faults{completed: func(b *broken, key netio.Key, call func(netio.Key)) {
		if b.nth("completed", 7) {
			key++
		}
		call(key)
	}}},
	{"a completion is lost among many senders", parallelCheck, faults{completed: func(b *broken, key netio.Key, call func(netio.Key)) {
		if !b.nth("completed", 70) {
			call(key)
		}
	}}},
	{"one bit of a message is changed", mixedCheck, faults{data: func(b *broken, data []byte, call func([]byte)) {
		if b.nth("data", 100) {
			data = slices.Clone(data)
			data[len(data)-1] ^= 4
		}
		call(data)
	}}},
	{"a message is dropped", mixedCheck, faults{data: func(b *broken, data []byte, call func([]byte)) {
		if !b.nth("data", 100) {
			call(data)
		}
	}}},
	{"a message is delivered twice", mixedCheck, faults{data: func(b *broken, data []byte, call func([]byte)) {
		call(data)
		if b.nth("data", 100) {
			call(data)
		}
	}}},
	{"two messages are exchanged", mixedCheck, faults{data: func(b *broken, data []byte, call func([]byte)) {
		if b.nth("data", 100) {
			data = slices.Clone(data)
			b.held = append(b.held, func() { call(data) })
			return
		}
		call(data)
		b.release()
	}}},
	{"a message is cut", mixedCheck, faults{data: func(b *broken, data []byte, call func([]byte)) {
		if b.nth("data", 100) {
			data = data[:len(data)-1]
		}
		call(data)
	}}},
	{"a message is delivered after the end", dataCheck, faults{closed: func(b *broken, keys []netio.Key, cause error, call func([]netio.Key, error)) {
		call(keys, cause)
		for _, e := range b.endpoints {
			b.h.OnData(e, []byte("late"))
		}
	}}},
	{"a message is delivered between Close and the end", dataCheck, faults{closed: func(b *broken, keys []netio.Key, cause error, call func([]netio.Key, error)) {
		for _, e := range b.endpoints {
			b.h.OnData(e, []byte("late"))
		}
		call(keys, cause)
	}}},
	{"the close leaves out a key", keysCheck, faults{closed: func(_ *broken, keys []netio.Key, cause error, call func([]netio.Key, error)) {
		call(keys[:max(0, len(keys)-1)], cause)
	}}},
	{"the close reports a key too many", keysCheck, faults{closed: func(_ *broken, keys []netio.Key, cause error, call func([]netio.Key, error)) {
		call(append(slices.Clone(keys), 1), cause)
	}}},
	{"the close reports the keys in the wrong order", keysCheck, faults{closed: func(_ *broken, keys []netio.Key, cause error, call func([]netio.Key, error)) {
		slices.Reverse(keys)
		call(keys, cause)
	}}},
	{"the close is not reported", eofCheck, faults{closed: func(*broken, []netio.Key, error, func([]netio.Key, error)) {}}},
	{"the close is reported twice", eofCheck, faults{closed: func(_ *broken, keys []netio.Key, cause error, call func([]netio.Key, error)) {
		call(keys, cause)
		call(nil, cause)
	}}},
	{"a local close has a cause", eofCheck, faults{closed: func(_ *broken, keys []netio.Key, cause error, call func([]netio.Key, error)) {
		call(keys, errors.Join(cause, io.EOF))
	}}},
	{"the close of the peer has no cause", eofCheck, faults{closed: func(_ *broken, keys []netio.Key, _ error, call func([]netio.Key, error)) {
		call(keys, nil)
	}}},
	{"a connection is established twice", loopCheck, faults{established: func(_ *broken, call func()) { call(); call() }}},
	{"a connection is not established", loopCheck, faults{established: func(*broken, func()) {}}},
	{"a refusal is not reported", refusedCheck, faults{refused: func(*broken, func()) {}}},
	{"a refusal is reported twice", refusedCheck, faults{refused: func(_ *broken, call func()) { call(); call() }}},
	{"OnSendReady is not called", readyCheck, faults{ready: func(*broken, func()) {}}},
	{"OnSendReady is not called once", readyCheck, faults{ready: func(b *broken, call func()) {
		if !b.nth("ready", 3) {
			call()
		}
	}}},
	{"OnSendReady is called twice", readyCheck, faults{ready: func(_ *broken, call func()) { call(); call() }}},
	{"a callback comes from another goroutine", loopCheck, faults{data: func(_ *broken, data []byte, call func([]byte)) {
		done := make(chan struct{})
		go func() { defer close(done); call(data) }()
		<-done
	}}},
	{"PauseReceive calls the handler", pauseCheck, faults{pause: func(e *brokenEndpoint) {
		e.Endpoint.PauseReceive()
		e.b.h.OnSendReady(e)
	}}},
	{"Send calls the handler", insideCheck, faults{send: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) error {
		if err := e.Endpoint.Send(key, header, data...); err != nil {
			return err
		}
		e.b.h.OnSendReady(e)
		return nil
	}}},
	{"Close calls the handler", insideCheck, faults{close: func(e *brokenEndpoint) error {
		err := e.Endpoint.Close()
		e.b.h.OnConnectionClosed(e, nil, nil)
		return err
	}}},
	{"the message behind a pause is dropped", heldCheck, faults{data: func(b *broken, data []byte, call func([]byte)) {
		if !b.nth("data", 3) { // two are of the fences
			call(data)
		}
	}}},
	{"a pause does nothing", pauseCheck, faults{pause: func(*brokenEndpoint) {}}},
	{"SendCopy does not copy", copyCheck, faults{sendCopy: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) error {
		return e.Endpoint.Send(key, header, data...)
	}}},
	{"Send writes to the memory", readCheck, faults{send: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) error {
		err := e.Endpoint.SendCopy(key, header, data...)
		data[0][0]++
		return err
	}}},
	{"a completion comes before the memory is read", "memory of Send may be reused at its completion", faults{
		send: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) error {
			err := e.Endpoint.Send(key+1000, header, data...)
			if err == nil {
				e.b.Loop().Post(func() { e.b.h.OnSendCompleted(netio.Completion{Endpoint: e, Key: key}) })
			}
			return err
		},
		completed: func(_ *broken, key netio.Key, call func(netio.Key)) {
			if key < 1000 {
				call(key)
			}
		},
	}},
	{"Send takes any header", headerCheck, faults{send: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) error {
		return e.Endpoint.Send(key, nil, append([][]byte{slices.Clone(header)}, data...)...)
	}}},
	{"Send keeps the header", reuseCheck, faults{send: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) error {
		return e.Endpoint.Send(key, nil, append([][]byte{header}, data...)...)
	}}},
	{"a refused send is sent", readyCheck, faults{sendCopy: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) error {
		if err := e.Endpoint.SendCopy(key, header, data...); err != nil {
			return err
		}
		return netio.ErrNoResources
	}}},
	{"an accepted send is not sent", mixedCheck, faults{send: func(*brokenEndpoint, netio.Key, []byte, [][]byte) error { return nil }}},
	{"a buffer is missing", buffersCheck, faults{buffer: func(e *brokenEndpoint) (*netio.Buffer, error) {
		b, err := e.Endpoint.Buffer()
		if err == nil && b.Key() == 3 {
			b.Release()
			return nil, netio.ErrNoResources
		}
		return b, err
	}}},
	{"the second close returns nil", doubleCheck, faults{close: func(e *brokenEndpoint) error {
		_ = e.Endpoint.Close()
		return nil
	}}},
	{"the local address is another", addressCheck, faults{local: func(e *brokenEndpoint) netip.AddrPort {
		return netip.AddrPortFrom(e.Endpoint.Local().Addr(), 1)
	}}},
	{"closing the backend does not wait", backendCheck, faults{
		closeAll: func(b *broken) error {
			if b.closes.Add(1) == 1 {
				return nil // the end of the test closes it once more
			}
			return b.Backend.Close()
		},
	}},
}
