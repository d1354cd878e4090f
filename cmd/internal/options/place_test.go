// SPDX-License-Identifier: Apache-2.0

package options_test

import (
	"testing"

	"tagbus/cmd/internal/options"
)

func TestPlace(t *testing.T) {
	for text, want := range map[string]string{
		"tcp=10.0.0.1:7000":      "tcp 10.0.0.1:7000",
		"rdma:verbs=10.1.0.1":    "rdma:verbs 10.1.0.1:0",
		"tcp=[fd00::1%eth0]:7":   "tcp [fd00::1%eth0]:7",
		"10.0.0.1:7000":          "",
		"=10.0.0.1:7000":         "",
		"tcp=10.0.0.1:70000":     "",
		"tcp=":                   "",
		"rdma:verbs=10.1.0.1:x7": "",
	} {
		var p options.Place
		err := p.UnmarshalText([]byte(text))
		if got := p.Backend + " " + p.At.String(); (err == nil) != (want != "") || err == nil && got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
		}
	}
}
