// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"testing"

	"tagbus/bus"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
)

// TestWhatIsDeniedIsNotDone: a look that was not let look has not status 0.
func TestWhatIsDeniedIsNotDone(t *testing.T) {
	answer := overview.Row{State: new(state.State)}
	failed := func(err error) overview.Row { return overview.Row{Err: err} }
	silent := failed(errors.New("connection refused"))
	tests := []struct {
		name string
		rows []overview.Row
		want int
	}{
		{"an empty bus", nil, cli.ExitDone},
		{"none was asked", []overview.Row{{}, {}}, cli.ExitDone},
		{"all answer", []overview.Row{answer, answer}, cli.ExitDone},
		{"one of two is silent", []overview.Row{answer, silent}, cli.ExitDone},
		{"all are silent", []overview.Row{silent, silent}, cli.ExitDone},
		{"one refuses", []overview.Row{answer, failed(fmt.Errorf("%w: no", observer.ErrRefused))}, cli.ExitFailed},
		{"one denies", []overview.Row{answer, failed(fmt.Errorf("%w: no rule", observer.ErrDenied))}, cli.ExitFailed},
		{"one lets ask only others", []overview.Row{answer, failed(fmt.Errorf("asked: %w", &bus.AccessError{}))}, cli.ExitFailed},
		{"one has a certificate of another CA", []overview.Row{failed(&tls.CertificateVerificationError{})}, cli.ExitFailed},
		{"one uses TLS", []overview.Row{answer, failed(&bus.BackendError{})}, cli.ExitFailed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := tool.Code(tool.Denied(overview.Overview{Rows: test.rows})); got != test.want {
				t.Errorf("got status %d, want %d", got, test.want)
			}
		})
	}
}
