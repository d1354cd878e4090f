// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"tagbus/cmd/internal/cli"
)

func TestHealth(t *testing.T) {
	s, metrics := serve(t, "127.0.0.1")
	url := strings.TrimSuffix(metrics, "metrics") + "healthz"
	client := newClient(t)
	check := func(code int, text string) {
		t.Helper()
		if gotCode, got := get(t, client, http.MethodGet, url); gotCode != code || got != text {
			t.Errorf("got %d %q, want %d %q", gotCode, got, code, text)
		}
	}
	check(http.StatusOK, "ok: starting\n")
	s.Watch(func(ctx context.Context) error {
		if at, limited := ctx.Deadline(); !limited || time.Until(at) > 3*time.Second {
			t.Errorf("got a deadline %v (%v), want one in 3 s", at, limited)
		}
		return nil
	})
	check(http.StatusOK, "ok\n")
	s.Watch(func(context.Context) error { return errors.New("it does not turn\nfor 3s") })
	check(http.StatusServiceUnavailable, "it does not turn; for 3s\n")
	if code, _ := get(t, client, http.MethodPost, url); code != http.StatusMethodNotAllowed {
		t.Errorf("POST: got status %d, want %d", code, http.StatusMethodNotAllowed)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	(*cli.MetricsServer)(nil).Watch(nil) // without --metrics
}
