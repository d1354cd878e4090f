// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

import (
	"errors"
	"testing"
)

func TestRegistration_numberIsBounded(t *testing.T) {
	full := table{used: maxIndices}
	if err := full.insert(new(Registration)); !errors.Is(err, ErrTooMany) {
		t.Errorf("insert into a full table: got error %v, want ErrTooMany", err)
	}
}
