// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mutual_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/mutual"
)

var (
	errPlain   = errors.New("no TLS")
	errAnother = errors.New("another protocol")
)

// alert is an error as crypto/tls returns one for an alert of the peer.
type alert uint8

func (a alert) Error() string { return fmt.Sprintf("tls: alert %d", uint8(a)) }

func remote(n uint8) error { return &net.OpError{Op: "remote error", Err: alert(n)} }

// TestSide_Explain adds what people need to an error of a handshake, and leaves others as they are.
func TestSide_Explain(t *testing.T) {
	side := mutual.Side{Dialled: true, NoTLS: errPlain, NoOurs: errAnother, Protocol: "x"}
	for _, x := range []struct {
		name                string
		err, during, behind error
	}{
		{"the end", mutual.ErrCut, mutual.ErrGone, mutual.ErrGone},
		{"a reset", unix.ECONNRESET, mutual.ErrGone, mutual.ErrGone},
		{"no room for what is sent", unix.EPIPE, mutual.ErrGone, mutual.ErrGone},
		{"plain bytes", tls.RecordHeaderError{}, errPlain, tls.RecordHeaderError{}},
		{"an alert of one without TLS", remote(mutual.AlertProtocolVersion), errPlain, mutual.ErrCertificateRefused},
		{"an alert about the protocol", remote(120), errAnother, mutual.ErrCertificateRefused},
		{"an alert about the certificate", remote(42), remote(42), mutual.ErrCertificateRefused},
		{"an end in order", io.EOF, io.EOF, errAnother},
		{"too much", mutual.ErrLongHandshake, mutual.ErrLongHandshake, mutual.ErrLongHandshake},
		{"its time", netio.ErrTimeout, netio.ErrTimeout, netio.ErrTimeout},
	} {
		is := func(err, want error) bool {
			return errors.Is(err, want) || errors.As(err, new(tls.RecordHeaderError)) && errors.As(want, new(tls.RecordHeaderError)) || err.Error() == want.Error()
		}
		if got := side.Explain(x.err); !is(got, x.during) {
			t.Errorf("%s: got %v, want %v", x.name, got, x.during)
		}
		if got := side.ExplainRefusal(x.err); !is(got, x.behind) {
			t.Errorf("%s, behind the handshake: got %v, want %v", x.name, got, x.behind)
		}
	}
}

// TestIsHello: one record of the handshake of some version of TLS begins so.
func TestIsHello(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "\x16": true, "\x16\x03": true, "\x16\x03\x01": true, "\x16\x03\x04": true, "\x16\x03\x00": false, "\x16\x04": false, "tag": false, "\x15\x03\x01": false,
	} {
		if got := mutual.IsHello([]byte(text)); got != want {
			t.Errorf("%q: got %t, want %t", text, got, want)
		}
	}
}

// TestErrHandshake_isThatOfAllBackends: programs look for that of the backend tls.
func TestErrHandshake_isThatOfAllBackends(t *testing.T) {
	if got := mutual.ErrHandshake.Error(); got != "tcp: the TLS handshake failed" {
		t.Errorf("got %q, want the text that programs know", got)
	}
}
