// SPDX-License-Identifier: Apache-2.0

package in_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/in"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/tags"
)

// TestRun_aRecordOfAnotherKey is an error, and not published: with --tags 1 no message of tag 0x2000 is.
func TestRun_aRecordOfAnotherKey(t *testing.T) {
	for _, test := range []struct {
		name string
		m    bus.Message
		want string
	}{
		{"of another tag", bus.Message{Tag: 0x2000, Publisher: alice}, "it is a record of tag 0x0000000000002000 from alice"},
		{"of another publisher", bus.Message{Tag: 1, Publisher: &bus.Peer{Instance: "BOB", Name: "bob"}}, "it is a record of tag 0x0000000000000001 from bob"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, s := newFill(t), newSite(t)
				f.messages(1, 1, time.Now(), "right")
				test.m.Counter, test.m.Data = 2, []byte("wrong")
				var b record.Batch
				b.Begin(nil, time.Now(), &test.m)
				b.Add(time.Now(), &test.m)
				f.add(1, b.Seal()) // under the key of tag 1 and alice
				cfg := config
				cfg.Query = durable.Query{Tags: tags.Of(1)}
				report, err := s.run(f.log, cfg)
				var read *in.ReadError
				if !errors.As(err, &read) || read.Position != 2 || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want a *ReadError of entry 2 with %q", err, test.want)
				}
				if want := []string{"1:0:right"}; !slices.Equal(s.got, want) || report.Records != 1 {
					t.Errorf("got %q and %+v, want %q of one record", s.got, report, want)
				}
			})
		})
	}
}
