// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/subscription"
)

// all policies, in the order of their kinds.
var policies = []struct {
	text   string
	policy bus.Policy
}{
	{"block", bus.Policy{}},
	{"drop-newest", bus.Policy{Kind: bus.DropNewest}},
	{"drop-oldest", bus.Policy{Kind: bus.DropOldest}},
	{"latest", bus.Policy{Kind: bus.Latest}},
	{"sample:10", bus.Policy{Kind: bus.Sample, Every: 10}},
	{"disconnect:5s", bus.Policy{Kind: bus.Disconnect, After: 5 * time.Second}},
}

func TestPolicy_isComparedAndWritten(t *testing.T) {
	for i, test := range policies {
		t.Run(test.text, func(t *testing.T) {
			got, err := bus.ParsePolicy(test.text)
			if err != nil || got != test.policy || int(got.Kind) != i {
				t.Errorf("ParsePolicy: got %+v and error %v, want %+v and none", got, err, test.policy)
			}
			if got.Validate() != nil || got.String() != test.text {
				t.Errorf("got %q, %v want %q", got, got.Validate(), test.text)
			}
			if want := got.Kind == bus.Block || got.Kind == bus.Disconnect; got.Lossless() != want {
				t.Errorf("Lossless: got %v, want %v", got.Lossless(), want)
			}
			text, err := json.Marshal(got)
			var back bus.Policy
			if err := errors.Join(err, json.Unmarshal(text, &back)); err != nil || back != test.policy {
				t.Errorf("through JSON: got %+v and error %v, want %+v and none", back, err, test.policy)
			}
			name, _, _ := strings.Cut(test.text, ":")
			var kind bus.PolicyKind
			if err := kind.UnmarshalText([]byte(name)); err != nil || kind != test.policy.Kind || kind.String() != name {
				t.Errorf("UnmarshalText of the kind: got %v, %v want %v", kind, err, test.policy.Kind)
			}
			// What crosses the wire is what the user has chosen.
			if wire, err := subscription.ParsePolicy(test.text); err != nil || wire.String() != test.text || wire.Lossless() != got.Lossless() || int(wire.Kind) != i {
				t.Errorf("in package subscription it is %+v, %v", wire, err)
			}
		})
	}
	for _, p := range []bus.Policy{{Kind: 6}, {Every: 1}, {Kind: bus.Sample}, {Kind: bus.Disconnect}, {Kind: bus.Latest, After: time.Second}} {
		if err := p.Validate(); !errors.Is(err, bus.ErrPolicy) {
			t.Errorf("%+v: got %v, want ErrPolicy", p, err)
		}
		if _, err := p.MarshalText(); !errors.Is(err, bus.ErrPolicy) {
			t.Errorf("MarshalText of %+v: got %v, want ErrPolicy", p, err)
		}
	}
	for _, text := range []string{"", "sample", "newest"} {
		if got, err := bus.ParsePolicy(text); !errors.Is(err, bus.ErrPolicy) || got != (bus.Policy{}) {
			t.Errorf("%q: got %+v, %v want ErrPolicy", text, got, err)
		}
	}
	kind := bus.Latest
	if err := kind.UnmarshalText([]byte("newest")); !errors.Is(err, bus.ErrPolicy) || kind != bus.Latest {
		t.Errorf("got %v, %v want ErrPolicy", kind, err)
	}
}

// TestPolicy_goDocShowsIt: what a user has to know of policies is in this package, without
// a look at another one.
func TestPolicy_goDocShowsIt(t *testing.T) {
	for name, want := range map[string]string{
		"Policy": `type Policy struct {
	Kind  PolicyKind
	Every uint64        // Sample only: of that many messages of a tag the first is taken; at least 1
	After time.Duration // Disconnect only: how long the subscriber may take nothing; at least 1ms
}`,
		"PolicyKind": "type PolicyKind uint8",
		"Latest":     "	Block PolicyKind = iota\n",
	} {
		testkit.DependsOnTree()
		out, err := exec.CommandContext(t.Context(), "go", "doc", name).Output()
		if err != nil {
			t.Fatalf("go doc %s: %v", name, err)
		}
		text := strings.ReplaceAll(string(out), "\r", "")
		if !strings.Contains(text, want) || strings.Contains(text, "subscription.") {
			t.Errorf("go doc %s (-want +got):\n%s", name, cmp.Diff(want, text))
		}
	}
}
