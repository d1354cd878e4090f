// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"tagbus/netio"
)

// configChecks are about what a backend refuses because of its configuration.
var configChecks = []check{
	{"an invalid configuration is refused with all violations", checkInvalidConfig},
}

// opening is a TB that keeps the error with which Suite.Open fails.
type opening struct {
	TB
	err error
}

// Fatalf ends the goroutine.
func (o *opening) Fatalf(format string, args ...any) {
	o.err = fmt.Errorf(format, args...)
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			o.err = err
		}
	}
	runtime.Goexit()
}

// openError returns the error of a backend that is to refuse cfg.
func openError(t TB, s Suite, cfg netio.Config) error {
	t.Helper()
	o := &opening{TB: t}
	done := make(chan struct{})
	go func() { // a goroutine of its own, for Goexit
		defer close(done)
		s.Open(o, cfg, netio.NopHandler{})
	}()
	<-done
	return o.err
}

// wantNames fails the test unless the text of err has all fields.
func wantNames(t TB, what string, err error, fields ...string) {
	t.Helper()
	for _, field := range fields {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: got error %v, want one that names %s", what, err, field)
		}
	}
}

func checkInvalidConfig(t TB, s Suite) {
	violations := []struct {
		field string
		spoil func(c *netio.Config)
	}{
		{"Mode", func(c *netio.Config) { c.Mode = -1 }},
		{"ThreadSafety", func(c *netio.Config) { c.ThreadSafety = 9 }},
		{"SharedReceive.Buffers", func(c *netio.Config) { c.SharedReceive = netio.SharedBuffers{Buffers: -1} }},
		{"SharedSend.BufferBytes", func(c *netio.Config) { c.SharedSend = netio.SharedBuffers{Buffers: 1, BufferBytes: -1} }},
	}
	all := s.Config
	var fields []string
	for _, v := range violations {
		one := s.Config
		v.spoil(&one)
		v.spoil(&all)
		fields = append(fields, v.field)
		err := openError(t, s, one)
		wantError(t, "open a backend with one violation", err, netio.ErrInvalidConfig)
		wantNames(t, "open a backend with one violation", err, v.field)
	}
	err := openError(t, s, all)
	wantError(t, "open a backend with all violations", err, netio.ErrInvalidConfig)
	wantNames(t, "open a backend with all violations", err, fields...)
}

// checkParams checks that the client refuses params to open an endpoint and the
// server params to listen, unless those are nil, and that the error names all
// fields.
func (p *pair) checkParams(t TB, what string, opening, listening *netio.Params, fields ...string) {
	t.Helper()
	err := p.client.b.OpenEndpoint(p.l.Addr(), *opening)
	opError(t, "OpenEndpoint with "+what, err, p.l.Addr(), netio.ErrInvalidParams)
	wantNames(t, "OpenEndpoint with "+what, err, fields...)
	if listening == nil {
		return
	}
	_, err = p.server.b.OpenListenEndpoint(p.s.ListenAddr, *listening)
	opError(t, "OpenListenEndpoint with "+what, err, p.s.ListenAddr, netio.ErrInvalidParams)
	wantNames(t, "OpenListenEndpoint with "+what, err, fields...)
}

func checkConflicts(t TB, s Suite) {
	const bufferBytes = 4 << 10
	s.Config.SharedReceive = netio.SharedBuffers{Buffers: 4, BufferBytes: bufferBytes}
	s = s.sharingSend(t, 4, bufferBytes)
	p := openPair(t, s)
	good := p.params()
	p.l = p.server.listen(t, s, good)
	tests := []struct {
		what   string
		fields []string
		change func(p *netio.Params)
	}{
		{"receive buffers", []string{"Receive.Buffers"}, func(p *netio.Params) { p.Receive.Buffers = 1 }},
		{"receive buffers to share", []string{"Receive.Shared"}, func(p *netio.Params) { p.Receive.Buffers, p.Receive.Shared = 1, true }},
		{"messages larger than a shared buffer", []string{"MaxMessageBytes"}, func(p *netio.Params) { p.Receive.MaxMessageBytes = bufferBytes + 1 }},
		{"send buffers", []string{"Buffered"}, func(p *netio.Params) { p.Buffered.Buffers = 1 }},
		{"all of that and more", []string{"Receive.Buffers", "MaxMessageBytes", "Buffered", "Outstanding"}, func(p *netio.Params) {
			p.Receive.Buffers = 1
			p.Receive.MaxMessageBytes = bufferBytes + 1
			p.Buffered.Buffers = 1
			p.ZeroCopy.Outstanding = -1
		}},
	}
	for _, tt := range tests {
		params := good
		tt.change(&params)
		p.checkParams(t, tt.what, &params, &params, tt.fields...)
	}
	p.client.dial(t, p.l.Addr(), good) // and those that were refused have left nothing behind
	p.client.established(t, 0)

	s.Config.SharedReceive, s.Config.SharedSend = netio.SharedBuffers{}, netio.SharedBuffers{}
	p = openPair(t, s)
	p.l = p.server.listen(t, s, p.params())
	none, some := p.params(), p.params()
	none.Receive.Buffers, none.Receive.Shared = 0, true
	some.Receive.Buffers, some.Receive.Shared = 1, true
	p.checkParams(t, "no buffers to share", &none, &none, "Receive.Buffers")
	p.checkParams(t, "buffers to share with nobody", &some, nil, "Receive.Shared")
	if errors.Is(p.client.b.OpenEndpoint(p.l.Addr(), p.params()), netio.ErrInvalidParams) {
		t.Errorf("OpenEndpoint with params that do not conflict: got %v, want none", netio.ErrInvalidParams)
	}
	p.client.established(t, 0)
}
