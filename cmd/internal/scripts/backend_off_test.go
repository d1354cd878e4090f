// SPDX-License-Identifier: Apache-2.0

//go:build !libfabric || !cgo

package scripts_test

// buildScripts is the folder of the scripts about this build.
const buildScripts = "without"

// testBackend returns the backend under the tests that are not about one.
func testBackend() string { return "tcp" }
