// SPDX-License-Identifier: Apache-2.0

package subscription_test

import (
	"errors"
	"testing"
	"time"

	"tagbus/subscription"
)

func TestPolicy_hasOneTextForm(t *testing.T) {
	tests := []struct {
		text   string
		policy subscription.Policy
	}{
		{"block", subscription.Policy{}},
		{"drop-newest", subscription.Policy{Kind: subscription.DropNewest}},
		{"drop-oldest", subscription.Policy{Kind: subscription.DropOldest}},
		{"latest", subscription.Policy{Kind: subscription.Latest}},
		{"sample:10", subscription.Policy{Kind: subscription.Sample, Every: 10}},
		{"disconnect:5s", subscription.Policy{Kind: subscription.Disconnect, After: 5 * time.Second}},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := subscription.ParsePolicy(tt.text)
			if err != nil || got != tt.policy {
				t.Errorf("ParsePolicy: got %+v and error %v, want %+v and none", got, err, tt.policy)
			}
			if got := tt.policy.String(); got != tt.text {
				t.Errorf("String: got %q, want %q", got, tt.text)
			}
		})
	}
	if got, err := subscription.ParsePolicy("disconnect"); err != nil || got.After != subscription.DefaultStall {
		t.Errorf("disconnect without a time: got %+v and error %v, want %v", got, err, subscription.DefaultStall)
	}
}

func TestParsePolicy_refusesWhatIsNoPolicy(t *testing.T) {
	for _, text := range []string{
		"", "Block", "block:1", "latest:", "sample", "sample:", "sample:0", "sample:-1", "sample:x",
		"disconnect:", "disconnect:0s", "disconnect:soon", "drop", "drop-newest:1",
	} {
		if got, err := subscription.ParsePolicy(text); !errors.Is(err, subscription.ErrPolicy) {
			t.Errorf("ParsePolicy(%q): got %+v and error %v, want %v", text, got, err, subscription.ErrPolicy)
		}
	}
	for _, p := range []subscription.Policy{
		{Kind: 9},
		{Every: 1},
		{After: time.Second},
		{Kind: subscription.Sample},
		{Kind: subscription.Disconnect},
		{Kind: subscription.Latest, Every: 2},
	} {
		if err := p.Validate(); !errors.Is(err, subscription.ErrPolicy) {
			t.Errorf("Validate of %+v: got error %v, want %v", p, err, subscription.ErrPolicy)
		}
	}
}
