// SPDX-License-Identifier: Apache-2.0

package sanitize_test

import (
	"testing"

	"tagbus/internal/sanitize"
)

// A password is not shown, however wrong the URL is.
func TestURL(t *testing.T) {
	for url, want := range map[string]string{
		"nats://host/RUN":                     "nats://host/RUN",
		"nats://alice:secret@host,other/RUN":  "nats://xxxxx@host,other/RUN",
		"nats://alice:sec%zzret@host/RUN":     "nats://xxxxx@host/RUN",
		"nats://alice:s@e/c,ret@host":         "nats://xxxxx@host",
		"nats://a:secret@x,nats://b:secret@y": "nats://xxxxx@y",
		"host@here":                           "host@here",
		"nats://a:secret@x\x1b[2J":            sanitize.Text("nats://xxxxx@x\x1b[2J"),
	} {
		if got := sanitize.URL(url); got != want {
			t.Errorf("%q: got %q, want %q", url, got, want)
		}
	}
}
