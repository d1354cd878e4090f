// SPDX-License-Identifier: Apache-2.0

package netiotest_test

import (
	"errors"
	"io"

	"tagbus/netio"
)

// Names of the suite's tests that notice.
const (
	directIdleCheck   = "an idle connection takes direct sends whole"
	directReuseCheck  = "memory of a direct send that is done may be reused at once"
	directRoomCheck   = "a direct send that is done is not outstanding"
	directInsideCheck = "a direct send may be done inside every callback"
	directFullCheck   = "a direct send to a full connection is accepted or refused as by Send"
	directPartCheck   = "memory of a direct send that is not done may be reused at its completion"
	directOrderCheck  = "direct sends do not overtake those that wait, nor do these overtake them"
	directResetCheck  = "direct sends over a connection that breaks end with its cause"
	closedCheck       = "the methods of a closed endpoint return ErrClosed"
)

// ofDirect marks the keys of sends that a broken backend makes of direct ones.
const ofDirect netio.Key = 1 << 40

// dropDirect reports all completions but those of such sends.
func dropDirect(_ *broken, key netio.Key, call func(netio.Key)) {
	if key < ofDirect {
		call(key)
	}
}

// queueDirect says that a send is done which has only been accepted.
func queueDirect(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) (bool, error) {
	err := e.Endpoint.Send(key|ofDirect, header, data...)
	return err == nil, err
}

// brokenDirects break promises about SendDirect.
var brokenDirects = []brokenBackend{
	{"a direct send is never done", directIdleCheck, faults{direct: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) (bool, error) {
		return false, e.Endpoint.Send(key, header, data...)
	}}},
	{"a direct send that is done is lost", directIdleCheck, faults{direct: func(*brokenEndpoint, netio.Key, []byte, [][]byte) (bool, error) {
		return true, nil
	}}},
	{"a direct send that is done is completed too", directIdleCheck, faults{direct: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) (bool, error) {
		done, err := e.Endpoint.SendDirect(key, header, data...)
		if done {
			e.b.Loop().Post(func() { e.b.h.OnSendCompleted(netio.Completion{Endpoint: e, Key: key}) })
		}
		return done, err
	}}},
	{"a direct send that is done is not counted", directIdleCheck, faults{direct: queueDirect, completed: dropDirect}},
	{"a direct send that is done is read later", directReuseCheck, faults{direct: queueDirect, completed: dropDirect}},
	{"a direct send that is done takes a place", directRoomCheck, faults{room: func(r *netio.Room) { r.MinSends = 0 }}},
	{"a direct send calls the handler", insideCheck, faults{direct: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) (bool, error) {
		done, err := e.Endpoint.SendDirect(key, header, data...)
		e.b.h.OnSendReady(e)
		return done, err
	}}},
	{"a direct send is not done on the loop", directInsideCheck, faults{direct: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) (bool, error) {
		if e.b.Loop().OnLoop() {
			return false, e.Endpoint.Send(key, header, data...)
		}
		return e.Endpoint.SendDirect(key, header, data...)
	}}},
	{"a direct send over a full connection is dropped", directFullCheck, faults{direct: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) (bool, error) {
		done, err := e.Endpoint.SendDirect(key, header, data...)
		if errors.Is(err, netio.ErrNoResources) {
			return true, nil
		}
		return done, err
	}}},
	{"a part of a direct send is all that is sent", directPartCheck, faults{direct: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) (bool, error) {
		if last := data[len(data)-1]; len(last) > 100_000 {
			data = append(data[:len(data)-1:len(data)-1], last[:100_000])
		}
		return e.Endpoint.SendDirect(key, header, data...)
	}}},
	{"a direct send overtakes others", directOrderCheck, faults{send: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) error {
		e.b.Loop().Post(func() { _ = e.Endpoint.Send(key, header, data...) })
		return nil
	}}},
	{"a direct send of a closed endpoint is accepted", closedCheck, faults{direct: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) (bool, error) {
		done, err := e.Endpoint.SendDirect(key, header, data...)
		if errors.Is(err, netio.ErrClosed) {
			err = nil
		}
		return done, err
	}}},
	{"the cause of a connection that broke is io.EOF", directResetCheck, faults{closed: func(_ *broken, keys []netio.Key, cause error, call func([]netio.Key, error)) {
		if cause != nil {
			cause = io.EOF
		}
		call(keys, cause)
	}}},
}
