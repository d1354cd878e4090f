// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/netio/tcp"
)

// The system goes on with a connect that was interrupted, and answers the next call
// as if it were one too many.
func TestBackend_OpenEndpoint_anInterruptedConnectHasBegun(t *testing.T) {
	tests := []struct {
		name    string
		answers []error
		want    error
	}{
		{"interrupted before it began", []error{unix.EINTR, unix.EINPROGRESS}, nil},
		{"interrupted, under way", []error{unix.EINTR, unix.EALREADY}, nil},
		{"interrupted twice, done", []error{unix.EINTR, unix.EINTR, unix.EISCONN}, nil},
		{"interrupted, refused", []error{unix.EINTR, unix.ECONNREFUSED}, unix.ECONNREFUSED},
		{"not interrupted, of another", []error{unix.EALREADY}, unix.EALREADY},
		{"not interrupted", []error{unix.EINPROGRESS}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answers := tt.answers
			err := tcp.Begin(func() error {
				err := answers[0]
				answers = answers[1:]
				return err
			})
			if !errors.Is(err, tt.want) || len(answers) > 0 {
				t.Errorf("got error %v with %d answers left, want %v", err, len(answers), tt.want)
			}
		})
	}
}
