// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package cli

// sizeLimit says how large a file may be.
func sizeLimit() string { return "its file system takes no larger file" }
