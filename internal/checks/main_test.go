// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintf(os.Stderr, "checks: the folder of the module: %v\n", err)
		os.Exit(1)
	}
	m.Run()
}
