// SPDX-License-Identifier: Apache-2.0

package memlog_test

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"tagbus/bridge/durable"
	"tagbus/bridge/durable/durabletest"
	"tagbus/bridge/internal/memlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLog keeps the contract.
func TestLog(t *testing.T) {
	durabletest.Run(t, func(*testing.T) func() durable.Log {
		log := memlog.New(1<<20, nil)
		return func() durable.Log { return log.Reopen(nil) }
	})
}

// TestLog_Read_ofWhatIsDropped names what there is.
func TestLog_Read_ofWhatIsDropped(t *testing.T) {
	log := memlog.New(1<<20, nil)
	key := durable.Key{Tag: 1, Instance: "ALICE"}
	for after := range durable.Position(5) {
		log.Append(durable.Append{Key: key, After: after, Data: []byte("x"), Done: func(durable.Position, error) {}})
	}
	log.Drop(3)
	for _, err := range log.Read(t.Context(), durable.Query{Start: durable.Start{After: 1}}) {
		var gap *durable.GapError
		if !errors.As(err, &gap) || gap.Want != 2 || gap.First != 4 {
			t.Errorf("got %v, want a *durable.GapError of 2 and 4", err)
		}
	}
	if _, err := log.Last(t.Context(), key); err != nil {
		t.Error(err)
	}
}
