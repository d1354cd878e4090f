// SPDX-License-Identifier: Apache-2.0

//go:build linux

package info

import (
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // what is shown depends on it
	os.Exit(m.Run())
}
