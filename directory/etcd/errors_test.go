// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"tagbus/directory/etcd"
)

// TestServerError_Error_errorsAreOneLine, whatever strangers have put into them.
func TestServerError_Error_errorsAreOneLine(t *testing.T) {
	const hostile = "a\nb\x1b[2J\xff\u202e"
	for _, err := range []error{
		&etcd.ServerError{Endpoints: []string{hostile}, Err: fmt.Errorf("%w (%s)", etcd.ErrAway, hostile), Hint: hostile},
		&etcd.TooLargeError{Instance: hostile, Bytes: 2, Limit: 1}, &etcd.TooLargeError{Instance: hostile, Err: errors.New(hostile)},
	} {
		if text := err.Error(); strings.ContainsAny(text, "\n\x1b\u202e") || !utf8.ValidString(text) {
			t.Errorf("got %q, want one line of printable text", text)
		}
	}
	if err := error(&etcd.ServerError{Err: etcd.ErrRefused}); !errors.Is(err, etcd.ErrRefused) || errors.Is(err, etcd.ErrAway) {
		t.Errorf("got %v, want ErrRefused alone", err)
	}
}

// A lease that ends before it is used is one that servers under load have granted: they refuse nothing.
func TestServerError_ofALeaseThatEndsTooSoon(t *testing.T) {
	err := etcd.Explain(rpctypes.ErrGRPCLeaseNotFound)
	if !errors.Is(err, etcd.ErrAway) || !strings.Contains(err.Error(), "load") {
		t.Errorf("got %v, want ErrAway, and to look after their load", err)
	}
	if !etcd.IsSlow(rpctypes.ErrGRPCLeaseNotFound) || !etcd.IsSlow(err) || etcd.IsSlow(rpctypes.ErrGRPCNoLeader) {
		t.Error("got that they are not slow, or without a leader, want it of the lease, explained or not")
	}
	if err := etcd.Explain(rpctypes.ErrGRPCKeyNotFound); !errors.Is(err, etcd.ErrRefused) {
		t.Errorf("got %v of another thing that is not found, want ErrRefused", err)
	}
}
