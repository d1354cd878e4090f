// SPDX-License-Identifier: Apache-2.0

package netiotest_test

import (
	"errors"
	"fmt"
	"slices"

	"tagbus/netio"
)

// Names of the suite's tests that notice.
const (
	configCheck        = "an invalid configuration is refused with all violations"
	conflictCheck      = "params that conflict with shared buffers are refused"
	ownReceiveCheck    = "an endpoint with receive buffers of its own receives"
	sharedReceiveCheck = "endpoints share the receive buffers of their backend"
	listenReceiveCheck = "endpoints share the receive buffers of their listen endpoint"
	poisonCheck        = "data is overwritten after OnData in a build with invariants"
	changedCheck       = "a change before the completion is reported in a build with invariants"
	offLoopCheck       = "a call off the loop panics in a build with invariants"
	integersCheck      = "integers and vectors arrive as they were written"
	releaseCheck       = "a released buffer is answered by OnSendReady"
	sharedSendCheck    = "endpoints share the send buffers of their backend"
	otherCheck         = "a shared buffer may be sent by another endpoint"
	sharedRefusedCheck = "SendBuffer of a shared buffer is refused when too many sends are outstanding"
	roomCheck          = "Room tells what is free and the fewest since the last call"
)

// brokenSharing break promises about configuration, buffers and threads.
var brokenSharing = []brokenBackend{
	{"an invalid configuration is accepted", configCheck, faults{config: func(c *netio.Config) { *c = netio.Config{} }}},
	{"only the first violation is told", configCheck, faults{openError: func(err error) error {
		return err.(interface{ Unwrap() []error }).Unwrap()[0]
	}}},
	{"a violation has no sentinel", configCheck, faults{openError: func(err error) error { return errors.New(err.Error()) }}},
	{"conflicting params are accepted", conflictCheck, faults{params: func(p *netio.Params) {
		p.Receive, p.Buffered = netio.ReceiveParams{}, netio.BufferedParams{}
	}}},
	{"only one conflict is told", conflictCheck, faults{paramsError: func(err error) error {
		op := new(netio.OpError)
		errors.As(err, &op)
		return &netio.OpError{Op: op.Op, Addr: op.Addr, Err: fmt.Errorf("%w: Receive.Buffers and Receive.Shared", netio.ErrInvalidParams)}
	}}},
	{"receive buffers have half the size", ownReceiveCheck, faults{params: func(p *netio.Params) {
		if p.Receive.Buffers > 0 {
			p.Receive.MaxMessageBytes /= 2
		}
	}}},
	{"a paused endpoint keeps all receive buffers of the backend", sharedReceiveCheck, faults{pause: pauseAll}},
	{"a paused endpoint keeps all receive buffers of its listen endpoint", listenReceiveCheck, faults{pause: pauseAll}},
	{"a message is lost for want of a receive buffer", sharedReceiveCheck, faults{data: func(b *broken, data []byte, call func([]byte)) {
		if !b.nth("data", 40) {
			call(data)
		}
	}}},
	{"a message gets the memory of another", listenReceiveCheck, faults{data: func(b *broken, data []byte, call func([]byte)) {
		if b.nth("data", 40) {
			data = slices.Clone(data)
			clear(data[len(data)/2:])
		}
		call(data)
	}}},
	{"data is not overwritten", poisonCheck, faults{data: func(_ *broken, data []byte, call func([]byte)) {
		call(slices.Clone(data))
	}}},
	{"data is overwritten too early", poisonCheck, faults{data: func(_ *broken, data []byte, call func([]byte)) {
		for i := range data {
			data[i] = 0xDB
		}
		call(data)
	}}},
	{"a change of memory is not noticed", changedCheck, faults{send: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) error {
		return e.Endpoint.SendCopy(key, header, data...)
	}}},
	{"a call off the loop is not noticed", offLoopCheck, faults{
		base:   netio.Config{ThreadSafety: netio.Unsafe},
		config: func(c *netio.Config) { c.ThreadSafety = netio.Safe },
	}},
	{"integers are in big-endian order", integersCheck, faults{sendBuf: func(e *brokenEndpoint, b *netio.Buffer) error {
		slices.Reverse(b.Bytes()[4:6]) // the first of two bytes
		return e.Endpoint.SendBuffer(b)
	}}},
	{"a released buffer is not answered", releaseCheck, faults{ready: func(*broken, func()) {}}},
	{"a released buffer is answered once too often", releaseCheck, faults{ready: func(b *broken, call func()) {
		call()
		if b.nth("ready", 3) {
			call()
		}
	}}},
	{"each endpoint has send buffers of its own", sharedSendCheck, faults{
		config: func(c *netio.Config) { c.SharedSend = netio.SharedBuffers{} },
		params: func(p *netio.Params) { p.Buffered = netio.BufferedParams{Buffers: 4, BufferBytes: 4 << 10} },
	}},
	{"an endpoint that ends keeps a shared buffer", sharedSendCheck, faults{close: func(e *brokenEndpoint) error {
		_, _ = e.Endpoint.Buffer()
		return e.Endpoint.Close()
	}}},
	{"a shared buffer is sent by the endpoint that it was taken from", otherCheck, faults{
		buffer: func(e *brokenEndpoint) (*netio.Buffer, error) {
			b, err := e.Endpoint.Buffer()
			if err == nil {
				e.b.takers[b] = e
			}
			return b, err
		},
		sendBuf: func(e *brokenEndpoint, b *netio.Buffer) error {
			if taker := e.b.takers[b]; taker != nil {
				e = taker
			}
			return e.Endpoint.SendBuffer(b)
		},
	}},
	{"a shared buffer of another endpoint is foreign", otherCheck, faults{
		buffer: func(e *brokenEndpoint) (*netio.Buffer, error) {
			b, err := e.Endpoint.Buffer()
			if err == nil {
				e.b.takers[b] = e
			}
			return b, err
		},
		sendBuf: func(e *brokenEndpoint, b *netio.Buffer) error {
			if e.b.takers[b] != e {
				return netio.ErrForeignBuffer
			}
			return e.Endpoint.SendBuffer(b)
		},
	}},
	{"a shared buffer that finds no room is foreign", sharedRefusedCheck, faults{sendBuf: func(e *brokenEndpoint, b *netio.Buffer) error {
		err := e.Endpoint.SendBuffer(b)
		if errors.Is(err, netio.ErrNoResources) {
			return netio.ErrForeignBuffer
		}
		return err
	}}},
	{"a shared buffer that finds no room is lost", sharedRefusedCheck, faults{sendBuf: func(e *brokenEndpoint, b *netio.Buffer) error {
		err := e.Endpoint.SendBuffer(b)
		if errors.Is(err, netio.ErrNoResources) {
			b.Release()
		}
		return err
	}}},
	{"a shared buffer that found no room is not answered", sharedRefusedCheck, faults{ready: func(*broken, func()) {}}},
	{"Room forgets how few buffers were free", roomCheck, faults{room: func(r *netio.Room) { r.MinBuffers = r.Buffers }}},
	{"Room forgets how few sends were free", roomCheck, faults{room: func(r *netio.Room) { r.MinSends = r.Sends }}},
	{"Room tells nothing", roomCheck, faults{room: func(r *netio.Room) { *r = netio.Room{} }}},
}

// pauseAll pauses all endpoints of a backend for one.
func pauseAll(e *brokenEndpoint) {
	for inner := range e.b.endpoints {
		inner.PauseReceive()
	}
}
