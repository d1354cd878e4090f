// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		runChild(role)
		return
	}
	goleak.VerifyTestMain(m)
}
