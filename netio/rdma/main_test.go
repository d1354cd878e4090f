// SPDX-License-Identifier: Apache-2.0

package rdma_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	beChild()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		for _, r := range leftRegistered() {
			fmt.Fprintln(os.Stderr, "registered memory that is left behind the tests:", r)
			status = max(status, 1)
		}
		os.Exit(status)
	}))
}
