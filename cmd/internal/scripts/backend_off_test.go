// SPDX-License-Identifier: Apache-2.0

//go:build !libfabric || !cgo

package scripts_test

import (
	"cmp"
	"os"
)

// buildScripts is the folder of the scripts about this build.
const buildScripts = "without"

// testBackend returns the backend under the tests that are not about one: that of the environment
// variable SCRIPTS_BACKEND, or what the programs choose by themselves.
func testBackend() string { return cmp.Or(os.Getenv("SCRIPTS_BACKEND"), "auto") }
